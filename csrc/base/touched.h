// SPDX-License-Identifier: Apache-2.0
// Which memory the process touches between two points of its own: the processor marks each page that it reads
// or writes, and Linux clears and counts the marks (clear_refs and smaps of /proc).
#ifndef RGM_BASE_TOUCHED_H
#define RGM_BASE_TOUCHED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int maps; // descriptor of smaps, opened before
} rgm_touched;

// Clears the marks; -1 where the system has none. Ended by rgm_touched_end.
int rgm_touched_begin(rgm_touched *touched);
// What the pages hold that were read or written since, by all threads, without those of programs and
// libraries that nobody writes (instructions, constants): an upper bound of the data that was used, for a
// page counts whole, and huge ones of 2 MiB do.
typedef struct {
    int64_t bytes; // -1 where it cannot be read
    int64_t huge;  // of them in huge pages
} rgm_touched_memory;
rgm_touched_memory rgm_touched_end(rgm_touched *touched);

// The same of a text of smaps, which may come in pieces: state begins as zero.
typedef struct {
    char line[256];
    uint32_t length;
    uint64_t file;       // of the mapping that is told of, 0: none
    bool writable, runs; // it can be written; its file, whose mappings follow one another, has instructions
    int64_t referenced;  // of the mapping
    int64_t bytes, huge, constant; // found; in mappings of the file that nobody writes
} rgm_touched_text;
void rgm_touched_take(rgm_touched_text *state, const char *text, uint64_t length);
rgm_touched_memory rgm_touched_total(rgm_touched_text *state); // once all was taken

#endif
