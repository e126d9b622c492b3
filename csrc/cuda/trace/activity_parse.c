// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/activity_parse.h"

#include <string.h>

#include "cuda/trace/activity_memory.h"
#include "cuda/trace/cupti_records.h"

// A buffer and the place in it.
typedef struct {
    rgm_activity_parser *parser;
    uint8_t *buffer;
    size_t valid;
    void *record;
    size_t room; // from the record to the end of what is valid
} reading;

// Records may lie at any address in a buffer of a test, so they are copied out. False when it is cut off.
static bool view(const reading *r, void *out, size_t size) {
    if (r->room < size) return false;
    memcpy(out, r->record, size);
    return true;
}
#define VIEW(r, out) view(r, &(out), sizeof(out))

void rgm_activity_parser_init(rgm_activity_parser *parser, const rgm_activity_reading *how) {
    *parser = (rgm_activity_parser){.how = *how,
                                    .events = {.most = RGM_ACTIVITY_EVENTS_KNOWN},
                                    .ranges = {.most = RGM_ACTIVITY_RANGES_OPEN},
                                    .blocks = {.most = RGM_ACTIVITY_BLOCKS_KNOWN}};
    rgm_activity_names_init(&parser->names, how->sink);
}

void rgm_activity_parser_release(rgm_activity_parser *parser) {
    rgm_activity_names_release(&parser->names);
    rgm_id_map_release(&parser->events);
    rgm_id_map_release(&parser->ranges);
    rgm_id_map_release(&parser->blocks);
    rgm_timebase_release(&parser->clock);
}

static const char *text_at(const rgm_activity_parser *parser, uint64_t address) {
    if (parser->how.text) return parser->how.text(address);
    return (const char *)(uintptr_t)address;
}

// --- rows -------------------------------------------------------------------------------------------------

static void give(rgm_activity_parser *parser) {
    const rgm_device_sink *sink = &parser->how.sink;
    if (parser->row_count) sink->activities(sink->arg, parser->rows, parser->row_count);
    if (parser->wait_count) sink->queue_times(sink->arg, parser->waits, parser->wait_count);
    parser->row_count = parser->wait_count = 0;
    rgm_activity_memory_give(parser);
}

int64_t rgm_activity_record_time(const rgm_activity_parser *parser, uint64_t time) {
    if (parser->clock.count) return rgm_timebase_ns(&parser->clock, time);
    return time > INT64_MAX ? INT64_MAX : (int64_t)time;
}

// The next row with its times, NULL when they are of no use (counted).
static rgm_activity_row *row_of(rgm_activity_parser *parser, rgm_kind kind, uint64_t start, uint64_t end) {
    if (start == 0 || end < start || end > INT64_MAX) {
        parser->counts.invalid++;
        return NULL;
    }
    if (parser->row_count == RGM_ACTIVITY_BATCH) give(parser);
    rgm_activity_row *row = &parser->rows[parser->row_count++];
    *row = (rgm_activity_row){.start_ns = rgm_activity_record_time(parser, start),
                              .bytes = -1,
                              .graph_node = -1,
                              .graph = UINT32_MAX,
                              .device = -1,
                              .kind = (uint8_t)kind};
    row->duration_ns = rgm_activity_record_time(parser, end) - row->start_ns;
    if (row->duration_ns < 0) row->duration_ns = 0; // two segments of the clock met
    return row;
}

// The entry of the context; NULL where there is no room for another one.
static rgm_context_device *learn_context(rgm_activity_parser *parser, uint32_t context, uint32_t device) {
    for (size_t i = 0; i < parser->context_count; i++)
        if (parser->contexts[i].context == context) return &parser->contexts[i];
    if (parser->context_count == RGM_ACTIVITY_CONTEXTS || device > INT16_MAX) return NULL;
    rgm_context_device *fresh = &parser->contexts[parser->context_count++];
    *fresh = (rgm_context_device){context, (int16_t)device, false};
    return fresh;
}

