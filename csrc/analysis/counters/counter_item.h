// SPDX-License-Identifier: Apache-2.0
// Hardware counters, attributed to kernels. Two kinds of recording exist.
//
// Ranges: the profiler replayed or serialised kernels and wrote one span of kind counter_range with the
// values of each. Their times are not those of the kernels, so they are paired by order: with the kernels of
// their device, or, where the trace has none, with the calls that launch kernels. If both are equally many,
// the i-th belongs to the i-th, provided that the names agree (the range's may be "__missing__"; calls have
// none). If not, those names pair whose ranges and kernels are equally many. The rest is not paired.
// In a recording with scopes a range is that of a scope, which it encloses and whose name it has.
//
// Samples: values of a device over time. A value holds until the next of its series, as in Chrome's counter
// tracks; a kernel gets the mean over its time, weighted by time, as far as samples cover it. The counters
// are those of the device: of kernels that run side by side each gets the same.
#ifndef RGM_ANALYSIS_COUNTER_ITEM_H
#define RGM_ANALYSIS_COUNTER_ITEM_H

#include "analysis/view.h"

#define RGM_COUNTER_SOURCES(X)                                                                               \
    X(RANGE, "range")                                                                                        \
    X(SAMPLE, "sample")

#define RGM_COUNTER_SOURCE_ENUM(name, token) RGM_COUNTER_##name,
typedef enum { RGM_COUNTER_SOURCES(RGM_COUNTER_SOURCE_ENUM) RGM_COUNTER_SOURCE_COUNT } rgm_counter_source;

typedef struct {
    rgm_name series;
    rgm_name kernel; // its name
    uint32_t span;   // the range, or the kernel
    int32_t target;  // row of the kernel, the call or the scope; -1 for a range that is not paired
    uint8_t source;
    int64_t time_ns; // that samples cover; 0 for a range
    double value;    // of the range, or mean of the samples
} rgm_counter_item;

typedef struct {
    rgm_counter_item *items;
    size_t count, capacity;
} rgm_counter_items;

rgm_status rgm_counter_items_find(rgm_counter_items *items, const rgm_view *view,
                                  rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_counter_items_release(rgm_counter_items *items);

// Operator that the item belongs to, 0 for none.
rgm_name rgm_counter_item_op(const rgm_view *view, const rgm_counter_item *item);

#endif
