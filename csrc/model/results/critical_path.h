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
    X(u8, inferred, "", 0, "1 where the trace does not record the dependency and a rule told it.")           \
    X(u8, reason, "", 0, "Of a start_delay, what is known of it: an index of PATH_REASONS.")

// Result of the critical_path_shares analysis: one row is one kind of segment, what saves most without it
// first. Where the path runs is no blame: beside a part of it may run something that takes as long.
#define RGM_CRITICAL_PATH_SHARES(X)                                                                          \
    X(u8, time_in, "", 0, "What the time went into: an index of PATH_KINDS.")                                \
    X(u8, kind, "", 0, "The same, under the name that it has in the other tables of the path.")              \
    X(i64, bound_ns, "ns", 0, "What remains at least with this kind at no cost: the longest path then.")     \
    X(i64, saving_ns, "ns", 0, "path_ns less bound_ns: what doing without this kind could save at most.")    \
    X(f64, saving_share, "", NAN, "saving_ns over path_ns.")                                                 \
    X(i64, total_ns, "ns", 0, "How much of the path runs through segments of this kind.")                    \
    X(f64, path_share, "", NAN, "total_ns over path_ns: where the path runs, not what could be saved.")      \
    X(i64, count, "", 0, "Segments.")                                                                        \
    X(i64, inferred_ns, "ns", 0, "Part of total_ns whose dependency was inferred by a rule.")                \
    X(u8, reason, "", 0, "Of start_delay, what is known of most of it: an index of PATH_REASONS.")           \
    X(i64, path_ns, "ns", 0, "Length of the whole path, that of its window; the same in all rows.")          \
    X(i64, host_chain_ns, "ns", 0, "The longest path with device work and launching at no cost.")            \
    X(i64, device_chain_ns, "ns", 0, "The longest path with the host and launching at no cost.")             \
    X(u8, follows, "", 0, "Which of these the length follows: an index of PATH_SIDES.")                      \
    X(i64, start_ns, "ns", 0, "When the window begins.")                                                     \
    X(i32, rank, "", -1, "Rank whose path it is.")

// Result of the critical_path_top analysis: one row is one name and kind, the most time first.
#define RGM_CRITICAL_PATH_TOP(X)                                                                             \
    X(name, name, "", 0, "Operator, call or kernel; \"\" where nothing was recorded.")                       \
    X(u8, kind, "", 0, "An index of PATH_KINDS.")                                                            \
    X(i64, total_ns, "ns", 0, "Sum over its segments.")                                                      \
    X(f64, path_share, "", NAN, "total_ns over the length of the path: where it runs, no more.")             \
    X(i64, count, "", 0, "Segments.")

// Result of the critical_ties analysis: one row is one segment of a detour, one after the other. A detour
// leaves the path, comes back to it, and was over so little before that what the path does beside it could
// not save more than slack_ns.
#define RGM_CRITICAL_TIES(X)                                                                                 \
    X(i32, tie, "", 0, "Number of the detour, from 0, in the order in which they come back to the path.")    \
    X(i64, start_ns, "ns", 0, "Start of the segment.")                                                       \
    X(i64, duration_ns, "ns", 0, "Length of the segment.")                                                   \
    X(u8, kind, "", 0, "What the time went into: an index of PATH_KINDS.")                                   \
    X(name, name, "", 0, "Name of the span, \"\" where nothing was recorded.")                               \
    X(i32, span, "", -1, "Span whose self time or execution it is, or that was waited for to begin.")        \
    X(i32, lane, "", -1, "Host thread or stream.")                                                           \
    X(i64, slack_ns, "ns", 0, "How much before the path its detour was over.")                               \
    X(i64, beside_ns, "ns", 0, "Length of the part of the path beside which its detour runs.")

#define RGM_CRITICAL_PATH_RESULTS(X)                                                                         \
    X(critical_path, RGM_CRITICAL_PATH, "A segment of the critical path.")                                   \
    X(critical_path_shares, RGM_CRITICAL_PATH_SHARES, "What one kind contributes to the critical path.")     \
    X(critical_path_top, RGM_CRITICAL_PATH_TOP, "A name on the critical path.")                              \
    X(critical_ties, RGM_CRITICAL_TIES, "A segment of what took nearly as long as the critical path.")

#endif
