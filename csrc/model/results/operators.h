// SPDX-License-Identifier: Apache-2.0
// Results about single operators: the work that they do, and the tree of their calls.
#ifndef RGM_MODEL_RESULTS_OPERATORS_H
#define RGM_MODEL_RESULTS_OPERATORS_H

// X(NAME, token): where the figures of an operator's work come from.
#define RGM_FLOP_SOURCES(X)                                                                                  \
    X(UNAVAILABLE, "unavailable")                                                                            \
    X(SHAPES, "shapes")
#define RGM_FLOP_SOURCE_ENUM(name, token) RGM_FLOPS_##name,
typedef enum { RGM_FLOP_SOURCES(RGM_FLOP_SOURCE_ENUM) RGM_FLOPS_SOURCE_COUNT } rgm_flop_source;

// Result of the operator_flops analysis: one row is the calls of one operator with the same shapes and types,
// or one call. Of operators inside each other only the innermost counts that says enough of itself.
#define RGM_OPERATOR_FLOPS(X)                                                                                \
    X(i64, span, "", -1, "Row of the operator in `spans`, -1 where calls are taken together.")               \
    X(name, name, "", 0, "Operator.")                                                                        \
    X(name, shapes, "", 0, "Input shapes as recorded, JSON text.")                                           \
    X(name, types, "", 0, "Input types as recorded, JSON text.")                                             \
    X(u8, source, "", 0,                                                                                     \
      "An index of FLOP_SOURCES: unavailable where shapes or arguments were not recorded.")                  \
    X(i64, calls, "", 0, "Calls.")                                                                           \
    X(f64, flops, "FLOP", NAN,                                                                               \
      "Of all calls, by the formulas of torch.utils.flop_counter; a multiply-add is two.")                   \
    X(f64, bytes, "bytes", NAN, "Inputs and outputs once each: the least that must move.")                   \
    X(i64, device_ns, "ns", 0,                                                                               \
      "Sum of the durations of device work that the operator and those inside caused.")                      \
    X(i64, host_ns, "ns", 0, "Sum of its durations on the host.")                                            \
    X(f64, flops_per_s, "FLOP/s", NAN, "flops over device_ns.")                                              \
    X(f64, bytes_per_s, "bytes/s", NAN,                                                                      \
      "bytes over device_ns: a lower bound of the bandwidth that was used.")                                 \
    X(f64, intensity, "FLOP/byte", NAN, "flops over bytes: an upper bound of the arithmetic intensity.")

// Result of the operator_tree analysis: one row is one operator, call or piece of device work, in the order
// of a walk from the top down; work whose launch was not recorded comes last.
#define RGM_OPERATOR_TREE(X)                                                                                 \
    X(u32, span, "", 0, "Row in `spans`.")                                                                   \
    X(name, name, "", 0, "Its name.")                                                                        \
    X(i64, duration_ns, "ns", 0, "How long it took itself.")                                                 \
    X(i32, parent, "", -1,                                                                                   \
      "Row in this table of the operator around, of a call's operator, or of a work's launch; -1 for none.") \
    X(i32, depth, "", 0, "Rows around it.")                                                                  \
    X(i32, height, "", 0, "Longest way down from it, in rows.")                                              \
    X(i64, work, "", 0, "Pieces of device work in its subtree, itself included.")                            \
    X(i64, device_ns, "ns", 0, "Sum of their durations.")                                                    \
    X(i64, device_start_ns, "ns", 0, "Start of the first of them, 0 without any.")                           \
    X(i64, device_end_ns, "ns", 0, "End of the one that ends last.")                                         \
    X(i64, first_work, "", -1, "Span that starts first, -1 without any.")                                    \
    X(i64, last_work, "", -1, "Span that ends last, -1 without any.")

#define RGM_OPERATORS_RESULTS(X)                                                                             \
    X(operator_flops, RGM_OPERATOR_FLOPS, "Work of one operator, and how fast it was done.")                 \
    X(operator_tree, RGM_OPERATOR_TREE, "One node of the tree of operators, calls and device work.")

#endif
