// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/counter_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

// The roles of a set are written as (A, B, ...); each becomes the enumerator of its name, up to
// RGM_PLAN_ROLES.
#define R(name) RGM_COUNTER_ROLE_##name
#define R1(a) R(a)
#define R2(a, ...) R(a), R1(__VA_ARGS__)
#define R3(a, ...) R(a), R2(__VA_ARGS__)
#define R4(a, ...) R(a), R3(__VA_ARGS__)
#define R5(a, ...) R(a), R4(__VA_ARGS__)
#define R6(a, ...) R(a), R5(__VA_ARGS__)
#define R7(a, ...) R(a), R6(__VA_ARGS__)
#define R8(a, ...) R(a), R7(__VA_ARGS__)
#define R9(a, ...) R(a), R8(__VA_ARGS__)
#define R10(a, ...) R(a), R9(__VA_ARGS__)
#define R11(a, ...) R(a), R10(__VA_ARGS__)
#define R12(a, ...) R(a), R11(__VA_ARGS__)
#define R13(a, ...) R(a), R12(__VA_ARGS__)
#define R14(a, ...) R(a), R13(__VA_ARGS__)
#define PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, chosen, ...) chosen
#define ROLES(...)                                                                                           \
    PICK(__VA_ARGS__, R14, R13, R12, R11, R10, R9, R8, R7, R6, R5, R4, R3, R2, R1, none)(__VA_ARGS__)
#define COUNT(...) PICK(__VA_ARGS__, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, none)

const rgm_counter_set_row rgm_counter_sets[RGM_COUNTER_SET_COUNT] = {
#define SET_ROW(name, token, profiler, doc, roles) {token, doc, profiler, {ROLES roles}, COUNT roles},
    RGM_COUNTER_SETS(SET_ROW)
#undef SET_ROW
};

rgm_counter_set rgm_counter_set_find(const char *token) {
    for (int set = 0; set < RGM_COUNTER_SET_COUNT; set++)
        if (strcmp(rgm_counter_sets[set].token, token) == 0) return (rgm_counter_set)set;
    return RGM_COUNTER_SET_NONE;
}

// --- passes -----------------------------------------------------------------------------------------------

// A host takes one configuration only, so each question gets a host of its own (some milliseconds).
typedef struct {
    const rgm_counter_library *library;
    int profiler;
    const char *chip;
    const uint8_t *availability;
} question;

static rgm_status passes_of(const question *q, const char *const *metrics, size_t count, size_t *passes,
                            rgm_error *err) {
    rgm_counter_host host;
    uint8_t *image = NULL;
    size_t image_size;
    *passes = 0;
    RGM_TRY(rgm_counter_host_open(&host, q->library, q->profiler, q->chip, q->availability, err));
    rgm_status status = rgm_counter_host_configure(&host, metrics, count, &image, &image_size, passes, err);
    rgm_free(image);
    rgm_counter_host_close(&host);
    return status;
}

static const char *const *candidates_of(const rgm_counter_plan *plan, rgm_counter_role role) {
    const rgm_counter_role_row *row = &rgm_counter_roles[role];
    return rgm_counter_sets[plan->set].profiler == RGM_CUPTI_PM_SAMPLING ? row->sampled : row->range;
}

// Takes the first of the candidates from `from` on that the chip has; RGM_COUNTER_CANDIDATES when it has
// none.
static int take(const rgm_counter_plan *plan, const rgm_counter_host *host, rgm_counter_plan_row *row,
                int from) {
    const char *const *candidates = candidates_of(plan, row->role);
    for (int c = from; c < RGM_COUNTER_CANDIDATES && candidates[c] && *candidates[c]; c++) {
        if (!rgm_counter_host_has(host, candidates[c])) continue;
        (void)snprintf(row->metric, sizeof row->metric, "%s", candidates[c]);
        return c;
    }
    return RGM_COUNTER_CANDIDATES;
}

static void resolve(rgm_counter_plan *plan, const rgm_counter_host *host) {
    const rgm_counter_set_row *set = &rgm_counter_sets[plan->set];
    for (int i = 0; i < set->count; i++) {
        rgm_counter_plan_row *row = &plan->rows[plan->count++];
        *row = (rgm_counter_plan_row){.role = (rgm_counter_role)set->roles[i], .pass = RGM_PLAN_ABSENT};
        (void)take(plan, host, row, 0);
    }
}

static size_t metrics_of(const rgm_counter_plan *plan, int pass, const char **metrics) {
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++)
        if (*plan->rows[i].metric && plan->rows[i].pass == pass) metrics[count++] = plan->rows[i].metric;
    return count;
}

