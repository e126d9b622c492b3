// SPDX-License-Identifier: Apache-2.0
// The inner loops of reading a trace, inlined into the file that includes this: with AVX2 where
// RGM_SCAN_AVX2 is defined, byte by byte otherwise. Both give the same results. The text must be followed by
// at least RGM_TEXT_PADDING readable zero bytes, so that no loop needs to look for its end.
#ifndef RGM_IO_TRACE_SCAN_H
#define RGM_IO_TRACE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef RGM_SCAN_AVX2
#include <immintrin.h>
#endif

enum { RGM_TEXT_PADDING = 2048 };

// First byte that a string cannot simply go on with: a quote, a backslash, a control or a high byte.
static inline const uint8_t *rgm_scan_string(const uint8_t *at) {
#ifdef RGM_SCAN_AVX2
    const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\');
    const __m256i space = _mm256_set1_epi8(' ');
    for (;; at += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)at);
        __m256i plain = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, quote), _mm256_cmpeq_epi8(bytes, backslash));
        // High bytes are negative, so one signed comparison finds them and the control characters.
        uint32_t found =
            (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(plain, _mm256_cmpgt_epi8(space, bytes)));
        if (found) return at + __builtin_ctz(found);
    }
#else
    while (*at != '"' && *at != '\\' && *at >= ' ' && *at < 0x80) at++;
    return at;
#endif
}

// First quote or bracket at or after `at`, `end` when there is none before it.
static inline const uint8_t *rgm_scan_bracket(const uint8_t *at, const uint8_t *end) {
#ifdef RGM_SCAN_AVX2
    const __m256i quote = _mm256_set1_epi8('"'), low = _mm256_set1_epi8('[' | 0x20);
    const __m256i high = _mm256_set1_epi8(']' | 0x20), bit = _mm256_set1_epi8(0x20);
    for (; at < end; at += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)at);
        __m256i folded = _mm256_or_si256(bytes, bit); // square and curly brackets differ in one bit
        __m256i hit =
            _mm256_or_si256(_mm256_cmpeq_epi8(bytes, quote),
                            _mm256_or_si256(_mm256_cmpeq_epi8(folded, low), _mm256_cmpeq_epi8(folded, high)));
        uint32_t found = (uint32_t)_mm256_movemask_epi8(hit);
        if (!found) continue;
        at += __builtin_ctz(found);
        return at < end ? at : end;
    }
    return end;
#else
    while (at < end && *at != '"' && (*at | 0x20) != ('[' | 0x20) && (*at | 0x20) != (']' | 0x20)) at++;
    return at;
#endif
}

// The literal has 32 readable bytes behind it.
static inline bool rgm_scan_equal(const uint8_t *text, const uint8_t *literal, size_t length) {
#ifdef RGM_SCAN_AVX2
    while (length > 32) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)text);
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)literal);
        if ((uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)) != UINT32_MAX) return false;
        text += 32;
        literal += 32;
        length -= 32;
    }
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)text);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)literal);
    uint32_t same = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b));
    return (~same & (uint32_t)((UINT64_C(1) << length) - 1)) == 0;
#else
    return memcmp(text, literal, length) == 0;
#endif
}

static inline const uint8_t *rgm_scan_space(const uint8_t *at, const uint8_t *end) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
    return at;
}

// --- values of any kind -----------------------------------------------------------------------------------

