// SPDX-License-Identifier: Apache-2.0
// Buffers of activity records of every version, read without CUPTI, a driver or a device. The bytes are
// written by tests/fakes/cupti_layout.h, which knows nothing of the parser's views.
#include "activity_reading.h"

static const char mangled[] = "_ZN2at6native13reduce_kernelILi512EEEvPf";

static void check_work(const rgm_activity_row *row, uint32_t version, rgm_kind kind) {
    CHECK_EQ_I64(row->kind, kind);
    CHECK_EQ_I64(row->start_ns, 1000);
    CHECK_EQ_I64(row->duration_ns, 800);
    CHECK_EQ_I64(row->device, 1);
    CHECK_EQ_I64(row->stream, 7);
    CHECK_EQ_U64(row->context, 3);
    CHECK_EQ_U64(row->correlation, 42);
    CHECK_EQ_I64(row->graph_node, version >= 13 ? 77 : -1);
    if (version >= 14) CHECK_EQ_U64(row->graph, 5);
}

static void read_version(uint32_t version) {
    uint8_t buffer[8 * LAYOUT_LARGEST];
    size_t valid = 0;
    layout_work kernel = work;
    kernel.name = address(mangled);
    rgm_activity_parser *parser = parser_new(version, NULL);
    valid += layout_kernel(buffer + valid, version, &kernel);
    valid += layout_copy(buffer + valid, version, &work);
    valid += layout_peer_copy(buffer + valid, version, &work);
    valid += layout_set(buffer + valid, version, &work);
    valid += layout_graph(buffer + valid, version, &work);
    rgm_activity_parse(parser, buffer, valid);
    CHECK_EQ_U64(parser->counts.records, 5);
    CHECK_EQ_U64(parser->counts.invalid, 0);
    CHECK_EQ_U64(parser->counts.highest, 42);
    CHECK_EQ_U64(seen.count, 5);
    check_work(&seen.rows[0], version, RGM_KIND_KERNEL);
    check_work(&seen.rows[1], version, RGM_KIND_MEMCPY);
    check_work(&seen.rows[2], version, RGM_KIND_MEMCPY);
    check_work(&seen.rows[3], version, RGM_KIND_MEMSET);
    CHECK(strstr(name_of(&seen.rows[0]), "reduce_kernel") != NULL);
    CHECK_EQ_I64(seen.rows[0].grid[2], 4);
    CHECK_EQ_I64(seen.rows[0].block[0], 128);
    CHECK_EQ_I64(seen.rows[0].registers, 40);
    CHECK_EQ_I64(seen.rows[0].shared_bytes, 3072);
    CHECK_EQ_I64(seen.rows[0].bytes, -1);
    CHECK_STR_EQ(name_of(&seen.rows[1]), "Memcpy HtoD (Pageable -> Device)");
    CHECK_EQ_I64(seen.rows[1].bytes, 4096);
    CHECK_STR_EQ(name_of(&seen.rows[3]), "Memset (Device)");
    CHECK_STR_EQ(name_of(&seen.rows[4]), "CUDA graph 5");
    CHECK_EQ_U64(seen.rows[4].graph, 5);
    CHECK_EQ_I64(seen.rows[4].duration_ns, 800);
    parser_end(parser);
}

TEST(every_version) {
    static const uint32_t versions[] = {12, 13, 14, 18, 19, 21, 24, 26, 28, 130000, 130100, 130300, 130400};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) read_version(versions[i]);
}

// 256 threads of 40 registers on a device of compute capability 9.0: 6 blocks, 48 of 64 warps.
TEST(occupancy_of_a_known_device) {
    uint8_t buffer[2 * LAYOUT_LARGEST];
    layout_work kernel = work;
    rgm_activity_parser *parser = parser_new(130000, NULL);
    kernel.device = 0;
    size_t valid = layout_kernel(buffer, 130000, &kernel);
    kernel.device = 1; // nothing is known of it
    valid += layout_kernel(buffer + valid, 130000, &kernel);
    rgm_activity_parse(parser, buffer, valid);
    CHECK_NEAR((double)seen.rows[0].occupancy, 0.75, 1e-6);
    CHECK_EQ_I64(seen.rows[0].occupancy_limit, RGM_OCCUPANCY_LIMIT_REGISTERS);
    CHECK(isnan(seen.rows[1].occupancy));
    CHECK_STR_EQ(name_of(&seen.rows[0]), "unknown kernel");
    parser_end(parser);
}

