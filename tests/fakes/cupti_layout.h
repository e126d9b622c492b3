// SPDX-License-Identifier: Apache-2.0
// Activity records as bytes, by version of CUPTI's interface: sizes, and fields at their offsets. Written
// apart from the views that the parser reads with (csrc/cuda/trace/cupti_records.h), so that one checks the
// other.
#ifndef RGM_FAKES_CUPTI_LAYOUT_H
#define RGM_FAKES_CUPTI_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    LAYOUT_MEMCPY = 1,
    LAYOUT_MEMSET = 2,
    LAYOUT_KERNEL = 10,
    LAYOUT_CONTEXT = 9,
    LAYOUT_MARKER = 12,
    LAYOUT_OVERHEAD = 17,
    LAYOUT_PEER_COPY = 22,
    LAYOUT_EVENT = 36,
    LAYOUT_SYNC = 38,
    LAYOUT_EXTERNAL = 39,
    LAYOUT_MEMORY = 49,
    LAYOUT_MEMORY_POOL = 50,
    LAYOUT_GRAPH = 51,
    LAYOUT_LARGEST = 256,
};

// Of 10.2, 11.0, 11.1, 11.2, 11.6, 12.0, 13.0, 13.1, 13.2 and 13.4.
static inline size_t layout_kernel_size(uint32_t version) {
    static const struct {
        uint32_t first;
        size_t bytes;
    } sizes[] = {{0, 144},  {13, 160},     {14, 168},     {15, 176},     {17, 200},
                 {19, 208}, {130000, 216}, {130100, 224}, {130200, 232}, {130400, 248}};
    size_t size = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (version >= sizes[i].first) size = sizes[i].bytes;
    return size;
}

// Bytes of a record, 0 for an unknown kind. The sizes are those of the headers' structures; which release
// came with which is known for 13.0, whose own cuptiActivityGetNextRecord steps so, and a guess for some of
// the others.
static inline size_t layout_size(uint32_t version, uint32_t kind) {
    switch (kind) {
    case 3:
    case LAYOUT_KERNEL: return layout_kernel_size(version);
    case LAYOUT_MEMCPY:
        return version < 13 ? 64 : version < 14 ? 72 : version < 17 ? 80 : version < 130000 ? 88 : 96;
    case LAYOUT_MEMSET: return version < 13 ? 64 : version < 14 ? 72 : version < 17 ? 80 : 88;
    case LAYOUT_PEER_COPY: return version < 13 ? 72 : version < 14 ? 80 : version < 17 ? 88 : 96;
    case LAYOUT_CONTEXT: return version < 24 ? 16 : version < 130000 ? 24 : 32;
    case LAYOUT_MARKER: return 56;
    case LAYOUT_OVERHEAD: return version < 21 ? 40 : version < 130000 ? 48 : 56;
    case LAYOUT_EVENT: return version < 26 ? 24 : 56;
    case LAYOUT_SYNC: return version < 26 ? 40 : 56;
    case LAYOUT_EXTERNAL: return 24;
    case LAYOUT_MEMORY: return version < 19 ? 112 : version < 26 ? 120 : 128;
    case LAYOUT_MEMORY_POOL: return version < 19 ? 64 : version < 130000 ? 72 : 80;
    case LAYOUT_GRAPH: return version < 26 ? 48 : 56;
    default: return 0;
    }
}

static inline void put16(uint8_t *record, size_t at, uint16_t value) { memcpy(record + at, &value, 2); }
static inline void put32(uint8_t *record, size_t at, uint32_t value) { memcpy(record + at, &value, 4); }
static inline void put64(uint8_t *record, size_t at, uint64_t value) { memcpy(record + at, &value, 8); }

typedef struct {
    uint64_t start, end, bytes, name, node, queued, submitted;
    uint32_t device, context, stream, correlation, graph;
    uint32_t grid[3], block[3], cluster[3], most_clusters, static_shared, dynamic_shared;
    uint16_t registers;
    uint8_t copy, from, to;
} layout_work;

