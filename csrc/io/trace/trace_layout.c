// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_layout.h"

#include <string.h>

#include "base/memory.h"

enum { OVERREAD = 64 };

rgm_status rgm_layout_init(rgm_layout *layout, rgm_error *err) {
    layout->n_nodes = 1;
    layout->n_ends = 1;
    layout->used = 0;
    layout->last_end = 0;
    layout->nodes[0] = (rgm_layout_node){0};
    layout->ends[0] = (rgm_layout_end){0};
    layout->pool = rgm_calloc(1, RGM_LAYOUT_BYTES + OVERREAD);
    return layout->pool ? RGM_OK : rgm_error_no_memory(err);
}

void rgm_layout_release(rgm_layout *layout) {
    rgm_free(layout->pool);
    layout->pool = NULL;
}

static const uint8_t *keep(rgm_layout *layout, const uint8_t *text, size_t length) {
    uint8_t *at = layout->pool + layout->used;
    memcpy(at, text, length);
    layout->used += length;
    return at;
}

static uint32_t find_child(const rgm_layout *layout, uint32_t parent, const rgm_layout_step *step) {
    size_t length = (size_t)(step->value - step->literal_start);
    for (uint32_t c = layout->nodes[parent].child; c; c = layout->nodes[c].sibling) {
        const rgm_layout_node *node = &layout->nodes[c];
        if (node->length == length && node->how == step->how && node->field == step->field &&
            memcmp(node->literal, step->literal_start, length) == 0)
            return c;
    }
    return 0;
}

static uint32_t add_child(rgm_layout *layout, uint32_t parent, const rgm_layout_step *step) {
    uint32_t c = layout->n_nodes++;
    size_t length = (size_t)(step->value - step->literal_start);
    layout->nodes[c] = (rgm_layout_node){.literal = keep(layout, step->literal_start, length),
                                         .length = (uint16_t)length,
                                         .how = step->how,
                                         .field = step->field,
                                         .sibling = layout->nodes[parent].child};
    layout->nodes[parent].child = c;
    if (step->how == RGM_VALUE_EXTRA) {
        layout->keys[c] = keep(layout, step->key, step->key_length);
        layout->key_lengths[c] = step->key_length;
    }
    return c;
}

static bool has_room(const rgm_layout *layout, const rgm_layout_step *steps, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = (size_t)(steps[i].value - steps[i].literal_start);
        if (length > RGM_LAYOUT_LITERAL) return false;
        bytes += length + steps[i].key_length;
    }
    return layout->n_nodes + count <= RGM_LAYOUT_NODES && layout->used + bytes + 256 <= RGM_LAYOUT_BYTES;
}

void rgm_layout_learn(rgm_layout *layout, const rgm_layout_step *steps, size_t count,
                      const rgm_event *event) {
    if (!has_room(layout, steps, count)) return;
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t child = find_child(layout, at, &steps[i]);
        at = child ? child : add_child(layout, at, &steps[i]);
    }
    if (layout->nodes[at].end) return;
    uint32_t e = layout->n_ends++;
    layout->nodes[at].end = e;
    layout->ends[e] = (rgm_layout_end){.present = event->present,
                                       .texts = event->texts,
                                       .kind = event->kind,
                                       .flow = event->flow,
                                       .phase = event->phase,
                                       .other = event->other,
                                       .category_length = event->category_length};
    if (event->category && event->category_length <= 256)
        layout->ends[e].category = keep(layout, event->category, event->category_length);
}
