// SPDX-License-Identifier: Apache-2.0
#include "base/touched.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.h"

static const int64_t huge_bytes = 2 << 20;

// The system clears marks and leaves the processors their translations of addresses (TLB): a page whose
// translation is still held is not marked again, 16 MiB of them on a processor that holds 4,096. Memory that
// is given back takes the translations of its range along, and those of all the process where the range is
// longer than some pages (33 on x86, 512 on arm64).
static void drop_translations(void) {
    const size_t range = 4 << 20;
    volatile char *block =
        mmap(NULL, range, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return;
    block[0] = block[range - 1] = 1;
    (void)munmap((void *)block, range);
}

int rgm_touched_begin(rgm_touched *touched) {
    int marks = rgm_descriptor_open("/proc/self/clear_refs", O_WRONLY, 0);
    touched->maps = marks < 0 ? -1 : rgm_descriptor_open("/proc/self/smaps", O_RDONLY, 0);
    int failed = touched->maps < 0 || write(marks, "1", 1) != 1;
    if (marks >= 0) close(marks);
    if (!failed) {
        drop_translations();
        return 0;
    }
    if (touched->maps >= 0) close(touched->maps);
    touched->maps = -1;
    return -1;
}

// The file of the mappings so far is known whole.
static void end_file(rgm_touched_text *state) {
    if (!state->runs) state->bytes += state->constant;
    state->constant = 0;
    state->runs = false;
}

// "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/dbus-daemon" begins what is told of a mapping.
static void take_line(rgm_touched_text *state) {
    uint64_t from, to, offset, file, kilobytes;
    unsigned major, minor;
    char permissions[5], what[32];
    state->line[state->length] = '\0';
    state->length = 0;
    if (sscanf(state->line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &from, &to, permissions,
               &offset, &major, &minor, &file) == 7) {
        if (file != state->file) end_file(state);
        state->file = file;
        state->referenced = 0;
        state->writable = strchr(permissions, 'w') != NULL;
        state->runs = state->runs || strchr(permissions, 'x') != NULL;
        return;
    }
    if (sscanf(state->line, "%31[A-Za-z]: %" SCNu64 " kB", what, &kilobytes) != 2 || kilobytes >= 1ull << 40)
        return;
    if (strcmp(what, "Referenced") == 0) {
        state->referenced = (int64_t)kilobytes * 1024;
        *(state->writable ? &state->bytes : &state->constant) += state->referenced;
    } else if (strcmp(what, "AnonHugePages") == 0) {
        int64_t most =
            (int64_t)kilobytes * 1024 < state->referenced ? (int64_t)kilobytes * 1024 : state->referenced;
        state->huge += most / huge_bytes * huge_bytes;
    }
}

rgm_touched_memory rgm_touched_total(rgm_touched_text *state) {
    end_file(state);
    return (rgm_touched_memory){state->bytes, state->huge};
}

void rgm_touched_take(rgm_touched_text *state, const char *text, uint64_t length) {
    for (uint64_t i = 0; i < length; i++) {
        if (text[i] == '\n')
            take_line(state);
        else if (state->length + 1 < sizeof state->line)
            state->line[state->length++] = text[i];
    }
}

rgm_touched_memory rgm_touched_end(rgm_touched *touched) {
    const rgm_touched_memory unknown = {-1, 0};
    rgm_touched_text state = {0};
    char text[16384];
    ssize_t got;
    if (touched->maps < 0) return unknown;
    while ((got = read(touched->maps, text, sizeof text)) > 0) rgm_touched_take(&state, text, (uint64_t)got);
    close(touched->maps);
    touched->maps = -1;
    return got < 0 ? unknown : rgm_touched_total(&state);
}
