// SPDX-License-Identifier: Apache-2.0
// Layouts of events: a writer prints the events of one sort with the same text between the values, so the
// text up to each value is learned as a literal, and reading the next event is comparing literals and reading
// values. Layouts form a tree: events that begin alike share nodes. A text that fits no layout is read the
// slow way, and learned from.
#ifndef RGM_IO_TRACE_LAYOUT_H
#define RGM_IO_TRACE_LAYOUT_H

#include "io/trace/trace_event.h"

enum {
    RGM_LAYOUT_NODES = 4096,
    RGM_LAYOUT_LITERAL = 512, // longest literal; what is longer is always read the slow way
    RGM_LAYOUT_BYTES = 1 << 20,
    RGM_LAYOUT_STEPS = 96,
};

typedef struct {
    const uint8_t *literal; // text before the value
    uint16_t length;
    uint8_t how;             // rgm_value_kind
    uint8_t field;           // rgm_field, where `how` has one
    uint32_t child, sibling; // 0 for none
    uint32_t end;            // of an END node: index of its facts
} rgm_layout_node;

// What the literals of a whole event say, so that it need not be read again.
typedef struct {
    uint64_t present; // fields read along the way
    uint64_t texts;
    uint8_t kind, flow;
    char phase;
    bool other;
    const uint8_t *category;
    uint32_t category_length;
    uint32_t next; // root node that the event after the last one of this layout had
} rgm_layout_end;

// One value of an event that was read the slow way.
typedef struct {
    const uint8_t *literal_start, *value; // the literal lies between
    const uint8_t *key;                   // of an EXTRA value
    uint32_t key_length;
    uint8_t how, field;
} rgm_layout_step;

typedef struct {
    rgm_layout_node nodes[RGM_LAYOUT_NODES]; // 0 is the root
    rgm_layout_end ends[RGM_LAYOUT_NODES];
    const uint8_t *keys[RGM_LAYOUT_NODES]; // of EXTRA nodes
    uint32_t key_lengths[RGM_LAYOUT_NODES];
    uint32_t n_nodes, n_ends;
    uint8_t *pool; // texts of literals
    size_t used;
    uint32_t last_end; // layout of the event before
} rgm_layout;

rgm_status rgm_layout_init(rgm_layout *layout, rgm_error *err) RGM_NODISCARD;
void rgm_layout_release(rgm_layout *layout);
// Adds the path of an event; the last step is its END. Does nothing when there is no more room.
void rgm_layout_learn(rgm_layout *layout, const rgm_layout_step *steps, size_t count, const rgm_event *event);

#endif