static void set_place(rgm_activity_parser *parser, rgm_activity_row *row, uint32_t device, uint32_t context,
                      uint32_t stream, uint32_t correlation) {
    (void)learn_context(parser, context, device);
    row->device = device > INT16_MAX ? INT16_MAX : (int16_t)device;
    row->context = context;
    row->stream = stream == RGM_CUPTI_NO_STREAM ? -1 : (int64_t)stream;
    row->correlation = correlation;
    size_t at = correlation % RGM_ACTIVITY_EXTERNALS;
    if (correlation && parser->externals[at].correlation == correlation)
        row->external = (int64_t)parser->externals[at].id;
}

// The row of a piece of work. That its record has come counts even where its times are of no use.
static rgm_activity_row *work_of(rgm_activity_parser *parser, rgm_kind kind, uint64_t start, uint64_t end,
                                 uint32_t correlation) {
    parser->counts.work++;
    if (correlation > parser->counts.highest) parser->counts.highest = correlation;
    return row_of(parser, kind, start, end);
}

static void set_node(rgm_activity_parser *parser, rgm_activity_row *row, uint64_t node, uint32_t graph) {
    if (!node) return;
    row->graph_node = (int64_t)node;
    row->graph = graph;
    if (parser->how.nodes) row->capture = rgm_graph_nodes_call(parser->how.nodes, node);
}

// --- device work ------------------------------------------------------------------------------------------

static rgm_occupancy occupancy_of(const rgm_activity_parser *parser, const rgm_cupti_kernel_count *count) {
    const rgm_cupti_kernel *k = &count->base.base.base.base;
    const uint32_t *cluster = count->base.cluster;
    const rgm_device_limits nothing = {0};
    bool known = k->device < parser->how.devices;
    const rgm_device_limits *limits = known ? &parser->how.limits[k->device] : &nothing;
    int64_t threads = 1;
    for (int i = 0; i < 3; i++) threads = k->block[i] <= 0 || k->block[i] > 1024 ? 0 : threads * k->block[i];
    rgm_occupancy of_blocks =
        rgm_occupancy_of(limits, threads, k->registers, (int64_t)k->static_shared + k->dynamic_shared);
    bool sound = cluster[0] <= UINT8_MAX && cluster[1] <= UINT8_MAX && cluster[2] <= UINT8_MAX;
    return rgm_occupancy_in_clusters(limits, of_blocks, threads,
                                     sound ? (int64_t)cluster[0] * cluster[1] * cluster[2] : 0,
                                     count->most_clusters);
}

// Where both times of a launch were collected and lie before the start. A row of a kernel makes at most one,
// so there is room.
static void set_waits(rgm_activity_parser *parser, const rgm_activity_row *row, const rgm_cupti_kernel *k) {
    if (!k->queued || k->submitted < k->queued || k->start < k->submitted) return;
    int64_t queued = rgm_activity_record_time(parser, k->queued),
            submitted = rgm_activity_record_time(parser, k->submitted);
    if (submitted < queued || row->start_ns < submitted) return; // two segments of the clock met
    parser->counts.queue_times++;
    parser->waits[parser->wait_count++] = (rgm_queue_time_row){.start_ns = row->start_ns,
                                                               .buffered_ns = submitted - queued,
                                                               .waiting_ns = row->start_ns - submitted,
                                                               .correlation = row->correlation,
                                                               .device = row->device};
}

static size_t kernel_bytes(uint32_t version) {
    if (version >= RGM_CUPTI_HAS_CLUSTER_COUNT) return sizeof(rgm_cupti_kernel_count);
    if (version >= RGM_CUPTI_HAS_CLUSTERS) return sizeof(rgm_cupti_kernel_cluster);
    if (version >= RGM_CUPTI_HAS_GRAPH_IDS) return sizeof(rgm_cupti_kernel_graph);
    if (version >= RGM_CUPTI_HAS_GRAPH_NODES) return sizeof(rgm_cupti_kernel_node);
    return sizeof(rgm_cupti_kernel);
}

