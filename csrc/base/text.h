// SPDX-License-Identifier: Apache-2.0
// Questions to a text that need not end with a zero.
#ifndef RGM_BASE_TEXT_H
#define RGM_BASE_TEXT_H

#include <stdbool.h>

#include "base/strings.h"

bool rgm_text_has(rgm_string text, const char *part);
bool rgm_text_is(rgm_string text, const char *whole);
bool rgm_text_begins(rgm_string text, const char *head);
// Whether it is one of the texts, which end with NULL.
bool rgm_text_among(rgm_string text, const char *const *texts);
bool rgm_text_has_any(rgm_string text, const char *const *parts);

#endif
