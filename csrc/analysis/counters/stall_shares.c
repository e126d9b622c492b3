// SPDX-License-Identifier: Apache-2.0
// Samples of instructions by kernel and reason, by reason, by instruction, by scope or by line of source.
//
// A sample knows its kernel by name and no launch of it. So a kernel's samples belong to a scope only where
// all launches of that name are in scopes of one name; of others it is said in how many they are.
#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/times/scope_tree.h"
#include "base/memory.h"

enum { BY_KERNEL, BY_REASON, BY_INSTRUCTION, BY_SCOPE, BY_LINE };

// What is known of a kernel by its name: NULL-free arrays of n_strings.
typedef struct {
    int64_t *launches;
    rgm_name *scope;
    int32_t *scopes; // -1 while no launch of it is known
} kernels;

typedef struct {
    rgm_name kernel, scope;
} pair;

typedef struct {
    rgm_name name, reason, file;
    int64_t line, offset, cubin, samples, not_issued, of_name;
    rgm_name kernel; // what it is known by; of several kernels any
    int32_t scopes;
    rgm_string text, reason_text;
} cell;

// --- kernels and scopes -----------------------------------------------------------------------------------

static int by_pair(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (x->kernel != y->kernel) return x->kernel < y->kernel ? -1 : 1;
    return (x->scope > y->scope) - (x->scope < y->scope);
}

static void release(kernels *k) {
    rgm_free(k->launches);
    rgm_free(k->scope);
    rgm_free(k->scopes);
}

// Of every kernel in the run, with 0 for no scope.
static size_t find_pairs(const rgm_view *view, const rgm_scope_tree *tree, pair *pairs) {
    size_t n = 0;
    for (size_t i = 0; i < view->n_work; i++) {
        uint32_t row = view->work[i];
        if (rgm_view_kind(view, row) != RGM_KIND_KERNEL) continue;
        int32_t launch = view->launch[row], scope = launch < 0 ? -1 : tree->scope_of[launch];
        pairs[n++] = (pair){rgm_view_name(view, row), scope < 0 ? 0 : rgm_view_name(view, (size_t)scope)};
    }
    return n;
}

static rgm_status know_kernels(kernels *k, const rgm_view *view, rgm_error *err) {
    RGM_RELEASED(rgm_scope_tree_release) rgm_scope_tree tree = {0};
    size_t n_strings = view->n_strings + 1;
    k->launches = rgm_calloc(n_strings, sizeof *k->launches);
    k->scope = rgm_calloc(n_strings, sizeof *k->scope);
    k->scopes = rgm_malloc(n_strings * sizeof *k->scopes);
    RGM_FREED pair *pairs = rgm_malloc((view->n_work + 1) * sizeof *pairs);
    if (!k->launches || !k->scope || !k->scopes || !pairs) return rgm_error_no_memory(err);
    memset(k->scopes, 0xFF, n_strings * sizeof *k->scopes);
    RGM_TRY(rgm_scope_tree_init(&tree, view, err));
    size_t n = find_pairs(view, &tree, pairs);
    qsort(pairs, n, sizeof *pairs, by_pair);
    for (size_t i = 0; i < n; i++) {
        rgm_name kernel = pairs[i].kernel;
        if (k->launches[kernel]++ == 0) k->scopes[kernel] = 0;
        if (i && by_pair(&pairs[i - 1], &pairs[i]) == 0) continue;
        k->scopes[kernel]++;
        k->scope[kernel] = k->scopes[kernel] == 1 ? pairs[i].scope : 0;
    }
    return RGM_OK;
}

// --- cells ------------------------------------------------------------------------------------------------

static cell cell_of(const rgm_view *view, const kernels *k, size_t row, int32_t by) {
    const rgm_stalls *stalls = &view->run->stalls;
    rgm_name kernel = stalls->kernel[row];
    cell c = {.name = kernel,
              .kernel = kernel,
              .reason = stalls->reason[row],
              .offset = -1,
              .samples = stalls->samples[row],
              .not_issued = stalls->not_issued[row],
              .scopes = k->scopes[kernel]};
    if (by == BY_REASON) c.name = 0;
    if (by == BY_SCOPE) c.name = k->scope[kernel];
    if (by == BY_INSTRUCTION || by == BY_LINE) {
        c.file = stalls->file[row];
        c.line = stalls->line[row];
    }
    if (by == BY_INSTRUCTION) {
        c.offset = stalls->offset[row];
        c.cubin = stalls->cubin[row];
    }
    c.text = rgm_view_text(view, c.name);
    c.reason_text = rgm_view_text(view, c.reason);
    return c;
}

