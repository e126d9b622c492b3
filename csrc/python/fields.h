// SPDX-License-Identifier: Apache-2.0
// Numbers of a C struct by name: what a dictionary of Python's says of them, and their description.
//
// One row a member, made from the list that declares the struct. Everything that takes options or thresholds
// by name reads them here.
#ifndef RGM_PYTHON_FIELDS_H
#define RGM_PYTHON_FIELDS_H

#include "python/state.h"

typedef enum {
    RGM_FIELD_ANY,          // double; who takes the struct checks it
    RGM_FIELD_NOT_NEGATIVE, // double, finite
    RGM_FIELD_ABOVE_ZERO,   // double
    RGM_FIELD_OR_UNKNOWN,   // double, as RGM_FIELD_NOT_NEGATIVE, or None, which is NAN
    RGM_FIELD_INT,          // int64_t; who takes the struct checks it
    RGM_FIELD_COUNT,        // int64_t, not negative
} rgm_field_kind;

typedef struct {
    const char *name;
    size_t offset; // in the struct
    double initial;
    const char *unit, *source; // for describe
} rgm_field;

typedef struct {
    const rgm_field *rows;
    size_t count;
    rgm_field_kind kind;
    PyObject **unknown_type; // raised for a name that is none: &PyExc_TypeError for keywords
    const char *unknown;     // its text; %R is the name
    const char *wrong;       // text of the ValueError for a number that is none of the kind; %R is the name
} rgm_fields;

// Writes the given numbers over those of the struct; -1 with an exception. `given` is a dict, or NULL for
// nothing. Its values may run code of the program while they become numbers; what that does to the dict does
// not matter here.
int rgm_fields_read(PyObject *given, const rgm_fields *fields, void *into);
// The items of a sequence, for the same reason as a tuple of its own; NULL with a TypeError of this text
// where it is none.
PyObject *rgm_sequence_items(PyObject *given, const char *message);
// {name: {"default", "unit", "source"}}
PyObject *rgm_fields_describe(const rgm_fields *fields);

#endif
