// SPDX-License-Identifier: Apache-2.0
#include "analysis/communication/dtype.h"

#include <stdbool.h>
#include <string.h>

// X(name, bytes). The spellings of c10::ScalarType, of C++ and of Python; a name that ends in * is a prefix.
#define DTYPES(X)                                                                                            \
    X("Byte", 1)                                                                                             \
    X("Char", 1)                                                                                             \
    X("Short", 2)                                                                                            \
    X("Int", 4)                                                                                              \
    X("Long", 8)                                                                                             \
    X("Half", 2)                                                                                             \
    X("Float", 4)                                                                                            \
    X("Double", 8)                                                                                           \
    X("ComplexHalf", 4)                                                                                      \
    X("ComplexFloat", 8)                                                                                     \
    X("ComplexDouble", 16)                                                                                   \
    X("Bool", 1)                                                                                             \
    X("BFloat16", 2)                                                                                         \
    X("UInt16", 2)                                                                                           \
    X("UInt32", 4)                                                                                           \
    X("UInt64", 8)                                                                                           \
    X("QInt8", 1)                                                                                            \
    X("QUInt8", 1)                                                                                           \
    X("QInt32", 4)                                                                                           \
    X("Float8*", 1)                                                                                          \
    X("float8*", 1)                                                                                          \
    X("float4_e2m1fn_x2", 1)                                                                                 \
    X("Float4_e2m1fn_x2", 1)                                                                                 \
    X("bool", 1)                                                                                             \
    X("uint8", 1)                                                                                            \
    X("int8", 1)                                                                                             \
    X("unsigned char", 1)                                                                                    \
    X("signed char", 1)                                                                                      \
    X("int16", 2)                                                                                            \
    X("short", 2)                                                                                            \
    X("float16", 2)                                                                                          \
    X("half", 2)                                                                                             \
    X("bfloat16", 2)                                                                                         \
    X("int32", 4)                                                                                            \
    X("int", 4)                                                                                              \
    X("float32", 4)                                                                                          \
    X("float", 4)                                                                                            \
    X("int64", 8)                                                                                            \
    X("long", 8)                                                                                             \
    X("long int", 8)                                                                                         \
    X("float64", 8)                                                                                          \
    X("double", 8)                                                                                           \
    X("complex64", 8)                                                                                        \
    X("complex128", 16)                                                                                      \
    X("complex<float>", 8)                                                                                   \
    X("complex<double>", 16)

static const struct {
    const char *name;
    int bytes;
} dtypes[] = {
#define DTYPE_ROW(name, bytes) {name, bytes},
    DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

static const char *const namespaces[] = {"c10::", "torch.", "at::"};

int rgm_dtype_bytes(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof namespaces / sizeof namespaces[0]; i++) {
        size_t size = strlen(namespaces[i]);
        if (length <= size || memcmp(name, namespaces[i], size) != 0) continue;
        name += size;
        length -= size;
    }
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        size_t size = strlen(dtypes[i].name);
        bool prefix = dtypes[i].name[size - 1] == '*';
        if (prefix ? length >= size - 1 && memcmp(name, dtypes[i].name, size - 1) == 0
                   : length == size && memcmp(name, dtypes[i].name, size) == 0)
            return dtypes[i].bytes;
    }
    return 0;
}
