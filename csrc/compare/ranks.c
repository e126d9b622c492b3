// SPDX-License-Identifier: Apache-2.0
#include "compare/ranks.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/doubles.h"
#include "base/memory.h"
#include "compare/distributions.h"

enum { EXACT_SIDE = 8, EXACT_SIGNED = 50, EXACT_CELLS = 4000000, TURNS = 6 };

// --- ranks ------------------------------------------------------------------------------------------------

// How many of the sorted values lie below.
static size_t below_of(const double *sorted, size_t count, double value) {
    size_t first = 0;
    while (count > 0) {
        size_t half = count / 2;
        bool lower = sorted[first + half] < value;
        first = lower ? first + half + 1 : first;
        count = lower ? count - half - 1 : half;
    }
    return first;
}

// Sorting bare values and looking each one up is cheaper than sorting values with their places.
rgm_status rgm_mid_ranks(const double *values, size_t count, double *ranks, double *ties, rgm_error *err) {
    double *sorted = rgm_malloc((count + 1) * sizeof *sorted);
    if (!sorted) return rgm_error_no_memory(err);
    if (count) memcpy(sorted, values, count * sizeof *sorted);
    rgm_sort_doubles(sorted, count);
    *ties = 0;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && !(sorted[from] < sorted[to]);) to++;
        double group = (double)(to - from);
        *ties += group * group * group - group;
    }
    for (size_t i = 0; i < count; i++) {
        size_t from = below_of(sorted, count, values[i]), to = from + 1;
        if (*ties > 0) to = below_of(sorted, count, nextafter(values[i], INFINITY));
        ranks[i] = (double)(from + to + 1) / 2;
    }
    rgm_free(sorted);
    return RGM_OK;
}

// --- Mann-Whitney -----------------------------------------------------------------------------------------

// How often each value of b lies above those of a, equal values counting a half: U of b; and the ties.
static double count_above(const double *a, size_t n_a, const double *b, size_t n_b, double *ties) {
    double u = 0;
    size_t below = 0, equal_to = 0;
    *ties = 0;
    for (size_t j = 0; j < n_b; j++) {
        while (below < n_a && a[below] < b[j]) below++;
        if (equal_to < below) equal_to = below;
        while (equal_to < n_a && a[equal_to] <= b[j]) equal_to++;
        u += (double)below + (double)(equal_to - below) / 2;
    }
    for (size_t i = 0, j = 0; i < n_a || j < n_b;) {
        double value = j >= n_b || (i < n_a && a[i] < b[j]) ? a[i] : b[j];
        double group = 0;
        for (; i < n_a && a[i] <= value; i++) group++;
        for (; j < n_b && b[j] <= value; j++) group++;
        *ties += group * group * group - group;
    }
    return u;
}

// Number of arrangements of n and m values with each U, by adding the values one by one: the count for u is
// the coefficient of q^u of the Gaussian binomial, built by multiplying with (1 - q^(m+i)) / (1 - q^i).
static double *arrangements(size_t n, size_t m, rgm_error *err) {
    size_t most = n * m;
    double *counts = rgm_calloc(most + 1, sizeof *counts);
    if (!counts) {
        (void)rgm_error_no_memory(err);
        return NULL;
    }
    counts[0] = 1;
    for (size_t i = 1; i <= n; i++) {
        for (size_t u = most + 1; u-- > m + i;) counts[u] -= counts[u - (m + i)];
        for (size_t u = i; u <= most; u++) counts[u] += counts[u - i];
    }
    return counts;
}

static rgm_status exact_whitney(double u, size_t n, size_t m, double *p, rgm_error *err) {
    double *counts = arrangements(n < m ? n : m, n < m ? m : n, err);
    if (!counts) return RGM_NO_MEMORY;
    double larger = fmax(u, (double)(n * m) - u), tail = 0, all = 0;
    for (size_t at = 0; at <= n * m; at++) {
        all += counts[at];
        if ((double)at >= larger) tail += counts[at];
    }
    *p = fmin(1.0, 2.0 * tail / all);
    rgm_free(counts);
    return RGM_OK;
}

rgm_status rgm_mann_whitney(const double *a, size_t n_a, const double *b, size_t n_b, rgm_rank_test *out,
                            rgm_error *err) {
    *out = (rgm_rank_test){NAN, NAN, false};
    if (!n_a || !n_b) return RGM_OK;
    double ties, pairs = (double)n_a * (double)n_b, all = (double)(n_a + n_b);
    double above = count_above(a, n_a, b, n_b, &ties);
    out->statistic = pairs - above;
    out->exact =
        ties == 0 && (n_a <= EXACT_SIDE || n_b <= EXACT_SIDE) && n_a * n_b * (n_a + n_b) < EXACT_CELLS;
    if (out->exact) return exact_whitney(above, n_a, n_b, &out->p, err);
    double variance = pairs / 12 * (all + 1 - ties / (all * (all - 1)));
    double distance = fmax(fabs(above - pairs / 2) - 0.5, 0);
    // All values equal: no order, no evidence.
    out->p = variance > 0 ? fmin(1.0, 2 * rgm_normal_upper(distance / sqrt(variance))) : 1.0;
    return RGM_OK;
}

