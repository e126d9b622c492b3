// SPDX-License-Identifier: Apache-2.0
// The one non-cryptographic hash of the core (64-bit multiply-and-fold over eight bytes at a time).
#ifndef RGM_BASE_HASH_H
#define RGM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t rgm_hash_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t rgm_hash_u64(uint64_t value) { return rgm_hash_mix(value, 0x2545F4914F6CDD1Du); }

static inline uint64_t rgm_hash_bytes(const void *data, size_t length) {
    const unsigned char *at = data;
    uint64_t hash = length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = rgm_hash_mix(hash, word);
        at += 8;
        length -= 8;
    }
    uint64_t tail = 0;
    if (length) memcpy(&tail, at, length);
    return rgm_hash_mix(hash, tail);
}

#endif