static bool read_kernel(reading *r) {
    rgm_activity_parser *parser = r->parser;
    // Each view begins with that of the version before, so the record is read once, as far as it goes.
    rgm_cupti_kernel_count whole = {0};
    if (!view(r, &whole, kernel_bytes(parser->how.version))) return false;
    const rgm_cupti_kernel k = whole.base.base.base.base;
    rgm_activity_row *row = work_of(parser, RGM_KIND_KERNEL, k.start, k.end, k.correlation);
    if (!row) return true;
    set_place(parser, row, k.device, k.context, k.stream, k.correlation);
    set_node(parser, row, whole.base.base.base.graph_node,
             parser->how.version >= RGM_CUPTI_HAS_GRAPH_IDS ? whole.base.base.graph : UINT32_MAX);
    row->name = rgm_activity_kernel_name(&parser->names, k.name, k.name ? text_at(parser, k.name) : NULL);
    memcpy(row->grid, k.grid, sizeof row->grid);
    memcpy(row->block, k.block, sizeof row->block);
    for (int i = 0; i < 3; i++)
        row->cluster[i] = whole.base.cluster[i] <= UINT8_MAX ? (uint8_t)whole.base.cluster[i] : 0;
    row->registers = k.registers;
    int64_t shared = (int64_t)k.static_shared + k.dynamic_shared;
    row->shared_bytes = shared >= 0 && shared <= INT32_MAX ? (int32_t)shared : -1;
    rgm_occupancy occupancy = occupancy_of(parser, &whole);
    row->occupancy = (float)occupancy.share;
    row->occupancy_limit = (uint8_t)occupancy.limit;
    if (parser->how.queue_times) set_waits(parser, row, &k);
    return true;
}

static bool read_copy(reading *r) {
    rgm_activity_parser *parser = r->parser;
    rgm_cupti_memcpy c;
    rgm_cupti_memcpy_node node = {0};
    rgm_cupti_memcpy_graph graph = {0};
    if (!VIEW(r, c)) return false;
    if (parser->how.version >= RGM_CUPTI_HAS_GRAPH_NODES && !VIEW(r, node)) return false;
    if (parser->how.version >= RGM_CUPTI_HAS_GRAPH_IDS && !VIEW(r, graph)) return false;
    rgm_activity_row *row = work_of(parser, RGM_KIND_MEMCPY, c.start, c.end, c.correlation);
    if (!row) return true;
    set_place(parser, row, c.device, c.context, c.stream, c.correlation);
    set_node(parser, row, node.graph_node, graph.graph);
    row->bytes = (int64_t)(c.bytes & INT64_MAX);
    row->name = rgm_activity_copy_name(&parser->names, c.copy, c.from, c.to);
    return true;
}

static bool read_peer_copy(reading *r) {
    rgm_activity_parser *parser = r->parser;
    rgm_cupti_memcpy2 c;
    rgm_cupti_memcpy2_node node = {0};
    rgm_cupti_memcpy2_graph graph = {0};
    if (!VIEW(r, c)) return false;
    if (parser->how.version >= RGM_CUPTI_HAS_GRAPH_NODES && !VIEW(r, node)) return false;
    if (parser->how.version >= RGM_CUPTI_HAS_GRAPH_IDS && !VIEW(r, graph)) return false;
    rgm_activity_row *row = work_of(parser, RGM_KIND_MEMCPY, c.start, c.end, c.correlation);
    if (!row) return true;
    set_place(parser, row, c.device, c.context, c.stream, c.correlation);
    set_node(parser, row, node.graph_node, graph.graph);
    row->bytes = (int64_t)(c.bytes & INT64_MAX);
    row->name = rgm_activity_copy_name(&parser->names, c.copy, c.from, c.to);
    return true;
}

