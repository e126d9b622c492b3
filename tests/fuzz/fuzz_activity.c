// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to the reader of activity records: the first two bytes choose the version of the
// interface, the next four where the input is cut into two buffers, the rest are records. Addresses of names
// lead into a small table, because a fuzzer's addresses are no addresses.
#include <stdlib.h>

#include "../fakes/cupti_layout.h"
#include "base/memory.h"
#include "cuda/trace/activity_parse.h"

static uint32_t version_now;
static const uint32_t versions[] = {12, 13, 14, 18, 19, 24, 26, 28, 130000, 130100, 130200, 130400};

static rgm_cupti_result next(uint8_t *buffer, size_t valid, void **record) {
    return layout_next(version_now, buffer, valid, record);
}

static const char *text(uint64_t address) {
    static const char *const names[] = {NULL,    "",       "_Z3addiPf", "_ZN2at6native4gemmILi4EEEvv",
                                        "_ZZZZ", "triton_"};
    return names[address % (sizeof names / sizeof *names)];
}

// What a row may be: anything else would be a fault further on.
static void take(void *arg, const rgm_activity_row *rows, size_t count) {
    (void)arg;
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind >= RGM_KIND_COUNT || rows[i].duration_ns < 0 || rows[i].start_ns < 0 ||
            rows[i].device < -1)
            abort();
}

static void take_memory(void *arg, const rgm_device_memory_row *rows, size_t count) {
    (void)arg;
    for (size_t i = 0; i < count; i++)
        if (rows[i].action >= RGM_ACTION_COUNT || rows[i].time_ns <= INT64_MIN + 1) abort();
}

static void take_waits(void *arg, const rgm_queue_time_row *rows, size_t count) {
    (void)arg;
    for (size_t i = 0; i < count; i++)
        if (rows[i].buffered_ns < 0 || rows[i].waiting_ns < 0) abort();
}

static uint32_t intern(void *arg, const char *name, size_t length) {
    (void)arg;
    return length ? (uint32_t)(unsigned char)name[length - 1] : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const rgm_device_limits limits[1] = {{9, 0, 32, 2048, 32, 65536, 233472, 1024, 132}};
    static const rgm_device_sink sink = {
        .activities = take, .memory = take_memory, .queue_times = take_waits, .intern = intern};
    uint32_t cut = 0;
    if (size < 6) return 0;
    version_now = versions[data[0] % (sizeof versions / sizeof *versions)];
    memcpy(&cut, data + 2, sizeof cut);
    rgm_graph_nodes nodes;
    rgm_graph_nodes_init(&nodes);
    rgm_graph_nodes_add(&nodes, 77, 33);
    const rgm_activity_reading how = {.version = version_now,
                                      .next = next,
                                      .text = text,
                                      .sink = sink,
                                      .limits = limits,
                                      .devices = data[1] & 1 ? 1 : 2,
                                      .nodes = &nodes,
                                      .queue_times = (data[1] & 4) != 0};
    static const rgm_device_limits two[2] = {{9, 0, 32, 2048, 32, 65536, 233472, 1024, 132}};
    rgm_activity_parser *parser = malloc(sizeof *parser);
    if (!parser) return 0;
    rgm_activity_parser_init(parser, &how);
    parser->how.limits = how.devices == 1 ? limits : two;
    if (data[1] & 2) {
        (void)rgm_timebase_add(&parser->clock, (rgm_anchor){1000, 5000, 0}, NULL);
        (void)rgm_timebase_add(&parser->clock, (rgm_anchor){9000, 12000, 0}, NULL);
    }
    // Copies of exactly their size, so that a read beyond them is seen.
    size_t length = size - 6, first = length ? cut % (length + 1) : 0;
    const size_t parts[2] = {first, length - first};
    const uint8_t *at = data + 6;
    for (int i = 0; i < 2; i++) {
        uint8_t *buffer = malloc(parts[i] ? parts[i] : 1);
        if (buffer) {
            memcpy(buffer, at, parts[i]);
            (void)rgm_activity_count(parser, buffer, parts[i]);
            rgm_activity_parse(parser, buffer, parts[i]);
        }
        free(buffer);
        at += parts[i];
    }
    rgm_activity_parser_finish(parser, 1000000);
    rgm_activity_parser_release(parser);
    rgm_graph_nodes_clear(&nodes);
    free(parser);
    return 0;
}
