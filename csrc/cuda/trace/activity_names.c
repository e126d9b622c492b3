// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/activity_names.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cuda/trace/cupti_records.h"

// --- demangling -------------------------------------------------------------------------------------------

typedef char *(*demangler)(const char *mangled, char *buffer, size_t *length, int *status);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static demangler demangle;

// C++'s run-time library is not linked; a process that uses CUDA nearly always has one.
static void find_demangler(void) {
    void *address = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    if (!address) {
        void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL); // stays: the pointer is kept
        if (library) address = dlsym(library, "__cxa_demangle");
    }
    memcpy(&demangle, &address, sizeof address);
}

size_t rgm_activity_demangle(const char *name, char *text, size_t room) {
    size_t length = strnlen(name, room - 1);
    if (strncmp(name, "_Z", 2) == 0 && length < RGM_ACTIVITY_NAME_MOST && name[length] == '\0') {
        int status = -1;
        pthread_once(&once, find_demangler);
        char *made = demangle ? demangle(name, NULL, NULL, &status) : NULL;
        if (made && status == 0) {
            length = strnlen(made, room - 1);
            memcpy(text, made, length);
            text[length] = '\0';
            free(made);
            return length;
        }
        free(made);
    }
    memcpy(text, name, length);
    text[length] = '\0';
    return length;
}

// --- names ------------------------------------------------------------------------------------------------

void rgm_activity_names_init(rgm_activity_names *names, rgm_device_sink sink) {
    *names = (rgm_activity_names){.sink = sink, .kernels = {.most = RGM_ACTIVITY_KERNELS_KNOWN}};
}

void rgm_activity_names_release(rgm_activity_names *names) { rgm_id_map_release(&names->kernels); }

static uint32_t intern(const rgm_activity_names *names, const char *text, size_t length) {
    return names->sink.intern(names->sink.arg, text, length);
}

uint32_t rgm_activity_kernel_name(rgm_activity_names *names, uint64_t address, const char *text) {
    char readable[RGM_ACTIVITY_NAME_MOST];
    if (!text) return intern(names, "unknown kernel", 14);
    uint64_t hash = rgm_hash_bytes(text, strnlen(text, RGM_ACTIVITY_NAME_MOST));
    rgm_id_entry *known = rgm_id_map_put(&names->kernels, address);
    if (known && known->first && known->second == hash) return (uint32_t)known->first;
    uint32_t id = intern(names, readable, rgm_activity_demangle(text, readable, sizeof readable));
    if (known) {
        known->first = id;
        known->second = hash;
    }
    return id;
}

// The string id kept in a cell, or that of a text made now.
static uint32_t kept(rgm_activity_names *names, uint32_t *cell, const char *format, const char *a,
                     const char *b, const char *c) {
    char text[96];
    if (*cell) return *cell - 1;
    int length = snprintf(text, sizeof text, format, a, b, c);
    uint32_t id = intern(names, text, (size_t)length);
    *cell = id + 1;
    return id;
}

static const char *const copies[] = {
#define COPY(name, value, text) [value] = text,
    RGM_CUPTI_COPIES(COPY)
#undef COPY
};
static const char *const memories[] = {
#define MEMORY(name, value, text) [value] = text,
    RGM_CUPTI_MEMORIES(MEMORY)
#undef MEMORY
};
static const char *const syncs[] = {
#define SYNC(name, value, text) [value] = text,
    RGM_CUPTI_SYNCS(SYNC)
#undef SYNC
};
static const struct {
    unsigned value;
    const char *text;
} overheads[] = {
#define OVERHEAD(name, value, text) {value, text},
    RGM_CUPTI_OVERHEADS(OVERHEAD)
#undef OVERHEAD
};

uint32_t rgm_activity_copy_name(rgm_activity_names *names, unsigned copy, unsigned from, unsigned to) {
    if (copy >= sizeof copies / sizeof *copies) copy = 0;
    if (from >= 8) from = 0;
    if (to >= 8) to = 0;
    uint32_t *cell = &names->copies[copy * 64 + from * 8 + to];
    return kept(names, cell, "Memcpy %s (%s -> %s)", copies[copy], memories[from], memories[to]);
}

uint32_t rgm_activity_set_name(rgm_activity_names *names, unsigned memory) {
    if (memory >= 8) memory = 0;
    return kept(names, &names->sets[memory], "Memset (%s)", memories[memory], NULL, NULL);
}

uint32_t rgm_activity_memory_name(rgm_activity_names *names, unsigned memory) {
    if (memory >= 8) memory = 0;
    return kept(names, &names->memories[memory], "%s", memories[memory], NULL, NULL);
}

uint32_t rgm_activity_sync_name(rgm_activity_names *names, unsigned type) {
    if (type >= sizeof syncs / sizeof *syncs) type = 0;
    return kept(names, &names->syncs[type], "%s", syncs[type], NULL, NULL);
}

uint32_t rgm_activity_overhead_name(rgm_activity_names *names, unsigned kind) {
    size_t at = 0;
    for (size_t i = 0; i < sizeof overheads / sizeof *overheads; i++)
        if (overheads[i].value == kind) at = i;
    return kept(names, &names->overheads[at], "%s", overheads[at].text, NULL, NULL);
}

uint32_t rgm_activity_graph_name(rgm_activity_names *names, uint32_t graph) {
    char text[32];
    int length = snprintf(text, sizeof text, "CUDA graph %u", graph);
    return intern(names, text, (size_t)length);
}
