// SPDX-License-Identifier: Apache-2.0
// The inside of JSON strings: what their escapes stand for, quoting, checking.
#ifndef RGM_IO_JSON_TEXT_H
#define RGM_IO_JSON_TEXT_H

#include <stdbool.h>

#include "base/bytes.h"

// Appends what a string (without its quotes) stands for. A backslash that begins no escape stays, a lone
// surrogate becomes U+FFFD; anything else is copied as it is. Returns how many backslashes began no escape.
size_t rgm_json_unescape(rgm_bytes *out, const uint8_t *text, size_t length);
// Appends the text as a JSON string with quotes. Escapes in the text stay escapes when `raw`.
void rgm_json_quote(rgm_bytes *out, const uint8_t *text, size_t length, bool raw);
// Whether every backslash begins an escape that JSON knows.
bool rgm_json_escapes_valid(const uint8_t *text, size_t length);
// Whether the inside of a string is as JSON wants it: known escapes, no control characters, UTF-8.
bool rgm_json_string_valid(const uint8_t *text, size_t length);

#endif
