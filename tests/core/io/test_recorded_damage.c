// SPDX-License-Identifier: Apache-2.0
// Recordings of real programs (tests/fuzz/make_recording_seeds.py), which have rows of every sort: with every
// allocation of a load failing, and with every number of every block another one whose sum is right.
#include <fcntl.h>
#include <unistd.h>

#include "analysed.h"
#include "base/crc32c.h"
#include "faults.h"
#include "frames.h"
#include "importing.h"
#include "suggest/suggest.h"
#include "suggest/verdict.h"

#define RUNS "tests/fuzz/seeds/fuzz_run_file/"

static const char *const seeds[] = {RUNS "recorded_device", RUNS "recorded_host", RUNS "recorded_torch"};
enum { SEEDS = sizeof seeds / sizeof *seeds, ANALYSED_OF = 64 };

// --- memory -----------------------------------------------------------------------------------------------

static void each_fault_of_loading(const char *path, rgm_load_mode mode) {
    rgm_run *expected = NULL;
    rgm_error err = RGM_ERROR_NONE;
    CHECK_OK(rgm_run_load(path, mode, &expected, &err));
    REQUIRE(expected);
    EACH_FAULT(path) {
        rgm_run *run = NULL;
        rgm_error_clear(&err);
        rgm_status status = FAULTY(rgm_run_load(path, mode, &run, &err));
        CHECK((run != NULL) == (status == RGM_OK));
        CHECK_EQ_I64(err.status, status);
        if (run) CHECK_SAME_RUN(expected, run, "%s", path);
        rgm_run_free(run);
    }
    rgm_run_free(expected);
}

TEST(loading_with_every_allocation_failing) {
    for (size_t i = 0; i < SEEDS; i++) {
        each_fault_of_loading(seeds[i], RGM_LOAD_STRICT);
        each_fault_of_loading(seeds[i], RGM_LOAD_RECOVER);
    }
}

// --- numbers ----------------------------------------------------------------------------------------------

static void ask_everything(rgm_run *run, const char *what) {
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    rgm_view view;
    rgm_suggestions suggestions = {0};
    rgm_suggestion_evidence evidence = {0};
    rgm_causes causes = {0};
    if (rgm_view_init(&view, run, NULL, 0, NULL) != RGM_OK) {
        HARNESS_FAIL("%s: no view", what);
        return;
    }
    for (size_t k = 0; k < rgm_analyses_count; k++) // some may not be for this run
        (void)analysis_try(&rgm_analyses[k], &view, NULL, (rgm_question){.other = &view}, NULL, NULL);
    if (rgm_suggest(&view, &policy, NULL, &suggestions, &evidence, NULL) != RGM_OK ||
        rgm_verdict_compute(&view, &policy, &causes, NULL) != RGM_OK)
        HARNESS_FAIL("%s: nothing is said", what);
    rgm_table_release(&rgm_suggestions_desc, &suggestions);
    rgm_table_release(&rgm_suggestion_evidence_desc, &evidence);
    rgm_table_release(&rgm_causes_desc, &causes);
    rgm_view_release(&view);
}

static void seal(uint8_t *frame, uint64_t length) {
    uint32_t crc = rgm_crc32c(0, frame + RGM_FRAME_HEAD_BYTES, length);
    memcpy(frame + RGM_FRAME_HEAD_BYTES - 8, &crc, sizeof crc);
    crc = rgm_crc32c(0, frame, RGM_FRAME_HEAD_BYTES - 4);
    memcpy(frame + RGM_FRAME_HEAD_BYTES - 4, &crc, sizeof crc);
}

static void rewrite(int fd, const uint8_t *data, size_t at, uint64_t bytes) {
    size_t length = RGM_FRAME_HEAD_BYTES + bytes;
    if (pwrite(fd, data + at, length, (off_t)at) != (ssize_t)length) abort();
}

static void load_damaged(const char *path, const char *what, uint64_t number) {
    rgm_run *run = NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status = rgm_run_load(path, RGM_LOAD_STRICT, &run, &err);
    if (status != RGM_OK && (status != RGM_FORMAT || !err.message[0]))
        HARNESS_FAIL("%s: status %d, \"%s\"", what, (int)status, err.message);
    rgm_run_free(run);
    run = NULL;
    status = rgm_run_load(path, RGM_LOAD_RECOVER, &run, NULL);
    if (status != RGM_OK) {
        HARNESS_FAIL("%s is not recovered: status %d", what, (int)status);
        return;
    }
    if (rgm_run_check(run, NULL) != RGM_OK) HARNESS_FAIL("%s is recovered with bad numbers", what);
    if (number % ANALYSED_OF == 0) ask_everything(run, what);
    rgm_run_free(run);
}

// Another number in the place of each; the sums are those of the damaged bytes, so that it is the content
// alone that is wrong.
static void each_number(const char *seed) {
    static const uint32_t others[] = {0, 0xFFFFFFFF, 0x7FFFFFFF};
    const char *path = temp_path("damaged");
    size_t length = 0;
    uint64_t number = 0;
    uint8_t *data = file_read(seed, &length);
    REQUIRE(data && file_write(path, data, length));
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    frame_seen frame;
    for (size_t at = RGM_FILE_HEAD_BYTES; frame_at(data, length, at, &frame); at = frame.next) {
        uint8_t *payload = data + at + RGM_FRAME_HEAD_BYTES;
        for (uint64_t k = 0; k + 4 <= frame.bytes; k += 4 * (uint64_t)ONE_IN(16), number++) {
            char what[160];
            uint32_t kept, put = others[number % 3];
            (void)snprintf(what, sizeof what, "%s with %08x at byte %zu", seed, put,
                           (size_t)(payload - data) + k);
            memcpy(&kept, payload + k, sizeof kept);
            memcpy(payload + k, &put, sizeof put);
            seal(data + at, frame.bytes);
            rewrite(fd, data, at, frame.bytes);
            load_damaged(path, what, number);
            memcpy(payload + k, &kept, sizeof kept);
        }
        seal(data + at, frame.bytes);
        rewrite(fd, data, at, frame.bytes);
    }
    CHECK(number > 100);
    free(data);
    close(fd);
    (void)unlink(path);
}

TEST(every_number_of_a_recording_another_one) {
    for (size_t i = 0; i < SEEDS; i++) each_number(seeds[i]);
}