// A metric that needs several passes by itself is given up for the next candidate that needs one.
static rgm_status choose(const rgm_counter_plan *plan, const question *q, const rgm_counter_host *host,
                         rgm_counter_plan_row *row, rgm_error *err) {
    rgm_counter_plan_row other = *row;
    const char *metric = row->metric;
    size_t passes;
    RGM_TRY(passes_of(q, &metric, 1, &passes, err));
    row->passes = (int)passes;
    metric = other.metric;
    for (int c = 0; passes != 1 && (c = take(plan, host, &other, c)) < RGM_COUNTER_CANDIDATES; c++) {
        RGM_TRY(passes_of(q, &metric, 1, &passes, err));
        other.passes = (int)passes;
        if (passes == 1) *row = other;
    }
    return RGM_OK;
}

// First fit, in the order of the set: what matters most is in group 0.
static rgm_status place(rgm_counter_plan *plan, const question *q, rgm_counter_plan_row *row,
                        rgm_error *err) {
    const char *metrics[RGM_PLAN_ROLES];
    size_t passes;
    row->pass = RGM_PLAN_TOO_MANY;
    if (row->passes != 1) return RGM_OK;
    for (int group = 0; group < plan->groups; group++) {
        size_t count = metrics_of(plan, group, metrics);
        metrics[count] = row->metric;
        RGM_TRY(passes_of(q, metrics, count + 1, &passes, err));
        if (passes == 1) {
            row->pass = group;
            return RGM_OK;
        }
    }
    row->pass = plan->groups++;
    return RGM_OK;
}

static rgm_status split(rgm_counter_plan *plan, const question *q, const rgm_counter_host *host,
                        rgm_error *err) {
    for (size_t i = 0; i < plan->count; i++) plan->rows[i].pass = RGM_PLAN_ABSENT;
    for (size_t i = 0; i < plan->count; i++) {
        if (!*plan->rows[i].metric) continue;
        RGM_TRY(choose(plan, q, host, &plan->rows[i], err));
        RGM_TRY(place(plan, q, &plan->rows[i], err));
    }
    return RGM_OK;
}

rgm_status rgm_counter_plan_make(rgm_counter_plan *plan, const rgm_counter_library *library,
                                 rgm_counter_set set, const char *chip, const uint8_t *availability,
                                 rgm_error *err) {
    question q = {library, rgm_counter_sets[set].profiler, chip, availability};
    rgm_counter_host host;
    const char *metrics[RGM_PLAN_ROLES];
    rgm_status status = RGM_OK;
    *plan = (rgm_counter_plan){.set = set};
    (void)snprintf(plan->chip, sizeof plan->chip, "%s", chip);
    RGM_TRY(rgm_counter_host_open(&host, library, q.profiler, chip, availability, err));
    resolve(plan, &host);
    for (size_t i = 0; i < plan->count; i++)
        if (*plan->rows[i].metric) plan->rows[i].pass = 0;
    size_t count = metrics_of(plan, 0, metrics);
    if (count) RGM_GOTO(passes_of(&q, metrics, count, &plan->passes, err));
    if (plan->passes > 1) RGM_GOTO(split(plan, &q, &host, err));
    if (plan->passes == 1) plan->groups = 1;
    for (size_t i = 0; plan->passes == 1 && i < plan->count; i++)
        plan->rows[i].passes = *plan->rows[i].metric ? 1 : 0;
done:
    rgm_counter_host_close(&host);
    return status;
}

// --- configuration ----------------------------------------------------------------------------------------

rgm_status rgm_counter_configuration_make(rgm_counter_configuration *made, const rgm_counter_plan *plan,
                                          const rgm_counter_library *library, const uint8_t *availability,
                                          rgm_error *err) {
    size_t passes = 0;
    rgm_status status;
    *made = (rgm_counter_configuration){0};
    made->count = metrics_of(plan, 0, made->metrics);
    if (!made->count)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "no counter of the set \"%s\" can be measured on %s in one pass",
                             rgm_counter_sets[plan->set].token, plan->chip);
    RGM_GOTO(rgm_counter_host_open(&made->host, library, rgm_counter_sets[plan->set].profiler, plan->chip,
                                   availability, err));
    RGM_GOTO(rgm_counter_host_configure(&made->host, made->metrics, made->count, &made->image,
                                        &made->image_size, &passes, err));
    if (passes != 1)
        status = rgm_error_set(err, RGM_UNAVAILABLE, "the set \"%s\" needs %zu passes on %s, planned was one",
                               rgm_counter_sets[plan->set].token, passes, plan->chip);
done:
    if (status != RGM_OK) rgm_counter_configuration_release(made);
    return status;
}

void rgm_counter_configuration_release(rgm_counter_configuration *made) {
    rgm_counter_host_close(&made->host);
    rgm_free(made->image);
    *made = (rgm_counter_configuration){0};
}
