// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <string.h>

bool rgm_text_has(rgm_string text, const char *part) {
    return memmem(text.data, text.length, part, strlen(part)) != NULL;
}

bool rgm_text_is(rgm_string text, const char *whole) {
    return strlen(whole) == text.length && memcmp(text.data, whole, text.length) == 0;
}

bool rgm_text_begins(rgm_string text, const char *head) {
    return text.length >= strlen(head) && memcmp(text.data, head, strlen(head)) == 0;
}

bool rgm_text_among(rgm_string text, const char *const *texts) {
    for (; *texts; texts++)
        if (rgm_text_is(text, *texts)) return true;
    return false;
}

bool rgm_text_has_any(rgm_string text, const char *const *parts) {
    for (; *parts; parts++)
        if (rgm_text_has(text, *parts)) return true;
    return false;
}
