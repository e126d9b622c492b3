// SPDX-License-Identifier: Apache-2.0
// Numbers that look random and are the same in every run of a test.
#ifndef RGM_TEST_RANDOM_H
#define RGM_TEST_RANDOM_H

#include <stdint.h>

// The next state of 64 bits, of which the upper ones are the more random.
static inline uint64_t random_step(uint64_t *state) {
    return *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

#endif
