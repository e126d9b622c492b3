// SPDX-License-Identifier: Apache-2.0
#include "capture/stack_tree.h"

#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"

enum {
    FUNCTIONS_MOST = 1 << 16,
    NODES_MOST = 1 << 18,
    STEPS_MOST = 1 << 19,
    SLOTS_FIRST = 1 << 10,
};
static const int64_t look_again_ns = 1000000000;
static const char left_out[] = "<functions left out>";

// What was found at the addresses of a code object.
typedef struct {
    rgm_source_frame at;
    uint32_t function, file; // string ids
    int64_t looked_ns;
} function;

// From a stack, by an instruction of a function, to the stack with that function on top.
typedef struct {
    uint32_t parent, function;
    int32_t unit;
    uint32_t node;
} step;

// An open table of numbers + 1; those who look compare what the numbers stand for.
typedef struct {
    uint32_t *slots;
    size_t mask, used;
} index_table;

struct rgm_stack_tree {
    rgm_strings *strings;
    rgm_stack_take take;
    void *arg;
    function *functions;
    rgm_stack_row *nodes;
    step *steps;
    size_t functions_room, nodes_room, steps_room;
    index_table by_address, by_place, by_step;
};

// --- tables -----------------------------------------------------------------------------------------------

static bool table_init(index_table *t, size_t slots) {
    t->slots = rgm_calloc(slots, sizeof *t->slots);
    t->mask = slots - 1;
    t->used = 0;
    return t->slots != NULL;
}

static void table_clear(index_table *t) {
    memset(t->slots, 0, (t->mask + 1) * sizeof *t->slots);
    t->used = 0;
}

static void table_put(index_table *t, uint64_t hash, uint32_t number) {
    size_t slot = hash & t->mask;
    while (t->slots[slot]) slot = (slot + 1) & t->mask;
    t->slots[slot] = number + 1;
}

static uint64_t function_hash(const rgm_source_frame *at) {
    return rgm_hash_mix(rgm_hash_mix(at->code, at->name), rgm_hash_mix(at->lines, at->file));
}

static uint64_t node_hash(const rgm_stack_row *n) {
    uint64_t names = (uint64_t)n->function << 32 | n->file,
             lines = (uint64_t)(uint32_t)n->line << 32 | n->parent;
    return rgm_hash_mix(rgm_hash_u64(names), rgm_hash_mix(lines, (uint32_t)n->first_line));
}

static uint64_t step_hash(const step *s) {
    return rgm_hash_mix((uint64_t)s->parent << 32 | s->function, (uint32_t)s->unit);
}

static uint64_t hash_of(const rgm_stack_tree *tree, const index_table *t, uint32_t number) {
    if (t == &tree->by_address) return function_hash(&tree->functions[number].at);
    return t == &tree->by_place ? node_hash(&tree->nodes[number]) : step_hash(&tree->steps[number]);
}

// Room for one more entry, at most half full.
static bool table_room(const rgm_stack_tree *tree, index_table *t) {
    index_table wider;
    if ((t->used + 1) * 2 <= t->mask + 1) return true;
    if (!table_init(&wider, (t->mask + 1) * 2)) return false;
    for (uint32_t number = 0; number < t->used; number++) table_put(&wider, hash_of(tree, t, number), number);
    wider.used = t->used;
    rgm_free(t->slots);
    *t = wider;
    return true;
}

static bool list_room(void **rows, size_t *room, size_t count, size_t width) {
    return count < *room || rgm_list_grow(rows, room, 256, width, NULL) == RGM_OK;
}

