// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain; // for the life of the process

static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

double rgm_strtod(const char *text, char **end) {
    pthread_once(&once, make_plain);
    return plain ? strtod_l(text, end, plain) : strtod(text, end);
}

void rgm_f64_text(double value, char text[RGM_F64_TEXT]) {
    pthread_once(&once, make_plain);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(text, RGM_F64_TEXT, "%.*g", precision, value);
        if (strtod(text, NULL) == value) break;
    }
    if (before) (void)uselocale(before);
}
