// SPDX-License-Identifier: Apache-2.0
// Results that a page draws: timeline, flame graph, activity.
#ifndef RGM_MODEL_RESULTS_VIEWS_H
#define RGM_MODEL_RESULTS_VIEWS_H

// Result of the timeline_blocks analysis: one row is a span, or a block that stands for short neighbours on
// one line. The counts add up to the number of spans, the sums to their durations.
#define RGM_TIMELINE_BLOCKS(X)                                                                               \
    X(i64, span, "", -1, "Row in `spans`; of a block the longest span in it.")                               \
    X(u32, lane, "", 0, "Row in `lanes`.")                                                                   \
    X(i32, depth, "", 0, "Line within the lane: spans of one line do not cover each other.")                 \
    X(i32, plain_depth, "", 0, "Line when Python functions are left out, -1 for those.")                     \
    X(i64, start_ns, "ns", 0, "Start of the first span.")                                                    \
    X(i64, duration_ns, "ns", 0, "Last end minus first start.")                                              \
    X(name, name, "", 0, "Name of the longest span.")                                                        \
    X(u8, kind, "", 0, "Kind of the longest span: an index of SPAN_KINDS.")                                  \
    X(u8, activity, "", 0, "What the longest span does: an index of ACTIVITIES.")                            \
    X(i64, count, "", 1, "Spans that the row stands for, 1 for a span of its own.")                          \
    X(i64, sum_ns, "ns", 0, "Sum of their durations.")                                                       \
    X(i64, launch, "", -1, "Row of this table that shows the launch of this device work, -1 for none.")      \
    X(name, op, "", 0, "Operator that issued this call or device work, \"\" for none.")

// What runs in a range of the timeline, by name, most time first.
#define RGM_RANGE_TIMES(X)                                                                                   \
    X(name, name, "", 0, "Name of the spans.")                                                               \
    X(i64, spans, "", 0, "Spans that have a part in the range.")                                             \
    X(i64, time_ns, "ns", 0, "Sum of those parts; spans within others count in both.")                       \
    X(i64, longest, "", -1, "Row in `spans` of the longest of them.")

// X(NAME, token)
#define RGM_FLAME_ROLES(X)                                                                                   \
    X(SPAN, "span")                                                                                          \
    X(ALL, "all")                                                                                            \
    X(LANE, "lane")                                                                                          \
    X(UNLAUNCHED, "unlaunched")                                                                              \
    X(SMALL, "small")                                                                                        \
    X(DEEPER, "deeper")
#define RGM_FLAME_ROLE_ENUM(name, token) RGM_FLAME_##name,
typedef enum { RGM_FLAME_ROLES(RGM_FLAME_ROLE_ENUM) RGM_FLAME_ROLE_COUNT } rgm_flame_role;

// Result of the flame analysis: the merged call tree in preorder. Totals are the row's own time plus the
// totals of the rows below it, to the nanosecond.
#define RGM_FLAME(X)                                                                                         \
    X(name, name, "", 0, "Name of the spans, \"\" where the role says it all.")                              \
    X(u8, role, "", 0, "What the row is: an index of FLAME_ROLES.")                                          \
    X(u8, kind, "", 0, "Kind of its first span: an index of SPAN_KINDS.")                                    \
    X(i32, parent, "", -1, "Row of the caller, -1 for the first row.")                                       \
    X(i32, depth, "", 0, "Number of rows above it.")                                                         \
    X(i32, lane, "", -1, "Row in `lanes` where the role is `lane`, -1 otherwise.")                           \
    X(i64, count, "", 0, "Spans in it; of a `small` row also those below.")                                  \
    X(i64, grouped, "", 0, "Rows that a `small` row stands for.")                                            \
    X(i64, first_ns, "ns", 0, "Start of the first span in it or below.")                                     \
    X(i64, total_host_ns, "ns", 0, "Host time in it and below.")                                             \
    X(i64, self_host_ns, "ns", 0, "Host time during which its span was the latest begun on its lane.")       \
    X(i64, total_device_ns, "ns", 0, "Sum of durations of the device work issued in it and below.")          \
    X(i64, self_device_ns, "ns", 0, "Sum of durations of its own device work.")

// Result of the counter_points analysis: by series, device and time. The counts add up to the number of
// samples of the series.
#define RGM_COUNTER_POINTS(X)                                                                                \
    X(name, series, "", 0, "Name of the series, which states the unit.")                                     \
    X(i16, device, "", -1, "Device ordinal, -1 for the host or when not known.")                             \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans.")                                             \
    X(f64, value, "", NAN, "Value of this sample.")                                                          \
    X(i64, count, "", 1, "Samples since the row before of the series, this one included.")

// Result of the active_times analysis: one row for the whole run.
#define RGM_ACTIVE_TIMES(X)                                                                                  \
    X(i64, first_ns, "ns", 0, "Start of the first host span or device work.")                                \
    X(i64, span_ns, "ns", 0, "Last end minus first start.")                                                  \
    X(i64, host_ns, "ns", 0, "Time with any host span.")                                                     \
    X(i64, device_ns, "ns", 0, "Time with any device work.")                                                 \
    X(f64, host_share, "", NAN, "host_ns over span_ns.")                                                     \
    X(f64, device_share, "", NAN, "device_ns over span_ns.")                                                 \
    X(i64, overlap_ns, "ns", 0, "Time with both.")                                                           \
    X(i64, n_host, "", 0, "Host spans that count.")                                                          \
    X(i64, n_device, "", 0, "Pieces of device work.")

#define RGM_VIEWS_RESULTS(X)                                                                                 \
    X(timeline_blocks, RGM_TIMELINE_BLOCKS, "A span of the timeline, or a block of short ones.")             \
    X(range_times, RGM_RANGE_TIMES, "What runs in a range of the timeline.")                                 \
    X(flame, RGM_FLAME, "A node of the merged call tree.")                                                   \
    X(active_times, RGM_ACTIVE_TIMES, "How long host and device were active.")                               \
    X(counter_points, RGM_COUNTER_POINTS, "A sample of a time series that is drawn.")

#endif