// Each writes a record and returns its size.
static inline size_t layout_kernel(uint8_t *r, uint32_t version, const layout_work *w) {
    size_t size = layout_kernel_size(version);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_KERNEL);
    put16(r, 6, w->registers);
    put64(r, 16, w->start);
    put64(r, 24, w->end);
    put32(r, 40, w->device);
    put32(r, 44, w->context);
    put32(r, 48, w->stream);
    for (size_t i = 0; i < 3; i++) {
        put32(r, 52 + 4 * i, w->grid[i]);
        put32(r, 64 + 4 * i, w->block[i]);
    }
    put32(r, 76, w->static_shared);
    put32(r, 80, w->dynamic_shared);
    put32(r, 92, w->correlation);
    put64(r, 104, w->name);
    put64(r, 120, w->queued);
    put64(r, 128, w->submitted);
    if (size >= 160) put64(r, 144, w->node);
    if (size >= 168) put32(r, 156, w->graph);
    if (size >= 200)
        for (size_t i = 0; i < 3; i++) put32(r, 176 + 4 * i, w->cluster[i]);
    if (size >= 208) put32(r, 204, w->most_clusters);
    return size;
}

static inline size_t layout_copy(uint8_t *r, uint32_t version, const layout_work *w) {
    size_t size = layout_size(version, LAYOUT_MEMCPY);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_MEMCPY);
    r[4] = w->copy;
    r[5] = w->from;
    r[6] = w->to;
    put64(r, 8, w->bytes);
    put64(r, 16, w->start);
    put64(r, 24, w->end);
    put32(r, 32, w->device);
    put32(r, 36, w->context);
    put32(r, 40, w->stream);
    put32(r, 44, w->correlation);
    if (size >= 72) put64(r, 64, w->node);
    if (size >= 80) put32(r, 72, w->graph);
    return size;
}

static inline size_t layout_peer_copy(uint8_t *r, uint32_t version, const layout_work *w) {
    size_t size = layout_size(version, LAYOUT_PEER_COPY);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_PEER_COPY);
    r[4] = w->copy;
    r[5] = w->from;
    r[6] = w->to;
    put64(r, 8, w->bytes);
    put64(r, 16, w->start);
    put64(r, 24, w->end);
    put32(r, 32, w->device);
    put32(r, 36, w->context);
    put32(r, 40, w->stream);
    put32(r, 60, w->correlation);
    if (size >= 80) put64(r, 72, w->node);
    if (size >= 88) put32(r, 80, w->graph);
    return size;
}

static inline size_t layout_set(uint8_t *r, uint32_t version, const layout_work *w) {
    size_t size = layout_size(version, LAYOUT_MEMSET);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_MEMSET);
    put64(r, 8, w->bytes);
    put64(r, 16, w->start);
    put64(r, 24, w->end);
    put32(r, 32, w->device);
    put32(r, 36, w->context);
    put32(r, 40, w->stream);
    put32(r, 44, w->correlation);
    put16(r, 50, w->to);
    if (size >= 72) put64(r, 64, w->node);
    if (size >= 80) put32(r, 72, w->graph);
    return size;
}

static inline size_t layout_graph(uint8_t *r, uint32_t version, const layout_work *w) {
    size_t size = layout_size(version, LAYOUT_GRAPH);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_GRAPH);
    put32(r, 4, w->correlation);
    put64(r, 8, w->start);
    put64(r, 16, w->end);
    put32(r, 24, w->device);
    put32(r, 28, w->graph);
    put32(r, 32, w->context);
    put32(r, 36, w->stream);
    return size;
}

static inline size_t layout_sync(uint8_t *r, uint32_t version, uint32_t type, uint64_t start, uint64_t end,
                                 uint32_t correlation, uint32_t context, uint32_t stream, uint32_t event) {
    size_t size = layout_size(version, LAYOUT_SYNC);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_SYNC);
    put32(r, 4, type);
    put64(r, 8, start);
    put64(r, 16, end);
    put32(r, 24, correlation);
    put32(r, 28, context);
    put32(r, 32, stream);
    put32(r, 36, event);
    return size;
}

static inline size_t layout_event(uint8_t *r, uint32_t version, uint32_t correlation, uint32_t context,
                                  uint32_t stream, uint32_t event) {
    size_t size = layout_size(version, LAYOUT_EVENT);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_EVENT);
    put32(r, 4, correlation);
    put32(r, 8, context);
    put32(r, 12, stream);
    put32(r, 16, event);
    return size;
}

