// SPDX-License-Identifier: Apache-2.0
// What the rows of a list say, X(name, token, ...) or X(name, token, text, ...), one after the other:
//
//     static const char *const tokens[] = {RGM_PIPES(RGM_TOKEN)};
#ifndef RGM_BASE_TOKENS_H
#define RGM_BASE_TOKENS_H

#define RGM_TOKEN(name, ...) RGM_FIRST_OF(__VA_ARGS__, )
#define RGM_TEXT(name, token, ...) RGM_FIRST_OF(__VA_ARGS__, )
#define RGM_FIRST_OF(first, ...) first,

#endif
