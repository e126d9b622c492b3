// SPDX-License-Identifier: Apache-2.0
// Numbers and their texts, with a point whatever locale the program has set.
#ifndef RGM_BASE_DECIMAL_H
#define RGM_BASE_DECIMAL_H

enum { RGM_F64_TEXT = 40 };

// strtod(3): takes inf, Infinity and NaN too.
double rgm_strtod(const char *text, char **end);
// The fewest digits that read back as the same finite value.
void rgm_f64_text(double value, char text[RGM_F64_TEXT]);

#endif
