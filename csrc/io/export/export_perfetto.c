// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf: descriptors of tracks, the slices on them and the arrows between these.
#include <math.h>

#include "base/memory.h"
#include "io/export/export.h"
#include "io/export/perfetto.h"

// --- tracks -----------------------------------------------------------------------------------------------

// Streams are no threads, and process 0 is the idle process of Linux: their tracks have names only.
static bool is_real(const rgm_track_process *process) { return process->device < 0 && process->pid > 0; }

static void put_process(rgm_perfetto *p, size_t i) {
    char text[RGM_TRACK_NAME_ROOM];
    const rgm_track_process *process = &p->tracks.processes[i];
    size_t length = rgm_process_name(&p->tracks, i, text, sizeof text);
    rgm_string label = rgm_run_text(p->run, process->label);
    size_t mark = rgm_perfetto_begin_packet(p, FLAG_NEEDS_STATE),
           track = rgm_proto_begin(&p->bytes, PACKET_TRACK);
    rgm_proto_u64(&p->bytes, TRACK_UUID, rgm_perfetto_process(i));
    rgm_proto_text(&p->bytes, TRACK_NAME, text, length);
    if (is_real(process)) {
        size_t list = rgm_proto_begin(&p->bytes, TRACK_PROCESS);
        rgm_proto_i64(&p->bytes, PROCESS_PID, process->pid);
        rgm_proto_text(&p->bytes, PROCESS_NAME, text, length);
        if (label.length) rgm_proto_text(&p->bytes, PROCESS_LABELS, label.data, label.length);
        rgm_proto_end(&p->bytes, list);
    }
    rgm_proto_end(&p->bytes, track);
    rgm_perfetto_end_packet(p, mark);
}

static void put_track(rgm_perfetto *p, size_t i) {
    char text[RGM_TRACK_NAME_ROOM];
    const rgm_track *t = &p->tracks.tracks[i];
    const rgm_track_process *process = &p->tracks.processes[t->process];
    size_t length = rgm_track_name(&p->tracks, i, text, sizeof text);
    size_t mark = rgm_perfetto_begin_packet(p, FLAG_NEEDS_STATE),
           track = rgm_proto_begin(&p->bytes, PACKET_TRACK);
    rgm_proto_u64(&p->bytes, TRACK_UUID, rgm_perfetto_track(i));
    rgm_proto_u64(&p->bytes, TRACK_PARENT, rgm_perfetto_process(t->process));
    rgm_proto_text(&p->bytes, TRACK_NAME, text, length);
    if (is_real(process) && !t->number) {
        size_t list = rgm_proto_begin(&p->bytes, TRACK_THREAD);
        rgm_proto_i64(&p->bytes, THREAD_PID, process->pid);
        rgm_proto_i64(&p->bytes, THREAD_TID, t->tid);
        rgm_proto_text(&p->bytes, THREAD_NAME, text, length);
        rgm_proto_end(&p->bytes, list);
    }
    rgm_proto_end(&p->bytes, track);
    rgm_perfetto_end_packet(p, mark);
}

// --- annotations -------------------------------------------------------------------------------------------

static void note_launch(rgm_perfetto *p, int32_t row) {
    const rgm_launches *t = &p->run->launches;
    if (row < 0) return;
    rgm_perfetto_note_i64(p, ANNOTATION_GRID_X_KEY, t->grid_x[row]);
    rgm_perfetto_note_i64(p, ANNOTATION_GRID_Y_KEY, t->grid_y[row]);
    rgm_perfetto_note_i64(p, ANNOTATION_GRID_Z_KEY, t->grid_z[row]);
    rgm_perfetto_note_i64(p, ANNOTATION_BLOCK_X_KEY, t->block_x[row]);
    rgm_perfetto_note_i64(p, ANNOTATION_BLOCK_Y_KEY, t->block_y[row]);
    rgm_perfetto_note_i64(p, ANNOTATION_BLOCK_Z_KEY, t->block_z[row]);
    rgm_perfetto_note_i64(p, ANNOTATION_REGISTERS_KEY, t->registers[row]);
    rgm_perfetto_note_i64(p, ANNOTATION_SHARED_KEY, t->shared_bytes[row]);
    rgm_perfetto_note_f64(p, ANNOTATION_OCCUPANCY_KEY, round(t->estimated_occupancy[row] * 1e11) / 1e9);
}

