// SPDX-License-Identifier: Apache-2.0
#include "cuda/stalls/source_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cuda/stalls/cubins.h"

enum { PATH_MOST = 4096 };

void rgm_source_lines_start(rgm_source_lines *lines, const rgm_cupti *cupti, rgm_device_sink sink) {
    *lines = (rgm_source_lines){.cupti = cupti, .sink = sink, .known.most = RGM_SOURCE_LINES_KNOWN};
    lines->on = rgm_cubins_watch(cupti);
}

void rgm_source_lines_stop(rgm_source_lines *lines) {
    if (lines->on) rgm_cubins_unwatch();
    rgm_source_lines_release(lines);
}

void rgm_source_lines_release(rgm_source_lines *lines) {
    rgm_id_map_release(&lines->known);
    lines->on = false;
}

// "folder/file", or the file alone where that is a whole path or the folder is not known.
static uint32_t path_of(const rgm_source_lines *lines, const char *folder, const char *file) {
    char path[PATH_MOST];
    bool whole = *file == '/' || !folder || !*folder;
    int length = snprintf(path, sizeof path, "%s%s%s", whole ? "" : folder, whole ? "" : "/", file);
    if (length < 1) return 0;
    size_t room = sizeof path - 1;
    return lines->sink.intern(lines->sink.arg, path, (size_t)length < room ? (size_t)length : room);
}

static void ask(const rgm_source_lines *lines, const rgm_cupti_pc *pc, rgm_id_entry *entry) {
    const void *bytes;
    size_t size;
    if (!rgm_cubins_find(pc->cubin, &bytes, &size)) return;
    rgm_cupti_source_line p = {
        .cubin = bytes, .function = pc->name, .cubin_bytes = size, .offset = pc->offset};
    p.size = offsetof(rgm_cupti_source_line, folder) + sizeof p.folder;
    if (lines->cupti->source_line(&p) == RGM_CUPTI_SUCCESS && p.file && p.line) {
        entry->first = path_of(lines, p.folder, p.file);
        entry->second = p.line;
    }
    free(p.file); // CUPTI has taken them from malloc, for whom it answers to free
    free(p.folder);
}

void rgm_source_lines_find(rgm_source_lines *lines, const rgm_cupti_pc *pc, uint32_t *file, uint32_t *line) {
    *file = *line = 0;
    if (!lines->on || !pc->name) return;
    uint64_t place =
        rgm_hash_mix(pc->cubin, rgm_hash_mix(pc->offset, rgm_hash_bytes(pc->name, strlen(pc->name))));
    rgm_id_entry *entry = rgm_id_map_find(&lines->known, place);
    if (!entry) {
        entry = rgm_id_map_put(&lines->known, place);
        if (!entry) return;
        ask(lines, pc, entry);
    }
    *file = (uint32_t)entry->first;
    *line = (uint32_t)entry->second;
}
