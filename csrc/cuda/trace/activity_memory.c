// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/activity_memory.h"

#include <string.h>

#include "cuda/trace/cupti_records.h"

// Of managed memory that lies on the host.
#define NO_DEVICE UINT32_MAX

enum { PAGEABLE = 1, PINNED = 2, KINDS = 8 };

static bool view(const void *record, size_t room, void *out, size_t size) {
    if (room < size) return false;
    memcpy(out, record, size);
    return true;
}

static bool has_pool_use(const rgm_activity_parser *parser) {
    return parser->how.version >= RGM_CUPTI_HAS_POOL_USE;
}

static int64_t bytes_of(uint64_t bytes) { return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes; }

void rgm_activity_memory_give(rgm_activity_parser *parser) {
    const rgm_device_sink *sink = &parser->how.sink;
    if (parser->memory_count) sink->memory(sink->arg, parser->memory, parser->memory_count);
    parser->memory_count = 0;
}

// The next row, NULL when its time is of no use (counted).
static rgm_device_memory_row *row_of(rgm_activity_parser *parser, uint64_t time) {
    if (time == 0 || time > INT64_MAX) {
        parser->counts.invalid++;
        return NULL;
    }
    if (parser->memory_count == RGM_ACTIVITY_BATCH) rgm_activity_memory_give(parser);
    rgm_device_memory_row *row = &parser->memory[parser->memory_count++];
    *row = (rgm_device_memory_row){.time_ns = rgm_activity_record_time(parser, time),
                                   .bytes = -1,
                                   .pool_bytes = -1,
                                   .pool_used = -1,
                                   .device = -1};
    return row;
}

static int16_t device_of(uint32_t device, uint32_t kind) {
    if (device == NO_DEVICE || kind == PAGEABLE || kind == PINNED) return -1;
    return device > INT16_MAX ? INT16_MAX : (int16_t)device;
}

// What a block is: as its own record says where it is given out, and as that one said where it comes back.
typedef struct {
    int16_t device;
    uint32_t kind;
    int64_t bytes;
} block;

static block block_of(rgm_activity_parser *parser, const rgm_cupti_memory *m) {
    block b = {device_of(m->device, m->memory_kind), m->memory_kind < KINDS ? m->memory_kind : 0,
               bytes_of(m->bytes)};
    bool begins = m->operation == RGM_CUPTI_MEMORY_ALLOCATION;
    rgm_id_entry *known =
        begins ? rgm_id_map_put(&parser->blocks, m->address) : rgm_id_map_find(&parser->blocks, m->address);
    if (!known) return b; // beyond what is kept, or of before tracing
    if (begins) {
        known->first = (uint64_t)(uint16_t)b.device << 8 | b.kind;
        known->second = (uint64_t)b.bytes;
        return b;
    }
    b = (block){(int16_t)(known->first >> 8), (uint32_t)(known->first & 0xff), (int64_t)known->second};
    rgm_id_map_remove(&parser->blocks, m->address);
    return b;
}

bool rgm_activity_memory_read(rgm_activity_parser *parser, const void *record, size_t room) {
    rgm_cupti_memory m;
    rgm_cupti_memory_use use = {0};
    if (!view(record, room, &m, sizeof m)) return false;
    if (has_pool_use(parser) && !view(record, room, &use, sizeof use)) return false;
    bool begins = m.operation == RGM_CUPTI_MEMORY_ALLOCATION;
    if (!m.address || (!begins && m.operation != RGM_CUPTI_MEMORY_RELEASE)) {
        parser->counts.invalid++;
        return true;
    }
    rgm_device_memory_row *row = row_of(parser, m.time);
    if (!row) return true;
    block b = block_of(parser, &m);
    row->action = begins ? RGM_ACTION_ALLOC : RGM_ACTION_FREE;
    row->address = m.address;
    row->device = b.device;
    row->bytes = b.bytes;
    row->memory = rgm_activity_memory_name(&parser->names, b.kind);
    row->correlation = m.correlation;
    if (m.pool_type != RGM_CUPTI_POOL_LOCAL && m.pool_type != RGM_CUPTI_POOL_IMPORTED) return true;
    row->pool = m.pool;
    if (m.pool_type == RGM_CUPTI_POOL_IMPORTED) return true; // of another process, which knows its size
    row->pool_bytes = bytes_of(m.pool_bytes);
    if (has_pool_use(parser)) row->pool_used = bytes_of(use.pool_used);
    return true;
}

bool rgm_activity_pool_read(rgm_activity_parser *parser, const void *record, size_t room) {
    static const uint8_t actions[] = {[RGM_CUPTI_POOL_CREATED] = RGM_ACTION_POOL_CREATE,
                                      [RGM_CUPTI_POOL_DESTROYED] = RGM_ACTION_POOL_DESTROY,
                                      [RGM_CUPTI_POOL_TRIMMED] = RGM_ACTION_POOL_TRIM};
    rgm_cupti_pool p;
    rgm_cupti_pool_use use = {0};
    if (!view(record, room, &p, sizeof p)) return false;
    if (has_pool_use(parser) && !view(record, room, &use, sizeof use)) return false;
    if (!p.operation || p.operation >= sizeof actions) {
        parser->counts.invalid++;
        return true;
    }
    rgm_device_memory_row *row = row_of(parser, p.time);
    if (!row) return true;
    row->action = actions[p.operation];
    row->address = row->pool = p.pool;
    row->device = device_of(p.device, 0);
    row->correlation = p.correlation;
    if (p.pool_type != RGM_CUPTI_POOL_LOCAL) return true;
    row->bytes = row->pool_bytes = bytes_of(p.bytes);
    if (has_pool_use(parser)) row->pool_used = bytes_of(use.used);
    return true;
}
