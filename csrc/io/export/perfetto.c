// SPDX-License-Identifier: Apache-2.0
#include "io/export/perfetto.h"

#include <math.h>
#include <string.h>

#include "base/tokens.h"

static const char *const kind_names[RGM_KIND_COUNT] = {RGM_SPAN_KINDS(RGM_TOKEN)};

static void pass(rgm_perfetto *p) {
    if (p->bytes.failed || p->bytes.length < 65536) return;
    rgm_output_append(p->out, p->bytes.data, p->bytes.length);
    rgm_bytes_reset(&p->bytes);
}

size_t rgm_perfetto_begin_packet(rgm_perfetto *p, unsigned flags) {
    size_t mark = rgm_proto_begin(&p->bytes, TRACE_PACKET);
    rgm_proto_u64(&p->bytes, PACKET_SEQUENCE, SEQUENCE);
    rgm_proto_u64(&p->bytes, PACKET_FLAGS, flags);
    return mark;
}

void rgm_perfetto_end_packet(rgm_perfetto *p, size_t mark) {
    rgm_proto_end(&p->bytes, mark);
    pass(p);
}

size_t rgm_perfetto_begin_timed(rgm_perfetto *p, int64_t time) {
    size_t mark = rgm_perfetto_begin_packet(p, FLAG_NEEDS_STATE);
    rgm_proto_u64(&p->bytes, PACKET_TIMESTAMP, (uint64_t)time - (uint64_t)p->shift_ns);
    return mark;
}

size_t rgm_perfetto_begin_event(rgm_perfetto *p, unsigned type, uint64_t uuid) {
    size_t mark = rgm_proto_begin(&p->bytes, PACKET_EVENT);
    rgm_proto_u64(&p->bytes, EVENT_TYPE, type);
    rgm_proto_u64(&p->bytes, EVENT_TRACK, uuid);
    return mark;
}

static void put_interned(rgm_perfetto *p, unsigned list, uint64_t iid, const char *text, size_t length) {
    size_t mark = rgm_proto_begin(&p->bytes, list);
    rgm_proto_u64(&p->bytes, IID, iid);
    rgm_proto_text(&p->bytes, IID_NAME, text, length);
    rgm_proto_end(&p->bytes, mark);
}

void rgm_perfetto_begin(rgm_perfetto *p) {
#define ANNOTATION_KEY(token, key) key,
    static const char *const keys[ANNOTATION_KEYS] = {"", RGM_PERFETTO_ANNOTATIONS(ANNOTATION_KEY)};
    size_t mark = rgm_perfetto_begin_packet(p, FLAG_CLEARED),
           list = rgm_proto_begin(&p->bytes, PACKET_INTERNED);
    for (size_t i = 1; i < ANNOTATION_KEYS; i++)
        put_interned(p, INTERNED_ANNOTATIONS, i, keys[i], strlen(keys[i]));
    for (size_t k = 0; k < RGM_KIND_COUNT; k++)
        put_interned(p, INTERNED_CATEGORIES, k + 1, kind_names[k], strlen(kind_names[k]));
    rgm_proto_end(&p->bytes, list);
    rgm_perfetto_end_packet(p, mark);
}

// Interned data stands in the packet of the first use.
void rgm_perfetto_intern(rgm_perfetto *p, rgm_name name, rgm_name category) {
    bool fresh_name = !(p->seen[name] & 1u), fresh_category = category && !(p->seen[category] & 2u);
    if (!fresh_name && !fresh_category) return;
    size_t mark = rgm_proto_begin(&p->bytes, PACKET_INTERNED);
    rgm_string text = rgm_run_text(p->run, name);
    if (fresh_name) put_interned(p, INTERNED_NAMES, name + UINT64_C(1), text.data, text.length);
    text = rgm_run_text(p->run, category);
    if (fresh_category)
        put_interned(p, INTERNED_CATEGORIES, category + (uint64_t)KIND_IIDS, text.data, text.length);
    rgm_proto_end(&p->bytes, mark);
    p->seen[name] |= 1u;
    if (category) p->seen[category] |= 2u;
}

void rgm_perfetto_note_i64(rgm_perfetto *p, unsigned key, int64_t value) {
    if (value == -1) return;
    size_t mark = rgm_proto_begin(&p->bytes, EVENT_ANNOTATION);
    rgm_proto_u64(&p->bytes, ANNOTATION_IID, key);
    rgm_proto_i64(&p->bytes, ANNOTATION_INT, value);
    rgm_proto_end(&p->bytes, mark);
}

void rgm_perfetto_note_f64(rgm_perfetto *p, unsigned key, double value) {
    if (isnan(value)) return;
    size_t mark = rgm_proto_begin(&p->bytes, EVENT_ANNOTATION);
    rgm_proto_u64(&p->bytes, ANNOTATION_IID, key);
    rgm_proto_f64(&p->bytes, ANNOTATION_F64, value);
    rgm_proto_end(&p->bytes, mark);
}

void rgm_perfetto_note_text(rgm_perfetto *p, unsigned key, rgm_name name) {
    if (!name) return;
    rgm_string text = rgm_run_text(p->run, name);
    size_t mark = rgm_proto_begin(&p->bytes, EVENT_ANNOTATION);
    rgm_proto_u64(&p->bytes, ANNOTATION_IID, key);
    rgm_proto_text(&p->bytes, ANNOTATION_TEXT, text.data, text.length);
    rgm_proto_end(&p->bytes, mark);
}