static inline size_t layout_overhead(uint8_t *r, uint32_t version, uint32_t kind, uint32_t thread,
                                     uint64_t start, uint64_t end) {
    size_t size = layout_size(version, LAYOUT_OVERHEAD);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_OVERHEAD);
    put32(r, 4, kind);
    put32(r, 8, 2);
    put32(r, 16, thread);
    put64(r, 24, start);
    put64(r, 32, end);
    return size;
}

static inline size_t layout_external(uint8_t *r, uint64_t external, uint32_t correlation) {
    memset(r, 0, 24);
    put32(r, 0, LAYOUT_EXTERNAL);
    put32(r, 4, 3);
    put64(r, 8, external);
    put32(r, 16, correlation);
    return 24;
}

// multiprocessors: of a green context, 0 for another one.
static inline size_t layout_context(uint8_t *r, uint32_t version, uint32_t context, uint32_t device,
                                    uint16_t multiprocessors) {
    size_t size = layout_size(version, LAYOUT_CONTEXT);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_CONTEXT);
    put32(r, 4, context);
    put32(r, 8, device);
    if (!multiprocessors || size < 24) return size;
    r[20] = 1;
    put16(r, 22, multiprocessors);
    return size;
}

typedef struct {
    uint32_t operation, kind, correlation, process, device, context, stream, pool_type;
    uint64_t address, bytes, time, pool, pool_bytes, pool_used;
} layout_memory;

static inline size_t layout_memory_record(uint8_t *r, uint32_t version, const layout_memory *m) {
    size_t size = layout_size(version, LAYOUT_MEMORY);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_MEMORY);
    put32(r, 4, m->operation);
    put32(r, 8, m->kind);
    put32(r, 12, m->correlation);
    put64(r, 16, m->address);
    put64(r, 24, m->bytes);
    put64(r, 32, m->time);
    put32(r, 48, m->process);
    put32(r, 52, m->device);
    put32(r, 56, m->context);
    put32(r, 60, m->stream);
    put32(r, 72, m->pool_type != 0);
    put32(r, 80, m->pool_type);
    put64(r, 88, m->pool);
    put64(r, 104, m->pool_bytes);
    if (size >= 120) put64(r, 112, m->pool_used);
    return size;
}

static inline size_t layout_pool_record(uint8_t *r, uint32_t version, const layout_memory *m) {
    size_t size = layout_size(version, LAYOUT_MEMORY_POOL);
    memset(r, 0, size);
    put32(r, 0, LAYOUT_MEMORY_POOL);
    put32(r, 4, m->operation);
    put32(r, 8, m->pool_type);
    put32(r, 12, m->correlation);
    put32(r, 16, m->process);
    put32(r, 20, m->device);
    put64(r, 32, m->pool);
    put64(r, 40, m->pool_bytes);
    put64(r, 56, m->time);
    if (size >= 72) put64(r, 64, m->pool_used);
    return size;
}

// flags: 1 instant, 2 start, 4 end
static inline size_t layout_marker(uint8_t *r, uint32_t flags, uint64_t time, uint32_t id, uint32_t thread,
                                   uint64_t name) {
    memset(r, 0, 56);
    put32(r, 0, LAYOUT_MARKER);
    put32(r, 4, flags);
    put64(r, 8, time);
    put32(r, 16, id);
    put32(r, 20, 2);
    put32(r, 28, thread);
    put64(r, 40, name);
    return 56;
}

// As cuptiActivityGetNextRecord: 0, 12 at the end, 21 for what is no record.
static inline int layout_next(uint32_t version, uint8_t *buffer, size_t valid, void **record) {
    uint32_t kind;
    uint8_t *at = buffer;
    if (!buffer) return 1;
    if (*record) {
        memcpy(&kind, *record, 4);
        at = (uint8_t *)*record + layout_size(version, kind);
    }
    size_t left = valid - (size_t)(at - buffer);
    if (at >= buffer + valid) return 12;
    if (left < 4) return 21;
    memcpy(&kind, at, 4);
    size_t size = layout_size(version, kind);
    if (!size) return 21;
    *record = at;
    return 0;
}

#endif
