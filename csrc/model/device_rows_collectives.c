// SPDX-License-Identifier: Apache-2.0
// What the kernels of NCCL do, as rows of `collectives`.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "model/device_rows.h"
#include "model/links.h"

// Words of NCCL's kernels and of what frameworks call the collectives, without capitals and underscores. The
// first that is contained counts, so the longer words stand before those that they contain. NCCL does all
// that is made of transfers between two with one kernel, and a barrier with an all_reduce.
enum { OTHER, REDUCE_SCATTER, ALL_REDUCE, ALL_GATHER, BROADCAST, REDUCE, TRANSFERS };
static const struct {
    const char *word;
    int does;
} words[] = {
    {"reducescatter", REDUCE_SCATTER},
    {"allreduce", ALL_REDUCE},
    {"allgather", ALL_GATHER},
    {"broadcast", BROADCAST},
    {"reduce", REDUCE},
    {"sendrecv", TRANSFERS},
    {"alltoall", TRANSFERS},
    {"gather", TRANSFERS},
    {"scatter", TRANSFERS},
    {"send", TRANSFERS},
    {"recv", TRANSFERS},
    {"barrier", ALL_REDUCE},
};

enum { LOOKED_AT = 128 };

static int does_of(rgm_string text) {
    char plain[LOOKED_AT + 1];
    size_t n = 0;
    for (size_t i = 0; i < text.length && i < LOOKED_AT && text.data[i] != '('; i++) {
        char c = text.data[i];
        if (c != '_') plain[n++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(plain, n, words[i].word, strlen(words[i].word))) return words[i].does;
    return OTHER;
}

// A kernel of NCCL and the call that launched it.
typedef struct {
    int64_t thread, called_ns;
    uint32_t span;
    int32_t told; // row of what was queued, -1 for none
} nccl_kernel;

static int by_call(const void *a, const void *b) {
    const nccl_kernel *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->called_ns != y->called_ns) return x->called_ns < y->called_ns ? -1 : 1;
    return x->span < y->span ? -1 : x->span > y->span;
}

static int by_span(const void *a, const void *b) {
    const nccl_kernel *x = a, *y = b;
    return x->span < y->span ? -1 : x->span > y->span;
}

static int by_time(const void *a, const void *b) {
    const rgm_collective_row *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static rgm_string name_of(const rgm_run *run, size_t span) {
    return rgm_strings_view(&run->strings, run->spans.name[span]);
}

static bool is_nccl(const rgm_run *run, size_t span) {
    if (run->spans.kind[span] != RGM_KIND_KERNEL || run->spans.launch[span] < 0) return false;
    rgm_string name = name_of(run, span);
    return name.length >= 4 && memcmp(name.data, "nccl", 4) == 0;
}

static rgm_status find_kernels(const rgm_run *run, nccl_kernel **kernels, size_t *count, rgm_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < run->spans.rows; i++) n += is_nccl(run, i);
    *count = n;
    *kernels = rgm_malloc((n + 1) * sizeof **kernels);
    if (!*kernels) return rgm_error_no_memory(err);
    n = 0;
    for (size_t i = 0; i < run->spans.rows; i++) {
        if (!is_nccl(run, i)) continue;
        size_t call = (size_t)run->spans.launch[i];
        uint32_t lane = RGM_CELL(&run->spans, lane, call, 0);
        int64_t thread = lane < run->lanes.rows ? run->lanes.thread[lane] : -1;
        (*kernels)[n++] = (nccl_kernel){thread, run->spans.start_ns[call], (uint32_t)i, -1};
    }
    qsort(*kernels, n, sizeof **kernels, by_call);
    return RGM_OK;
}

// The only one that fits of those that were queued after `since` and before the call, -1 for none or several.
static int32_t queued_for(const rgm_device_rows *rows, const rgm_run *run, const nccl_kernel *kernel,
                          int64_t since) {
    int does = does_of(name_of(run, kernel->span));
    int32_t found = -1;
    rgm_search search = rgm_search_in(0, rows->collective_count);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, rows->collectives[search.middle].time_ns <= kernel->called_ns);
    for (size_t i = search.low; i > 0 && rows->collectives[i - 1].time_ns > since; i--) {
        const rgm_collective_row *row = &rows->collectives[i - 1];
        if (row->thread >= 0 && row->thread != kernel->thread) continue;
        if (does == OTHER || does_of(rgm_strings_view(&run->strings, row->collective)) != does) continue;
        if (found >= 0) return -1;
        found = (int32_t)(i - 1);
    }
    return found;
}

static rgm_status tell(rgm_run *run, const rgm_collective_row *row, uint32_t span, rgm_error *err) {
    rgm_collectives *out = &run->collectives;
    size_t at;
    RGM_TRY(rgm_table_append(&rgm_collectives_desc, out, RGM_ALL_COLUMNS, &at, err));
    out->span[at] = span;
    out->collective[at] = row->collective;
    out->element_type[at] = row->element_type;
    out->in_elements[at] = row->in_elements;
    out->out_elements[at] = row->out_elements;
    out->group_size[at] = row->group_size;
    out->group_name[at] = row->group_name;
    out->group_description[at] = row->group_description;
    out->group_ranks[at] = row->group_ranks;
    out->sequence[at] = row->sequence;
    return RGM_OK;
}

rgm_status rgm_device_rows_to_collectives(rgm_device_rows *rows, rgm_run *run, rgm_error *err) {
    RGM_FREED nccl_kernel *kernels = NULL;
    size_t count = 0;
    if (!rows->collective_count || !run->spans.launch || !run->spans.kind) return RGM_OK;
    RGM_TRY(find_kernels(run, &kernels, &count, err));
    qsort(rows->collectives, rows->collective_count, sizeof *rows->collectives, by_time);
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || kernels[i - 1].thread != kernels[i].thread;
        kernels[i].told = queued_for(rows, run, &kernels[i], first ? INT64_MIN : kernels[i - 1].called_ns);
    }
    qsort(kernels, count, sizeof *kernels, by_span);
    for (size_t i = 0; i < count; i++)
        if (kernels[i].told >= 0)
            RGM_TRY(tell(run, &rows->collectives[kernels[i].told], kernels[i].span, err));
    return RGM_OK;
}