static void note_operator(rgm_perfetto *p, int32_t row) {
    const rgm_operators *t = &p->run->operators;
    if (row < 0) return;
    rgm_perfetto_note_i64(p, ANNOTATION_SEQUENCE_KEY, t->sequence[row]);
    rgm_perfetto_note_text(p, ANNOTATION_SHAPES_KEY, t->shapes[row]);
    rgm_perfetto_note_text(p, ANNOTATION_TYPES_KEY, t->types[row]);
    rgm_perfetto_note_text(p, ANNOTATION_STACK_KEY, t->stack[row]);
    rgm_perfetto_note_text(p, ANNOTATION_MODULE_KEY, t->module[row]);
}

static void note_collective(rgm_perfetto *p, int32_t row) {
    const rgm_collectives *t = &p->run->collectives;
    if (row < 0) return;
    rgm_perfetto_note_text(p, ANNOTATION_COLLECTIVE_KEY, t->collective[row]);
    rgm_perfetto_note_text(p, ANNOTATION_DTYPE_KEY, t->element_type[row]);
    rgm_perfetto_note_i64(p, ANNOTATION_IN_ELEMENTS_KEY, t->in_elements[row]);
    rgm_perfetto_note_i64(p, ANNOTATION_OUT_ELEMENTS_KEY, t->out_elements[row]);
    rgm_perfetto_note_text(p, ANNOTATION_GROUP_KEY, t->group_name[row]);
    rgm_perfetto_note_i64(p, ANNOTATION_GROUP_SIZE_KEY, t->group_size[row]);
}

static void note_span(rgm_perfetto *p, size_t row) {
    const rgm_spans *s = &p->run->spans;
    uint32_t lane = RGM_CELL(s, lane, row, 0);
    int32_t frame = rgm_span_row(&p->frames, row), sync = rgm_span_row(&p->syncs, row);
    rgm_perfetto_note_text(p, ANNOTATION_METADATA_KEY, RGM_CELL(s, metadata, row, 0));
    rgm_perfetto_note_i64(p, ANNOTATION_EXTERNAL_KEY, RGM_CELL(s, external_id, row, -1));
    rgm_perfetto_note_i64(p, ANNOTATION_CORRELATION_KEY, RGM_CELL(s, correlation, row, -1));
    rgm_perfetto_note_i64(p, ANNOTATION_STEP_KEY, RGM_CELL(s, step, row, -1));
    rgm_perfetto_note_i64(p, ANNOTATION_BYTES_KEY, RGM_CELL(s, bytes, row, -1));
    if (rgm_span_is_work(p->run, row)) {
        rgm_perfetto_note_i64(p, ANNOTATION_DEVICE_KEY, RGM_LANE_CELL(p->run, device, lane, -1));
        rgm_perfetto_note_i64(p, ANNOTATION_STREAM_KEY, RGM_LANE_CELL(p->run, thread, lane, -1));
    }
    note_launch(p, rgm_span_row(&p->launches, row));
    note_operator(p, rgm_span_row(&p->operators, row));
    note_collective(p, rgm_span_row(&p->collectives, row));
    if (frame >= 0) rgm_perfetto_note_i64(p, ANNOTATION_PYTHON_ID_KEY, p->run->frames.id[frame]);
    if (frame >= 0) rgm_perfetto_note_i64(p, ANNOTATION_PYTHON_PARENT_KEY, p->run->frames.parent_id[frame]);
    if (sync >= 0) rgm_perfetto_note_text(p, ANNOTATION_SYNC_KEY, p->run->syncs.sync[sync]);
}

// --- arrows -----------------------------------------------------------------------------------------------

