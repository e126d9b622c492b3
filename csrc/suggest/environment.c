// SPDX-License-Identifier: Apache-2.0
#include "suggest/environment.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "base/text.h"

static double number_after(const char *text, const char *key) {
    const char *at = text ? strstr(text, key) : NULL;
    if (!at) return NAN;
    at += strlen(key);
    char *end;
    double value = rgm_strtod(at, &end);
    return end != at && isfinite(value) ? value : NAN;
}

double rgm_environment_number(const rgm_run *run, const char *key) {
    double value = number_after(run->environment, key);
    for (size_t i = 0; isnan(value) && i < run->files.rows; i++)
        value =
            number_after(rgm_strings_view(&run->strings, RGM_CELL(&run->files, environment, i, 0)).data, key);
    return value;
}

double rgm_first_value(const rgm_run *run, const char *series) {
    for (size_t i = 0; i < run->counters.rows; i++)
        if (rgm_text_is(rgm_strings_view(&run->strings, RGM_CELL(&run->counters, series, i, 0)), series))
            return RGM_CELL(&run->counters, value, i, NAN);
    return NAN;
}
