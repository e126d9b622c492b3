// SPDX-License-Identifier: Apache-2.0
// Reading the list of events with two threads. The input is cut into stripes; each thread takes the next
// stripe, finds the first event in it, and reads up to the first event of the stripe behind. Where an event
// begins is a guess until the stripe before has been read to its end: stripes are joined in order, and one
// whose guess was wrong is read again from the right place. The result is that of one thread.
#ifndef RGM_IO_TRACE_STRIPES_H
#define RGM_IO_TRACE_STRIPES_H

#include "io/trace/trace_import.h"
#include "io/trace/trace_parse.h"

enum { RGM_STRIPES_WORTH = 6 << 20 }; // shorter inputs are read by one thread

// Reads events from *offset on, behind the bracket that opens the list. Leaves *offset behind the bracket
// that closes it, and *closed true; or at the first event of the last piece, which the caller reads on from.
rgm_status rgm_trace_read_stripes(const rgm_source *source, const rgm_import_options *options,
                                  rgm_trace_parser *parser, rgm_trace_part *part, int64_t *offset,
                                  bool *closed, rgm_error *err) RGM_NODISCARD;

#endif
