// SPDX-License-Identifier: Apache-2.0
// After damage: where the next event probably begins, and how many events lie in the text that is given up
// before it. Both are told from at most RGM_GAP_LOOK bytes behind a place and RGM_GAP_BACK before it, so the
// answers do not depend on the pieces in which the text was read.
#ifndef RGM_IO_TRACE_GAP_H
#define RGM_IO_TRACE_GAP_H

#include "io/trace/trace_part.h"

enum { RGM_GAP_LOOK = 2048, RGM_GAP_BACK = 256, RGM_GAP_KEYS = 6 };

// Events in a piece of damaged text. Text is cut before every { that is no value; what lies between two cuts
// holds as many events as it has keys "ph", "ts", "pid", "cat" or "args", whichever is there most often, and
// one where the { is followed by another key of events. Pieces can be joined in order.
typedef struct {
    int64_t rows;                                   // of what lies between two cuts
    int64_t head[RGM_GAP_KEYS], tail[RGM_GAP_KEYS]; // those keys before the first cut and behind the last
    bool cut;
} rgm_trace_stretch;

// Adds the text from `from` up to `to`; it lies between `begin` and `end`.
void rgm_trace_stretch_read(rgm_trace_stretch *stretch, const uint8_t *from, const uint8_t *to,
                            const uint8_t *begin, const uint8_t *end);
// Adds what follows.
void rgm_trace_stretch_join(rgm_trace_stretch *stretch, const rgm_trace_stretch *behind);
int64_t rgm_trace_stretch_rows(const rgm_trace_stretch *stretch);

// Whether an event probably begins at a {. It is followed by a key of events, of whose quotes one may be
// missing, and no colon stands before it: "ph" after anything; cat, pid, tid, ts, dur and args after a } or a
// comma; any other key so too, when the object names "ph" soon.
typedef enum {
    RGM_EVENT_NO,
    RGM_EVENT_YES,
    RGM_EVENT_UNSURE, // the text ends too early to tell
} rgm_event_guess;
rgm_event_guess rgm_trace_begins_event(const uint8_t *at, const uint8_t *begin, const uint8_t *end,
                                       bool final);

// Where the first event probably begins from `from` on and before `limit`; when none does, *found is false
// and the result is where the search goes on once there is more text: `limit`, or less when that is so near
// the end that nothing can be told yet.
const uint8_t *rgm_trace_resync(const uint8_t *from, const uint8_t *limit, const uint8_t *begin,
                                const uint8_t *end, bool final, bool *found);
// The same place for text in which no event is looked for.
const uint8_t *rgm_trace_reach(const uint8_t *from, const uint8_t *limit, const uint8_t *end, bool final);

// Text that is given up, from a damaged element to where reading goes on.
typedef struct {
    rgm_trace_stretch lost;
    int64_t offset; // of the element
    int64_t at;     // where the search goes on
    bool too_long;
} rgm_trace_gap;

// Counts the rows in it. `code` says why when it reaches to the end of the text, RGM_ANOMALY_INVALID_JSON
// otherwise.
void rgm_trace_gap_close(const rgm_trace_gap *gap, rgm_trace_part *part, rgm_anomaly code);

#endif