static rgm_status chain_new(rgm_perfetto_chain *c, size_t heads, size_t ends, rgm_error *err) {
    c->head = rgm_malloc((heads + 1) * sizeof *c->head);
    c->next = rgm_malloc((ends + 1) * sizeof *c->next);
    if (!c->head || !c->next) return rgm_error_no_memory(err);
    for (size_t i = 0; i < heads; i++) c->head[i] = -1;
    return RGM_OK;
}

static void chain_add(rgm_perfetto_chain *c, int32_t head, size_t end) {
    c->next[end] = c->head[head];
    c->head[head] = (int32_t)end;
}

static rgm_status find_arrows(rgm_perfetto *p, rgm_error *err) {
    const rgm_flows *f = &p->run->flows;
    size_t n = p->tracks.n_spans;
    RGM_TRY(rgm_span_launches(p->run, &p->launch, err));
    RGM_TRY(chain_new(&p->started, n, n, err));
    for (size_t i = n; i-- > 0;)
        if (p->launch[i] >= 0) chain_add(&p->started, p->launch[i], i);
    RGM_TRY(chain_new(&p->arrows, n, f->rows, err));
    for (size_t i = f->rows; i-- > 0;)
        if (f->kind[i] != RGM_FLOW_KIND_LAUNCH && f->span[i] >= 0 && (size_t)f->span[i] < n)
            chain_add(&p->arrows, f->span[i], i);
    return RGM_OK;
}

// A launch and a piece of its work share the row of the work, plus one; other flows have a range of their
// own.
static void put_arrows(rgm_perfetto *p, size_t row) {
    const rgm_flows *f = &p->run->flows;
    for (int32_t i = p->started.head[row]; i >= 0; i = p->started.next[i])
        rgm_proto_fixed64(&p->bytes, EVENT_FLOW, (uint64_t)i + 1);
    if (p->launch[row] >= 0) rgm_proto_fixed64(&p->bytes, EVENT_FLOW_END, (uint64_t)row + 1);
    for (int32_t i = p->arrows.head[row]; i >= 0; i = p->arrows.next[i])
        rgm_proto_fixed64(&p->bytes, f->phase[i] == RGM_FLOW_PHASE_FINISH ? EVENT_FLOW_END : EVENT_FLOW,
                          (uint64_t)f->id[i] ^ (uint64_t)(f->kind[i] + 1) << 60);
}

// --- slices -----------------------------------------------------------------------------------------------

static void put_begin(rgm_perfetto *p, size_t track, size_t row) {
    const rgm_spans *s = &p->run->spans;
    rgm_kind kind = rgm_span_kind(p->run, row);
    rgm_name name = s->name[row], category = RGM_CELL(s, category, row, 0);
    bool instant = kind == RGM_KIND_INSTANT && !s->duration_ns[row];
    size_t mark = rgm_perfetto_begin_timed(p, s->start_ns[row]);
    rgm_perfetto_intern(p, name, category);
    size_t event =
        rgm_perfetto_begin_event(p, instant ? TYPE_INSTANT : TYPE_BEGIN, rgm_perfetto_track(track));
    uint64_t iid = category ? category + (uint64_t)KIND_IIDS
                            : (kind < RGM_KIND_COUNT ? kind : RGM_KIND_OTHER) + UINT64_C(1);
    rgm_proto_u64(&p->bytes, EVENT_CATEGORY, iid);
    rgm_proto_u64(&p->bytes, EVENT_NAME, name + UINT64_C(1));
    put_arrows(p, row);
    note_span(p, row);
    rgm_proto_end(&p->bytes, event);
    rgm_perfetto_end_packet(p, mark);
}

static void put_end(rgm_perfetto *p, size_t track, int64_t time) {
    size_t mark = rgm_perfetto_begin_timed(p, time),
           event = rgm_perfetto_begin_event(p, TYPE_END, rgm_perfetto_track(track));
    rgm_proto_end(&p->bytes, event);
    rgm_perfetto_end_packet(p, mark);
}