// --- signed rank ------------------------------------------------------------------------------------------

static double exact_signed(double w, size_t n) {
    // counts[s]: subsets of 1..n that sum to s; 50 * 51 / 2 + 1 at most
    double counts[EXACT_SIGNED * (EXACT_SIGNED + 1) / 2 + 1] = {1};
    size_t most = n * (n + 1) / 2;
    for (size_t i = 1; i <= n; i++)
        for (size_t s = most + 1; s-- > i;) counts[s] += counts[s - i];
    double tail = 0;
    for (size_t s = 0; s <= most && (double)s <= w; s++) tail += counts[s];
    return fmin(1.0, 2 * tail / ldexp(1.0, (int)n));
}

rgm_status rgm_signed_rank(const double *differences, size_t count, rgm_rank_test *out, rgm_error *err) {
    *out = (rgm_rank_test){NAN, NAN, false};
    double *sizes = rgm_malloc((2 * count + 1) * sizeof *sizes);
    if (!sizes) return rgm_error_no_memory(err);
    double *ranks = sizes + count, ties = 0, up = 0, down = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (differences[i] != 0) sizes[n++] = fabs(differences[i]);
    rgm_status status;
    RGM_GOTO(rgm_mid_ranks(sizes, n, ranks, &ties, err));
    for (size_t i = 0, at = 0; i < count; i++) {
        if (differences[i] == 0) continue;
        *(differences[i] > 0 ? &up : &down) += ranks[at++];
    }
    out->statistic = fmin(up, down);
    if (!n) {
        out->p = 1.0; // nothing but zeros
    } else if (ties == 0 && n == count && n <= EXACT_SIGNED) {
        out->exact = true;
        out->p = exact_signed(out->statistic, n);
    } else {
        double size = (double)n, variance = size * (size + 1) * (2 * size + 1) / 24 - ties / 48;
        out->p = fmin(1.0, 2 * rgm_normal_upper((size * (size + 1) / 4 - out->statistic) / sqrt(variance)));
    }
done:
    rgm_free(sizes);
    return status;
}

// --- shift ------------------------------------------------------------------------------------------------

// The differences b[j] - a[i]; row i ascends with j. What is still in question of a row is first[i] ..
// past[i] - 1.
typedef struct {
    const double *a, *b;
    size_t n_a, n_b;
    size_t *first, *past;
} matrix;

// Number of differences below the value; `places` are those of each row.
static uint64_t count_below(const matrix *m, double value, size_t *places) {
    uint64_t sum = 0;
    size_t j = 0; // rows of larger a need larger b, so the place only grows
    for (size_t i = 0; i < m->n_a; i++) {
        while (j < m->n_b && m->b[j] - m->a[i] < value) j++;
        places[i] = j;
        sum += j;
    }
    return sum;
}

typedef struct {
    matrix m;
    size_t *places;
    double *gathered;
    size_t room;    // of gathered
    double density; // differences per unit around the middle
} selection;

// Values between `low` (included) and `high` (excluded), and how many lie below each.
typedef struct {
    double low, high;
    uint64_t below_low, below_high;
    bool cut_high; // `high` is a cut, not the largest difference
} bracket;

static size_t gather(selection *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->m.n_a; i++)
        for (size_t j = s->m.first[i]; j < s->m.past[i]; j++) s->gathered[n++] = s->m.b[j] - s->m.a[i];
    return n;
}

// The next cut: where the k-th would be if the differences lay evenly, a little beyond, so that it soon lies
// between two cuts. Every third halves, so that an uneven density costs no more than a logarithm.
static double cut_of(const selection *s, const bracket *b, uint64_t k, double guess, int turn) {
    double margin = (double)s->room / 4 / s->density, middle = b->low + (b->high - b->low) / 2, cut;
    double above = (double)(k - b->below_low), beneath = (double)(b->below_high - k);
    if (turn == 0)
        cut = guess;
    else if (turn % 3 == 0)
        cut = middle;
    else if (turn == 1)
        cut = b->cut_high ? b->high - 1.2 * beneath / s->density - margin
                          : b->low + 1.2 * above / s->density + margin;
    else if (above < beneath)
        cut = fmin(b->low + above / (above + beneath) * (b->high - b->low) + margin, middle);
    else
        cut = fmax(b->low + above / (above + beneath) * (b->high - b->low) - margin, middle);
    return cut > b->low && cut < b->high ? cut : middle;
}