TEST(useless_times_are_counted) {
    uint8_t buffer[4 * LAYOUT_LARGEST];
    size_t valid = 0;
    layout_work w = work;
    rgm_activity_parser *parser = parser_new(18, NULL);
    w.start = 0;
    valid += layout_kernel(buffer + valid, 18, &w);
    w.start = 1000, w.end = 0;
    valid += layout_copy(buffer + valid, 18, &w);
    w.end = 999;
    valid += layout_set(buffer + valid, 18, &w);
    w.end = 1000;
    valid += layout_set(buffer + valid, 18, &w);
    rgm_activity_parse(parser, buffer, valid);
    CHECK_EQ_U64(parser->counts.invalid, 3);
    CHECK_EQ_U64(seen.count, 1);
    parser_end(parser);
}

// What CUPTI says is valid ends in the middle of a record.
TEST(a_record_that_is_cut_off) {
    uint8_t *exact = rgm_malloc(200);
    uint8_t whole[LAYOUT_LARGEST];
    for (size_t valid = 0; exact && valid < layout_kernel_size(18); valid++) {
        rgm_activity_parser *parser = parser_new(18, NULL);
        (void)layout_kernel(whole, 18, &work);
        // At the end of its memory, so that a sanitizer sees a read beyond it.
        memcpy(exact + 200 - valid, whole, valid);
        rgm_activity_parse(parser, exact + 200 - valid, valid);
        CHECK(seen.count == 0 || valid >= 160); // the fields that are read are there
        parser_end(parser);
    }
    rgm_free(exact);
}

TEST(synchronisation_names_what_it_waits_for) {
    uint8_t buffer[8 * LAYOUT_LARGEST];
    size_t valid = 0;
    rgm_activity_parser *parser = parser_new(130000, NULL);
    valid += layout_context(buffer + valid, 130000, 3, 1, 0);
    valid += layout_event(buffer + valid, 130000, 40, 3, 7, 12);
    valid += layout_sync(buffer + valid, 130000, 2, 100, 110, 41, 3, 9, 12);
    valid += layout_sync(buffer + valid, 130000, 4, 200, 300, 43, 3, UINT32_MAX, 0);
    valid += layout_sync(buffer + valid, 130000, 3, 400, 500, 44, 3, 9, 0);
    rgm_activity_parse(parser, buffer, valid);
    CHECK_EQ_U64(seen.count, 3);
    CHECK_STR_EQ(name_of(&seen.rows[0]), "Stream Wait Event");
    CHECK_EQ_I64(seen.rows[0].device, 1);
    CHECK_EQ_I64(seen.rows[0].stream, 9);
    CHECK_EQ_I64(seen.rows[0].event, 12);
    CHECK_EQ_I64(seen.rows[0].waits_on_stream, 7);
    CHECK_EQ_I64(seen.rows[0].record_correlation, 40);
    CHECK_STR_EQ(name_of(&seen.rows[1]), "Context Sync");
    CHECK_EQ_I64(seen.rows[1].stream, -1);
    CHECK_EQ_I64(seen.rows[1].event, -1);
    CHECK_STR_EQ(name_of(&seen.rows[2]), "Stream Sync");
    CHECK_EQ_U64(parser->counts.work, 0);
    parser_end(parser);
}

// Told of each once, and only by versions whose record has the field.
TEST(green_contexts_and_the_smallest_of_them) {
    uint8_t buffer[8 * LAYOUT_LARGEST];
    static const uint32_t versions[] = {18, 24, 130000};
    for (int i = 0; i < 3; i++) {
        size_t valid = 0;
        rgm_activity_parser *parser = parser_new(versions[i], NULL);
        valid += layout_context(buffer + valid, versions[i], 3, 1, 0);
        valid += layout_context(buffer + valid, versions[i], 4, 1, 32);
        valid += layout_context(buffer + valid, versions[i], 5, 1, 16);
        valid += layout_context(buffer + valid, versions[i], 5, 1, 16);
        rgm_activity_parse(parser, buffer, valid);
        CHECK_EQ_U64(parser->counts.green_contexts, i ? 2 : 0);
        CHECK_EQ_U64(parser->counts.green_least, i ? 16 : 0);
        CHECK_EQ_U64(parser->counts.invalid, 0);
        parser_end(parser);
    }
}