#define ORDER(member)                                                                                        \
    if (x->member != y->member) return x->member < y->member ? -1 : 1
#define MOST_FIRST(member)                                                                                   \
    if (x->member != y->member) return x->member > y->member ? -1 : 1

static int by_key(const void *a, const void *b) {
    const cell *x = a, *y = b;
    ORDER(name);
    ORDER(reason);
    ORDER(file);
    ORDER(line);
    ORDER(cubin);
    ORDER(offset);
    return 0;
}

static int by_weight(const void *a, const void *b) {
    const cell *x = a, *y = b;
    int order;
    MOST_FIRST(of_name);
    if (x->name != y->name && (order = rgm_string_compare(x->text, y->text)) != 0) return order;
    MOST_FIRST(samples);
    ORDER(line);
    ORDER(cubin);
    ORDER(offset);
    return x->reason == y->reason ? 0 : rgm_string_compare(x->reason_text, y->reason_text);
}

// Adds cells of one key up and tells each what its name has in all; returns how many are left.
static size_t gather(cell *cells, size_t count) {
    size_t n = 0;
    qsort(cells, count, sizeof *cells, by_key);
    for (size_t i = 0; i < count; i++) {
        if (n && by_key(&cells[n - 1], &cells[i]) == 0) {
            cells[n - 1].samples += cells[i].samples;
            cells[n - 1].not_issued += cells[i].not_issued;
            if (cells[i].scopes > cells[n - 1].scopes) cells[n - 1].scopes = cells[i].scopes;
        } else {
            cells[n++] = cells[i];
        }
    }
    for (size_t from = 0, to; from < n; from = to) {
        int64_t sum = 0;
        for (to = from; to < n && cells[to].name == cells[from].name; to++) sum += cells[to].samples;
        for (size_t i = from; i < to; i++) cells[i].of_name = sum;
    }
    qsort(cells, n, sizeof *cells, by_weight);
    return n;
}

static double share(int64_t part, int64_t of) { return of > 0 ? (double)part / (double)of : 0; }

static rgm_status append(rgm_stall_shares *out, const cell *c, const kernels *k, int32_t by, int64_t all,
                         rgm_error *err) {
    size_t row;
    bool of_kernel = by == BY_KERNEL || by == BY_INSTRUCTION || by == BY_LINE;
    RGM_TRY(rgm_table_append(&rgm_stall_shares_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->name[row] = c->name;
    out->reason[row] = c->reason;
    out->offset[row] = c->offset;
    out->cubin[row] = c->cubin;
    out->file[row] = c->file;
    out->line[row] = c->line;
    out->samples[row] = c->samples;
    out->share[row] = share(c->samples, all);
    out->name_share[row] = share(c->samples, c->of_name);
    out->not_issued[row] = c->not_issued;
    out->not_issued_share[row] = share(c->not_issued, c->samples);
    if (by != BY_REASON) out->scopes[row] = c->scopes;
    if (!of_kernel) return RGM_OK;
    out->launches[row] = c->scopes < 0 ? -1 : k->launches[c->kernel];
    out->scope[row] = k->scope[c->kernel];
    return RGM_OK;
}

rgm_status rgm_stall_shares_compute(const rgm_view *view, const rgm_policy *policy,
                                    const rgm_question *question, rgm_stall_shares *out, rgm_error *err) {
    (void)policy;
    const rgm_stalls *stalls = &view->run->stalls;
    RGM_RELEASED(release) kernels known = {0};
    int64_t all = 0;
    if (!stalls->rows) return RGM_OK;
    RGM_TRY(know_kernels(&known, view, err));
    RGM_FREED cell *cells = rgm_malloc(stalls->rows * sizeof *cells);
    if (!cells) return rgm_error_no_memory(err);
    for (size_t i = 0; i < stalls->rows; i++) {
        cells[i] = cell_of(view, &known, i, question->group_by);
        all += cells[i].samples;
    }
    size_t n = gather(cells, stalls->rows);
    for (size_t i = 0; i < n; i++) RGM_TRY(append(out, &cells[i], &known, question->group_by, all, err));
    return RGM_OK;
}
