// SPDX-License-Identifier: Apache-2.0
// Records of memory and times of queues, of every version, read without CUPTI, a driver or a device.
#include "activity_reading.h"

// --- queue times ------------------------------------------------------------------------------------------

static size_t waits_of(uint64_t queued, uint64_t submitted) {
    uint8_t buffer[LAYOUT_LARGEST];
    layout_work kernel = work;
    rgm_activity_parser *parser = parser_new(130000, NULL);
    kernel.queued = queued;
    kernel.submitted = submitted;
    rgm_activity_parse(parser, buffer, layout_kernel(buffer, 130000, &kernel));
    CHECK_EQ_U64(seen.count, 1);
    CHECK_EQ_U64(parser->counts.queue_times + parser->counts.invalid, seen.wait_count);
    parser_end(parser);
    return seen.wait_count;
}

TEST(queue_times_of_a_kernel) {
    CHECK_EQ_U64(waits_of(600, 900), 1);
    CHECK_EQ_I64(seen.waits[0].buffered_ns, 300);
    CHECK_EQ_I64(seen.waits[0].waiting_ns, 100); // it starts at 1000
    CHECK_EQ_I64(seen.waits[0].start_ns, 1000);
    CHECK_EQ_U64(seen.waits[0].correlation, 42);
    CHECK_EQ_U64(waits_of(1000, 1000), 1);
    CHECK_EQ_U64(waits_of(0, 0), 0);      // not collected
    CHECK_EQ_U64(waits_of(0, 900), 0);    // in part
    CHECK_EQ_U64(waits_of(600, 500), 0);  // reversed
    CHECK_EQ_U64(waits_of(600, 1001), 0); // submitted after it began
}

// --- memory -----------------------------------------------------------------------------------------------

static const layout_memory block = {.operation = 1,
                                    .kind = 3,
                                    .correlation = 43,
                                    .device = 1,
                                    .context = 3,
                                    .stream = UINT32_MAX,
                                    .pool_type = 1,
                                    .address = 0x7000,
                                    .bytes = 4096,
                                    .time = 500,
                                    .pool = 0x10,
                                    .pool_bytes = 8192,
                                    .pool_used = 4096};

static void read_memory_of(uint32_t version) {
    uint8_t buffer[4 * LAYOUT_LARGEST];
    size_t valid = 0;
    layout_memory freed = {.operation = 2, .correlation = 44, .address = 0x7000, .time = 900}, pool = block;
    rgm_activity_parser *parser = parser_new(version, NULL);
    pool.operation = 3;
    valid += layout_memory_record(buffer + valid, version, &block);
    valid += layout_memory_record(buffer + valid, version, &freed);
    valid += layout_pool_record(buffer + valid, version, &pool);
    valid += layout_memory_record(buffer + valid, version, &freed); // of before tracing: nothing is known
    rgm_activity_parse(parser, buffer, valid);
    CHECK_EQ_U64(parser->counts.records, 4);
    CHECK_EQ_U64(parser->counts.invalid, 0);
    CHECK_EQ_U64(parser->counts.work, 0); // no call waits for it
    REQUIRE(seen.memory_count == 4);
    const rgm_device_memory_row *given = &seen.memory[0], *taken = &seen.memory[1],
                                *trimmed = &seen.memory[2];
    CHECK_EQ_I64(given->action, RGM_ACTION_ALLOC);
    CHECK_EQ_I64(given->time_ns, 500);
    CHECK_EQ_I64(given->device, 1);
    CHECK_EQ_I64(given->bytes, 4096);
    CHECK_EQ_U64(given->address, 0x7000);
    CHECK_EQ_U64(given->correlation, 43);
    CHECK_STR_EQ(seen.names[given->memory], "Device");
    CHECK_EQ_U64(given->pool, 0x10);
    CHECK_EQ_I64(given->pool_bytes, 8192);
    CHECK_EQ_I64(given->pool_used, version >= 19 ? 4096 : -1);
    CHECK_EQ_I64(taken->action, RGM_ACTION_FREE);
    CHECK_EQ_I64(taken->device, 1);
    CHECK_EQ_I64(taken->bytes, 4096);
    CHECK_EQ_U64(taken->memory, given->memory);
    CHECK_EQ_I64(trimmed->action, RGM_ACTION_POOL_TRIM);
    CHECK_EQ_I64(trimmed->bytes, 8192);
    CHECK_EQ_I64(trimmed->pool_used, version >= 19 ? 4096 : -1);
    CHECK_STR_EQ(seen.names[seen.memory[3].memory], "Unknown");
    CHECK_EQ_I64(seen.memory[3].bytes, 0);
    parser_end(parser);
}

