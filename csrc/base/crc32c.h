// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli, polynomial 0x1EDC6F41, reflected), as in RFC 3720 B.4.
// Uses the processor's instruction where it exists, a table otherwise; both give the same result.
#ifndef RGM_BASE_CRC32C_H
#define RGM_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

// `crc` is 0 for a new sum or the result for the bytes before.
uint32_t rgm_crc32c(uint32_t crc, const void *data, size_t length);
// The table version, offered so that a test can compare the two.
uint32_t rgm_crc32c_portable(uint32_t crc, const void *data, size_t length);

#endif
