// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

enum { SLAB_BYTES = 64 * 1024, FIRST_SLOTS = 1024 };

struct rgm_strings_slab {
    rgm_strings_slab *next;
    size_t used;
    size_t capacity;
    char data[];
};

static rgm_string *entry(const rgm_strings *strings, uint32_t id) {
    rgm_string *chunk = atomic_load_explicit(&strings->chunks[id / RGM_STRINGS_CHUNK], memory_order_acquire);
    return &chunk[id % RGM_STRINGS_CHUNK];
}

static char *slab_take(rgm_strings *strings, size_t bytes) {
    rgm_strings_slab *slab = strings->slabs;
    if (!slab || slab->capacity - slab->used < bytes) {
        size_t capacity = bytes > SLAB_BYTES ? bytes : SLAB_BYTES;
        slab = rgm_malloc(sizeof *slab + capacity);
        if (!slab) return NULL;
        slab->used = 0;
        slab->capacity = capacity;
        slab->next = strings->slabs;
        strings->slabs = slab;
    }
    char *at = slab->data + slab->used;
    slab->used += bytes;
    return at;
}

static rgm_status slots_grow(rgm_strings *strings, rgm_error *err) {
    uint32_t size = (strings->slot_mask + 1) * 2;
    uint32_t *slots = rgm_calloc(size, sizeof *slots);
    if (!slots) return rgm_error_no_memory(err);
    uint32_t count = atomic_load_explicit(&strings->count, memory_order_relaxed);
    for (uint32_t id = 0; id < count; id++) {
        uint32_t at = entry(strings, id)->hash & (size - 1);
        while (slots[at]) at = (at + 1) & (size - 1);
        slots[at] = id + 1;
    }
    rgm_free(strings->slots);
    strings->slots = slots;
    strings->slot_mask = size - 1;
    return RGM_OK;
}

// The slot that holds the string, or the free slot where it belongs.
static uint32_t *slot_find(rgm_strings *strings, const char *data, size_t length, uint32_t hash) {
    uint32_t at = hash & strings->slot_mask;
    while (strings->slots[at]) {
        const rgm_string *known = entry(strings, strings->slots[at] - 1);
        if (known->hash == hash && known->length == length &&
            (length == 0 || memcmp(known->data, data, length) == 0))
            break;
        at = (at + 1) & strings->slot_mask;
    }
    return &strings->slots[at];
}

static rgm_status append(rgm_strings *strings, rgm_text_budget *budget, const char *data, size_t length,
                         uint32_t hash, uint32_t *id, rgm_error *err) {
    uint32_t count = atomic_load_explicit(&strings->count, memory_order_relaxed);
    size_t cost = length + 1 + sizeof(rgm_string);
    if (count >= (uint32_t)RGM_STRINGS_CHUNK * RGM_STRINGS_CHUNKS || cost > budget->max_bytes - budget->bytes)
        return rgm_error_set(err, RGM_LIMIT, "string table full: %u strings, %zu bytes", count,
                             budget->bytes);
    if (count % RGM_STRINGS_CHUNK == 0 && !atomic_load(&strings->chunks[count / RGM_STRINGS_CHUNK])) {
        rgm_string *chunk = rgm_malloc(RGM_STRINGS_CHUNK * sizeof *chunk);
        if (!chunk) return rgm_error_no_memory(err);
        atomic_store_explicit(&strings->chunks[count / RGM_STRINGS_CHUNK], chunk, memory_order_release);
    }
    char *copy = slab_take(strings, length + 1);
    if (!copy) return rgm_error_no_memory(err);
    if (length) memcpy(copy, data, length);
    copy[length] = '\0';
    *entry(strings, count) = (rgm_string){copy, (uint32_t)length, hash};
    budget->bytes += cost;
    atomic_store_explicit(&strings->count, count + 1, memory_order_release);
    *id = count;
    return RGM_OK;
}

static rgm_status intern_locked(rgm_strings *strings, rgm_text_budget *budget, const char *data,
                                size_t length, uint32_t *id, rgm_error *err) {
    uint32_t hash = (uint32_t)rgm_hash_bytes(data, length);
    uint32_t *slot = slot_find(strings, data, length, hash);
    if (*slot) {
        *id = *slot - 1;
        return RGM_OK;
    }
    if (atomic_load_explicit(&strings->count, memory_order_relaxed) * 2 > strings->slot_mask) {
        RGM_TRY(slots_grow(strings, err));
        slot = slot_find(strings, data, length, hash);
    }
    RGM_TRY(append(strings, budget, data, length, hash, id, err));
    *slot = *id + 1;
    return RGM_OK;
}

rgm_status rgm_strings_init(rgm_strings *strings, size_t max_bytes, rgm_error *err) {
    memset(strings, 0, sizeof *strings);
    strings->budget.max_bytes = max_bytes;
    strings->slots = rgm_calloc(FIRST_SLOTS, sizeof *strings->slots);
    if (!strings->slots) return rgm_error_no_memory(err);
    strings->slot_mask = FIRST_SLOTS - 1;
    pthread_mutex_init(&strings->mutex, NULL);
    uint32_t empty;
    rgm_status status = intern_locked(strings, &strings->budget, "", 0, &empty, err);
    if (status != RGM_OK) rgm_strings_release(strings);
    return status;
}

void rgm_strings_release(rgm_strings *strings) {
    if (!strings || !strings->slots) return;
    for (uint32_t i = 0; i < RGM_STRINGS_CHUNKS; i++) {
        rgm_string *chunk = atomic_load(&strings->chunks[i]);
        if (!chunk) break;
        rgm_free(chunk);
        atomic_store(&strings->chunks[i], NULL);
    }
    for (rgm_strings_slab *slab = strings->slabs, *next; slab; slab = next) {
        next = slab->next;
        rgm_free(slab);
    }
    rgm_free(strings->slots);
    strings->slots = NULL;
    strings->slabs = NULL;
    pthread_mutex_destroy(&strings->mutex);
}

rgm_status rgm_strings_intern_on(rgm_strings *strings, rgm_text_budget *budget, const char *data,
                                 size_t length, uint32_t *id, rgm_error *err) {
    if (length > UINT32_MAX / 2)
        return rgm_error_set(err, RGM_LIMIT, "a string of %zu bytes is too long", length);
    pthread_mutex_lock(&strings->mutex);
    rgm_status status = intern_locked(strings, budget, data, length, id, err);
    pthread_mutex_unlock(&strings->mutex);
    return status;
}

rgm_status rgm_strings_intern(rgm_strings *strings, const char *data, size_t length, uint32_t *id,
                              rgm_error *err) {
    return rgm_strings_intern_on(strings, &strings->budget, data, length, id, err);
}

rgm_string rgm_strings_view(const rgm_strings *strings, uint32_t id) {
    if (id >= rgm_strings_count(strings)) return (rgm_string){"", 0, 0};
    return *entry(strings, id);
}

uint32_t rgm_strings_count(const rgm_strings *strings) {
    return atomic_load_explicit(&strings->count, memory_order_acquire);
}
