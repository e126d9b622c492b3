// SPDX-License-Identifier: Apache-2.0
// Structs and lists of the core as dictionaries and lists of Python, from tables of members.
//
// A table has one row a member; its type is that of the declaration. Everything here gives a new object, or
// NULL (-1) with an exception. fields.h is the way back.
#ifndef RGM_PYTHON_ROWS_H
#define RGM_PYTHON_ROWS_H

#include "python/state.h"

typedef enum {
    RGM_MEMBER_BOOL,
    RGM_MEMBER_INT,    // int, and int32_t
    RGM_MEMBER_UINT,   // unsigned, and uint32_t
    RGM_MEMBER_I64,    // long, and int64_t
    RGM_MEMBER_U64,    // unsigned long, uint64_t, size_t
    RGM_MEMBER_DOUBLE, // NAN stays NAN
    RGM_MEMBER_KNOWN,  // double, of which NAN is None
    RGM_MEMBER_TEXT,   // const char *, NULL is None
    RGM_MEMBER_CHARS,  // an array of char that ends in 0; bytes that are no UTF-8 are replaced
} rgm_member_type;

typedef struct {
    const char *name; // the key
    size_t offset;    // in the struct
    rgm_member_type type;
} rgm_member;

_Static_assert(sizeof(long) == sizeof(int64_t), "members of 64 bits are long");

#define RGM_MEMBER_TYPE(of, member)                                                                          \
    _Generic((((of *)0)->member),                                                                            \
        bool: RGM_MEMBER_BOOL,                                                                               \
        int: RGM_MEMBER_INT,                                                                                 \
        unsigned: RGM_MEMBER_UINT,                                                                           \
        long: RGM_MEMBER_I64,                                                                                \
        unsigned long: RGM_MEMBER_U64,                                                                       \
        double: RGM_MEMBER_DOUBLE,                                                                           \
        const char *: RGM_MEMBER_TEXT,                                                                       \
        char *: RGM_MEMBER_CHARS)
// A member under a name of its own, and under its own name.
#define RGM_MEMBER_AS(of, member, name) {name, offsetof(of, member), RGM_MEMBER_TYPE(of, member)}
#define RGM_MEMBER(of, member) RGM_MEMBER_AS(of, member, #member)
// A double of which NAN is None.
#define RGM_MEMBER_OR_NONE(of, member) {#member, offsetof(of, member), RGM_MEMBER_KNOWN}

// {name: value} of a struct; the other adds to a dictionary that there is.
PyObject *rgm_members_dict(const void *from, const rgm_member *members, size_t count);
int rgm_members_put(PyObject *dict, const void *from, const rgm_member *members, size_t count);
#define RGM_DICT_OF(from, members) rgm_members_dict((from), (members), sizeof(members) / sizeof *(members))

// {key: {name: value}} of an array of structs, whose first member is the key.
PyObject *rgm_rows_dict(const void *rows, size_t size, size_t count, const rgm_member *members,
                        size_t members_count);
#define RGM_ROWS_DICT(rows, count, members)                                                                  \
    rgm_rows_dict((rows), sizeof *(rows), (count), (members), sizeof(members) / sizeof *(members))

// Takes the value over; -1 with an exception, also where the value is NULL.
int rgm_dict_put(PyObject *dict, const char *name, PyObject *value);
int rgm_list_add(PyObject *list, PyObject *value);

// A list, or a tuple, of what `make` gives for 0 .. count - 1.
typedef PyObject *(*rgm_row_make)(const void *context, size_t row);
PyObject *rgm_list_of(size_t count, rgm_row_make make, const void *context);
PyObject *rgm_tuple_of(size_t count, rgm_row_make make, const void *context);
// For rgm_tuple_of and rgm_list_of: of an array of const char *, of double, of int64_t.
PyObject *rgm_row_text(const void *texts, size_t row);
PyObject *rgm_row_f64(const void *numbers, size_t row);
PyObject *rgm_row_i64(const void *numbers, size_t row);

#endif