static bool read_set(reading *r) {
    rgm_activity_parser *parser = r->parser;
    rgm_cupti_memset s;
    rgm_cupti_memset_node node = {0};
    rgm_cupti_memset_graph graph = {0};
    if (!VIEW(r, s)) return false;
    if (parser->how.version >= RGM_CUPTI_HAS_GRAPH_NODES && !VIEW(r, node)) return false;
    if (parser->how.version >= RGM_CUPTI_HAS_GRAPH_IDS && !VIEW(r, graph)) return false;
    rgm_activity_row *row = work_of(parser, RGM_KIND_MEMSET, s.start, s.end, s.correlation);
    if (!row) return true;
    set_place(parser, row, s.device, s.context, s.stream, s.correlation);
    set_node(parser, row, node.graph_node, graph.graph);
    row->bytes = (int64_t)(s.bytes & INT64_MAX);
    row->name = rgm_activity_set_name(&parser->names, s.memory_kind);
    return true;
}

// A whole launch of a graph, in place of its nodes.
static bool read_graph(reading *r) {
    rgm_activity_parser *parser = r->parser;
    rgm_cupti_graph_trace g;
    if (!VIEW(r, g)) return false;
    rgm_activity_row *row = work_of(parser, RGM_KIND_KERNEL, g.start, g.end, g.correlation);
    if (!row) return true;
    set_place(parser, row, g.device, g.context, g.stream, g.correlation);
    row->graph = g.graph;
    row->name = rgm_activity_graph_name(&parser->names, g.graph);
    row->registers = row->shared_bytes = -1;
    row->occupancy = NAN;
    return true;
}

// --- beside the work --------------------------------------------------------------------------------------

static bool next(reading *r) {
    if (r->parser->how.next(r->buffer, r->valid, &r->record) != RGM_CUPTI_SUCCESS) return false;
    size_t at = (size_t)((uint8_t *)r->record - r->buffer);
    if (!r->record || (uint8_t *)r->record < r->buffer || at > r->valid) return false;
    r->room = r->valid - at;
    return r->room >= sizeof(uint32_t);
}

static uint32_t kind_of(const reading *r) {
    uint32_t kind;
    memcpy(&kind, r->record, sizeof kind);
    return kind;
}

static int32_t known_device(const rgm_activity_parser *parser, uint32_t context) {
    for (size_t i = 0; i < parser->context_count; i++)
        if (parser->contexts[i].context == context) return parser->contexts[i].device;
    return -1;
}

static void learn_from(rgm_activity_parser *parser, const reading *r) {
    rgm_cupti_kernel k;
    rgm_cupti_context_record c;
    uint32_t kind = kind_of(r);
    if ((kind == RGM_CUPTI_KIND_CONCURRENT_KERNEL || kind == RGM_CUPTI_KIND_KERNEL) && VIEW(r, k))
        (void)learn_context(parser, k.context, k.device);
    if (kind == RGM_CUPTI_KIND_CONTEXT && VIEW(r, c)) (void)learn_context(parser, c.context, c.device);
}

// The device of a context, if need be from what comes later in the buffer; -1 when nothing tells it. The rest
// of a buffer is looked through once.
static int32_t device_of(const reading *r, uint32_t context) {
    rgm_activity_parser *parser = r->parser;
    if (parser->how.devices == 1) return 0;
    int32_t device = known_device(parser, context);
    if (device >= 0 || parser->looked_ahead) return device;
    parser->looked_ahead = true;
    for (reading ahead = *r; next(&ahead);) learn_from(parser, &ahead);
    return known_device(parser, context);
}

static uint64_t event_key(uint32_t context, uint32_t event) { return (uint64_t)context << 32 | event; }

