// SPDX-License-Identifier: Apache-2.0
// Reads buffers of CUPTI's activity records and gives rows to a sink.
//
// What a buffer says depends on its bytes, the version of the interface and what earlier buffers said (names,
// contexts, events, open ranges), on nothing else: no CUPTI is needed, so tests and a fuzzer feed it bytes of
// every version. A record whose times are zero or reversed, or that does not fit its buffer, is counted
// (INVALID_ACTIVITY), never guessed.
//
// Threads: one at a time. Nothing here calls CUDA, or CUPTI other than `next`.
#ifndef RGM_CUDA_ACTIVITY_PARSE_H
#define RGM_CUDA_ACTIVITY_PARSE_H

#include "base/clock.h"
#include "cuda/library/device_limits.h"
#include "cuda/trace/activity_names.h"
#include "cuda/trace/cupti_types.h"
#include "cuda/trace/graph_nodes.h"

enum {
    RGM_ACTIVITY_BATCH = 128,
    RGM_ACTIVITY_CONTEXTS = 64,
    RGM_ACTIVITY_EXTERNALS = 4096,
    RGM_ACTIVITY_EVENTS_KNOWN = 65536,
    RGM_ACTIVITY_RANGES_OPEN = 65536,
    RGM_ACTIVITY_BLOCKS_KNOWN = 1 << 20,
    RGM_ACTIVITY_KINDS = 64, // that are counted one by one; the last stands for all beyond
};

typedef struct {
    uint32_t version; // of the interface
    // Steps to the next record as cuptiActivityGetNextRecord does; *record is NULL before the first.
    rgm_cupti_result (*next)(uint8_t *buffer, size_t valid, void **record);
    // The text at an address in a record, NULL for none; NULL: addresses are pointers.
    const char *(*text)(uint64_t address);
    rgm_device_sink sink;
    const rgm_device_limits *limits; // of the devices, by number
    size_t devices;
    rgm_graph_nodes *nodes; // NULL: nodes are not followed
    bool queue_times;       // kernels carry them
} rgm_activity_reading;

// What came of one kind of record.
typedef struct {
    uint64_t records, invalid;
} rgm_activity_kind_counts;

typedef struct {
    uint64_t records, invalid, unknown; // unknown: of kinds that are not read
    uint64_t untimed;                   // waits whose times CUPTI could not collect, which it says by zeros
    uint64_t dropped;                   // had no room in the maps below, or no known device
    uint64_t work;                      // kernels, copies, sets and graphs among the records
    uint64_t queue_times;               // kernels whose queue times were recorded
    uint64_t green_contexts;            // parts of a device that the program made
    uint16_t green_least;               // multiprocessors of the smallest of them, 0 for none
    uint32_t highest;                   // correlation of device work
    rgm_activity_kind_counts kinds[RGM_ACTIVITY_KINDS];
} rgm_activity_counts;

typedef struct {
    uint32_t context;
    int16_t device;
    bool green;
} rgm_context_device;

typedef struct {
    rgm_activity_reading how;
    rgm_activity_names names;
    rgm_timebase clock; // of the records to CLOCK_MONOTONIC; without anchors they agree
    rgm_activity_counts counts;
    rgm_context_device contexts[RGM_ACTIVITY_CONTEXTS];
    size_t context_count;
    bool looked_ahead; // in this buffer, for the device of a context
    rgm_id_map events; // of the context and the event: stream, correlation of the call that recorded it
    rgm_id_map ranges; // open NVTX ranges: start, name and thread
    rgm_id_map blocks; // memory that is given out, by address: device and kind, bytes
    struct {
        uint32_t correlation;
        uint64_t id;
    } externals[RGM_ACTIVITY_EXTERNALS]; // of the latest correlations
    rgm_activity_row rows[RGM_ACTIVITY_BATCH];
    rgm_device_memory_row memory[RGM_ACTIVITY_BATCH];
    rgm_queue_time_row waits[RGM_ACTIVITY_BATCH];
    size_t row_count, memory_count, wait_count;
} rgm_activity_parser;

void rgm_activity_parser_init(rgm_activity_parser *parser, const rgm_activity_reading *how);
void rgm_activity_parser_release(rgm_activity_parser *parser);
// Reads one buffer; its rows have been given to the sink on return.
void rgm_activity_parse(rgm_activity_parser *parser, uint8_t *buffer, size_t valid);
// Counts the records of a buffer that is to be thrown away.
uint64_t rgm_activity_count(rgm_activity_parser *parser, uint8_t *buffer, size_t valid);
// A time of a record on CLOCK_MONOTONIC.
int64_t rgm_activity_record_time(const rgm_activity_parser *parser, uint64_t time);
// Gives the ranges that have not ended, as open ones up to `now`.
void rgm_activity_parser_finish(rgm_activity_parser *parser, int64_t now_ns);

#endif
