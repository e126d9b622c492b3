// SPDX-License-Identifier: Apache-2.0
// Alignment of two lists. Equal ends are taken off; what both sides hold exactly once anchors the rest (the
// longest increasing run of such items, as patience diff does); what lies between is aligned by the best
// common subsequence of windows of bounded size, in which an equal subtree weighs more than an equal name.
#include <string.h>

#include "analysis/diff/diff.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

enum { WINDOW = 192, STRONG = 5, WEAK = 3, DEEPEST = 24 };

typedef struct {
    const rgm_align_key *a, *b;
    int32_t *partner;
    int32_t score[2][WINDOW + 1];
    uint8_t step[WINDOW][WINDOW]; // 0 skip a, 1 skip b, 2 match
    uint64_t *keys;               // scratch of the anchors, [2 * (n + m)]
    uint32_t *order;
} aligner;

typedef struct {
    size_t a, a_end, b, b_end;
    int depth;
} range;

static int gain(const rgm_align_key *x, const rgm_align_key *y) {
    if (x->weak != y->weak) return 0;
    return x->strong == y->strong ? STRONG : WEAK;
}

// Best common subsequence of two windows, from their ends to their beginnings, so that it is read forwards.
static void align_window(aligner *al, size_t a, size_t n, size_t b, size_t m) {
    memset(al->score, 0, sizeof al->score);
    for (size_t i = n; i-- > 0;) {
        int32_t *row = al->score[i % 2], *below = al->score[(i + 1) % 2];
        row[m] = 0;
        for (size_t j = m; j-- > 0;) {
            int matched = gain(&al->a[a + i], &al->b[b + j]);
            int32_t best = below[j];
            uint8_t step = 0;
            if (row[j + 1] > best) best = row[j + 1], step = 1;
            if (matched && below[j + 1] + matched >= best) best = below[j + 1] + matched, step = 2;
            row[j] = best;
            al->step[i][j] = step;
        }
    }
    for (size_t i = 0, j = 0; i < n && j < m;) {
        uint8_t step = al->step[i][j];
        if (step == 2) al->partner[a + i] = (int32_t)(b + j);
        i += step != 1;
        j += step != 0;
    }
}

// Window after window; the last quarter of each is looked at again with what follows.
static void align_windows(aligner *al, range r) {
    while (r.a < r.a_end && r.b < r.b_end) {
        size_t n = r.a_end - r.a, m = r.b_end - r.b;
        bool last = n <= WINDOW && m <= WINDOW;
        n = n < WINDOW ? n : WINDOW;
        m = m < WINDOW ? m : WINDOW;
        align_window(al, r.a, n, r.b, m);
        if (last) return;
        size_t next_a = r.a + n / 4, next_b = r.b + m / 4; // without any match, some way ahead
        bool matched = false;
        for (size_t i = 0; i < n; i++) {
            int32_t j = al->partner[r.a + i];
            if (j < 0) continue;
            if (matched && (i > n - n / 4 || (size_t)j > r.b + m - m / 4)) {
                al->partner[r.a + i] = -1;
                continue;
            }
            next_a = r.a + i + 1;
            next_b = (size_t)j + 1;
            matched = true;
        }
        r.a = next_a > r.a ? next_a : r.a + 1;
        r.b = next_b > r.b ? next_b : r.b + 1;
    }
}

static void trim(aligner *al, range *r) {
    while (r->a < r->a_end && r->b < r->b_end && gain(&al->a[r->a], &al->b[r->b]) == STRONG)
        al->partner[r->a++] = (int32_t)r->b++;
    while (r->a < r->a_end && r->b < r->b_end && gain(&al->a[r->a_end - 1], &al->b[r->b_end - 1]) == STRONG)
        al->partner[--r->a_end] = (int32_t)--r->b_end;
}