static bool read_sync(reading *r) {
    rgm_activity_parser *parser = r->parser;
    rgm_cupti_sync s;
    if (!VIEW(r, s)) return false;
    if (!s.start && !s.end) {
        parser->counts.untimed++;
        return true;
    }
    int32_t device = device_of(r, s.context);
    rgm_activity_row *row = device < 0 ? NULL : row_of(parser, RGM_KIND_SYNC, s.start, s.end);
    if (device < 0) parser->counts.dropped++;
    if (!row) return true;
    row->device = (int16_t)device;
    row->context = s.context;
    row->stream = s.stream == RGM_CUPTI_NO_STREAM ? -1 : (int64_t)s.stream;
    row->correlation = s.correlation;
    row->name = rgm_activity_sync_name(&parser->names, s.type);
    row->event = row->record_correlation = row->waits_on_stream = -1;
    bool of_event = s.type == 1 || s.type == 2;
    if (!of_event) return true;
    row->event = s.event;
    const rgm_id_entry *recorded = rgm_id_map_find(&parser->events, event_key(s.context, s.event));
    if (!recorded) return true;
    row->waits_on_stream = (int64_t)recorded->first;
    row->record_correlation = (int64_t)recorded->second;
    return true;
}

static bool read_event(reading *r) {
    rgm_activity_parser *parser = r->parser;
    rgm_cupti_event e;
    if (!VIEW(r, e)) return false;
    rgm_id_entry *entry = rgm_id_map_put(&parser->events, event_key(e.context, e.event));
    if (!entry) {
        rgm_id_map_clear(&parser->events); // events of long ago; the driver reuses their numbers
        return true;
    }
    entry->first = e.stream;
    entry->second = e.correlation;
    return true;
}

static bool read_overhead(reading *r) {
    rgm_activity_parser *parser = r->parser;
    rgm_cupti_overhead o;
    if (!VIEW(r, o)) return false;
    rgm_activity_row *row = row_of(parser, RGM_KIND_OVERHEAD, o.start, o.end);
    if (!row) return true;
    row->stream = o.object_kind == RGM_CUPTI_OBJECT_THREAD ? (int64_t)o.object.second : -1;
    row->name = rgm_activity_overhead_name(&parser->names, o.overhead);
    return true;
}

static bool read_external(reading *r) {
    rgm_cupti_external e;
    if (!VIEW(r, e)) return false;
    size_t at = e.correlation % RGM_ACTIVITY_EXTERNALS;
    r->parser->externals[at].correlation = e.correlation;
    r->parser->externals[at].id = e.external & INT64_MAX;
    return true;
}

static bool read_context(reading *r) {
    rgm_cupti_context_record c;
    rgm_cupti_context_green g = {0};
    rgm_activity_counts *counts = &r->parser->counts;
    if (!VIEW(r, c)) return false;
    if (r->parser->how.version >= RGM_CUPTI_HAS_GREEN && !VIEW(r, g)) return false;
    rgm_context_device *known = learn_context(r->parser, c.context, c.device);
    if (!known || known->green || !g.green) return true;
    known->green = true;
    counts->green_contexts++;
    if (!counts->green_least || g.multiprocessors < counts->green_least)
        counts->green_least = g.multiprocessors;
    return true;
}

// --- NVTX -------------------------------------------------------------------------------------------------

static uint32_t marker_name(rgm_activity_parser *parser, uint64_t address) {
    const char *text = address ? text_at(parser, address) : NULL;
    if (!text) text = "";
    const rgm_device_sink *sink = &parser->how.sink;
    return sink->intern(sink->arg, text, strnlen(text, RGM_ACTIVITY_NAME_MOST));
}

static void begin_range(rgm_activity_parser *parser, const rgm_cupti_marker *m) {
    rgm_id_entry *range = m->time ? rgm_id_map_put(&parser->ranges, m->id) : NULL;
    if (!range) {
        if (m->time)
            parser->counts.dropped++;
        else
            parser->counts.invalid++;
        return;
    }
    range->first = m->time;
    range->second = (uint64_t)m->object.second << 32 | marker_name(parser, m->name);
}

// `range` is a copy, because its entry goes.
static rgm_activity_row *end_range(rgm_activity_parser *parser, rgm_id_entry range, uint64_t end) {
    rgm_activity_row *row = row_of(parser, RGM_KIND_ANNOTATION, range.first, end);
    if (!row) return NULL;
    row->stream = (int64_t)(range.second >> 32);
    row->name = (uint32_t)range.second;
    return row;
}

