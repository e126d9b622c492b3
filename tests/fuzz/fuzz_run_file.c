// SPDX-License-Identifier: Apache-2.0
// Journals and saved runs as an attacker or a bad disk would write them: loaded strictly and for recovery,
// analysed, saved and loaded again. Blocks carry check sums, so the mutator repairs them most of the time;
// otherwise nothing past the first sum would ever be reached.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../core/analysed.h"
#include "analysis/times/summary.h"
#include "base/crc32c.h"
#include "io/journal/frame.h"
#include "io/journal/run_file.h"
#include "must.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }

// Makes the head and every frame sound, with lengths that stay inside the input. The numbers of the frames
// are mostly right too; the seed decides which are not, and whether the file is one of version 1.
static void repair(uint8_t *data, size_t size, unsigned seed) {
    bool old = seed % 5 == 0;
    uint32_t number = 0;
    size_t head = old ? 24 : RGM_FRAME_HEAD_BYTES, sums = head - 8; // the length stands before the sums
    if (size < RGM_FILE_HEAD_BYTES) return;
    memcpy(data, RGM_FILE_MAGIC, 8);
    put32(data + 8, old ? 1 : RGM_FILE_VERSION);
    put32(data + 12, 0x01020304);
    put32(data + 16, data[16] & 1 ? RGM_FILE_JOURNAL : RGM_FILE_RUN);
    if (old) put32(data + 20, 0);
    put32(data + 28, rgm_crc32c(0, data, 28));
    for (size_t at = RGM_FILE_HEAD_BYTES; at + head <= size; number++) {
        uint64_t length, left = size - at - head;
        memcpy(data + at, old ? "RGMF" : "RGMB", 4);
        if (!old && seed % 7) memcpy(data + at + 8, data + 20, 4);
        if (!old && (seed % 3 || data[at + 12] % 8)) put32(data + at + 12, number);
        memcpy(&length, data + at + sums - 8, sizeof length);
        if (length > left) length = left;
        memcpy(data + at + sums - 8, &length, sizeof length);
        put32(data + at + sums, rgm_crc32c(0, data + at + head, (size_t)length));
        put32(data + at + sums + 4, rgm_crc32c(0, data + at, sums + 4));
        at += head + (length + 7) / 8 * 8;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 8) repair(data, size, seed / 8);
    return size;
}

static void analyse(const rgm_run *run) {
    rgm_entries entries = {0};
    rgm_summary summary = {0};
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    MUST(rgm_entries_compute(run, NULL, &entries, NULL) == RGM_OK);
    MUST(rgm_summary_compute(run, &entries, &policy, &summary, NULL) == RGM_OK);
    int64_t calls = 0;
    for (size_t i = 0; i < summary.rows; i++) {
        calls += summary.call_count[i];
        MUST(summary.device[i] < RGM_DEVICE_COUNT && summary.operation[i] < rgm_strings_count(&run->strings));
        MUST(summary.recursive_count[i] < summary.call_count[i] && summary.min_ns[i] <= summary.max_ns[i]);
        MUST(summary.total_ns[i] >= 0 && summary.exclusive_ns[i] >= 0);
    }
    MUST(calls == (int64_t)entries.rows);
    rgm_table_release(&rgm_summary_desc, &summary);
    rgm_table_release(&rgm_entries_desc, &entries);
}

// Every analysis of traces, as the view of any run can be had; those that a run is too odd for may refuse.
static void analyse_trace(const rgm_run *run) {
    rgm_view view = {0};
    rgm_question question = {.other = &view};
    MUST(rgm_view_init(&view, run, NULL, 0, NULL) == RGM_OK);
    for (size_t i = 0; i < rgm_analyses_count; i++)
        for (question.group_by = 0; question.group_by < 4; question.group_by++) {
            rgm_error err = RGM_ERROR_NONE;
            rgm_status status = analysis_try(&rgm_analyses[i], &view, NULL, question, NULL, &err);
            MUST(status == RGM_OK || (err.status == status && err.message[0]));
        }
    rgm_view_release(&view);
}

static void save_and_load(rgm_run *run) {
    static char path[64];
    rgm_error err = RGM_ERROR_NONE;
    rgm_run *back = NULL;
    if (!path[0]) (void)snprintf(path, sizeof path, "/dev/shm/fuzz-run-file-%d", (int)getpid());
    if (rgm_run_save(run, path, &err) != RGM_OK) return;
    if (rgm_run_load(path, RGM_LOAD_STRICT, &back, &err) != RGM_OK) {
        fprintf(stderr, "saved, but not readable: %s\n", err.message);
        abort();
    }
    MUST(back->spans.rows == run->spans.rows && back->lanes.rows == run->lanes.rows);
    rgm_run_free(back);
    (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rgm_error err = RGM_ERROR_NONE;
    rgm_run *strict = NULL, *recovered = NULL;
    rgm_status status = rgm_run_load(path, RGM_LOAD_STRICT, &strict, &err);
    MUST(status == RGM_OK ? strict != NULL : strict == NULL);
    MUST(status == RGM_OK || (err.status == status && err.message[0]));
    MUST(status == RGM_OK || status == RGM_FORMAT || status == RGM_LIMIT || status == RGM_NO_MEMORY);
    rgm_status second = rgm_run_load(path, RGM_LOAD_RECOVER, &recovered, &err);
    MUST(status != RGM_OK || second == RGM_OK);
    if (strict) {
        MUST(recovered->spans.rows == strict->spans.rows);
        analyse(strict);
    }
    if (recovered) {
        analyse(recovered);
        if (rgm_crc32c(0, data, size) % 2 == 0) analyse_trace(recovered);
        if (rgm_crc32c(0, data, size) % 8 == 0) save_and_load(recovered);
    }
    rgm_run_free(strict);
    rgm_run_free(recovered);
    close(fd);
    return 0;
}
