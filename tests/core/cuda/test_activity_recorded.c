// SPDX-License-Identifier: Apache-2.0
// Buffers that a real CUPTI filled (tests/data/activity), read without one.
#include "activity_reading.h"

enum { VERSION = 130001, MOST_BYTES = 16384, MOST_KINDS = 7 };

// CUPTI's numbers of kinds, and how many records there are of each.
typedef struct {
    const char *file;
    struct {
        uint32_t kind;
        uint64_t records;
    } kinds[MOST_KINDS];
} recorded;

static const recorded memory_step = {"h200_memory.raw",
                                     {{9, 1}, {10, 1}, {17, 3}, {38, 1}, {49, 9}, {50, 2}}};
static const recorded queue_step = {"h200_queue_times.raw", {{9, 1}, {10, 20}, {17, 10}, {38, 1}}};
static const recorded nodes_first = {"h200_graph_nodes_0.raw",
                                     {{1, 3}, {2, 5}, {9, 1}, {10, 57}, {17, 21}, {38, 10}}};
static const recorded nodes_third = {"h200_graph_nodes_2.raw", {{10, 20}, {17, 2}, {38, 3}}};
static const recorded kernels = {"h200_kernels.raw", {{9, 1}, {10, 64}}};

// Addresses of names were those of other processes.
static const char *text(uint64_t at) {
    (void)at;
    return "_Z4spinl";
}

static rgm_activity_parser *parser_of_recorded(void) {
    rgm_activity_parser *parser = parser_new(VERSION, NULL);
    parser->how.text = text;
    return parser;
}

// A copy of exactly the size, so that a sanitizer sees a read beyond it.
static uint8_t *bytes_of(const char *file, size_t *size) {
    char path[256];
    uint8_t *room = rgm_malloc(MOST_BYTES);
    (void)snprintf(path, sizeof path, "tests/data/activity/%s", file);
    FILE *from = fopen(path, "rb");
    if (!from || !room) HARNESS_FAIL("%s cannot be read", path);
    *size = from && room ? fread(room, 1, MOST_BYTES, from) : 0;
    if (from) (void)fclose(from);
    uint8_t *exact = rgm_malloc(*size + 1) + 1;
    if (room) memcpy(exact, room, *size);
    rgm_free(room);
    return exact;
}

static void read_file(rgm_activity_parser *parser, const recorded *file) {
    size_t size;
    uint64_t sum = 0;
    uint8_t *bytes = bytes_of(file->file, &size);
    const rgm_activity_counts before = parser->counts;
    rgm_activity_parse(parser, bytes, size);
    rgm_free(bytes - 1);
    for (size_t i = 0; i < MOST_KINDS && file->kinds[i].kind; i++) {
        uint32_t kind = file->kinds[i].kind;
        CHECK_EQ_U64(parser->counts.kinds[kind].records - before.kinds[kind].records, file->kinds[i].records);
        sum += file->kinds[i].records;
    }
    CHECK_EQ_U64(parser->counts.records - before.records, sum);
    CHECK_EQ_U64(parser->counts.invalid, 0);
    CHECK_EQ_U64(parser->counts.unknown, 0);
    CHECK_EQ_U64(parser->counts.untimed, 0);
    CHECK_EQ_U64(parser->counts.dropped, 0);
}

TEST(a_step_with_memory) {
    rgm_activity_parser *parser = parser_of_recorded();
    read_file(parser, &memory_step);
    CHECK_EQ_U64(parser->counts.work, 1);
    REQUIRE(seen.memory_count == 11);
    const rgm_device_memory_row *row = &seen.memory[0];
    CHECK_EQ_I64(row->action, RGM_ACTION_ALLOC);
    CHECK_EQ_I64(row->bytes, 3 << 20);
    CHECK_STR_EQ(seen.names[row->memory], "Device");
    CHECK_STR_EQ(seen.names[seen.memory[1].memory], "Managed");
    CHECK_STR_EQ(seen.names[seen.memory[2].memory], "Pinned");
    CHECK_EQ_I64(seen.memory[2].device, -1);
    int64_t left = 0;
    for (size_t i = 0; i < seen.memory_count; i++) {
        row = &seen.memory[i];
        if (row->action == RGM_ACTION_ALLOC) left += row->bytes;
        if (row->action == RGM_ACTION_FREE) left -= row->bytes;
    }
    CHECK_EQ_I64(left, 16 << 20); // torch's segment
    parser_end(parser);
}

// Each waits for those before it, up to a little before its start: the figures of
// docs/gpu/kernels_tracing.md.
TEST(a_step_with_queue_times) {
    rgm_activity_parser *parser = parser_of_recorded();
    read_file(parser, &queue_step);
    CHECK_EQ_U64(parser->counts.queue_times, 20);
    REQUIRE(seen.wait_count == 20);
    CHECK_EQ_I64(seen.waits[0].buffered_ns, 3893); // as that step of contact.jsonl has it
    CHECK_EQ_I64(seen.waits[0].waiting_ns, 768);
    CHECK_EQ_I64(seen.waits[19].buffered_ns, 18922988);
    CHECK_EQ_I64(seen.waits[19].waiting_ns, 544);
    int64_t end = 0, queued = 0;
    for (size_t i = 0, kernel = 0; i < seen.count; i++) {
        const rgm_activity_row *row = &seen.rows[i];
        if (row->kind != RGM_KIND_KERNEL) continue;
        const rgm_queue_time_row *wait = &seen.waits[kernel++];
        int64_t submitted = row->start_ns - wait->waiting_ns, queued_now = submitted - wait->buffered_ns;
        CHECK_EQ_I64(wait->start_ns, row->start_ns);
        CHECK_EQ_U64(wait->correlation, row->correlation);
        CHECK_NEAR((double)row->duration_ns, 1011300, 500);
        if (kernel > 1) CHECK(submitted - end >= 960 && submitted - end <= 1632);
        if (kernel > 2) CHECK(queued_now - queued >= 5546 && queued_now - queued <= 10822);
        if (kernel > 1) CHECK(wait->waiting_ns >= 480 && wait->waiting_ns <= 576);
        end = row->start_ns + row->duration_ns;
        queued = queued_now;
    }
    parser_end(parser);
}

TEST(two_buffers_with_nodes_of_graphs) {
    rgm_activity_parser *parser = parser_of_recorded();
    read_file(parser, &nodes_first);
    read_file(parser, &nodes_third);
    CHECK_EQ_U64(parser->counts.work, 3 + 5 + 57 + 20);
    size_t nodes = 0;
    for (size_t i = 0; i < seen.count; i++) {
        nodes += seen.rows[i].graph_node >= 0;
        CHECK_EQ_I64(seen.rows[i].device, seen.rows[i].kind == RGM_KIND_OVERHEAD ? -1 : 0);
    }
    CHECK_EQ_U64(nodes, 20);
    parser_end(parser);
}

// In one stream, so none begins before the end of another.
TEST(kernels_of_a_full_queue) {
    rgm_activity_parser *parser = parser_of_recorded();
    read_file(parser, &kernels);
    REQUIRE(seen.count == 64);
    for (size_t i = 1; i < seen.count; i++) {
        const rgm_activity_row *row = &seen.rows[i], *before = row - 1;
        CHECK(row->start_ns >= before->start_ns + before->duration_ns);
        CHECK_EQ_I64(row->stream, before->stream);
        CHECK(row->correlation > before->correlation);
    }
    parser_end(parser);
}
