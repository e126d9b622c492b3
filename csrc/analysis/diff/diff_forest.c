// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "analysis/diff/diff.h"
#include "analysis/stats.h"
#include "base/hash.h"
#include "base/memory.h"

static bool is_node(rgm_kind kind) {
    return kind == RGM_KIND_CPU_OP || kind == RGM_KIND_ANNOTATION || kind == RGM_KIND_SCOPE;
}

static bool is_chosen(const rgm_view *view, size_t row, int32_t step) {
    return step < 0 || rgm_view_step(view, row) == step;
}

static bool get(void *slot, size_t count, size_t size, int fill) {
    void *block = rgm_malloc((count ? count : 1) * size);
    if (block) memset(block, fill, count * size);
    memcpy(slot, &block, sizeof block);
    return block != NULL;
}

void rgm_forest_release(rgm_forest *forest) {
    rgm_free(forest->span);
    rgm_free(forest->parent);
    rgm_free(forest->weak);
    rgm_free(forest->strong);
    rgm_free(forest->self_ns);
    rgm_free(forest->device_ns);
    rgm_free(forest->child_first);
    rgm_free(forest->children);
    rgm_free(forest->work_first);
    rgm_free(forest->work);
    rgm_free(forest->full);
    rgm_free(forest->brief);
    *forest = (rgm_forest){0};
}

static rgm_status allocate(rgm_forest *f, int32_t step, rgm_error *err) {
    const rgm_view *view = f->view;
    f->n_roots = view->n_lanes + 1;
    f->n_nodes = f->n_roots;
    for (size_t i = 0; i < view->n_spans; i++)
        f->n_nodes += is_node(rgm_view_kind(view, i)) && is_chosen(view, i, step);
    if (f->n_nodes >= INT32_MAX) return rgm_error_set(err, RGM_LIMIT, "too many spans to compare");
    bool ok = get(&f->span, f->n_nodes, sizeof(int32_t), 0xFF) &&
              get(&f->parent, f->n_nodes, sizeof(int32_t), 0xFF) &&
              get(&f->weak, f->n_nodes, sizeof(uint32_t), 0) &&
              get(&f->strong, f->n_nodes, sizeof(uint64_t), 0) &&
              get(&f->self_ns, f->n_nodes, sizeof(int64_t), 0) &&
              get(&f->device_ns, f->n_nodes, sizeof(int64_t), 0) &&
              get(&f->child_first, f->n_nodes + 1, sizeof(uint32_t), 0) &&
              get(&f->children, f->n_nodes, sizeof(uint32_t), 0) &&
              get(&f->work_first, f->n_nodes + 1, sizeof(uint32_t), 0) &&
              get(&f->work, view->n_work, sizeof(uint32_t), 0) &&
              get(&f->full, view->n_strings, sizeof(uint32_t), 0xFF) &&
              get(&f->brief, view->n_strings, sizeof(uint32_t), 0xFF);
    return ok ? RGM_OK : rgm_error_no_memory(err);
}

// --- names ------------------------------------------------------------------------------------------------

// Without template arguments and parameters, each number one '#': tile sizes and unrolling do not make
// another kernel.
static size_t shorten(rgm_string text, char *out, size_t room) {
    size_t length = 0, i = 0;
    if (text.length > 5 && memcmp(text.data, "void ", 5) == 0) i = 5;
    for (; i < text.length && length + 1 < room; i++) {
        char c = text.data[i];
        if (c == '<') break;
        if (c == '(' && strncmp(text.data + i, "(anonymous namespace)", 21) != 0) break;
        bool digit = c >= '0' && c <= '9';
        if (digit && length && out[length - 1] == '#') continue;
        out[length++] = digit ? '#' : c;
    }
    return length;
}

static size_t without_digits(rgm_string text, char *out, size_t room) {
    size_t length = 0;
    for (size_t i = 0; i < text.length && length < room; i++)
        if (text.data[i] < '0' || text.data[i] > '9') out[length++] = text.data[i];
    return length;
}

rgm_status rgm_forest_work_key(rgm_forest *forest, rgm_strings *names, uint32_t row, bool brief,
                               uint32_t *key, rgm_error *err) {
    rgm_name name = rgm_view_name(forest->view, row);
    uint32_t *known = brief ? &forest->brief[name] : &forest->full[name];
    if (*known == UINT32_MAX) {
        rgm_string text = rgm_view_text(forest->view, name);
        char buffer[512];
        bool kernel = rgm_view_kind(forest->view, row) == RGM_KIND_KERNEL;
        size_t length = brief && kernel ? shorten(text, buffer, sizeof buffer) : text.length;
        RGM_TRY(rgm_strings_intern(names, brief && kernel ? buffer : text.data, length, known, err));
    }
    *key = *known;
    return RGM_OK;
}

// Names of operators as they are; of annotations without digits, so that step 7 can stand beside step 12. The
// id is kept by name in `full`, which operators and work share: equal text, equal id.
static rgm_status node_key(rgm_forest *f, rgm_strings *names, uint32_t row, uint32_t *key, rgm_error *err) {
    rgm_name name = rgm_view_name(f->view, row);
    rgm_string text = rgm_view_text(f->view, name);
    if (rgm_view_kind(f->view, row) == RGM_KIND_ANNOTATION) {
        char buffer[256];
        size_t length = without_digits(text, buffer, sizeof buffer);
        return rgm_strings_intern(names, buffer, length, key, err);
    }
    if (f->full[name] == UINT32_MAX)
        RGM_TRY(rgm_strings_intern(names, text.data, text.length, &f->full[name], err));
    *key = f->full[name];
    return RGM_OK;
}

