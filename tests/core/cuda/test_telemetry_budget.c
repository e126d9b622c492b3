// SPDX-License-Identifier: Apache-2.0
// How calls share what sampling may cost.
#include "cuda/nvml/budget.h"

#include "harness.h"
#include "random.h"

static double spent(const rgm_budget_item *items, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (!items[i].off) sum += items[i].cost_ns / (double)items[i].period_ns;
    return sum;
}

TEST(a_budget_that_suffices_slows_nobody) {
    rgm_budget_item items[] = {{.cost_ns = 1000, .asked_ns = 1000000},
                               {.cost_ns = 3000, .asked_ns = 1000000}};
    rgm_budget_divide(items, 2, 0.01);
    CHECK_EQ_I64(items[0].period_ns, 1000000);
    CHECK_EQ_I64(items[1].period_ns, 1000000);
}

TEST(the_small_are_not_slowed_by_the_great) {
    rgm_budget_item items[] = {{.cost_ns = 1000, .asked_ns = 1000000},
                               {.cost_ns = 900000, .asked_ns = 1000000},
                               {.cost_ns = 400000, .asked_ns = 1000000},
                               {.cost_ns = 1e9, .asked_ns = 1, .off = true}};
    rgm_budget_divide(items, 4, 0.01);
    CHECK_EQ_I64(items[0].period_ns, 1000000);
    CHECK_NEAR(items[1].cost_ns / (double)items[1].period_ns, 0.0045, 1e-7); // half of what is left
    CHECK_NEAR(items[2].cost_ns / (double)items[2].period_ns, 0.0045, 1e-7);
    CHECK(spent(items, 4) <= 0.01);
}

TEST(a_budget_is_never_exceeded) {
    uint64_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        rgm_budget_item items[12];
        size_t count = 1 + (size_t)round % 12;
        for (size_t i = 0; i < count; i++) {
            random_step(&seed);
            items[i] = (rgm_budget_item){.cost_ns = (double)((seed >> 33) % 2000000),
                                         .asked_ns = 10000000 * (int64_t)(1 + (seed >> 20) % 100)};
        }
        rgm_budget_divide(items, count, 0.01);
        CHECK(spent(items, count) <= 0.01 * (1 + 1e-9));
        for (size_t i = 0; i < count; i++) CHECK(items[i].period_ns >= items[i].asked_ns);
    }
}
