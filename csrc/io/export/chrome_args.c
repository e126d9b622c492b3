// SPDX-License-Identifier: Apache-2.0
// Arguments of a span under the names that torch.profiler gives them.
#include "io/export/chrome.h"

void rgm_chrome_json(rgm_json *j, rgm_string text) {
    if (text.length && (rgm_json_is(text.data, text.length, '[') || rgm_json_is(text.data, text.length, '{')))
        rgm_json_raw(j, text.data, text.length);
    else
        rgm_json_string(j, text);
}

void rgm_chrome_member(rgm_json *j, const rgm_json_members *member) {
    rgm_json_raw(j, member->key - 1, member->key_length + 2);
    rgm_output_byte(j->out, ':');
    rgm_output_append(j->out, member->value, rgm_json_value_length(member));
}

// The members of stored JSON come first: of a key that is there twice, readers take the last.
static void put_metadata(rgm_chrome *c, rgm_name name) {
    rgm_string text = rgm_chrome_text(c, name);
    if (!text.length) return;
    if (!rgm_json_is(text.data, text.length, '{')) {
        RGM_JSON_STRING(&c->json, "metadata", text);
        return;
    }
    rgm_json_members members = rgm_json_members_in(text.data, text.length);
    while (rgm_json_next(&members)) rgm_chrome_member(&c->json, &members);
}

static void put_triple(rgm_json *j, int32_t x, int32_t y, int32_t z) {
    rgm_json_open(j, '[');
    rgm_json_i64(j, x);
    rgm_json_i64(j, y);
    rgm_json_i64(j, z);
    rgm_json_close(j, ']');
}

// 0.29 is 29, not 28.999999999999996.
static double percent(double share) { return round(share * 1e11) / 1e9; }

static void put_launch(rgm_chrome *c, int32_t row) {
    const rgm_launches *t = &c->run->launches;
    if (row < 0) return;
    RGM_JSON_KEY(&c->json, "grid");
    put_triple(&c->json, t->grid_x[row], t->grid_y[row], t->grid_z[row]);
    RGM_JSON_KEY(&c->json, "block");
    put_triple(&c->json, t->block_x[row], t->block_y[row], t->block_z[row]);
    RGM_CHROME_I64(c, "registers per thread", t->registers[row]);
    RGM_CHROME_I64(c, "shared memory", t->shared_bytes[row]);
    RGM_CHROME_F64(c, "blocks per SM", t->blocks_per_sm[row]);
    RGM_CHROME_F64(c, "warps per SM", t->warps_per_sm[row]);
    RGM_CHROME_F64(c, "theoretical occupancy %", percent(t->occupancy[row]));
    RGM_CHROME_F64(c, "est. achieved occupancy %", percent(t->estimated_occupancy[row]));
    RGM_CHROME_I64(c, "graph id", t->graph[row]);
    RGM_CHROME_I64(c, "graph node id", t->graph_node[row]);
}

static void put_operator(rgm_chrome *c, int32_t row) {
    const rgm_operators *t = &c->run->operators;
    if (row < 0) return;
    RGM_CHROME_I64(c, "Sequence number", t->sequence[row]);
    RGM_CHROME_I64(c, "Fwd thread id", t->forward_thread[row]);
    RGM_CHROME_JSON(c, "Input Dims", t->shapes[row]);
    RGM_CHROME_JSON(c, "Input type", t->types[row]);
    RGM_CHROME_JSON(c, "Input Strides", t->strides[row]);
    RGM_CHROME_JSON(c, "Concrete Inputs", t->values[row]);
    RGM_CHROME_TEXT(c, "Call stack", t->stack[row]);
    RGM_CHROME_TEXT(c, "Module Hierarchy", t->module[row]);
}

static void put_frame(rgm_chrome *c, int32_t row) {
    const rgm_frames *t = &c->run->frames;
    if (row < 0) return;
    RGM_CHROME_I64(c, "Python id", t->id[row]);
    RGM_CHROME_I64(c, "Python parent id", t->parent_id[row]);
    RGM_CHROME_I64(c, "Python module id", t->module_id[row]);
}

static void put_collective(rgm_chrome *c, int32_t row) {
    const rgm_collectives *t = &c->run->collectives;
    if (row < 0) return;
    RGM_CHROME_TEXT(c, "Collective name", t->collective[row]);
    RGM_CHROME_TEXT(c, "dtype", t->element_type[row]);
    RGM_CHROME_I64(c, "In msg nelems", t->in_elements[row]);
    RGM_CHROME_I64(c, "Out msg nelems", t->out_elements[row]);
    RGM_CHROME_I64(c, "Group size", t->group_size[row]);
    RGM_CHROME_TEXT(c, "Process Group Name", t->group_name[row]);
    RGM_CHROME_TEXT(c, "Process Group Description", t->group_description[row]);
    RGM_CHROME_TEXT(c, "Process Group Ranks", t->group_ranks[row]);
    RGM_CHROME_TEXT(c, "In split size", t->in_split[row]);
    RGM_CHROME_TEXT(c, "Out split size", t->out_split[row]);
    RGM_CHROME_I64(c, "Rank", t->rank[row]);
    RGM_CHROME_I64(c, "Src Rank", t->source_rank[row]);
    RGM_CHROME_I64(c, "Dst Rank", t->destination_rank[row]);
    RGM_CHROME_I64(c, "Global rank start", t->global_rank_start[row]);
    RGM_CHROME_I64(c, "Global rank stride", t->global_rank_stride[row]);
    RGM_CHROME_I64(c, "Seq", t->sequence[row]);
    RGM_CHROME_I64(c, "Comms Id", t->communicator[row]);
}

static void put_sync(rgm_chrome *c, int32_t row) {
    const rgm_syncs *t = &c->run->syncs;
    if (row < 0) return;
    RGM_CHROME_TEXT(c, "cuda_sync_kind", t->sync[row]);
    RGM_CHROME_I64(c, "stream", t->stream[row]);
    RGM_CHROME_I64(c, "wait_on_stream", t->waits_on_stream[row]);
    RGM_CHROME_I64(c, "wait_on_cuda_event_id", t->event[row]);
    RGM_CHROME_I64(c, "wait_on_cuda_event_record_corr_id", t->record_correlation[row]);
}

void rgm_chrome_args(rgm_chrome *c, size_t row) {
    const rgm_spans *s = &c->run->spans;
    uint32_t lane = RGM_CELL(s, lane, row, 0);
    put_metadata(c, RGM_CELL(s, metadata, row, 0));
    RGM_CHROME_I64(c, "External id", RGM_CELL(s, external_id, row, -1));
    RGM_CHROME_I64(c, "correlation", RGM_CELL(s, correlation, row, -1));
    RGM_CHROME_I64(c, "bytes", RGM_CELL(s, bytes, row, -1));
    if (rgm_span_is_work(c->run, row)) {
        RGM_CHROME_I64(c, "device", RGM_LANE_CELL(c->run, device, lane, -1));
        RGM_CHROME_I64(c, "stream", RGM_LANE_CELL(c->run, thread, lane, -1));
    }
    put_launch(c, rgm_span_row(&c->launches, row));
    put_operator(c, rgm_span_row(&c->operators, row));
    put_frame(c, rgm_span_row(&c->frames, row));
    put_collective(c, rgm_span_row(&c->collectives, row));
    put_sync(c, rgm_span_row(&c->syncs, row));
}