// Pairs of items that are unique on both sides, in order of `a`: sets partner, returns how many.
static rgm_status unique_pairs(aligner *al, const range *r, size_t *count, rgm_error *err) {
    size_t n = r->a_end - r->a, m = r->b_end - r->b;
    for (size_t i = 0; i < n; i++) al->keys[i] = al->a[r->a + i].strong;
    for (size_t j = 0; j < m; j++) al->keys[n + j] = al->b[r->b + j].strong;
    RGM_TRY(rgm_sort_order(al->keys, n + m, al->order, err));
    *count = 0;
    for (size_t from = 0, to; from < n + m; from = to) {
        for (to = from + 1; to < n + m && al->keys[al->order[to]] == al->keys[al->order[from]];) to++;
        if (to - from != 2 || al->order[from] >= n || al->order[from + 1] < n) continue; // stable: a before b
        size_t i = al->order[from], j = al->order[from + 1] - n;
        if (!gain(&al->a[r->a + i], &al->b[r->b + j])) continue;
        al->partner[r->a + i] = (int32_t)(r->b + j);
        ++*count;
    }
    return RGM_OK;
}

// Keeps the longest run of pairs that is in order on both sides; the others lose their partner.
static void keep_increasing(aligner *al, const range *r) {
    uint32_t *tails = al->order, *before = (uint32_t *)(void *)al->keys; // scratch again: item numbers from 1
    size_t length = 0;
    for (size_t i = r->a; i < r->a_end; i++) {
        if (al->partner[i] < 0) continue;
        rgm_search search = rgm_search_in(0, length);
        while (rgm_search_on(&search))
            rgm_search_tell(&search, al->partner[r->a + tails[search.middle]] < al->partner[i]);
        before[i - r->a] = search.low ? tails[search.low - 1] + 1 : 0;
        tails[search.low] = (uint32_t)(i - r->a);
        if (search.low == length) length++;
    }
    uint32_t next = length ? tails[length - 1] + 1 : 0;
    for (size_t i = r->a_end; i-- > r->a;) {
        if (next && i - r->a == next - 1)
            next = before[i - r->a];
        else
            al->partner[i] = -1;
    }
}

typedef struct {
    range *items;
    size_t count, capacity;
} ranges;

static rgm_status push(ranges *todo, range r, rgm_error *err) {
    if (r.a == r.a_end || r.b == r.b_end) return RGM_OK;
    RGM_TRY(RGM_LIST_ROOM(todo->items, todo->count, todo->capacity, 16, err));
    todo->items[todo->count++] = r;
    return RGM_OK;
}

static rgm_status split(aligner *al, range r, ranges *todo, rgm_error *err) {
    size_t anchors = 0;
    trim(al, &r);
    bool small = r.a_end - r.a <= WINDOW && r.b_end - r.b <= WINDOW;
    if (!small && r.depth < DEEPEST) {
        RGM_TRY(unique_pairs(al, &r, &anchors, err));
        if (anchors) keep_increasing(al, &r);
    }
    if (!anchors) {
        align_windows(al, r);
        return RGM_OK;
    }
    range part = {r.a, r.a, r.b, r.b, r.depth + 1};
    for (size_t i = r.a; i < r.a_end; i++) {
        if (al->partner[i] < 0) continue;
        part.a_end = i;
        part.b_end = (size_t)al->partner[i];
        RGM_TRY(push(todo, part, err));
        part.a = i + 1;
        part.b = part.b_end + 1;
    }
    part.a_end = r.a_end;
    part.b_end = r.b_end;
    return push(todo, part, err);
}

rgm_status rgm_align(const rgm_align_key *a, size_t n, const rgm_align_key *b, size_t m, int32_t *partner,
                     rgm_error *err) {
    for (size_t i = 0; i < n; i++) partner[i] = -1;
    size_t same = 0;
    while (same < n && same < m && gain(&a[same], &b[same]) == STRONG) {
        partner[same] = (int32_t)same;
        same++;
    }
    if (same == n || same == m) return RGM_OK; // the usual case needs no memory
    aligner *al = rgm_malloc(sizeof *al);
    ranges todo = {0};
    rgm_status status = RGM_OK;
    if (!al) return rgm_error_no_memory(err);
    al->a = a;
    al->b = b;
    al->partner = partner;
    al->keys = rgm_malloc((n + m) * sizeof *al->keys);
    al->order = rgm_malloc((n + m) * sizeof *al->order);
    if (!al->keys || !al->order) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    RGM_GOTO(push(&todo, (range){same, n, same, m, 0}, err));
    while (todo.count) RGM_GOTO(split(al, todo.items[--todo.count], &todo, err));
done:
    rgm_free(todo.items);
    rgm_free(al->keys);
    rgm_free(al->order);
    rgm_free(al);
    return status;
}