static inline bool rgm_is_delimiter(uint8_t c) {
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// From behind the opening quote to the closing one; NULL when the text ends before.
static inline const uint8_t *rgm_skip_string(const uint8_t *at, const uint8_t *end) {
    for (;;) {
        at = rgm_scan_string(at);
        if (at >= end) return NULL;
        if (*at == '"') return at;
        at += *at == '\\' ? 2 : 1;
    }
}

// From the beginning of a value to behind it; NULL when the text ends before or there is no value.
static inline const uint8_t *rgm_skip_value(const uint8_t *at, const uint8_t *end) {
    if (*at == '"') {
        at = rgm_skip_string(at + 1, end);
        return at ? at + 1 : NULL;
    }
    if (*at != '[' && *at != '{') {
        const uint8_t *from = at;
        while (at < end && !rgm_is_delimiter(*at) && *at != '"' && *at != ':') at++;
        return at == from || at >= end ? NULL : at;
    }
    for (size_t depth = 0;; at++) {
        at = rgm_scan_bracket(at, end);
        if (at >= end) return NULL;
        if (*at == '"') {
            at = rgm_skip_string(at + 1, end);
            if (!at) return NULL;
        } else if (*at == '[' || *at == '{') {
            depth++;
        } else if (--depth == 0) {
            return at + 1;
        }
    }
}

// The same for a list in which there are no objects and every string is followed by what may follow one; NULL
// for any other. A quote too many or too few turns text and brackets round, so that such a list would go on
// into the next event, of which it then meets a key as the inside of no string, or a brace as that of no
// text.
static inline const uint8_t *rgm_skip_list(const uint8_t *at, const uint8_t *end) {
    for (size_t depth = 0;; at++) {
        at = rgm_scan_bracket(at, end);
        if (at >= end) return NULL;
        if (*at == '"') {
            at = rgm_skip_string(at + 1, end);
            if (!at || (at[1] != ',' && at[1] != ']' && at[1] != ' ' && at[1] != '\n' && at[1] != '\r' &&
                        at[1] != '\t'))
                return NULL;
        } else if (*at == '[') {
            depth++;
        } else if (*at != ']') {
            return NULL;
        } else if (--depth == 0) {
            return at + 1;
        }
    }
}

// --- numbers ----------------------------------------------------------------------------------------------

static inline uint64_t rgm_scan_word(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

// Up to eight digits at once: their count is returned, their value put at *value.
static inline uint32_t rgm_scan_digits(const uint8_t *at, uint64_t *value) {
    uint64_t word = rgm_scan_word(at) ^ 0x3030303030303030u;
    uint64_t other = ((word + 0x7676767676767676u) | word) & 0x8080808080808080u;
    uint32_t count = other ? (uint32_t)__builtin_ctzll(other) >> 3 : 8;
    if (count == 0) {
        *value = 0;
        return 0;
    }
    word <<= 64 - 8 * count; // leading zeros
    word = (word * 10) + (word >> 8);
    *value = (((word & 0x000000FF000000FFu) * 0x000F424000000064u) +
              (((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
             32;
    return count;
}

static const uint64_t rgm_powers_of_ten[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// Digits at `at`; the value is exact while there are at most 19 of them. Returns where they end.
static inline const uint8_t *rgm_scan_unsigned(const uint8_t *at, uint64_t *value) {
    uint64_t chunk;
    uint32_t count = rgm_scan_digits(at, value);
    at += count;
    while (count == 8) {
        count = rgm_scan_digits(at, &chunk);
        *value = *value * rgm_powers_of_ten[count] + chunk;
        at += count;
    }
    return at;
}

// Each returns where the number ends, NULL when it is not of the plain form that these read.
static inline const uint8_t *rgm_scan_int(const uint8_t *at, int64_t *value) {
    bool negative = *at == '-';
    const uint8_t *from = at + negative;
    uint64_t number;
    at = rgm_scan_unsigned(from, &number);
    if (at == from || at - from > 18) return NULL;
    if (*at == '.' || *at == 'e' || *at == 'E') return NULL;
    *value = negative ? -(int64_t)number : (int64_t)number;
    return at;
}

// Microseconds with any number of decimals -> nanoseconds; what is below a nanosecond is cut off. *decimals
// is their number (at most 8 counts) and *fraction what they read as an integer.
static inline const uint8_t *rgm_scan_time(const uint8_t *at, int64_t *ns, uint32_t *decimals,
                                           uint32_t *fraction) {
    bool negative = *at == '-';
    const uint8_t *from = at + negative;
    uint64_t whole, part = 0;
    *decimals = *fraction = 0;
    at = rgm_scan_unsigned(from, &whole);
    if (at == from || at - from > 16 || whole > UINT64_C(4611686018427387)) return NULL;
    if (*at == '.') {
        uint32_t count = rgm_scan_digits(at + 1, &part);
        if (count == 0) return NULL;
        at += 1 + count;
        *decimals = count;
        *fraction = (uint32_t)part;
        if (count < 3) {
            part *= rgm_powers_of_ten[3 - count];
        } else if (count > 3) {
            part /= rgm_powers_of_ten[count - 3];
            while (*at >= '0' && *at <= '9') at++;
        }
    }
    if (*at == 'e' || *at == 'E') return NULL;
    int64_t value = (int64_t)(whole * 1000 + part);
    *ns = negative ? -value : value;
    return at;
}

static const double rgm_exact_powers[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Correctly rounded, because numerator and denominator are exact as doubles.
static inline const uint8_t *rgm_scan_real(const uint8_t *at, double *value) {
    bool negative = *at == '-';
    const uint8_t *from = at + negative;
    uint64_t whole, digits = 0;
    at = rgm_scan_unsigned(from, &whole);
    size_t count = (size_t)(at - from), decimals = 0;
    if (count == 0 || count > 15) return NULL;
    if (*at == '.') {
        const uint8_t *point = at + 1;
        at = rgm_scan_unsigned(point, &digits);
        decimals = (size_t)(at - point);
        if (decimals == 0 || count + decimals > 19) return NULL;
        for (size_t i = decimals; i > 0; i -= i > 8 ? 8 : i) whole *= rgm_powers_of_ten[i > 8 ? 8 : i];
        whole += digits;
    }
    if (*at == 'e' || *at == 'E' || whole >> 53) return NULL;
    double number = (double)whole / rgm_exact_powers[decimals];
    *value = negative ? -number : number;
    return at;
}

// Three integers in square brackets.
static inline const uint8_t *rgm_scan_triple(const uint8_t *at, const uint8_t *end, int32_t out[3]) {
    for (int i = 0; i < 3; i++) {
        int64_t value;
        if (*at != (i == 0 ? '[' : ',')) return NULL;
        at = rgm_scan_space(at + 1, end);
        at = rgm_scan_int(at, &value);
        if (!at || value > INT32_MAX || value < INT32_MIN) return NULL;
        out[i] = (int32_t)value;
        at = rgm_scan_space(at, end);
    }
    return *at == ']' ? at + 1 : NULL;
}

#endif
