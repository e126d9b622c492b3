// SPDX-License-Identifier: Apache-2.0
#include "model/counter_roles.h"

#include <stdbool.h>
#include <string.h>

#define CANDIDATES(...) {__VA_ARGS__}
const rgm_counter_role_row rgm_counter_roles[RGM_COUNTER_ROLE_COUNT] = {
#define ROLE_ROW(name, token, unit, doc, range, sampled)                                                     \
    {token, unit, doc, CANDIDATES range, CANDIDATES sampled},
    RGM_COUNTER_ROLES(ROLE_ROW)
#undef ROLE_ROW
};

const rgm_gpm_metric_row rgm_gpm_metrics[] = {
#define GPM_ROW(number, series, role, factor, doc) {number, series, RGM_COUNTER_ROLE_##role, factor, doc},
    RGM_GPM_METRICS(GPM_ROW)
#undef GPM_ROW
};
const size_t rgm_gpm_metrics_count = sizeof rgm_gpm_metrics / sizeof *rgm_gpm_metrics;

static bool same(const char *name, const char *series, size_t length) {
    return strlen(name) == length && memcmp(name, series, length) == 0;
}

static bool among(const char *const *candidates, const char *series, size_t length) {
    for (int i = 0; i < RGM_COUNTER_CANDIDATES && candidates[i] && *candidates[i]; i++)
        if (same(candidates[i], series, length)) return true;
    return false;
}

rgm_counter_role rgm_counter_role_of(const char *series, size_t length) {
    for (int role = 0; role < RGM_COUNTER_ROLE_COUNT; role++)
        if (among(rgm_counter_roles[role].range, series, length) ||
            among(rgm_counter_roles[role].sampled, series, length))
            return (rgm_counter_role)role;
    for (size_t i = 0; i < rgm_gpm_metrics_count; i++)
        if (same(rgm_gpm_metrics[i].series, series, length)) return rgm_gpm_metrics[i].role;
    return RGM_COUNTER_ROLE_NONE;
}
