// SPDX-License-Identifier: Apache-2.0
#include "model/waiting.h"

#include "base/hash.h"
#include "base/memory.h"

static uint32_t find(const rgm_waiting *map, uint32_t key) {
    uint32_t at = (uint32_t)rgm_hash_u64(key) & map->mask;
    while (map->heads[at] != RGM_WAITING_NONE && map->keys[at] != key) at = (at + 1) & map->mask;
    return at;
}

static rgm_status grow(rgm_waiting *map, rgm_error *err) {
    uint32_t size = map->keys ? (map->mask + 1) * 2 : 64;
    rgm_waiting bigger = {rgm_malloc(size * sizeof(uint32_t)), rgm_malloc(size * sizeof(int32_t)), size - 1,
                          map->used};
    if (!bigger.keys || !bigger.heads) {
        rgm_free(bigger.keys);
        rgm_free(bigger.heads);
        return rgm_error_no_memory(err);
    }
    for (uint32_t i = 0; i < size; i++) bigger.heads[i] = RGM_WAITING_NONE;
    for (uint32_t i = 0; map->keys && i <= map->mask; i++) {
        if (map->heads[i] == RGM_WAITING_NONE) continue;
        uint32_t at = find(&bigger, map->keys[i]);
        bigger.keys[at] = map->keys[i];
        bigger.heads[at] = map->heads[i];
    }
    rgm_free(map->keys);
    rgm_free(map->heads);
    *map = bigger;
    return RGM_OK;
}

rgm_status rgm_waiting_add(rgm_waiting *map, uint32_t parent, int32_t child, int32_t *next, rgm_error *err) {
    if (!map->keys || map->used * 2 > map->mask) RGM_TRY(grow(map, err));
    uint32_t at = find(map, parent);
    if (map->heads[at] == RGM_WAITING_NONE) map->used++;
    *next = map->heads[at];
    map->keys[at] = parent;
    map->heads[at] = child;
    return RGM_OK;
}

int32_t rgm_waiting_take(rgm_waiting *map, uint32_t parent) {
    if (!map->keys) return RGM_WAITING_NONE;
    uint32_t hole = find(map, parent);
    int32_t head = map->heads[hole];
    if (head == RGM_WAITING_NONE) return RGM_WAITING_NONE;
    map->used--;
    map->heads[hole] = RGM_WAITING_NONE;
    // Close the hole, so that later look-ups need no tombstones.
    for (uint32_t at = (hole + 1) & map->mask; map->heads[at] != RGM_WAITING_NONE;
         at = (at + 1) & map->mask) {
        uint32_t home = (uint32_t)rgm_hash_u64(map->keys[at]) & map->mask;
        if (((at - home) & map->mask) < ((at - hole) & map->mask)) continue;
        map->keys[hole] = map->keys[at];
        map->heads[hole] = map->heads[at];
        map->heads[at] = RGM_WAITING_NONE;
        hole = at;
    }
    return head;
}

void rgm_waiting_clear(rgm_waiting *map) {
    map->used = 0;
    for (uint32_t i = 0; map->keys && i <= map->mask; i++) map->heads[i] = RGM_WAITING_NONE;
}

void rgm_waiting_release(rgm_waiting *map) {
    rgm_free(map->keys);
    rgm_free(map->heads);
    *map = (rgm_waiting){0};
}
