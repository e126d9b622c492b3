// SPDX-License-Identifier: Apache-2.0
// Loops of the calibration against scalar ones, on every instruction set of this processor.
#include "calibrate/loops.h"

#include "harness.h"

enum { BYTES = 64 * RGM_LOOP_UNIT, WORDS = BYTES / 8, ROUNDS = 1000 };

static _Alignas(64) double a[WORDS], b[WORDS], c[WORDS];

static void fill_inputs(void) {
    for (size_t i = 0; i < WORDS; i++) {
        a[i] = -1;
        b[i] = (double)(i * 37 % 1001);
        c[i] = (double)(i * 11 % 97);
    }
}

static void check_copy(void (*copy)(void *, const void *, size_t)) {
    if (!copy) return;
    fill_inputs();
    copy(a, b, BYTES - RGM_LOOP_UNIT);
    size_t done = WORDS - RGM_LOOP_UNIT / 8;
    CHECK(memcmp(a, b, done * 8) == 0);
    for (size_t i = done; i < WORDS; i++) CHECK(a[i] == -1); // nothing past the end
}

static void check_triad(void (*triad)(double *, const double *, const double *, double, size_t)) {
    if (!triad) return;
    fill_inputs();
    triad(a, b, c, 3, BYTES);
    for (size_t i = 0; i < WORDS; i++) CHECK(a[i] == b[i] + 3 * c[i]);
}

static void check_fill(void (*fill)(void *, uint64_t, size_t)) {
    if (!fill) return;
    fill_inputs();
    fill(a, UINT64_C(0x3ff8000000000000), BYTES); // 1.5
    for (size_t i = 0; i < WORDS; i++) CHECK(a[i] == 1.5);
}

TEST(every_loop_does_what_a_scalar_one_does) {
    const rgm_loops *sets[RGM_LOOPS_MOST];
    size_t count = rgm_loops_here(sets);
    CHECK(count >= 1);
    for (size_t s = 0; s < count; s++) {
        uint64_t sum = 0, word;
        check_copy(sets[s]->copy);
        check_copy(sets[s]->copy_past);
        check_triad(sets[s]->triad);
        check_triad(sets[s]->triad_past);
        check_fill(sets[s]->fill);
        check_fill(sets[s]->fill_past);
        check_fill(sets[s]->fill);
        sets[s]->update(a, 2, BYTES);
        for (size_t i = 0; i < WORDS; i++) CHECK(a[i] == 3);
        fill_inputs();
        for (size_t i = 0; i < WORDS; i++) {
            memcpy(&word, &b[i], 8);
            sum += word;
        }
        CHECK_EQ_U64(sets[s]->read(b, BYTES), sum);
    }
}

TEST(chains_do_as_many_multiply_adds_as_they_say) {
    const rgm_loops *sets[RGM_LOOPS_MOST];
    size_t count = rgm_loops_here(sets);
    for (size_t s = 0; s < count; s++) {
        CHECK(sets[s]->chains_fp32(ROUNDS, 1, 1) == (double)(ROUNDS * sets[s]->steps_fp32));
        CHECK(sets[s]->chains_fp64(ROUNDS, 1, 1) == (double)(ROUNDS * sets[s]->steps_fp64));
        // With x = x / 2 + 1 a chain from k comes to 2 + (k - 2) / 2^steps: the factor counts, and every
        // chain.
        double width = (double)(sets[s]->steps_fp64 / sets[s]->depth / sets[s]->chains), sum = 0;
        for (double k = 0; k < (double)sets[s]->chains; k++)
            sum += width * (2 + ldexp(k - 2, -(int)sets[s]->depth) - k);
        CHECK_NEAR(sets[s]->chains_fp64(1, 0.5, 1), sum, 1e-9);
    }
    rgm_narrow_loop narrow[] = {rgm_loop_int8(), rgm_loop_bf16()};
    for (size_t i = 0; i < 2; i++)
        if (narrow[i].chains)
            CHECK_EQ_I64(narrow[i].chains(ROUNDS), (int64_t)(ROUNDS * narrow[i].steps));
        else
            CHECK(narrow[i].lacking[0] != 0);
}
