// SPDX-License-Identifier: Apache-2.0
#include "cuda/stalls/cubins.h"

#include <elf.h>
#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

typedef struct {
    uint64_t number;
    void *bytes;
    size_t size;
} kept_cubin;

static struct {
    pthread_mutex_t mutex; // of what follows
    int watching;
    kept_cubin *kept;
    size_t count, bytes;
    rgm_cubin_counts counts;
} store = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// --- line information -------------------------------------------------------------------------------------

static bool inside(size_t size, uint64_t at, uint64_t length) { return at <= size && length <= size - at; }

static bool section(const uint8_t *bytes, size_t size, const Elf64_Ehdr *head, size_t index,
                    Elf64_Shdr *out) {
    uint64_t at = head->e_shoff + index * sizeof *out;
    if (head->e_shoff > size || !inside(size, at, sizeof *out)) return false;
    memcpy(out, bytes + at, sizeof *out);
    return true;
}

bool rgm_cubin_has_lines(const void *data, size_t size) {
    static const char wanted[] = ".debug_line";
    const uint8_t *bytes = data;
    Elf64_Ehdr head;
    Elf64_Shdr names, one;
    if (size < sizeof head) return false;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof one || !section(bytes, size, &head, head.e_shstrndx, &names) ||
        !inside(size, names.sh_offset, names.sh_size))
        return false;
    for (size_t i = 0; i < head.e_shnum && section(bytes, size, &head, i, &one); i++) {
        if (!one.sh_size || !inside(names.sh_size, one.sh_name, sizeof wanted)) continue;
        if (memcmp(bytes + names.sh_offset + one.sh_name, wanted, sizeof wanted) == 0) return true;
    }
    return false;
}

// --- the store --------------------------------------------------------------------------------------------

static const kept_cubin *find(uint64_t number) {
    for (size_t i = 0; i < store.count; i++)
        if (store.kept[i].number == number) return &store.kept[i];
    return NULL;
}

static bool keep(uint64_t number, const void *bytes, size_t size) {
    if (find(number)) return true;
    if (store.count == RGM_CUBINS_MOST || size > RGM_CUBINS_BYTES_MOST - store.bytes) return false;
    if (!store.kept) store.kept = rgm_calloc(RGM_CUBINS_MOST, sizeof *store.kept);
    void *copy = store.kept ? rgm_malloc(size) : NULL;
    if (!copy) return false;
    memcpy(copy, bytes, size);
    store.kept[store.count++] = (kept_cubin){number, copy, size};
    store.bytes += size;
    return true;
}

// On a thread of the program that loads a module.
static void on_cubin(const void *bytes, size_t size, uint64_t *number) {
    *number = rgm_hash_bytes(bytes, size);
    pthread_mutex_lock(&store.mutex);
    if (store.watching) {
        store.counts.seen++;
        if (rgm_cubin_has_lines(bytes, size)) {
            store.counts.with_lines++;
            store.counts.left_out += !keep(*number, bytes, size);
        }
    }
    pthread_mutex_unlock(&store.mutex);
}

bool rgm_cubins_watch(const rgm_cupti *cupti) {
    if (!rgm_cupti_can(cupti, RGM_CUPTI_SOURCE_LINES)) return false;
    pthread_mutex_lock(&store.mutex);
    if (!store.watching++) store.counts = (rgm_cubin_counts){0};
    pthread_mutex_unlock(&store.mutex);
    if (cupti->register_cubins(on_cubin) == RGM_CUPTI_SUCCESS) return true;
    rgm_cubins_unwatch();
    return false;
}

void rgm_cubins_unwatch(void) {
    pthread_mutex_lock(&store.mutex);
    if (--store.watching == 0) {
        for (size_t i = 0; i < store.count; i++) rgm_free(store.kept[i].bytes);
        rgm_free(store.kept);
        store.kept = NULL;
        store.count = store.bytes = 0;
    }
    pthread_mutex_unlock(&store.mutex);
}

bool rgm_cubins_find(uint64_t number, const void **bytes, size_t *size) {
    pthread_mutex_lock(&store.mutex);
    const kept_cubin *found = find(number);
    if (found) *bytes = found->bytes, *size = found->size;
    pthread_mutex_unlock(&store.mutex);
    return found != NULL;
}

rgm_cubin_counts rgm_cubins_read(void) {
    pthread_mutex_lock(&store.mutex);
    rgm_cubin_counts counts = store.counts;
    pthread_mutex_unlock(&store.mutex);
    return counts;
}