// --- nodes ------------------------------------------------------------------------------------------------

static rgm_status add_node(rgm_forest *f, rgm_strings *names, size_t node, uint32_t row, int32_t parent,
                           rgm_error *err) {
    const rgm_view *view = f->view;
    f->span[node] = (int32_t)row;
    f->parent[node] = parent;
    f->self_ns[node] = view->run->spans.duration_ns[row];
    f->child_first[parent + 1]++;
    RGM_TRY(node_key(f, names, row, &f->weak[node], err));
    f->strong[node] = rgm_hash_u64(f->weak[node]);
    if (f->span[parent] < 0) return RGM_OK;
    int64_t end = rgm_view_end(view, row), outer = rgm_view_end(view, (size_t)f->span[parent]);
    int64_t inside = (end < outer ? end : outer) - rgm_view_start(view, row);
    if (inside > 0) f->self_ns[parent] -= inside;
    return RGM_OK;
}

// `open` is a stack of nodes, `node_of` maps spans to nodes.
static rgm_status add_nodes(rgm_forest *f, rgm_strings *names, int32_t step, int32_t *open, int32_t *node_of,
                            rgm_error *err) {
    const rgm_view *view = f->view;
    size_t node = f->n_roots;
    for (size_t lane = 0; lane < view->n_lanes; lane++) {
        size_t depth = 0;
        for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
            uint32_t row = view->lane_spans[i];
            if (!is_node(rgm_view_kind(view, row)) || !is_chosen(view, row, step)) continue;
            while (depth && rgm_view_end(view, (size_t)f->span[open[depth - 1]]) <= rgm_view_start(view, row))
                depth--;
            RGM_TRY(add_node(f, names, node, row, depth ? open[depth - 1] : (int32_t)lane, err));
            node_of[row] = (int32_t)node;
            open[depth++] = (int32_t)node++;
        }
    }
    return RGM_OK;
}

static void link_children(rgm_forest *f) {
    for (size_t n = 0; n < f->n_nodes; n++) f->child_first[n + 1] += f->child_first[n];
    for (size_t n = f->n_roots; n < f->n_nodes; n++)
        f->children[f->child_first[f->parent[n]]++] = (uint32_t)n;
    for (size_t n = f->n_nodes; n > 0; n--) f->child_first[n] = f->child_first[n - 1];
    f->child_first[0] = 0;
}

static size_t node_of_work(const rgm_forest *f, const int32_t *node_of, uint32_t row) {
    int32_t op = f->view->op[row];
    return op >= 0 && node_of[op] >= 0 ? (size_t)node_of[op] : f->n_roots - 1;
}

// In order of start over all devices: work lies in that order for each device, and one operator rarely has
// more than one; where it has, devices come one after the other.
static void link_work(rgm_forest *f, const int32_t *node_of, int32_t step) {
    const rgm_view *view = f->view;
    for (size_t w = 0; w < view->n_work; w++)
        if (is_chosen(view, view->work[w], step))
            f->work_first[node_of_work(f, node_of, view->work[w]) + 1]++;
    for (size_t n = 0; n < f->n_nodes; n++) f->work_first[n + 1] += f->work_first[n];
    for (size_t w = 0; w < view->n_work; w++) {
        uint32_t row = view->work[w];
        if (!is_chosen(view, row, step)) continue;
        size_t node = node_of_work(f, node_of, row);
        f->work[f->work_first[node]++] = row;
        f->device_ns[node] = rgm_add_bounded(f->device_ns[node], view->run->spans.duration_ns[row]);
    }
    for (size_t n = f->n_nodes; n > 0; n--) f->work_first[n] = f->work_first[n - 1];
    f->work_first[0] = 0;
}

static void add_shapes(rgm_forest *f, const int32_t *node_of) {
    const rgm_operators *ops = &f->view->run->operators;
    for (size_t i = 0; i < ops->rows; i++) {
        int32_t node = node_of[ops->span[i]];
        if (node < 0 || !ops->shapes || !ops->shapes[i]) continue;
        rgm_string text = rgm_view_text(f->view, ops->shapes[i]);
        f->strong[node] = rgm_hash_mix(f->strong[node], rgm_hash_bytes(text.data, text.length));
    }
}

rgm_status rgm_forest_build(rgm_forest *f, const rgm_view *view, rgm_strings *names, int32_t step,
                            bool shapes, rgm_error *err) {
    *f = (rgm_forest){.view = view};
    int32_t *open = NULL, *node_of = NULL;
    rgm_status status;
    RGM_GOTO(allocate(f, step, err));
    if (!get(&open, f->n_nodes, sizeof *open, 0) || !get(&node_of, view->n_spans, sizeof *node_of, 0xFF)) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    RGM_GOTO(add_nodes(f, names, step, open, node_of, err));
    if (shapes) add_shapes(f, node_of);
    for (size_t n = f->n_nodes; n-- > f->n_roots;) // children have higher numbers than their parents
        f->strong[f->parent[n]] = rgm_hash_mix(f->strong[f->parent[n]], f->strong[n]);
    link_children(f);
    link_work(f, node_of, step);
done:
    rgm_free(open);
    rgm_free(node_of);
    if (status != RGM_OK) rgm_forest_release(f);
    return status;
}
