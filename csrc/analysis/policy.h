// SPDX-License-Identifier: Apache-2.0
// Every threshold of the analyses: X(name, default, unit, source). A user can set each by its name.
#ifndef RGM_ANALYSIS_POLICY_H
#define RGM_ANALYSIS_POLICY_H

// Statistics of times, and the rules by which the report of HTAAnalyzer judges.
#define RGM_TIMES_POLICY(X)                                                                                  \
    X(timeline_max_spans, 50000, "spans", "a page of some 2 MB that opens in under a second")                \
    X(counter_max_points, 4000, "points", "of one series: four for each of 1,000 columns of a screen")       \
    X(percentile_tail, 0.95, "", "p95 of the summary")                                                       \
    X(hta_idle_share, 0.30, "", "HTAAnalyzer of the profiling suite: idle device")                           \
    X(hta_communication_share, 0.20, "", "the same: communication that nothing hides")                       \
    X(hta_kernels, 10000, "kernels", "the same: many kernels, together with the next")                       \
    X(hta_short_kernel_us, 10, "us", "the same: mean duration of a kernel")                                  \
    X(hta_top_kernel_share, 0.50, "", "the same: one kernel with most of the kernel time")                   \
    X(percentile_extreme, 0.99, "", "p99 of the summary")                                                    \
    X(kernels_top, 0, "rows", "0 shows all; beyond that many rows the rest is merged into one")              \
    X(annotation_depth, 64, "levels", "bounds the cost of nested annotations; no known program nests 10")

// Gaps, launches, queues, copies.
#define RGM_WAITING_POLICY(X)                                                                                \
    X(idle_min_ns, 0, "ns", "every gap is listed; a table for the eye may want 1000")                        \
    X(launch_gap_ns, 30000, "ns",                                                                            \
      "early launches leave at most 21 us (99.9th percentile) in traces of V100 to MI300; HTA's 30 in "      \
      "effect")                                                                                              \
    X(short_kernel_ns, 10000, "ns",                                                                          \
      "TraceLens' limit of a short kernel; some twice what launching one costs")                             \
    X(queue_full, 1022, "launches",                                                                          \
      "a V100's calls that find this many queued, their own included, take 125 us, others 5; HTA: 1024")     \
    X(small_copy_bytes, 65536, "bytes", "takes PCIe 3.0 x16 as long as launching it, some 5 us")

// Kernels that repeat.
#define RGM_SEQUENCES_POLICY(X)                                                                              \
    X(sequences_min_length, 2, "kernels", "two kernels are the least that can be fused")                     \
    X(sequences_max_length, 64, "kernels",                                                                   \
      "a transformer layer; a longer repeat is told by its first kernels")                                   \
    X(sequences_min_count, 3, "occurrences", "twice may be chance")                                          \
    X(sequences_top, 50, "sequences", "a page; they are in order of what they can save")

// Dependencies that a trace does not record.
#define RGM_CRITICAL_PATH_POLICY(X)                                                                          \
    X(critical_clock_tolerance_ns, 2000, "ns",                                                               \
      "awaited work may seem to end this much after its wait: host and device clocks are fitted to 1 us")    \
    X(critical_orphan_gap_ns, 1.5e6, "ns",                                                                   \
      "work without a recorded launch follows its predecessor up to this gap (HTA's kernel-kernel limit)")   \
    X(critical_low_quantile, 0.05, "", "least launch latency and kernel gap of a run, without outliers")

// What counts as a difference of two runs.
#define RGM_DIFF_POLICY(X)                                                                                   \
    X(diff_least_share, 0.05, "", "difference of two single runs that is called none (5 %: nsys-ai's gate)") \
    X(diff_least_ns, 1000, "ns", "the same in absolute terms: the resolution of traces until 2024")

// What is drawn of a flame graph.
#define RGM_FLAME_POLICY(X)                                                                                  \
    X(flame_min_duration_ns, 10000, "ns", "FlameGraphGenerator's min_duration_us")                           \
    X(flame_max_depth, 50, "rows", "FlameGraphGenerator's max_depth")                                        \
    X(flame_small_share, 0.01, "", "FlameGraphGenerator's small_kernel_threshold_pct")

// Clocks of the ranks.
#define RGM_RANKS_POLICY(X)                                                                                  \
    X(stragglers_clock_tolerance_ns, 1e6, "ns", "hosts that NTP keeps together differ by up to a millisecond")

#define RGM_POLICY(X)                                                                                        \
    RGM_TIMES_POLICY(X)                                                                                      \
    RGM_WAITING_POLICY(X)                                                                                    \
    RGM_SEQUENCES_POLICY(X)                                                                                  \
    RGM_CRITICAL_PATH_POLICY(X)                                                                              \
    RGM_DIFF_POLICY(X)                                                                                       \
    RGM_FLAME_POLICY(X)                                                                                      \
    RGM_RANKS_POLICY(X)

typedef struct {
#define RGM_POLICY_FIELD(name, initial, unit, source) double name;
    RGM_POLICY(RGM_POLICY_FIELD)
#undef RGM_POLICY_FIELD
} rgm_policy;

#define RGM_POLICY_DEFAULT(name, initial, unit, source) .name = (initial),
#define RGM_POLICY_DEFAULTS                                                                                  \
    (rgm_policy) { RGM_POLICY(RGM_POLICY_DEFAULT) }

#endif
