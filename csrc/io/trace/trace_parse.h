// SPDX-License-Identifier: Apache-2.0
// Text of the elements of a `traceEvents` array -> events, each handed to a part. The parser exists once in
// portable C and once with AVX2 (trace_parse_body.h, included by both); they differ in speed only.
#ifndef RGM_IO_TRACE_PARSE_H
#define RGM_IO_TRACE_PARSE_H

#include "io/trace/trace_gap.h"
#include "io/trace/trace_layout.h"
#include "io/trace/trace_part.h"

// A stretch of the input in memory, with RGM_TEXT_PADDING zero bytes behind `end`.
typedef struct {
    const uint8_t *begin, *end;
    const uint8_t *at;   // what was read so far
    const uint8_t *stop; // an element that begins here or later is not read
    int64_t offset;      // of `begin` in the input
    bool final;          // nothing follows `end`
} rgm_trace_text;

typedef enum {
    RGM_PARSE_MORE,   // an element at `at` is not complete (or nothing is left); more text is needed
    RGM_PARSE_STOP,   // an element begins at or behind `stop`
    RGM_PARSE_CLOSED, // the array ended; `at` is behind its bracket
    RGM_PARSE_FAILED, // see the status
} rgm_parse_end;

enum {
    RGM_KEY_SLOTS = 512,
    RGM_LONGEST_EVENT = 64 << 20, // what is longer is given up
};
// Reading over damage may look at the same text again and again. Once that has cost this many bytes more than
// four times the text before it, the rest is given up.
#define RGM_WASTE_LIMIT (INT64_C(1) << 28)

typedef struct {
    const char *text;
    uint8_t length, how, field, arguments;
} rgm_trace_key;

typedef struct rgm_trace_parser {
    rgm_layout layout;
    rgm_event event;
    rgm_layout_step steps[RGM_LAYOUT_STEPS];
    size_t n_steps;
    bool learnable;
    bool strict;
    bool lost;         // after damage: where the next element begins is being looked for
    rgm_trace_gap gap; // then
    int64_t wasted;    // bytes read in vain because of damage
    int64_t excess;    // most that this was beyond four times the text before, whatever the limit
    int64_t waste_limit;
    bool hopeless; // the limit was passed: nothing more is looked for
    uint8_t after; // what the last element was followed by: 0 nothing yet, 1 nothing, 2 a comma
    rgm_bytes scratch;
    // Of the event that is read key by key.
    uint64_t seen;                            // its fields
    rgm_bytes keys_seen;                      // hashes of the keys that have no field
    uint32_t repeated[RGM_FIELD_CORRELATION]; // fields of the event itself that came again
    uint32_t arguments;                       // keys \"args\"
    const uint8_t *searched, *next_event; // where an event was looked for, and seems to begin or is not seen
    bool next_event_found;
    const uint8_t *literal; // where the literal of the next step begins
    rgm_trace_key keys[RGM_KEY_SLOTS];
    rgm_parse_end (*parse)(struct rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part,
                           rgm_status *status, rgm_error *err);
} rgm_trace_parser;

typedef enum { RGM_SCAN_BEST, RGM_SCAN_PORTABLE, RGM_SCAN_VECTOR } rgm_scan_choice;

// RGM_UNAVAILABLE when the vector variant is asked for and the processor has none.
// `waste` bytes are the limit of what damage may cost, 0 for RGM_WASTE_LIMIT.
rgm_status rgm_trace_parser_init(rgm_trace_parser *parser, rgm_scan_choice scan, bool strict, int64_t waste,
                                 rgm_error *err) RGM_NODISCARD;
void rgm_trace_parser_release(rgm_trace_parser *parser);

rgm_parse_end rgm_trace_parse_portable(rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part,
                                       rgm_status *status, rgm_error *err);
rgm_parse_end rgm_trace_parse_avx2(rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part,
                                   rgm_status *status, rgm_error *err);

#endif
