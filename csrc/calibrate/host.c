// SPDX-License-Identifier: Apache-2.0
#include "calibrate/host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrate/loops.h"

enum { MOST_INDEX = 8, TEXT = 64 };

// --- caches -----------------------------------------------------------------------------------------------

static bool read_text(char text[TEXT], int index, const char *name) {
    char path[128];
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool found = fgets(text, TEXT, file) != NULL;
    (void)fclose(file);
    return found;
}

// "512K", "32M".
static int64_t size_of(const char *text) {
    char *end;
    int64_t number = strtoll(text, &end, 10);
    if (*end == 'K') return number << 10;
    if (*end == 'M') return number << 20;
    return *end == 'G' ? number << 30 : number;
}

// "0-1,8": how many.
static int count_of(const char *text) {
    int count = 0;
    for (char *end; *text >= '0' && *text <= '9'; text = *end == ',' ? end + 1 : end) {
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        count += (int)(last - first) + 1;
    }
    return count;
}

static void ask_sysconf(rgm_host_caches *caches) {
    static const int names[RGM_CACHE_LEVELS] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                                _SC_LEVEL3_CACHE_SIZE};
    for (int i = 0; i < RGM_CACHE_LEVELS; i++) {
        long bytes = caches->bytes[i] ? 0 : sysconf(names[i]);
        if (bytes > 0) caches->bytes[i] = bytes;
    }
}

void rgm_host_caches_read(rgm_host_caches *caches) {
    char text[TEXT];
    *caches = (rgm_host_caches){0};
    for (int index = 0; index < MOST_INDEX && read_text(text, index, "type"); index++) {
        if (strncmp(text, "Instruction", 11) == 0 || !read_text(text, index, "level")) continue;
        long level = strtol(text, NULL, 10);
        if (level < 1 || level > RGM_CACHE_LEVELS || !read_text(text, index, "size")) continue;
        caches->bytes[level - 1] = size_of(text);
        if (read_text(text, index, "shared_cpu_list")) caches->sharers[level - 1] = count_of(text);
    }
    ask_sysconf(caches);
}

static int last_level(const rgm_host_caches *caches) {
    int last = 0;
    for (int i = 1; i < RGM_CACHE_LEVELS; i++)
        if (caches->bytes[i] > caches->bytes[last]) last = i;
    return last;
}

int64_t rgm_host_caches_last(const rgm_host_caches *caches) { return caches->bytes[last_level(caches)]; }

int64_t rgm_host_caches_used(const rgm_host_caches *caches, unsigned threads) {
    int64_t sharers = caches->sharers[last_level(caches)];
    int64_t count = sharers > 0 ? ((int64_t)threads + sharers - 1) / sharers : 1;
    return count * rgm_host_caches_last(caches);
}

// --- parts ------------------------------------------------------------------------------------------------

size_t rgm_host_buffer_bytes(const rgm_host_request *request, size_t count) {
    const rgm_effort *effort = &request->effort;
    double caches = (double)rgm_host_caches_used(&request->caches, request->threads), buffers = (double)count;
    double beyond =
        effort->policy->cache_ratio * caches / buffers; // from there on, all are beyond the caches
    double enough = fmax(beyond, effort->policy->buffers_bytes / buffers);
    double free = (double)request->free_bytes * effort->policy->memory_share / buffers;
    double wanted = fmin(RGM_EFFORT(effort, buffer_caches) * caches, enough);
    wanted = fmin(fmax(wanted, RGM_EFFORT(effort, buffer_bytes)), free);
    if (wanted < beyond || wanted < (double)RGM_LOOP_UNIT) return 0;
    return (size_t)wanted / RGM_LOOP_UNIT * RGM_LOOP_UNIT;
}

int64_t rgm_host_takes(const rgm_host_request *request) {
    int64_t bandwidth = RGM_HOST_BUFFERS * (int64_t)rgm_host_buffer_bytes(request, RGM_HOST_BUFFERS);
    int64_t latency = (int64_t)rgm_host_buffer_bytes(request, 1);
    return bandwidth > latency ? bandwidth : latency;
}

void rgm_host_large_pages(void *block, size_t bytes) {
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)block;
    uintptr_t first = (at + page - 1) / page * page, last = (at + bytes) / page * page;
    if (last > first) (void)madvise((char *)block + (first - at), last - first, MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

rgm_status rgm_host_measure(rgm_host_part part, const rgm_host_request *request, rgm_figures *figures,
                            rgm_error *err) {
    rgm_figures_clear(figures);
    switch (part) {
    case RGM_HOST_MEMORY: return rgm_host_memory(request, figures, err);
    case RGM_HOST_CACHES: return rgm_host_cache_levels(request, figures, err);
    case RGM_HOST_LATENCY: return rgm_host_latency(request, figures, err);
    case RGM_HOST_COMPUTE: return rgm_host_compute(request, figures, err);
    default: return rgm_error_set(err, RGM_INVALID, "calibration: no part %d", (int)part);
    }
}
