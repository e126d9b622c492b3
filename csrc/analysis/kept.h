// SPDX-License-Identifier: Apache-2.0
// What several analyses ask of one view: each thing is made by the first that asks, and kept as long as the
// view, which owns it and does not know what it is; the room that makes it does.
#ifndef RGM_ANALYSIS_KEPT_H
#define RGM_ANALYSIS_KEPT_H

#include "base/once.h"

typedef enum { RGM_KEPT_CRITICAL, RGM_KEPT_COUNT } rgm_kept_thing;

// Makes `*made` of what `of` points to; `release` frees it.
typedef struct {
    rgm_status (*make)(const void *of, void **made, rgm_error *err);
    void (*release)(void *made);
} rgm_kept_kind;

typedef struct rgm_kept rgm_kept;

rgm_status rgm_kept_init(rgm_kept **kept, rgm_error *err) RGM_NODISCARD;
// NULL is a valid argument.
void rgm_kept_release(rgm_kept *kept);
// Each thing has one kind; the kind must outlive what is kept.
rgm_status rgm_kept_get(rgm_kept *kept, rgm_kept_thing thing, const rgm_kept_kind *kind, const void *of,
                        const void **out, rgm_error *err) RGM_NODISCARD;

#endif
