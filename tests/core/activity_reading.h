// SPDX-License-Identifier: Apache-2.0
// A parser of activity records for tests, and what it has given to its sink. The bytes that it reads are
// written by tests/fakes/cupti_layout.h, which knows nothing of the parser's views.
#ifndef RGM_TESTS_ACTIVITY_READING_H
#define RGM_TESTS_ACTIVITY_READING_H

#include <stdlib.h>

#include "../fakes/cupti_layout.h"
#include "base/memory.h"
#include "cuda/trace/activity_parse.h"
#include "harness.h"

enum { KEPT = 256, NAMES = 64 };

typedef struct {
    rgm_activity_row rows[KEPT];
    rgm_device_memory_row memory[KEPT];
    rgm_queue_time_row waits[KEPT];
    size_t count, memory_count, wait_count;
    char names[NAMES][160];
    size_t name_count;
} recording;

static recording seen;
static uint32_t version_now;

static void keep_rows(void *arg, const rgm_activity_row *rows, size_t count) {
    recording *r = arg;
    for (size_t i = 0; i < count && r->count < KEPT; i++) r->rows[r->count++] = rows[i];
}

static void keep_memory(void *arg, const rgm_device_memory_row *rows, size_t count) {
    recording *r = arg;
    for (size_t i = 0; i < count && r->memory_count < KEPT; i++) r->memory[r->memory_count++] = rows[i];
}

static void keep_waits(void *arg, const rgm_queue_time_row *rows, size_t count) {
    recording *r = arg;
    for (size_t i = 0; i < count && r->wait_count < KEPT; i++) r->waits[r->wait_count++] = rows[i];
}

static uint32_t keep_name(void *arg, const char *text, size_t length) {
    recording *r = arg;
    for (size_t i = 1; i <= r->name_count; i++)
        if (strlen(r->names[i]) == length && memcmp(r->names[i], text, length) == 0) return (uint32_t)i;
    r->name_count++;
    (void)snprintf(r->names[r->name_count], sizeof r->names[0], "%.*s", (int)length, text);
    return (uint32_t)r->name_count;
}

static rgm_cupti_result next(uint8_t *buffer, size_t valid, void **record) {
    return layout_next(version_now, buffer, valid, record);
}

static const rgm_device_limits limits[2] = {
    {.major = 9,
     .warp_threads = 32,
     .threads = 2048,
     .blocks = 32,
     .registers = 65536,
     .shared_bytes = 233472,
     .reserved_bytes = 1024},
};
static const rgm_device_sink sink = {.arg = &seen,
                                     .activities = keep_rows,
                                     .memory = keep_memory,
                                     .queue_times = keep_waits,
                                     .intern = keep_name};

static rgm_activity_parser *parser_new(uint32_t version, rgm_graph_nodes *nodes) {
    rgm_activity_parser *parser = rgm_malloc(sizeof *parser);
    const rgm_activity_reading how = {.version = version,
                                      .next = next,
                                      .sink = sink,
                                      .limits = limits,
                                      .devices = 2,
                                      .nodes = nodes,
                                      .queue_times = true};
    if (!parser) abort();
    version_now = version;
    seen = (recording){0};
    rgm_activity_parser_init(parser, &how);
    return parser;
}

static void parser_end(rgm_activity_parser *parser) {
    rgm_activity_parser_release(parser);
    rgm_free(parser);
}

static inline uint64_t address(const char *text) { return (uint64_t)(uintptr_t)text; }
static inline const char *name_of(const rgm_activity_row *row) { return seen.names[row->name]; }

static const layout_work work = {
    .start = 1000,
    .end = 1800,
    .bytes = 4096,
    .node = 77,
    .device = 1,
    .context = 3,
    .stream = 7,
    .correlation = 42,
    .graph = 5,
    .grid = {2, 3, 4},
    .block = {128, 2, 1},
    .static_shared = 1024,
    .dynamic_shared = 2048,
    .registers = 40,
    .copy = 1,
    .from = 1,
    .to = 3,
};

#endif