static void put_slices(rgm_perfetto *p, size_t track) {
    const rgm_tracks *t = &p->tracks;
    size_t depth = 0;
    for (uint32_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
        uint32_t row = t->spans[i];
        int64_t start = p->run->spans.start_ns[row];
        while (depth && p->ends[depth - 1] <= start) put_end(p, track, p->ends[--depth]);
        put_begin(p, track, row);
        if (rgm_span_kind(p->run, row) != RGM_KIND_INSTANT || p->run->spans.duration_ns[row])
            p->ends[depth++] = rgm_span_end(p->run, row);
    }
    while (depth) put_end(p, track, p->ends[--depth]);
}

// --- the whole --------------------------------------------------------------------------------------------

// Timestamps are unsigned: a run that begins before its time 0 is shifted to begin at 0.
static void find_shift(rgm_perfetto *p) {
    const rgm_run *run = p->run;
    for (size_t i = 0; i < run->spans.rows; i++)
        if (run->spans.start_ns[i] < p->shift_ns) p->shift_ns = run->spans.start_ns[i];
    for (size_t i = 0; i < run->memory.rows; i++)
        if (run->memory.time_ns[i] < p->shift_ns) p->shift_ns = run->memory.time_ns[i];
    for (size_t i = 0; i < run->counters.rows; i++)
        if (run->counters.time_ns[i] < p->shift_ns) p->shift_ns = run->counters.time_ns[i];
}

static rgm_status prepare(rgm_perfetto *p, rgm_error *err) {
    const rgm_run *run = p->run;
    size_t n = run->spans.rows;
    RGM_TRY(rgm_tracks_init(&p->tracks, run, err));
    RGM_TRY(rgm_span_rows_init(&p->launches, n, run->launches.span, run->launches.rows, err));
    RGM_TRY(rgm_span_rows_init(&p->operators, n, run->operators.span, run->operators.rows, err));
    RGM_TRY(rgm_span_rows_init(&p->frames, n, run->frames.span, run->frames.rows, err));
    RGM_TRY(rgm_span_rows_init(&p->collectives, n, run->collectives.span, run->collectives.rows, err));
    RGM_TRY(rgm_span_rows_init(&p->syncs, n, run->syncs.span, run->syncs.rows, err));
    RGM_TRY(find_arrows(p, err));
    p->seen = rgm_calloc(rgm_strings_count(&run->strings) + (size_t)1, 1);
    p->ends = rgm_malloc((n + 1) * sizeof *p->ends);
    if (!p->seen || !p->ends) return rgm_error_no_memory(err);
    find_shift(p);
    return RGM_OK;
}

static void release(rgm_perfetto *p) {
    rgm_tracks_release(&p->tracks);
    rgm_span_rows_release(&p->launches);
    rgm_span_rows_release(&p->operators);
    rgm_span_rows_release(&p->frames);
    rgm_span_rows_release(&p->collectives);
    rgm_span_rows_release(&p->syncs);
    rgm_free(p->launch);
    rgm_free(p->started.head);
    rgm_free(p->started.next);
    rgm_free(p->arrows.head);
    rgm_free(p->arrows.next);
    rgm_free(p->seen);
    rgm_free(p->ends);
    rgm_bytes_release(&p->bytes);
}

rgm_status rgm_export_perfetto(const rgm_run *run, const char *option, rgm_output *out, rgm_error *err) {
    (void)option;
    rgm_perfetto p = {.run = run, .out = out};
    rgm_status status = prepare(&p, err);
    if (status != RGM_OK) goto done;
    rgm_perfetto_begin(&p);
    for (size_t i = 0; i < p.tracks.n_processes; i++) put_process(&p, i);
    for (size_t t = 0; t < p.tracks.n_tracks; t++) put_track(&p, t);
    for (size_t t = 0; t < p.tracks.n_tracks && out->status == RGM_OK; t++) put_slices(&p, t);
    RGM_GOTO(rgm_perfetto_counters(&p, err));
    rgm_perfetto_memory(&p);
    rgm_output_append(out, p.bytes.data, p.bytes.length);
    if (p.bytes.failed) status = rgm_error_no_memory(err);
done:
    release(&p);
    return status;
}
