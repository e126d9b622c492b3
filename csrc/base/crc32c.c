// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_fill(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0x82F63B78u & (0u - (crc & 1u)));
        table[i] = crc;
    }
}

uint32_t rgm_crc32c_portable(uint32_t crc, const void *data, size_t length) {
    pthread_once(&table_once, table_fill);
    const uint8_t *at = data;
    crc = ~crc;
    while (length--) crc = (crc >> 8) ^ table[(crc ^ *at++) & 0xFF];
    return ~crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t crc_hardware(uint32_t crc, const uint8_t *at,
                                                               size_t length) {
    uint64_t sum = ~crc;
    for (; length >= 8; at += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        sum = _mm_crc32_u64(sum, word);
    }
    uint32_t small = (uint32_t)sum;
    while (length--) small = _mm_crc32_u8(small, *at++);
    return ~small;
}

uint32_t rgm_crc32c(uint32_t crc, const void *data, size_t length) {
    if (__builtin_cpu_supports("sse4.2")) return crc_hardware(crc, data, length);
    return rgm_crc32c_portable(crc, data, length);
}
#else
uint32_t rgm_crc32c(uint32_t crc, const void *data, size_t length) {
    return rgm_crc32c_portable(crc, data, length);
}
#endif
