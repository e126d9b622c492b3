// SPDX-License-Identifier: Apache-2.0
// What the doubles of the vendor libraries share: named numbers that a test sets and reads.
//
// A double is a shared library that is loaded through the same dlopen path as the real one. A number is set
// before loading through the environment variable of the double ("FAKE_CUDA=devices=2,version=12040") or
// later through the exported fake_NAME_set / fake_NAME_get. An unknown name is an error, so that a test
// cannot rely on a number that nothing reads.
#ifndef RGM_FAKES_FAKE_H
#define RGM_FAKES_FAKE_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

typedef struct {
    const char *name;
    _Atomic(long long) value;
} fake_number;

static inline fake_number *fake_find(fake_number *numbers, size_t count, const char *name, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(numbers[i].name) == length && memcmp(numbers[i].name, name, length) == 0)
            return &numbers[i];
    (void)fprintf(stderr, "fake: no number called %.*s\n", (int)length, name);
    abort();
}

static inline void fake_read_environment(fake_number *numbers, size_t count, const char *variable) {
    const char *at = getenv(variable);
    while (at && *at) {
        const char *sign = strchr(at, '=');
        if (!sign) abort();
        char *end;
        fake_find(numbers, count, at, (size_t)(sign - at))->value = strtoll(sign + 1, &end, 0);
        at = *end == ',' ? end + 1 : end;
    }
}

// A function of the double of the driver, NULL where it is not in the process.
static inline void *of_driver(const char *name) {
    const char *path = getenv("REGIMETER_LIBCUDA");
    void *driver = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver) return NULL;
    void *address = dlsym(driver, name);
    dlclose(driver);
    return address;
}

// Defines the numbers of the double NAME from the list X(number, initial), its start and its two exports.
// FAKE_VALUE(number) is one of them, to read and to write.
#define FAKE_NUMBER_ENUM(number, initial) FAKE_##number,
#define FAKE_NUMBER_ROW(number, initial) {#number, initial},
#define FAKE_NUMBERS(NAME, VARIABLE, LIST)                                                                   \
    enum { LIST(FAKE_NUMBER_ENUM) FAKE_NUMBER_COUNT };                                                       \
    static fake_number fake_numbers[] = {LIST(FAKE_NUMBER_ROW)};                                             \
    __attribute__((constructor)) static void fake_start(void) {                                              \
        fake_read_environment(fake_numbers, FAKE_NUMBER_COUNT, VARIABLE);                                    \
    }                                                                                                        \
    FAKE_EXPORT void fake_##NAME##_set(const char *name, long long value) {                                  \
        fake_find(fake_numbers, FAKE_NUMBER_COUNT, name, strlen(name))->value = value;                       \
    }                                                                                                        \
    FAKE_EXPORT long long fake_##NAME##_get(const char *name) {                                              \
        return fake_find(fake_numbers, FAKE_NUMBER_COUNT, name, strlen(name))->value;                        \
    }
#define FAKE_VALUE(number) (fake_numbers[FAKE_##number].value)

#endif
