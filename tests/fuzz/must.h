// SPDX-License-Identifier: Apache-2.0
// What an input must not break, whatever it is.
#ifndef RGM_FUZZ_MUST_H
#define RGM_FUZZ_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition);                         \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#endif
