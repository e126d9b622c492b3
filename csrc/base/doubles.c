// SPDX-License-Identifier: Apache-2.0
#include "base/doubles.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void insertion_sort(double *values, size_t count) {
    for (size_t i = 1; i < count; i++) {
        double value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--) values[at] = values[at - 1];
        values[at] = value;
    }
}

static double middle_of(double x, double y, double z) {
    return x < y ? (y < z ? y : x < z ? z : x) : (x < z ? x : y < z ? z : y);
}

// Exchanges values from i to j until those below i are at most the pivot, and those above j at least it.
static inline void part(double *values, double pivot, ptrdiff_t *from, ptrdiff_t *to) {
    ptrdiff_t i = *from, j = *to;
    while (i <= j) {
        while (values[i] < pivot) i++;
        while (pivot < values[j]) j--;
        if (i > j) break;
        double swapped = values[i];
        values[i++] = values[j];
        values[j--] = swapped;
    }
    *from = i;
    *to = j;
}

// Quicksort with the comparison inline, several times as fast here as qsort, which takes over where the
// pivots turn out badly.
static void quicksort(double *values, size_t count, int depth) {
    while (count > 24) {
        if (depth-- == 0) {
            qsort(values, count, sizeof *values, ascending);
            return;
        }
        ptrdiff_t i = 0, j = (ptrdiff_t)count - 1;
        part(values, middle_of(values[0], values[count / 2], values[count - 1]), &i, &j);
        quicksort(values, (size_t)(j + 1), depth);
        values += i;
        count -= (size_t)i;
    }
    insertion_sort(values, count);
}

// Hoare's FIND.
double rgm_select_double(double *values, size_t count, size_t k) {
    ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, wanted = (ptrdiff_t)k;
    while (low < high) {
        ptrdiff_t i = low, j = high;
        part(values, values[wanted], &i, &j);
        if (j < wanted) low = i;
        if (wanted < i) high = j;
    }
    return values[k];
}

void rgm_sort_doubles(double *values, size_t count) { quicksort(values, count, 64); }

double rgm_median_sorted(const double *sorted, size_t count) {
    if (!count) return NAN;
    double upper = sorted[count / 2];
    return count % 2 ? upper : sorted[count / 2 - 1] + (upper - sorted[count / 2 - 1]) / 2;
}

double rgm_quantile_of_sorted(const double *sorted, size_t count, double q) {
    if (!count) return NAN;
    double place = q * (double)(count - 1);
    size_t low = (size_t)place;
    if (low + 1 >= count) return sorted[count - 1];
    return sorted[low] + (place - (double)low) * (sorted[low + 1] - sorted[low]);
}
