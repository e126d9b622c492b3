// SPDX-License-Identifier: Apache-2.0
// A bounded hash map from a number to two numbers, for what records refer to by number or by address.
//
// Threads: one at a time.
#ifndef RGM_CUDA_ID_MAP_H
#define RGM_CUDA_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t key;
    uint64_t first, second;
    bool used;
} rgm_id_entry;

typedef struct {
    rgm_id_entry *entries;
    size_t capacity; // a power of two, 0 before the first put
    size_t count;
    size_t most; // entries
} rgm_id_map;

// Zero-initialised but for `most`, a map is ready.
void rgm_id_map_release(rgm_id_map *map);
// NULL when the key is not in the map. Valid until the next put or remove.
rgm_id_entry *rgm_id_map_find(const rgm_id_map *map, uint64_t key);
// The entry of the key, which is new and zero if it was not there; NULL when the map or the memory is full.
rgm_id_entry *rgm_id_map_put(rgm_id_map *map, uint64_t key);
void rgm_id_map_remove(rgm_id_map *map, uint64_t key);
void rgm_id_map_clear(rgm_id_map *map);

#endif
