// SPDX-License-Identifier: Apache-2.0
// The one binary search: of rows that lie before what is sought, and then only rows that do not, the first
// that does not. The question is asked by who searches, so it may look at anything:
//
//     rgm_search search = rgm_search_in(0, count);
//     while (rgm_search_on(&search)) rgm_search_tell(&search, ends[search.middle] <= time);
//     // search.low is the first row with an end after `time`, `count` where there is none
#ifndef RGM_BASE_SEARCH_H
#define RGM_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t low, high; // what is sought lies at low .. high; in the end at both
    size_t middle;    // the row in question
} rgm_search;

// In the rows low .. high - 1.
static inline rgm_search rgm_search_in(size_t low, size_t high) { return (rgm_search){low, high, low}; }

static inline bool rgm_search_on(rgm_search *search) {
    search->middle = search->low + (search->high - search->low) / 2;
    return search->low < search->high;
}

// Whether the row in the middle lies before what is sought.
static inline void rgm_search_tell(rgm_search *search, bool before) {
    if (before)
        search->low = search->middle + 1;
    else
        search->high = search->middle;
}

#endif
