// SPDX-License-Identifier: Apache-2.0
// Results about what the duration of a run hangs on.
#ifndef RGM_MODEL_RESULTS_CRITICAL_PATH_H
#define RGM_MODEL_RESULTS_CRITICAL_PATH_H

// Result of the critical_path analysis: one row is one segment, in order of time. The segments follow one
// another without a gap from the beginning of the window to its end.
#define RGM_CRITICAL_PATH(X)                                                                                 \
    X(i64, start_ns, "ns", 0, "Start of the segment.")                                                       \
    X(i64, duration_ns, "ns", 0, "Length of the segment.")                                                   \
    X(u8, kind, "", 0, "What the time went into: an index of PATH_KINDS.")                                   \
    X(name, name, "", 0, "Name of the span, \"\" where nothing was recorded.")                               \
    X(i32, span, "", -1, "Span whose self time or execution it is, or that was waited for to begin.")        \
    X(i32, lane, "", -1, "Host thread or stream.")                                                           \
    X(i32, from_span, "", -1, "Span at whose beginning or end the segment starts.")                          \
    X(u8, inferred, "", 0, "1 where the trace does not record the dependency and a rule told it.")

// Result of the critical_path_shares analysis: one row is one kind of segment, in the order of PATH_KINDS.
#define RGM_CRITICAL_PATH_SHARES(X)                                                                          \
    X(u8, kind, "", 0, "An index of PATH_KINDS.")                                                            \
    X(i64, total_ns, "ns", 0, "Sum over the segments of this kind.")                                         \
    X(f64, share, "", NAN, "total_ns over path_ns.")                                                         \
    X(i64, count, "", 0, "Segments.")                                                                        \
    X(i64, inferred_ns, "ns", 0, "Part of total_ns whose dependency was inferred by a rule.")                \
    X(i64, bound_ns, "ns", 0, "Longest path with this kind at no cost: no run without it is shorter.")       \
    X(i64, path_ns, "ns", 0, "Length of the whole path.")                                                    \
    X(i32, rank, "", -1, "Rank whose path it is.")

// Result of the critical_path_top analysis: one row is one name and kind, the most time first.
#define RGM_CRITICAL_PATH_TOP(X)                                                                             \
    X(name, name, "", 0, "Operator, call or kernel; \"\" where nothing was recorded.")                       \
    X(u8, kind, "", 0, "An index of PATH_KINDS.")                                                            \
    X(i64, total_ns, "ns", 0, "Sum over its segments.")                                                      \
    X(f64, share, "", NAN, "total_ns over the length of the path.")                                          \
    X(i64, count, "", 0, "Segments.")

#define RGM_CRITICAL_PATH_RESULTS(X)                                                                         \
    X(critical_path, RGM_CRITICAL_PATH, "A segment of the critical path.")                                   \
    X(critical_path_shares, RGM_CRITICAL_PATH_SHARES, "What one kind contributes to the critical path.")     \
    X(critical_path_top, RGM_CRITICAL_PATH_TOP, "A name on the critical path.")

#endif
