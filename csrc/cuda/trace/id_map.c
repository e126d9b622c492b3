// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/id_map.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

static size_t home_of(const rgm_id_map *map, uint64_t key) {
    return (size_t)rgm_hash_u64(key) & (map->capacity - 1);
}

static rgm_id_entry *slot_of(const rgm_id_map *map, uint64_t key) {
    size_t at = home_of(map, key);
    while (map->entries[at].used && map->entries[at].key != key) at = (at + 1) & (map->capacity - 1);
    return &map->entries[at];
}

void rgm_id_map_release(rgm_id_map *map) {
    rgm_free(map->entries);
    *map = (rgm_id_map){.most = map->most};
}

void rgm_id_map_clear(rgm_id_map *map) {
    if (map->entries) memset(map->entries, 0, map->capacity * sizeof *map->entries);
    map->count = 0;
}

rgm_id_entry *rgm_id_map_find(const rgm_id_map *map, uint64_t key) {
    if (!map->count) return NULL;
    rgm_id_entry *slot = slot_of(map, key);
    return slot->used ? slot : NULL;
}

static bool grow(rgm_id_map *map) {
    rgm_id_map bigger = {.capacity = map->capacity ? map->capacity * 2 : 64, .most = map->most};
    bigger.entries = rgm_calloc(bigger.capacity, sizeof *bigger.entries);
    if (!bigger.entries) return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].used) *slot_of(&bigger, map->entries[i].key) = map->entries[i];
    bigger.count = map->count;
    rgm_free(map->entries);
    *map = bigger;
    return true;
}

rgm_id_entry *rgm_id_map_put(rgm_id_map *map, uint64_t key) {
    rgm_id_entry *known = rgm_id_map_find(map, key);
    if (known) return known;
    if (map->count >= map->most) return NULL;
    if (map->count * 4 >= map->capacity * 3 && !grow(map)) return NULL;
    rgm_id_entry *slot = slot_of(map, key);
    *slot = (rgm_id_entry){.key = key, .used = true};
    map->count++;
    return slot;
}

// Entries behind the gap move up when they would not be found across it.
void rgm_id_map_remove(rgm_id_map *map, uint64_t key) {
    rgm_id_entry *slot = rgm_id_map_find(map, key);
    if (!slot) return;
    size_t mask = map->capacity - 1, gap = (size_t)(slot - map->entries);
    map->count--;
    for (size_t at = (gap + 1) & mask; map->entries[at].used; at = (at + 1) & mask) {
        size_t home = home_of(map, map->entries[at].key);
        if (((at - home) & mask) < ((at - gap) & mask)) continue;
        map->entries[gap] = map->entries[at];
        gap = at;
    }
    map->entries[gap].used = false;
}