// Of the differences in question the least, or the largest.
static double end_of(const matrix *m, bool largest) {
    double end = largest ? -INFINITY : INFINITY;
    for (size_t i = 0; i < m->n_a; i++) {
        if (m->first[i] == m->past[i]) continue;
        double one = m->b[largest ? m->past[i] - 1 : m->first[i]] - m->a[i];
        end = largest ? fmax(end, one) : fmin(end, one);
    }
    return end;
}

// Whether the k-th lies below the cut; what is in question ends there, or begins.
static bool take_cut(selection *s, bracket *b, double cut, uint64_t k) {
    matrix *m = &s->m;
    uint64_t below = count_below(m, cut, s->places);
    memcpy(k < below ? m->past : m->first, s->places, m->n_a * sizeof *s->places);
    if (k < below)
        b->high = cut, b->below_high = below, b->cut_high = true;
    else
        b->low = cut, b->below_low = below;
    return k < below;
}

// The k-th smallest difference, k from 0, near `guess`. Cuts until few enough are left to gather. Times of a
// clock with few digits leave many equal ones, through which no cut goes: after some turns the least and the
// largest of what is left are each cut off, and are the answer where the k-th is among them.
static double select_difference(selection *s, uint64_t k, double guess) {
    matrix *m = &s->m;
    bracket b = {m->b[0] - m->a[m->n_a - 1], nextafter(m->b[m->n_b - 1] - m->a[0], INFINITY), 0,
                 (uint64_t)m->n_a * m->n_b, false};
    for (size_t i = 0; i < m->n_a; i++) m->first[i] = 0, m->past[i] = m->n_b;
    for (int turn = 0; b.below_high - b.below_low > s->room; turn++) {
        bool at_end = turn >= TURNS && turn % 3, largest = turn % 3 == 2;
        double end = at_end ? end_of(m, largest) : 0;
        double cut = !at_end ? cut_of(s, &b, k, guess, turn) : largest ? end : nextafter(end, INFINITY);
        if (!(cut > b.low && cut < b.high)) return at_end ? end : b.low; // neighbours among the doubles
        if (take_cut(s, &b, cut, k) != largest && at_end) return end;
    }
    return rgm_select_double(s->gathered, gather(s), (size_t)(k - b.below_low));
}

// How many of the smallest differences lie outside the interval on each side.
static uint64_t outside(size_t n_a, size_t n_b, double alpha, double inflation) {
    double pairs = (double)n_a * (double)n_b, z = -rgm_normal_quantile(alpha / 2);
    double deviation = inflation * sqrt(pairs * (double)(n_a + n_b + 1) / 12);
    double edge = floor(pairs / 2 - z * deviation - 0.5);
    return edge > 0 ? (uint64_t)edge : 0;
}

// Width of sorted values, as the standard deviation of a normal distribution with these quartiles.
static double width_of(const double *sorted, size_t count) {
    return (sorted[count - 1 - count / 4] - sorted[count / 4]) / 1.349;
}

rgm_status rgm_shift_of(const double *a, size_t n_a, const double *b, size_t n_b, double alpha,
                        double inflation, rgm_shift *out, rgm_error *err) {
    *out = (rgm_shift){NAN, NAN, NAN};
    if (!n_a || !n_b) return RGM_OK;
    size_t room = 4 * (n_a + n_b);
    size_t *places = rgm_malloc(3 * n_a * sizeof *places);
    double *gathered = rgm_malloc(room * sizeof *gathered);
    if (!places || !gathered) {
        rgm_free(places);
        rgm_free(gathered);
        return rgm_error_no_memory(err);
    }
    uint64_t pairs = (uint64_t)n_a * n_b, edge = outside(n_a, n_b, alpha, inflation);
    double width = hypot(width_of(a, n_a), width_of(b, n_b));
    selection s = {{a, b, n_a, n_b, places, places + n_a},
                   places + 2 * n_a,
                   gathered,
                   room,
                   width > 0 ? 0.4 * (double)pairs / width : (double)pairs};
    double upper = select_difference(&s, pairs / 2, rgm_median_sorted(b, n_b) - rgm_median_sorted(a, n_a));
    double lower = pairs % 2 ? upper : select_difference(&s, pairs / 2 - 1, upper);
    uint64_t half = pairs / 2;
    double reach = (double)(half - edge) / s.density;
    out->estimate = lower + (upper - lower) / 2;
    out->low = select_difference(&s, edge, out->estimate - reach);
    out->high = select_difference(&s, pairs - 1 - edge, out->estimate + reach);
    rgm_free(places);
    rgm_free(gathered);
    return RGM_OK;
}
