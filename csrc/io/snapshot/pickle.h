// SPDX-License-Identifier: Apache-2.0
// Python's pickles (protocols 2 to 5), read by a machine that executes nothing: it builds None, bool, int,
// float, str, bytes, list, dict and tuple, and refuses every other instruction with its name and byte offset.
//
// It keeps no tree. What a container has received goes to a builder as soon as the instruction that fills it
// is read, and the builder leaves a number in its place; a container that has been put into another one, or
// that the memo still names, is those eight bytes. So memory is bounded by what the builder keeps, by the
// distinct texts and by 16 bytes a container, whatever the input claims.
//
// Threads: one at a time. Nothing here recurses.
#ifndef RGM_IO_PICKLE_H
#define RGM_IO_PICKLE_H

#include <stdbool.h>

#include "base/strings.h"
#include "io/source.h"

typedef enum {
    RGM_PICKLE_NONE,
    RGM_PICKLE_BOOL,
    RGM_PICKLE_INT,
    RGM_PICKLE_FLOAT,
    RGM_PICKLE_TEXT,
    RGM_PICKLE_BYTES, // whose content is not kept
    RGM_PICKLE_CONTAINER
} rgm_pickle_kind;

typedef struct {
    rgm_pickle_kind kind;
    union {
        int64_t number; // of BOOL and INT
        double real;
        uint32_t text;   // an id of rgm_pickle_text
        uint32_t object; // of CONTAINER
    };
} rgm_pickle_value;

typedef enum { RGM_PICKLE_LIST, RGM_PICKLE_DICT, RGM_PICKLE_TUPLE } rgm_pickle_container;

// What is left of a container. `shape` and `payload` are the builder's; a shape of 0 has received nothing.
typedef struct {
    uint32_t payload;
    uint8_t type;
    uint8_t shape;
    uint8_t used; // it is part of another one, and may no longer change
} rgm_pickle_object;

typedef struct rgm_pickle rgm_pickle;

// Takes what a container receives: values of a list or tuple, or keys and values of a dict in turn. Lists and
// dicts come in pieces, most often of up to 1,000.
typedef rgm_status (*rgm_pickle_fill)(void *context, rgm_pickle *pickle, rgm_pickle_object *object,
                                      const rgm_pickle_value *values, size_t count, rgm_error *err);

// Reads one pickle. RGM_FORMAT with the byte offset of the instruction for what is damaged, cut, refused or
// beyond a limit. finish takes the value, while texts and objects are still there.
rgm_status rgm_pickle_read(const rgm_source *source, rgm_pickle_fill fill, void *context,
                           rgm_status (*finish)(void *context, rgm_pickle *pickle, rgm_pickle_value value,
                                                rgm_error *err),
                           rgm_error *err) RGM_NODISCARD;

rgm_string rgm_pickle_text(const rgm_pickle *pickle, uint32_t text);
rgm_pickle_object *rgm_pickle_object_of(rgm_pickle *pickle, rgm_pickle_value value);
// Offset of the instruction that is carried out; at the end, the length.
int64_t rgm_pickle_offset(const rgm_pickle *pickle);

#endif
