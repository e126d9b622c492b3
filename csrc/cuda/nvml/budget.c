// SPDX-License-Identifier: Apache-2.0
#include "cuda/nvml/budget.h"

#include <math.h>

static double wish(const rgm_budget_item *item) { return item->cost_ns / (double)item->asked_ns; }

void rgm_budget_divide(rgm_budget_item *items, size_t count, double fraction) {
    double share = 0;
    // Each round gives the equal share of what is left to those who want more than it; whoever wants less
    // frees something for them. The share only grows, so that it takes count rounds at most.
    for (size_t round = 0; round <= count; round++) {
        double left = fraction;
        size_t hungry = 0;
        for (size_t i = 0; i < count; i++) {
            if (items[i].off) continue;
            if (round > 0 && wish(&items[i]) <= share)
                left -= wish(&items[i]);
            else
                hungry++;
        }
        double next = hungry ? left / (double)hungry : INFINITY;
        if (round > 0 && !(next > share)) break;
        share = next;
        if (!hungry) break;
    }
    for (size_t i = 0; i < count; i++) {
        items[i].period_ns = items[i].asked_ns;
        if (!items[i].off && wish(&items[i]) > share)
            items[i].period_ns = (int64_t)fmin(ceil(items[i].cost_ns / share), 9e18);
    }
}
