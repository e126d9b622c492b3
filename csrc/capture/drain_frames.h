// SPDX-License-Identifier: Apache-2.0
// What a session has to say, as frames of its journal. Under the drain lock.
#ifndef RGM_CAPTURE_DRAIN_FRAMES_H
#define RGM_CAPTURE_DRAIN_FRAMES_H

#include "capture/session.h"
#include "io/journal/frame.h"

// One frame of `count` rows, which take `bytes`; what `first` is depends on the type.
void rgm_put_rows(rgm_bytes *out, rgm_frame_type type, uint32_t first, uint32_t count, const void *rows,
                  size_t bytes);
// Begins anew with what has not been written of the environment, the first strings and sites, threads,
// anchors.
void rgm_put_dictionaries(rgm_session *session, rgm_bytes *out, uint32_t strings, uint32_t sites);
void rgm_put_threads(rgm_session *session, rgm_bytes *out);
void rgm_put_anchors(rgm_session *session, rgm_bytes *out);
// What follows the records and rows: what is open, counters, and the end of the recording.
void rgm_put_state(rgm_session *session, rgm_bytes *out, bool closing);
void rgm_put_counters(rgm_session *session, rgm_bytes *out);
void rgm_put_end(rgm_bytes *out);

#endif
