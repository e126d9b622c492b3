// SPDX-License-Identifier: Apache-2.0
// Recognises well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF).
#ifndef RGM_BASE_UTF8_H
#define RGM_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

// Bytes of the character at `at` (before `end`), 0 where none begins.
size_t rgm_utf8_length(const unsigned char *at, const unsigned char *end);
bool rgm_utf8_valid(const unsigned char *text, size_t length);

#endif