// The context of a wait is known only from a kernel behind it, or not at all.
TEST(the_device_of_a_wait) {
    uint8_t buffer[4 * LAYOUT_LARGEST];
    size_t valid = 0;
    rgm_activity_parser *parser = parser_new(18, NULL);
    valid += layout_sync(buffer + valid, 18, 3, 400, 500, 44, 99, 9, 0);
    valid += layout_sync(buffer + valid, 18, 3, 400, 500, 44, 3, 9, 0);
    valid += layout_kernel(buffer + valid, 18, &work);
    rgm_activity_parse(parser, buffer, valid);
    CHECK_EQ_U64(seen.count, 2);
    CHECK_EQ_I64(seen.rows[0].kind, RGM_KIND_SYNC);
    CHECK_EQ_I64(seen.rows[0].device, 1);
    CHECK_EQ_U64(parser->counts.dropped, 1);
    parser_end(parser);
}

TEST(ranges_across_buffers) {
    uint8_t buffer[4 * LAYOUT_LARGEST];
    static const char epoch[] = "epoch", mark[] = "mark";
    size_t valid = 0;
    rgm_activity_parser *parser = parser_new(28, NULL);
    valid += layout_marker(buffer + valid, 2, 100, 1, 55, address(epoch));
    valid += layout_marker(buffer + valid, 2, 150, 2, 55, address(mark));
    valid += layout_marker(buffer + valid, 1, 120, 3, 55, address(mark));
    rgm_activity_parse(parser, buffer, valid);
    CHECK_EQ_U64(seen.count, 1);
    CHECK_EQ_I64(seen.rows[0].kind, RGM_KIND_INSTANT);
    valid = layout_marker(buffer, 4, 300, 1, 55, 0);
    valid += layout_marker(buffer + valid, 4, 310, 9, 55, 0); // began before tracing
    rgm_activity_parse(parser, buffer, valid);
    CHECK_EQ_U64(seen.count, 2);
    CHECK_EQ_I64(seen.rows[1].kind, RGM_KIND_ANNOTATION);
    CHECK_STR_EQ(name_of(&seen.rows[1]), "epoch");
    CHECK_EQ_I64(seen.rows[1].device, -1);
    CHECK_EQ_I64(seen.rows[1].stream, 55);
    CHECK_EQ_I64(seen.rows[1].start_ns, 100);
    CHECK_EQ_I64(seen.rows[1].duration_ns, 200);
    rgm_activity_parser_finish(parser, 1000);
    CHECK_EQ_U64(seen.count, 3);
    CHECK_EQ_I64(seen.rows[2].flags, RGM_RECORD_OPEN);
    CHECK_EQ_I64(seen.rows[2].duration_ns, 850);
    CHECK_EQ_U64(parser->counts.invalid, 0);
    parser_end(parser);
}

TEST(overhead_and_external_ids) {
    uint8_t buffer[4 * LAYOUT_LARGEST];
    size_t valid = 0;
    rgm_activity_parser *parser = parser_new(19, NULL);
    valid += layout_overhead(buffer + valid, 19, 0x10000, 4711, 10, 30);
    valid += layout_external(buffer + valid, 900, 42);
    valid += layout_kernel(buffer + valid, 19, &work);
    rgm_activity_parse(parser, buffer, valid);
    CHECK_EQ_U64(seen.count, 2);
    CHECK_EQ_I64(seen.rows[0].kind, RGM_KIND_OVERHEAD);
    CHECK_STR_EQ(name_of(&seen.rows[0]), "Buffer Flush");
    CHECK_EQ_I64(seen.rows[0].stream, 4711);
    CHECK_EQ_I64(seen.rows[1].external, 900);
    parser_end(parser);
}

