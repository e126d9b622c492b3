// SPDX-License-Identifier: Apache-2.0
// How a budget of time is divided among recurring calls: max-min fairness. Who needs less than an equal share
// gets what it needs; the others divide the rest evenly and are called more rarely.
#ifndef RGM_CUDA_BUDGET_H
#define RGM_CUDA_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    double cost_ns;    // of one call
    int64_t asked_ns;  // period that is wished for
    int64_t period_ns; // result: at least asked_ns
    bool off;          // takes no part
} rgm_budget_item;

// Afterwards the sum of cost/period over all items is at most `fraction`.
void rgm_budget_divide(rgm_budget_item *items, size_t count, double fraction);

#endif
