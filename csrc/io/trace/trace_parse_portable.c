// SPDX-License-Identifier: Apache-2.0
#define RGM_PARSE_NAME rgm_trace_parse_portable
#include "io/trace/trace_parse_body.h"