static bool read_marker(reading *r) {
    rgm_activity_parser *parser = r->parser;
    rgm_cupti_marker m;
    if (!VIEW(r, m)) return false;
    if (m.flags & RGM_CUPTI_MARKER_START) {
        begin_range(parser, &m);
    } else if (m.flags & RGM_CUPTI_MARKER_END) {
        const rgm_id_entry *range = rgm_id_map_find(&parser->ranges, m.id);
        if (!range) return true; // began before tracing
        end_range(parser, *range, m.time);
        rgm_id_map_remove(&parser->ranges, m.id);
    } else if (m.flags & RGM_CUPTI_MARKER_INSTANT) {
        rgm_activity_row *row = row_of(parser, RGM_KIND_INSTANT, m.time, m.time);
        if (!row) return true;
        row->stream = m.object.second;
        row->name = marker_name(parser, m.name);
    }
    return true;
}

void rgm_activity_parser_finish(rgm_activity_parser *parser, int64_t now_ns) {
    for (size_t i = 0; i < parser->ranges.capacity; i++) {
        rgm_id_entry *range = &parser->ranges.entries[i];
        if (!range->used) continue;
        rgm_activity_row *row = end_range(parser, *range, range->first);
        if (!row) continue;
        row->flags = RGM_RECORD_OPEN;
        if (now_ns > row->start_ns) row->duration_ns = now_ns - row->start_ns;
    }
    rgm_id_map_clear(&parser->ranges);
    give(parser);
}

// --- buffers ----------------------------------------------------------------------------------------------

// False when the record is cut off.
static bool read_record(reading *r) {
    switch (kind_of(r)) {
    case RGM_CUPTI_KIND_KERNEL:
    case RGM_CUPTI_KIND_CONCURRENT_KERNEL: return read_kernel(r);
    case RGM_CUPTI_KIND_MEMCPY: return read_copy(r);
    case RGM_CUPTI_KIND_MEMCPY2: return read_peer_copy(r);
    case RGM_CUPTI_KIND_MEMSET: return read_set(r);
    case RGM_CUPTI_KIND_GRAPH_TRACE: return read_graph(r);
    case RGM_CUPTI_KIND_SYNCHRONIZATION: return read_sync(r);
    case RGM_CUPTI_KIND_CUDA_EVENT: return read_event(r);
    case RGM_CUPTI_KIND_OVERHEAD: return read_overhead(r);
    case RGM_CUPTI_KIND_EXTERNAL_CORRELATION: return read_external(r);
    case RGM_CUPTI_KIND_CONTEXT: return read_context(r);
    case RGM_CUPTI_KIND_MARKER: return read_marker(r);
    case RGM_CUPTI_KIND_MEMORY2: return rgm_activity_memory_read(r->parser, r->record, r->room);
    case RGM_CUPTI_KIND_MEMORY_POOL: return rgm_activity_pool_read(r->parser, r->record, r->room);
    default: r->parser->counts.unknown++; return true;
    }
}

void rgm_activity_parse(rgm_activity_parser *parser, uint8_t *buffer, size_t valid) {
    reading r = {.parser = parser, .buffer = buffer, .valid = valid};
    parser->looked_ahead = false;
    while (next(&r)) {
        uint32_t kind = kind_of(&r), last = RGM_ACTIVITY_KINDS - 1;
        rgm_activity_kind_counts *of_kind = &parser->counts.kinds[kind < last ? kind : last];
        uint64_t invalid = parser->counts.invalid;
        parser->counts.records++;
        of_kind->records++;
        if (!read_record(&r)) parser->counts.invalid++;
        of_kind->invalid += parser->counts.invalid - invalid;
    }
    give(parser);
}

uint64_t rgm_activity_count(rgm_activity_parser *parser, uint8_t *buffer, size_t valid) {
    reading r = {.parser = parser, .buffer = buffer, .valid = valid};
    uint64_t count = 0;
    while (next(&r)) count++;
    return count;
}