TEST(memory_of_every_version) {
    static const uint32_t versions[] = {14, 18, 19, 24, 26, 130000, 130400};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) read_memory_of(versions[i]);
}

TEST(memory_of_the_host_and_of_others) {
    uint8_t buffer[4 * LAYOUT_LARGEST];
    size_t valid = 0;
    layout_memory pinned = block, managed = block, imported = block;
    rgm_activity_parser *parser = parser_new(130000, NULL);
    pinned.kind = 2;
    managed.kind = 5;
    managed.device = UINT32_MAX; // lies on the host
    imported.pool_type = 2;      // where the pool's size would be stands a process
    valid += layout_memory_record(buffer + valid, 130000, &pinned);
    valid += layout_memory_record(buffer + valid, 130000, &managed);
    valid += layout_memory_record(buffer + valid, 130000, &imported);
    rgm_activity_parse(parser, buffer, valid);
    REQUIRE(seen.memory_count == 3);
    CHECK_EQ_I64(seen.memory[0].device, -1);
    CHECK_EQ_I64(seen.memory[1].device, -1);
    CHECK_STR_EQ(seen.names[seen.memory[1].memory], "Managed");
    CHECK_EQ_U64(seen.memory[2].pool, 0x10);
    CHECK_EQ_I64(seen.memory[2].pool_bytes, -1);
    parser_end(parser);
}

TEST(memory_without_sense_is_counted) {
    uint8_t buffer[8 * LAYOUT_LARGEST];
    size_t valid = 0;
    layout_memory timeless = block, nowhere = block, neither = block;
    rgm_activity_parser *parser = parser_new(130000, NULL);
    timeless.time = 0;
    nowhere.address = 0;
    neither.operation = 7;
    valid += layout_memory_record(buffer + valid, 130000, &timeless);
    valid += layout_memory_record(buffer + valid, 130000, &nowhere);
    valid += layout_memory_record(buffer + valid, 130000, &neither);
    valid += layout_pool_record(buffer + valid, 130000, &neither);
    valid += layout_pool_record(buffer + valid, 130000, &timeless);
    rgm_activity_parse(parser, buffer, valid);
    CHECK_EQ_U64(parser->counts.invalid, 5);
    CHECK_EQ_U64(parser->counts.kinds[49].invalid, 3);
    CHECK_EQ_U64(parser->counts.kinds[50].invalid, 2);
    CHECK_EQ_U64(seen.memory_count, 0);
    parser_end(parser);
}

TEST(memory_that_is_cut_off) {
    uint8_t *exact = rgm_malloc(128);
    uint8_t whole[LAYOUT_LARGEST];
    for (size_t valid = 0; exact && valid < 120; valid++) {
        rgm_activity_parser *parser = parser_new(130000, NULL);
        (void)layout_memory_record(whole, 130000, &block);
        memcpy(exact + 128 - valid, whole, valid);
        rgm_activity_parse(parser, exact + 128 - valid, valid);
        CHECK_EQ_U64(seen.memory_count, 0);
        parser_end(parser);
    }
    rgm_free(exact);
}
