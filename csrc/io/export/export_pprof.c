// SPDX-License-Identifier: Apache-2.0
// pprof's profile.proto: one sample a stack, with host self time, device time and the number of spans. Field
// numbers are those of the published definition. What is written is the plain message; pprof reads it
// compressed.
#include "base/memory.h"
#include "io/export/export.h"
#include "io/export/proto_write.h"
#include "io/export/stacks.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_DEFAULT = 14
};
enum {
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3
};
enum { TEXT_NONE, TEXT_HOST, TEXT_DEVICE, TEXT_SPANS, TEXT_NS, TEXT_COUNT, TEXT_FIRST };

typedef struct {
    rgm_tracks tracks;
    rgm_folded stacks;
    uint64_t *of_name, *of_lane; // location, function and string less TEXT_FIRST, from 1; 0 is not used
    int32_t *first;              // a node of each location
    uint64_t locations;
    rgm_bytes bytes;
    rgm_output *out;
} pprof;

static void pass(pprof *p) {
    rgm_output_append(p->out, p->bytes.data, p->bytes.length);
    if (!p->bytes.failed) rgm_bytes_reset(&p->bytes);
}

static uint64_t *location_of(const pprof *p, const rgm_stack_node *node) {
    return node->parent < 0 ? &p->of_lane[node->frame] : &p->of_name[node->frame];
}

static rgm_status number_locations(pprof *p, rgm_error *err) {
    const rgm_folded *s = &p->stacks;
    p->of_name = rgm_calloc(rgm_strings_count(&p->tracks.run->strings) + (size_t)1, sizeof *p->of_name);
    p->of_lane = rgm_calloc(p->tracks.n_lanes, sizeof *p->of_lane);
    p->first = rgm_malloc((s->count + 1) * sizeof *p->first);
    if (!p->of_name || !p->of_lane || !p->first) return rgm_error_no_memory(err);
    for (size_t i = 0; i < s->count; i++) {
        uint64_t *location = location_of(p, &s->nodes[i]);
        if (*location) continue;
        p->first[p->locations] = (int32_t)i;
        *location = ++p->locations;
    }
    return RGM_OK;
}

static void put_value_type(pprof *p, unsigned type, unsigned unit) {
    size_t mark = rgm_proto_begin(&p->bytes, PROFILE_SAMPLE_TYPE);
    rgm_proto_u64(&p->bytes, VALUE_TYPE, type);
    rgm_proto_u64(&p->bytes, VALUE_UNIT, unit);
    rgm_proto_end(&p->bytes, mark);
}

static void put_sample(pprof *p, size_t leaf) {
    const rgm_stack_node *nodes = p->stacks.nodes, *node = &nodes[leaf];
    size_t mark = rgm_proto_begin(&p->bytes, PROFILE_SAMPLE),
           list = rgm_proto_begin(&p->bytes, SAMPLE_LOCATION);
    for (int32_t at = (int32_t)leaf; at >= 0; at = nodes[at].parent)
        rgm_proto_varint(&p->bytes, *location_of(p, &nodes[at]));
    rgm_proto_end(&p->bytes, list);
    list = rgm_proto_begin(&p->bytes, SAMPLE_VALUE);
    rgm_proto_varint(&p->bytes, (uint64_t)node->host_ns);
    rgm_proto_varint(&p->bytes, (uint64_t)node->device_ns);
    rgm_proto_varint(&p->bytes, (uint64_t)(node->host_count + node->device_count));
    rgm_proto_end(&p->bytes, list);
    rgm_proto_end(&p->bytes, mark);
    pass(p);
}

static void put_location(pprof *p, uint64_t id) {
    size_t mark = rgm_proto_begin(&p->bytes, PROFILE_LOCATION);
    rgm_proto_u64(&p->bytes, LOCATION_ID, id);
    size_t line = rgm_proto_begin(&p->bytes, LOCATION_LINE);
    rgm_proto_u64(&p->bytes, LINE_FUNCTION, id);
    rgm_proto_end(&p->bytes, line);
    rgm_proto_end(&p->bytes, mark);
    mark = rgm_proto_begin(&p->bytes, PROFILE_FUNCTION);
    rgm_proto_u64(&p->bytes, FUNCTION_ID, id);
    rgm_proto_u64(&p->bytes, FUNCTION_NAME, id - 1 + TEXT_FIRST);
    rgm_proto_u64(&p->bytes, FUNCTION_SYSTEM_NAME, id - 1 + TEXT_FIRST);
    rgm_proto_end(&p->bytes, mark);
    pass(p);
}

static void put_strings(pprof *p) {
    static const char *const fixed[TEXT_FIRST] = {"", "host", "device", "spans", "nanoseconds", "count"};
    char root[2 * RGM_TRACK_NAME_ROOM];
    for (size_t i = 0; i < TEXT_FIRST; i++)
        rgm_proto_text(&p->bytes, PROFILE_STRING, fixed[i], strlen(fixed[i]));
    for (uint64_t i = 0; i < p->locations; i++) {
        const rgm_stack_node *node = &p->stacks.nodes[p->first[i]];
        if (node->parent < 0) {
            rgm_proto_text(&p->bytes, PROFILE_STRING, root,
                           rgm_stack_root(&p->stacks, node, root, sizeof root));
        } else {
            rgm_string name = rgm_run_text(p->tracks.run, node->frame);
            rgm_proto_text(&p->bytes, PROFILE_STRING, name.data, name.length);
        }
        pass(p);
    }
}

static void put_profile(pprof *p) {
    const rgm_run *run = p->tracks.run;
    put_value_type(p, TEXT_HOST, TEXT_NS);
    put_value_type(p, TEXT_DEVICE, TEXT_NS);
    put_value_type(p, TEXT_SPANS, TEXT_COUNT);
    for (size_t i = 0; i < p->stacks.count; i++)
        if (p->stacks.nodes[i].host_count || p->stacks.nodes[i].device_count) put_sample(p, i);
    for (uint64_t id = 1; id <= p->locations; id++) put_location(p, id);
    put_strings(p);
    if (run->start_unix_ns > 0) rgm_proto_i64(&p->bytes, PROFILE_TIME, run->start_unix_ns);
    int64_t length;
    if (!__builtin_sub_overflow(run->end_ns, run->start_ns, &length) && length > 0)
        rgm_proto_i64(&p->bytes, PROFILE_DURATION, length);
    rgm_proto_u64(&p->bytes, PROFILE_DEFAULT, TEXT_HOST);
    pass(p);
}

rgm_status rgm_export_pprof(const rgm_run *run, const char *option, rgm_output *out, rgm_error *err) {
    (void)option;
    pprof p = {.out = out};
    rgm_status status = RGM_OK;
    RGM_GOTO(rgm_tracks_init(&p.tracks, run, err));
    RGM_GOTO(rgm_stacks_init(&p.stacks, &p.tracks, err));
    RGM_GOTO(number_locations(&p, err));
    put_profile(&p);
    if (p.bytes.failed) status = rgm_error_no_memory(err);
done:
    rgm_free(p.of_name);
    rgm_free(p.of_lane);
    rgm_free(p.first);
    rgm_bytes_release(&p.bytes);
    rgm_stacks_release(&p.stacks);
    rgm_tracks_release(&p.tracks);
    return status;
}
