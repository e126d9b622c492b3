// SPDX-License-Identifier: Apache-2.0
// Every inner loop of io/trace/trace_scan.h behind a pointer, so that both variants can be asked the same.
// Included by portable.c and avx2.c with SCAN_VARIANT defined.
#include "io/trace/trace_scan.h"
#include "table.h"

static const uint8_t *text_end(const uint8_t *at, const uint8_t *end) { return rgm_skip_string(at, end); }
static const uint8_t *value_end(const uint8_t *at, const uint8_t *end) { return rgm_skip_value(at, end); }
static const uint8_t *special(const uint8_t *at) { return rgm_scan_string(at); }
static const uint8_t *bracket(const uint8_t *at, const uint8_t *end) { return rgm_scan_bracket(at, end); }
static bool equal(const uint8_t *text, const uint8_t *literal, size_t length) {
    return rgm_scan_equal(text, literal, length);
}
static const uint8_t *integer(const uint8_t *at, int64_t *value) { return rgm_scan_int(at, value); }
static const uint8_t *real(const uint8_t *at, double *value) { return rgm_scan_real(at, value); }
static const uint8_t *time_of(const uint8_t *at, int64_t *ns, uint32_t *decimals, uint32_t *fraction) {
    return rgm_scan_time(at, ns, decimals, fraction);
}
static const uint8_t *triple(const uint8_t *at, const uint8_t *end, int32_t out[3]) {
    return rgm_scan_triple(at, end, out);
}

const scan_table SCAN_VARIANT = {text_end, value_end, special, bracket, equal,
                                 integer,  real,      time_of, triple};
