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

static bool among(const char *const *candidates, const char *series, size_t length) {
    for (int i = 0; i < RGM_COUNTER_CANDIDATES && candidates[i] && *candidates[i]; i++)
        if (strlen(candidates[i]) == length && memcmp(candidates[i], series, length) == 0) return true;
    return false;
}

rgm_counter_role rgm_counter_role_of(const char *series, size_t length) {
    for (int role = 0; role < RGM_COUNTER_ROLE_COUNT; role++)
        if (among(rgm_counter_roles[role].range, series, length) ||
            among(rgm_counter_roles[role].sampled, series, length))
            return (rgm_counter_role)role;
    return RGM_COUNTER_ROLE_NONE;
}
