// SPDX-License-Identifier: Apache-2.0
// The build compiles this file with AVX2 on x86-64; elsewhere the name leads to the portable parser.
#ifdef __AVX2__
#define RGM_SCAN_AVX2
#define RGM_PARSE_NAME rgm_trace_parse_avx2
#include "io/trace/trace_parse_body.h"
#else
#include "io/trace/trace_parse.h"

rgm_parse_end rgm_trace_parse_avx2(rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part,
                                   rgm_status *status, rgm_error *err) {
    return rgm_trace_parse_portable(parser, text, part, status, err);
}
#endif
