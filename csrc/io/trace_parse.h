// SPDX-License-Identifier: Apache-2.0
// Text of the elements of a `traceEvents` array -> events, each handed to a part. The parser exists once in
// portable C and once with AVX2 (trace_parse_body.h, included by both); they differ in speed only.
#ifndef RGM_IO_TRACE_PARSE_H
#define RGM_IO_TRACE_PARSE_H

#include "io/trace_layout.h"
#include "io/trace_part.h"

// A stretch of the input in memory, with RGM_TEXT_PADDING zero bytes behind `end`.
typedef struct {
    const uint8_t *begin, *end;
    const uint8_t *at;   // what was read so far
    const uint8_t *stop; // an element that begins here or later is not read
    int64_t offset;      // of `begin` in the input
    bool final;          // nothing follows `end`
    bool full;           // the stretch cannot be made longer
} rgm_trace_text;

typedef enum {
    RGM_PARSE_MORE,   // an element at `at` is not complete (or nothing is left); more text is needed
    RGM_PARSE_STOP,   // an element begins at or behind `stop`
    RGM_PARSE_CLOSED, // the array ended; `at` is behind its bracket
    RGM_PARSE_FAILED, // see the status
} rgm_parse_end;

enum { RGM_KEY_SLOTS = 512 };

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
    bool lost;      // after damage: where the next element begins is being looked for
    int64_t wasted; // bytes read in vain because of damage
    uint8_t after;  // what the last element was followed by: 0 nothing yet, 1 nothing, 2 a comma
    rgm_bytes scratch;
    const uint8_t *literal; // where the literal of the next step begins
    rgm_trace_key keys[RGM_KEY_SLOTS];
    rgm_parse_end (*parse)(struct rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part,
                           rgm_status *status, rgm_error *err);
} rgm_trace_parser;

typedef enum { RGM_SCAN_BEST, RGM_SCAN_PORTABLE, RGM_SCAN_VECTOR } rgm_scan_choice;

// RGM_UNAVAILABLE when the vector variant is asked for and the processor has none.
rgm_status rgm_trace_parser_init(rgm_trace_parser *parser, rgm_scan_choice scan, bool strict,
                                 rgm_error *err) RGM_NODISCARD;
void rgm_trace_parser_release(rgm_trace_parser *parser);

rgm_parse_end rgm_trace_parse_portable(rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part,
                                       rgm_status *status, rgm_error *err);
rgm_parse_end rgm_trace_parse_avx2(rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part,
                                   rgm_status *status, rgm_error *err);

// Where an element probably begins at or after `from`: a { behind a comma that opens with the key "ph", or
// with any key when a } stands before the comma. `end` when there is none.
const uint8_t *rgm_trace_resync(const uint8_t *from, const uint8_t *begin, const uint8_t *end);

#endif
