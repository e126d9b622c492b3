// SPDX-License-Identifier: Apache-2.0
// Turns the raw rows of a recording into a Run: resolves parents, gives task slots their lanes, converts
// ticks to nanoseconds and sorts the spans by start. Fed by the live session and by the journal reader, in
// the order of recording; every id is checked, so a damaged file can at worst be refused.
#ifndef RGM_MODEL_BUILDER_H
#define RGM_MODEL_BUILDER_H

#include "base/clock.h"
#include "model/record.h"
#include "model/run.h"

typedef struct rgm_builder rgm_builder;

rgm_status rgm_builder_new(rgm_builder **builder, rgm_error *err) RGM_NODISCARD;
void rgm_builder_free(rgm_builder *builder);
// Scopes with a role have no row from now on; those inside them are inside what is around them.
void rgm_builder_leave_out_roles(rgm_builder *builder);

// Rows of each kind are numbered 0, 1, 2, ... by the recording; giving a number again replaces the row.
rgm_status rgm_builder_string(rgm_builder *builder, uint32_t id, const char *data, size_t length,
                              rgm_error *err) RGM_NODISCARD;
rgm_status rgm_builder_site(rgm_builder *builder, uint32_t id, rgm_site_row site,
                            rgm_error *err) RGM_NODISCARD;
rgm_status rgm_builder_thread(rgm_builder *builder, uint32_t id, rgm_thread_row thread,
                              rgm_error *err) RGM_NODISCARD;
rgm_status rgm_builder_anchor(rgm_builder *builder, rgm_anchor anchor, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_builder_records(rgm_builder *builder, uint32_t stream, const rgm_record *records, size_t count,
                               rgm_error *err) RGM_NODISCARD;
// Rows that come beside the scopes: rgm_builder_sample, _interval, _activity, _counter.
#define RGM_BUILDER_ROW(frames, name, type, anomaly)                                                         \
    rgm_status rgm_builder_##name(rgm_builder *builder, const type *row, rgm_error *err) RGM_NODISCARD;
RGM_ROW_LOGS(RGM_BUILDER_ROW)
#undef RGM_BUILDER_ROW
// Replaces what was known to be open on the stream; of each stack the innermost scope comes first.
rgm_status rgm_builder_open(rgm_builder *builder, uint32_t stream, const rgm_open_scope *open, size_t count,
                            rgm_error *err) RGM_NODISCARD;
// Forgets all spans and samples so far.
void rgm_builder_reset(rgm_builder *builder);
rgm_status rgm_builder_note(rgm_builder *builder, rgm_anomaly code, int64_t count,
                            rgm_error *err) RGM_NODISCARD;
rgm_run *rgm_builder_run(rgm_builder *builder);
// Hands the Run over. With keep_open, scopes still open become spans that end at the last known time;
// without, they are left out and their children count as top level.
rgm_status rgm_builder_finish(rgm_builder *builder, bool keep_open, rgm_run **run,
                              rgm_error *err) RGM_NODISCARD;

#endif
