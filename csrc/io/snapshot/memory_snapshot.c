// SPDX-License-Identifier: Apache-2.0
#include "io/snapshot/memory_snapshot.h"

#include <string.h>

#include "base/memory.h"
#include "io/snapshot/snapshot_reading.h"

static rgm_status fill(void *context, rgm_pickle *pickle, rgm_pickle_object *object,
                       const rgm_pickle_value *values, size_t count, rgm_error *err) {
    return object->type == RGM_PICKLE_DICT
               ? rgm_snapshot_fill_dict(context, pickle, object, values, count, err)
               : rgm_snapshot_fill_list(context, pickle, object, values, count, err);
}

static void release(rgm_snapshot_reading *r) {
    rgm_run_free(r->run);
    rgm_stack_rows_release(&r->stacks);
    rgm_block_free(r->words);
    rgm_block_free(r->ids);
    rgm_block_free(r->ranges);
    rgm_block_free(r->pasts);
    rgm_block_free(r->pairs);
    rgm_block_free(r->block_ends);
    for (size_t i = 0; i < r->n_jsons; i++) rgm_bytes_release(&r->jsons[i]);
    rgm_block_free(r->jsons);
    rgm_output_release(&r->out);
}

// --- at the end -------------------------------------------------------------------------------------------

// The clock of the run begins with the first entry; those that torch 2.0 wrote have no times.
static void apply_times(rgm_run *run) {
    const rgm_memory *memory = &run->memory;
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < memory->rows; i++) {
        int64_t at = memory->time_ns[i];
        if (at <= 0) continue;
        if (at < first) first = at;
        if (at > last) last = at;
    }
    if (first == INT64_MAX) return;
    for (size_t i = 0; i < memory->rows; i++)
        memory->time_ns[i] = memory->time_ns[i] > 0 ? memory->time_ns[i] - first : 0;
    run->start_unix_ns = first;
    run->end_ns = last - first;
}

static rgm_status add_lane(rgm_run *run, rgm_error *err) {
    static const char name[] = "allocator";
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_lanes_desc, &run->lanes, RGM_ALL_COLUMNS, &row, err));
    run->lanes.process[row] = -1;
    return rgm_strings_intern(&run->strings, name, sizeof name - 1, &run->lanes.name[row], err);
}

static void put_json(const rgm_snapshot_reading *r, uint32_t json, const char *key, const char *brackets,
                     rgm_bytes *text) {
    if (!json) return;
    if (text->data[text->length - 1] != '{') rgm_bytes_text(text, ",");
    rgm_bytes_text(text, "\"");
    rgm_bytes_text(text, key);
    rgm_bytes_text(text, "\":");
    rgm_bytes_append(text, brackets, 1);
    rgm_bytes_append(text, r->jsons[json - 1].data, r->jsons[json - 1].length);
    rgm_bytes_append(text, brackets + 1, 1);
}

static rgm_status describe(rgm_snapshot_reading *r, rgm_files *files, size_t row, rgm_error *err) {
    rgm_bytes text = {0};
    rgm_status status = RGM_OK;
    rgm_bytes_text(&text, "{");
    if (text.failed) return rgm_error_no_memory(err);
    put_json(r, r->settings, "allocator_settings", "{}", &text);
    put_json(r, r->annotations, "external_annotations", "[]", &text);
    rgm_bytes_text(&text, "}");
    if (text.failed)
        status = rgm_error_no_memory(err);
    else if (text.length > 2)
        status = rgm_strings_intern(&r->run->strings, (const char *)text.data, text.length,
                                    &files->environment[row], err);
    rgm_bytes_release(&text);
    return status;
}

static rgm_status add_file(rgm_snapshot_reading *r, const rgm_source *source, int64_t bytes, rgm_error *err) {
    static const char format[] = "torch_memory_snapshot";
    rgm_run *run = r->run;
    size_t row;
    int64_t others = 0;
    for (size_t i = 0; i < run->memory.rows; i++) others += run->memory.action[i] == RGM_ACTION_OTHER;
    RGM_TRY(rgm_table_append(&rgm_files_desc, &run->files, RGM_ALL_COLUMNS, &row, err));
    RGM_TRY(
        rgm_strings_intern(&run->strings, source->name, strlen(source->name), &run->files.file[row], err));
    RGM_TRY(rgm_strings_intern(&run->strings, format, sizeof format - 1, &run->files.format[row], err));
    run->files.bytes[row] = bytes;
    run->files.events[row] = run->files.kept[row] =
        (int64_t)(run->memory.rows + run->segments.rows + run->blocks.rows);
    run->files.base_ns[row] = run->start_unix_ns > 0 ? run->start_unix_ns : 0;
    if (others)
        RGM_TRY(rgm_run_note_input(run, RGM_ANOMALY_BAD_EVENT, others, 0, -1,
                                   "entries of the allocator's history have an action that is not known",
                                   err));
    return describe(r, &run->files, row, err);
}

static rgm_status finish(void *context, rgm_pickle *pickle, rgm_pickle_value value, rgm_error *err) {
    rgm_snapshot_reading *r = context;
    rgm_shape shape = rgm_snapshot_shape(pickle, value);
    r->run->end_ns = rgm_pickle_offset(pickle); // kept there until the times are known
    if (shape == RGM_SHAPE_SNAPSHOT || shape == RGM_SHAPE_SEGMENTS) return RGM_OK;
    return rgm_error_at(err, RGM_FORMAT, 0,
                        "a pickle, but no memory snapshot: it has no list of segments; expected what "
                        "torch.cuda.memory._dump_snapshot writes");
}

rgm_status rgm_memory_snapshot_read(const rgm_source *source, rgm_run **out, rgm_error *err) {
    RGM_RELEASED(release) rgm_snapshot_reading r = {0};
    RGM_TRY(rgm_output_init(&r.out, rgm_snapshot_keep, NULL, err));
    RGM_TRY(rgm_run_new(&r.run, err));
    r.stacks.run = r.run;
    RGM_TRY(rgm_run_set_text(&r.run->source, "trace", 5, err));
    RGM_TRY(rgm_pickle_read(source, fill, &r, finish, err));
    int64_t bytes = r.run->end_ns;
    r.run->end_ns = 0;
    apply_times(r.run);
    RGM_TRY(add_lane(r.run, err));
    RGM_TRY(add_file(&r, source, bytes, err));
    RGM_TRY(rgm_run_check(r.run, err));
    r.run->complete = true;
    *out = r.run;
    r.run = NULL;
    return RGM_OK;
}
