// SPDX-License-Identifier: Apache-2.0
// What a comparison of two sides says of each operation.
#ifndef RGM_MODEL_RESULTS_COMPARISON_H
#define RGM_MODEL_RESULTS_COMPARISON_H

// What the data of an operation allow. X(NAME, token, text)
#define RGM_TIERS(X)                                                                                         \
    X(NONE, "none", "nothing can be said")                                                                   \
    X(SINGLE, "single", "one or two processes on a side: widened by what two processes differ in")           \
    X(LAUNCHES, "launches", "several processes a side, compared by their medians")                           \
    X(PAIRED, "paired", "pairs of processes in random order, compared within each pair")                     \
    X(EXACT, "exact", "a quantity without noise, compared as it is")                                         \
    X(HISTORY, "history", "one run against the accepted runs before it")

#define RGM_VERDICTS(X)                                                                                      \
    X(NO_CHANGE, "no_change")                                                                                \
    X(IMPROVEMENT, "improvement")                                                                            \
    X(REGRESSION, "regression")                                                                              \
    X(NEW, "new")                                                                                            \
    X(REMOVED, "removed")                                                                                    \
    X(INVALID, "invalid")

// Why a verdict is what it is. X(NAME, token, text)
#define RGM_VERDICT_REASONS(X)                                                                               \
    X(CONCLUSIVE, "conclusive", "the interval lies inside the threshold on both sides")                      \
    X(SIGNIFICANT, "significant", "the difference is real and may reach the threshold")                      \
    X(BELOW_THRESHOLD, "below_threshold", "the difference is real and smaller than the threshold")           \
    X(TOO_FEW, "too_few", "the interval reaches beyond the threshold: more data could tell")                 \
    X(MACHINE, "machine", "it differs; one process a side cannot tell the program from the machine")         \
    X(SMALL_SHARE, "small_share", "too small a part of the whole to gate")                                   \
    X(ONE_SIDE, "one_side", "only one side has it")                                                          \
    X(NO_SAMPLES, "no_samples", "a side has no usable sample")                                               \
    X(NOT_POSITIVE, "not_positive", "times must be positive and finite; some are not")                       \
    X(EQUAL, "equal", "all samples of both sides are equal")                                                 \
    X(EXACT_DIFFERENCE, "exact_difference", "the two values differ")

#define RGM_COMPARISON(X)                                                                                    \
    X(u32, operation, "", 0, "Place of the operation in the input.")                                         \
    X(u8, tier, "", 0, "An index of TIERS.")                                                                 \
    X(u8, verdict, "", 0, "An index of VERDICTS.")                                                           \
    X(u8, reason, "", 0, "An index of VERDICT_REASONS.")                                                     \
    X(u8, conclusive, "", 0, "1 when the verdict is not for want of data.")                                  \
    X(u8, gates, "", 1, "1 when the operation is large enough to fail a gate.")                              \
    X(i32, pairs, "", 0, "Pairs of launches used, 0 when they are not paired.")                              \
    X(i32, baseline_launches, "", 0, "Launches of the baseline.")                                            \
    X(i32, current_launches, "", 0, "Launches of the current side.")                                         \
    X(i64, baseline_samples, "", 0, "Samples of the baseline.")                                              \
    X(i64, current_samples, "", 0, "Samples of the current side.")                                           \
    X(f64, baseline, "s", NAN, "Level of the samples; the ratio of both is the change as it was seen.")      \
    X(f64, current, "s", NAN, "Level of the samples.")                                                       \
    X(f64, baseline_least, "s", NAN, "Least sample.")                                                        \
    X(f64, current_least, "s", NAN, "Least sample.")                                                         \
    X(f64, change, "", NAN, "Relative change, current / baseline - 1, estimated on the logarithms.")         \
    X(f64, low, "", NAN, "Lower end of the interval of the change.")                                         \
    X(f64, high, "", NAN, "Upper end of the interval of the change.")                                        \
    X(f64, standard_error, "", NAN, "Standard error of the logarithm of the ratio.")                         \
    X(f64, df, "", NAN, "Degrees of freedom of it, infinite for the normal distribution.")                   \
    X(f64, p, "", NAN, "Two-sided p-value of no change.")                                                    \
    X(f64, q, "", NAN, "The same, adjusted for all operations together.")                                    \
    X(f64, rank_p, "", NAN, "Cross-check by ranks: signed-rank for pairs, Mann-Whitney otherwise.")          \
    X(f64, detectable, "", NAN, "Smallest relative slowdown that would be detected.")                        \
    X(i32, needed, "", -1, "Launches or pairs in all that would probably conclude, -1 when not known.")      \
    X(f64, share, "", NAN, "Part of the sum of all rows of the metric in the baseline (current when new).")  \
    X(f64, baseline_slow, "", NAN, "Share of its samples in the slow mode, NaN when there is one mode.")     \
    X(f64, current_slow, "", NAN, "Share of its samples in the slow mode, NaN when there is one mode.")      \
    X(f64, autocorrelation, "", NAN, "Autocorrelation time of the samples where that widens the interval.")

#define RGM_COMPARISON_RESULTS(X)                                                                            \
    X(comparison, RGM_COMPARISON, "What a comparison of two sides says of each operation.")

#define RGM_TIER_ENUM(name, token, text) RGM_TIER_##name,
#define RGM_VERDICT_ENUM(name, token) RGM_VERDICT_##name,
#define RGM_VERDICT_REASON_ENUM(name, token, text) RGM_VERDICT_REASON_##name,
typedef enum { RGM_TIERS(RGM_TIER_ENUM) RGM_TIER_COUNT } rgm_tier;
typedef enum { RGM_VERDICTS(RGM_VERDICT_ENUM) RGM_VERDICT_COUNT } rgm_verdict;
typedef enum { RGM_VERDICT_REASONS(RGM_VERDICT_REASON_ENUM) RGM_VERDICT_REASON_COUNT } rgm_verdict_reason;

#endif
