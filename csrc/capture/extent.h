// SPDX-License-Identifier: Apache-2.0
// What of a recorder's chain of blocks had been committed at some moment. Under the drain lock.
#ifndef RGM_CAPTURE_EXTENT_H
#define RGM_CAPTURE_EXTENT_H

#include "capture/session_state.h"

// From the recorder's first record that has not moved on to `last_used` of the block `last`.
typedef struct {
    rgm_recorder *recorder;
    rgm_block *last;
    uint32_t last_used;
} rgm_extent;

typedef rgm_status (*rgm_extent_sink)(void *arg, uint32_t stream, const rgm_record *records, uint32_t count,
                                      rgm_error *err);

rgm_extent rgm_extent_of(rgm_recorder *recorder);
// Hands every range of the extent to the sink, in order.
rgm_status rgm_extent_walk(const rgm_extent *e, rgm_extent_sink sink, void *arg, rgm_error *err);
// Lets go of the extent's records; returns how many they were. Full blocks go back to the pool.
uint64_t rgm_extent_consume(rgm_session *session, const rgm_extent *e);

#endif