TEST(nodes_go_to_the_scopes_of_their_capture) {
    uint8_t buffer[LAYOUT_LARGEST];
    rgm_graph_nodes nodes;
    rgm_graph_nodes_init(&nodes);
    rgm_activity_parser *parser = parser_new(18, &nodes);
    rgm_graph_nodes_add(&nodes, 70, 33);       // made while call 33 was on
    rgm_graph_nodes_clone(&nodes, 77, 70, 2);  // instantiated
    rgm_graph_nodes_clone(&nodes, 78, 999, 2); // of a node that nobody saw made
    size_t valid = layout_kernel(buffer, 18, &work);
    rgm_activity_parse(parser, buffer, valid);
    CHECK_EQ_U64(seen.rows[0].capture, 33);
    CHECK_EQ_U64(rgm_graph_nodes_call(&nodes, 78), 0);
    // Destroyed when two buffers were out: its records may still come until both are back.
    rgm_graph_nodes_destroy(&nodes, 77, 2);
    rgm_graph_nodes_purge(&nodes, 2);
    CHECK_EQ_U64(rgm_graph_nodes_call(&nodes, 77), 33);
    rgm_graph_nodes_purge(&nodes, 3);
    CHECK_EQ_U64(rgm_graph_nodes_call(&nodes, 77), 0);
    CHECK_EQ_U64(rgm_graph_nodes_call(&nodes, 70), 33);
    rgm_graph_nodes_clear(&nodes);
    parser_end(parser);
}

// An address whose text has changed is a new name.
TEST(names_by_address) {
    char text[32] = "first";
    uint8_t buffer[LAYOUT_LARGEST];
    layout_work w = work;
    rgm_activity_parser *parser = parser_new(18, NULL);
    w.name = address(text);
    size_t valid = layout_kernel(buffer, 18, &w);
    rgm_activity_parse(parser, buffer, valid);
    rgm_activity_parse(parser, buffer, valid);
    (void)snprintf(text, sizeof text, "second");
    rgm_activity_parse(parser, buffer, valid);
    CHECK(seen.rows[0].name == seen.rows[1].name);
    CHECK_STR_EQ(name_of(&seen.rows[2]), "second");
    parser_end(parser);
}

TEST(demangling) {
    char text[RGM_ACTIVITY_NAME_MOST];
    static char far_too_long[RGM_ACTIVITY_NAME_MOST * 2];
    (void)rgm_activity_demangle("_Z3addiPf", text, sizeof text);
    CHECK(strcmp(text, "add(int, float*)") == 0 || strcmp(text, "_Z3addiPf") == 0);
    (void)rgm_activity_demangle("triton_poi_fused_0d1d", text, sizeof text);
    CHECK_STR_EQ(text, "triton_poi_fused_0d1d");
    (void)rgm_activity_demangle("_Z", text, sizeof text);
    CHECK_STR_EQ(text, "_Z");
    memset(far_too_long, 'x', sizeof far_too_long - 1);
    memcpy(far_too_long, "_Z", 2);
    CHECK_EQ_U64(rgm_activity_demangle(far_too_long, text, sizeof text), sizeof text - 1);
    CHECK_EQ_U64(strlen(text), sizeof text - 1);
}

// The clock of the records runs 500 ns ahead, then gains one part in ten.
TEST(times_on_another_clock) {
    uint8_t buffer[LAYOUT_LARGEST];
    rgm_activity_parser *parser = parser_new(18, NULL);
    CHECK_OK(rgm_timebase_add(&parser->clock, (rgm_anchor){10000, 9500, 0}, NULL));
    CHECK_OK(rgm_timebase_add(&parser->clock, (rgm_anchor){32000, 29500, 0}, NULL));
    layout_work w = work;
    w.start = 21000, w.end = 32000;
    rgm_activity_parse(parser, buffer, layout_kernel(buffer, 18, &w));
    CHECK_EQ_I64(seen.rows[0].start_ns, 19500);
    CHECK_EQ_I64(seen.rows[0].duration_ns, 10000);
    parser_end(parser);
}

TEST(a_map_against_a_list) {
    rgm_id_map map = {.most = 500};
    uint64_t list[1000] = {0};
    unsigned state = 7;
    for (int i = 0; i < 20000; i++) {
        state = state * 1103515245u + 12345u;
        uint64_t key = state / 65536 % 1000;
        if (state >> 30 == 0) {
            rgm_id_map_remove(&map, key);
            list[key] = 0;
        } else {
            rgm_id_entry *entry = rgm_id_map_put(&map, key);
            CHECK(entry || map.count == 500);
            if (entry) entry->first = list[key] = (uint64_t)i + 1;
        }
    }
    size_t count = 0;
    for (uint64_t key = 0; key < 1000; key++) {
        const rgm_id_entry *entry = rgm_id_map_find(&map, key);
        CHECK_EQ_U64(entry ? entry->first : 0, list[key]);
        count += list[key] != 0;
    }
    CHECK_EQ_U64(map.count, count);
    rgm_id_map_release(&map);
}