#define LIST_ROOM(tree, list, table)                                                                         \
    (list_room((void **)&(tree)->list, &(tree)->list##_room, (tree)->table.used, sizeof *(tree)->list) &&    \
     table_room((tree), &(tree)->table))

// --- life -------------------------------------------------------------------------------------------------

rgm_status rgm_stack_tree_new(rgm_stack_tree **out, rgm_strings *strings, rgm_stack_take take, void *arg,
                              rgm_error *err) {
    rgm_stack_tree *tree = rgm_calloc(1, sizeof *tree);
    if (!tree) return rgm_error_no_memory(err);
    *tree = (rgm_stack_tree){.strings = strings, .take = take, .arg = arg};
    if (!table_init(&tree->by_address, SLOTS_FIRST) || !table_init(&tree->by_place, SLOTS_FIRST) ||
        !table_init(&tree->by_step, SLOTS_FIRST)) {
        rgm_stack_tree_free(tree);
        return rgm_error_no_memory(err);
    }
    *out = tree;
    return RGM_OK;
}

void rgm_stack_tree_free(rgm_stack_tree *tree) {
    if (!tree) return;
    rgm_free(tree->functions);
    rgm_free(tree->nodes);
    rgm_free(tree->steps);
    rgm_free(tree->by_address.slots);
    rgm_free(tree->by_place.slots);
    rgm_free(tree->by_step.slots);
    rgm_free(tree);
}

void rgm_stack_tree_clear(rgm_stack_tree *tree) {
    table_clear(&tree->by_address);
    table_clear(&tree->by_place);
    table_clear(&tree->by_step);
}

// --- functions --------------------------------------------------------------------------------------------

static bool same_addresses(const rgm_source_frame *a, const rgm_source_frame *b) {
    return a->code == b->code && a->name == b->name && a->file == b->file && a->lines == b->lines &&
           a->first_line == b->first_line;
}

static uint32_t intern(rgm_stack_tree *tree, const char *text, size_t length) {
    uint32_t id;
    return rgm_strings_intern(tree->strings, text, length, &id, NULL) == RGM_OK ? id : 0;
}

static bool look(rgm_stack_tree *tree, const rgm_stack_source *source, rgm_walker *walker,
                 const rgm_source_frame *at, int64_t now_ns, function *out) {
    char name[RGM_STACK_TEXT], file[RGM_STACK_TEXT];
    size_t name_length, file_length;
    if (!source->names(walker, at, name, &name_length, file, &file_length)) return false;
    *out = (function){*at, intern(tree, name, name_length), intern(tree, file, file_length), now_ns};
    return true;
}

static void forget_steps(rgm_stack_tree *tree) { table_clear(&tree->by_step); }

static rgm_stack_found find_function(rgm_stack_tree *tree, const rgm_stack_source *source, rgm_walker *walker,
                                     const rgm_source_frame *at, int64_t now_ns, uint32_t *number) {
    index_table *t = &tree->by_address;
    uint64_t hash = function_hash(at);
    function found;
    for (size_t slot = hash & t->mask; t->slots[slot]; slot = (slot + 1) & t->mask) {
        function *known = &tree->functions[ *number = t->slots[slot] - 1];
        if (!same_addresses(&known->at, at)) continue;
        if (now_ns - known->looked_ns < look_again_ns) return RGM_STACK_KNOWN;
        if (!look(tree, source, walker, at, now_ns, &found)) return RGM_STACK_UNREADABLE;
        // Another function has come to lie where this one was: the ways by its instructions hold no more.
        if (found.function != known->function || found.file != known->file) forget_steps(tree);
        *known = found;
        return RGM_STACK_KNOWN;
    }
    if (t->used == FUNCTIONS_MOST) {
        table_clear(t);
        forget_steps(tree);
    }
    if (!LIST_ROOM(tree, functions, by_address)) return RGM_STACK_NO_ROOM;
    if (!look(tree, source, walker, at, now_ns, &found)) return RGM_STACK_UNREADABLE;
    *number = (uint32_t)t->used++;
    tree->functions[*number] = found;
    table_put(t, hash, *number);
    return RGM_STACK_KNOWN;
}

// --- nodes ------------------------------------------------------------------------------------------------

static rgm_stack_found find_node(rgm_stack_tree *tree, rgm_stack_row wanted, uint32_t *node) {
    index_table *t = &tree->by_place;
    uint64_t hash = node_hash(&wanted);
    for (size_t slot = hash & t->mask; t->slots[slot]; slot = (slot + 1) & t->mask) {
        const rgm_stack_row *n = &tree->nodes[ *node = t->slots[slot] - 1];
        if (n->parent == wanted.parent && n->function == wanted.function && n->file == wanted.file &&
            n->line == wanted.line && n->first_line == wanted.first_line)
            return RGM_STACK_KNOWN;
    }
    if (t->used == NODES_MOST || !LIST_ROOM(tree, nodes, by_place)) return RGM_STACK_NO_ROOM;
    wanted.number = (uint32_t)t->used;
    if (!tree->take(tree->arg, &wanted)) return RGM_STACK_NO_ROOM;
    *node = (uint32_t)t->used++;
    tree->nodes[*node] = wanted;
    table_put(t, hash, *node);
    return RGM_STACK_KNOWN;
}

static rgm_stack_found take_step(rgm_stack_tree *tree, const rgm_stack_source *source, rgm_walker *walker,
                                 const rgm_source_frame *frame, int64_t now_ns, uint32_t *node) {
    step wanted = {.parent = *node, .unit = frame->unit};
    rgm_stack_found found = find_function(tree, source, walker, frame, now_ns, &wanted.function);
    if (found != RGM_STACK_KNOWN) return found;
    index_table *t = &tree->by_step;
    uint64_t hash = step_hash(&wanted);
    for (size_t slot = hash & t->mask; t->slots[slot]; slot = (slot + 1) & t->mask) {
        const step *s = &tree->steps[t->slots[slot] - 1];
        if (s->parent != wanted.parent || s->function != wanted.function || s->unit != wanted.unit) continue;
        if (frame->line && tree->nodes[s->node].line != frame->line) continue;
        *node = s->node;
        return RGM_STACK_KNOWN;
    }
    const function *f = &tree->functions[wanted.function];
    rgm_stack_row row = {.parent = *node,
                         .function = f->function,
                         .file = f->file,
                         .line = frame->line ? frame->line : source->line(walker, frame),
                         .first_line = frame->first_line};
    found = find_node(tree, row, node);
    if (found != RGM_STACK_KNOWN) return found;
    wanted.node = *node;
    if (t->used == STEPS_MOST) forget_steps(tree);
    if (!LIST_ROOM(tree, steps, by_step)) return RGM_STACK_KNOWN; // found the long way again next time
    tree->steps[t->used] = wanted;
    table_put(t, hash, (uint32_t)t->used++);
    return RGM_STACK_KNOWN;
}

rgm_stack_found rgm_stack_tree_follow(rgm_stack_tree *tree, const rgm_stack_source *source,
                                      rgm_walker *walker, const rgm_source_frame *frames, size_t count,
                                      int64_t now_ns, rgm_kept_frame *kept, uint32_t *node) {
    rgm_stack_found found = RGM_STACK_KNOWN;
    for (size_t i = count; found == RGM_STACK_KNOWN && i-- > 0;) {
        found = take_step(tree, source, walker, &frames[i], now_ns, node);
        if (kept) kept[count - 1 - i].node = *node;
    }
    return found;
}

rgm_stack_found rgm_stack_tree_find(rgm_stack_tree *tree, const rgm_stack_source *source, rgm_walker *walker,
                                    const rgm_source_frame *frames, size_t count, bool cut, int64_t now_ns,
                                    uint32_t *node) {
    rgm_stack_found found = RGM_STACK_KNOWN;
    *node = RGM_STACK_NONE;
    if (cut) {
        rgm_stack_row root = {.parent = RGM_STACK_NONE,
                              .function = intern(tree, left_out, sizeof left_out - 1),
                              .line = -1,
                              .first_line = -1};
        found = find_node(tree, root, node);
    }
    if (found != RGM_STACK_KNOWN) return found;
    return rgm_stack_tree_follow(tree, source, walker, frames, count, now_ns, NULL, node);
}
