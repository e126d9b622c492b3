// SPDX-License-Identifier: Apache-2.0
// A Run in the formats of other tools, written to a sink as it goes. Output is a function of the run alone.
#ifndef RGM_IO_EXPORT_H
#define RGM_IO_EXPORT_H

#include "io/output.h"
#include "model/run.h"

// X(function, token, doc). `option` of rgm_export is named in the doc where a format has one.
#define RGM_EXPORTS(X)                                                                                       \
    X(chrome, "chrome",                                                                                      \
      "Chrome's JSON as torch.profiler writes it: Perfetto, chrome://tracing, TensorBoard; option: kinds "   \
      "of "                                                                                                  \
      "spans to leave out, as python,runtime")                                                               \
    X(perfetto, "perfetto", "Perfetto's protobuf of TrackEvents")                                            \
    X(speedscope, "speedscope", "speedscope's JSON, evented: one profile a track")                           \
    X(speedscope_sampled, "speedscope-sampled", "speedscope's JSON, stacks with their self time")            \
    X(collapsed, "collapsed", "folded stacks and ns; option host (default) or device")                       \
    X(pprof, "pprof", "pprof's profile.proto, not yet compressed")                                           \
    X(csv, "csv", "one table as CSV (RFC 4180); option: its name, default spans")

#define RGM_EXPORT_FUNCTION(name, token, doc)                                                                \
    rgm_status rgm_export_##name(const rgm_run *run, const char *option, rgm_output *out, rgm_error *err);
RGM_EXPORTS(RGM_EXPORT_FUNCTION)

typedef struct {
    const char *name;
    const char *doc;
    rgm_status (*write)(const rgm_run *run, const char *option, rgm_output *out, rgm_error *err);
} rgm_export_format;

extern const rgm_export_format rgm_export_formats[];
extern const size_t rgm_export_formats_count;

// `option` may be NULL. RGM_INVALID for a format or an option that is not known.
rgm_status rgm_export(const rgm_run *run, const char *format, const char *option, rgm_sink_write write,
                      void *context, rgm_error *err) RGM_NODISCARD;

#endif
