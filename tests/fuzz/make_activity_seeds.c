// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of fuzz_activity: one buffer for each layout of the records, with every kind that is read,
// and heads of buffers that a real CUPTI filled. Run it in the root of the repository.
//
//     cc -std=c11 -D_GNU_SOURCE tests/fuzz/make_activity_seeds.c -o make_activity_seeds
//     ./make_activity_seeds tests/fuzz/seeds/fuzz_activity
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../fakes/cupti_layout.h"

static const uint32_t versions[] = {12, 13, 14, 18, 19, 24, 26, 28, 130000, 130100, 130200, 130400};

static size_t all_kinds(uint8_t *to, uint32_t version) {
    const layout_work work = {.start = 1000,
                              .end = 1800,
                              .bytes = 4096,
                              .name = 2,
                              .queued = 600,
                              .submitted = 900,
                              .node = 77,
                              .context = 3,
                              .stream = 7,
                              .correlation = 42,
                              .graph = 5,
                              .grid = {2, 3, 4},
                              .block = {128, 2, 1},
                              .registers = 40,
                              .copy = 1,
                              .from = 1,
                              .to = 3};
    const layout_memory given = {.operation = 1,
                                 .kind = 3,
                                 .correlation = 43,
                                 .context = 3,
                                 .stream = UINT32_MAX,
                                 .pool_type = 1,
                                 .address = 0x7000,
                                 .bytes = 4096,
                                 .time = 500,
                                 .pool = 0x10,
                                 .pool_bytes = 8192,
                                 .pool_used = 4096};
    const layout_memory taken = {.operation = 2, .correlation = 44, .address = 0x7000, .time = 900};
    uint8_t *at = to;
    at += layout_context(at, version, 3, 0, 0);
    at += layout_external(at, 900, 42);
    at += layout_kernel(at, version, &work);
    at += layout_copy(at, version, &work);
    at += layout_peer_copy(at, version, &work);
    at += layout_set(at, version, &work);
    at += layout_graph(at, version, &work);
    at += layout_event(at, version, 40, 3, 7, 12);
    at += layout_sync(at, version, 2, 100, 110, 41, 3, 9, 12);
    at += layout_sync(at, version, 4, 100, 110, 41, 8, UINT32_MAX, 0);
    at += layout_overhead(at, version, 0x10000, 55, 10, 30);
    at += layout_marker(at, 2, 100, 1, 55, 3);
    at += layout_marker(at, 4, 300, 1, 55, 0);
    at += layout_marker(at, 1, 300, 2, 55, 3);
    at += layout_marker(at, 2, 400, 3, 55, 4);
    at += layout_memory_record(at, version, &given);
    at += layout_memory_record(at, version, &taken);
    at += layout_pool_record(at, version, &given);
    return (size_t)(at - to);
}

// A seed is what chooses the layout and what is known, where it is cut into two buffers, and the records.
static size_t set_head(uint8_t *bytes, size_t layout, uint8_t known) {
    const uint32_t cut = 300;
    bytes[0] = (uint8_t)layout;
    bytes[1] = known;
    memcpy(bytes + 2, &cut, 4);
    return 6;
}

static bool write_seed(const char *folder, const char *name, const uint8_t *bytes, size_t size) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.bin", folder, name);
    FILE *file = fopen(path, "wb");
    return file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0;
}

// Large seeds make a fuzzer slow, so only whole records of the first 4 kB after `skip`.
static bool write_recorded(const char *folder, const char *name, long skip) {
    enum { LAYOUT_OF_13_0 = 8, MOST = 4096 };
    uint8_t bytes[6 + MOST];
    char path[4096];
    (void)snprintf(path, sizeof path, "tests/data/activity/%s.raw", name);
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, skip, SEEK_SET) != 0) return false;
    size_t at = set_head(bytes, LAYOUT_OF_13_0, 5), read = fread(bytes + at, 1, MOST, file), whole = 0;
    for (void *record = NULL; layout_next(130001, bytes + at, read, &record) == 0;) {
        uint32_t kind;
        memcpy(&kind, record, sizeof kind);
        size_t end = (size_t)((uint8_t *)record - bytes) - at + layout_size(130001, kind);
        if (end > read) break;
        whole = end;
    }
    return fclose(file) == 0 && write_seed(folder, name, bytes, at + whole);
}

int main(int argc, char **argv) {
    uint8_t bytes[8192];
    char name[64];
    if (argc != 2) return 2;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        size_t size = set_head(bytes, i, (uint8_t)(i & 7));
        size += all_kinds(bytes + size, versions[i]);
        (void)snprintf(name, sizeof name, "version_%u", versions[i]);
        if (!write_seed(argv[1], name, bytes, size)) return 1;
    }
    const long mixed = 9824; // where copies, sets and waits follow one another
    return write_recorded(argv[1], "h200_memory", 0) && write_recorded(argv[1], "h200_queue_times", 0) &&
                   write_recorded(argv[1], "h200_graph_nodes_0", mixed)
               ? 0
               : 1;
}
