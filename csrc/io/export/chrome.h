// SPDX-License-Identifier: Apache-2.0
// What the parts of the export to Chrome's JSON share.
#ifndef RGM_IO_CHROME_H
#define RGM_IO_CHROME_H

#include <math.h>

#include "io/export/span_rows.h"
#include "io/export/tracks.h"
#include "io/json/json_value.h"
#include "io/json/json_write.h"

typedef struct {
    const rgm_run *run;
    rgm_tracks tracks;
    rgm_json json;
    rgm_span_rows launches, operators, frames, collectives, syncs;
    int64_t shift_ns;  // taken off all times
    uint64_t left_out; // a bit a kind
} rgm_chrome;

static inline rgm_string rgm_chrome_text(const rgm_chrome *c, rgm_name name) {
    return rgm_run_text(c->run, name);
}

// a - b, and a where that does not fit.
static inline int64_t rgm_chrome_earlier(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_sub_overflow(a, b, &sum) ? a : sum;
}

// An event on a track: begun, given its time and members, then its arguments.
static inline void rgm_chrome_begin(rgm_chrome *c, const char *phase, size_t track) {
    rgm_json *j = &c->json;
    const rgm_track *t = &c->tracks.tracks[track];
    rgm_json_separate(j);
    rgm_output_byte(j->out, '\n');
    j->comma = false;
    rgm_json_open(j, '{');
    RGM_JSON_KEY(j, "ph");
    rgm_json_text(j, phase, 1);
    RGM_JSON_I64(j, "pid", c->tracks.processes[t->process].pid);
    RGM_JSON_I64(j, "tid", t->tid);
}

static inline void rgm_chrome_time(rgm_chrome *c, int64_t ns) {
    RGM_JSON_KEY(&c->json, "ts");
    rgm_json_us(&c->json, rgm_chrome_earlier(ns, c->shift_ns));
}

static inline void rgm_chrome_begin_args(rgm_chrome *c) {
    RGM_JSON_KEY(&c->json, "args");
    rgm_json_open(&c->json, '{');
}

// On a further track of a lane: the thread of the lane, by which our importer puts the event back there.
static inline void rgm_chrome_lane(rgm_chrome *c, size_t track) {
    const rgm_track *t = &c->tracks.tracks[track];
    if (t->number) RGM_JSON_I64(&c->json, "lane thread", c->tracks.tracks[c->tracks.lane_track[t->lane]].tid);
}

static inline void rgm_chrome_end_args(rgm_chrome *c) {
    rgm_json_close(&c->json, '}');
    rgm_json_close(&c->json, '}');
}

// JSON text as it is, any other text as a string, nothing for "".
void rgm_chrome_json(rgm_json *j, rgm_string text);
// A member of an object, as it is.
void rgm_chrome_member(rgm_json *j, const rgm_json_members *member);
// The arguments of a span.
void rgm_chrome_args(rgm_chrome *c, size_t row);
// Begins the document: what is known of run and machine, the names of processes and tracks.
void rgm_chrome_head(rgm_chrome *c);
void rgm_chrome_names(rgm_chrome *c);

// Members of arguments, left out where the value is not known.
#define RGM_CHROME_JSON(c, key, name)                                                                        \
    do {                                                                                                     \
        if (name) {                                                                                          \
            RGM_JSON_KEY(&(c)->json, key);                                                                   \
            rgm_chrome_json(&(c)->json, rgm_chrome_text(c, name));                                           \
        }                                                                                                    \
    } while (0)
#define RGM_CHROME_TEXT(c, key, name)                                                                        \
    do {                                                                                                     \
        if (name) RGM_JSON_STRING(&(c)->json, key, rgm_chrome_text(c, name));                                \
    } while (0)
#define RGM_CHROME_I64(c, key, value)                                                                        \
    do {                                                                                                     \
        if ((value) != -1) RGM_JSON_I64(&(c)->json, key, value);                                             \
    } while (0)
#define RGM_CHROME_F64(c, key, value)                                                                        \
    do {                                                                                                     \
        if (!isnan(value)) RGM_JSON_F64(&(c)->json, key, value);                                             \
    } while (0)

#endif
