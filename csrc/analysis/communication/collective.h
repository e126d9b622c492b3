// SPDX-License-Identifier: Apache-2.0
// What each communication kernel does: which collective, how many bytes, in which process group.
//
// Told, in this order, by the arguments recorded on the kernel; on the operator above its launch
// (record_param_comms) or the operator of its external id; by an annotation above the launch
// (nccl:all_reduce); by a c10d operator; by the kernel's own name. The last three know no sizes.
//
// The size of a message follows nccl-tests: the buffer that is largest on one rank. That is the output of an
// all_gather and of a gather, the input of a reduce_scatter, of a scatter and of an all_to_all, and
// either of an all_reduce, a broadcast, a reduce and a transfer between two.
#ifndef RGM_ANALYSIS_COLLECTIVE_H
#define RGM_ANALYSIS_COLLECTIVE_H

#include "analysis/view.h"

// X(NAME, token, bus): bus bandwidth = algorithm bandwidth times 2(n-1)/n (RING), (n-1)/n (SPREAD), 1 (LINE),
// or is not defined (NONE), with n ranks in the group; factors as in nccl-tests' doc/PERFORMANCE.md.
#define RGM_COLLECTIVE_KINDS(X)                                                                              \
    X(UNKNOWN, "unknown", NONE)                                                                              \
    X(ALL_REDUCE, "all_reduce", RING)                                                                        \
    X(REDUCE_SCATTER, "reduce_scatter", SPREAD)                                                              \
    X(ALL_GATHER, "all_gather", SPREAD)                                                                      \
    X(ALL_TO_ALL, "all_to_all", SPREAD)                                                                      \
    X(BROADCAST, "broadcast", LINE)                                                                          \
    X(REDUCE, "reduce", LINE)                                                                                \
    X(GATHER, "gather", SPREAD)                                                                              \
    X(SCATTER, "scatter", SPREAD)                                                                            \
    X(SEND_RECV, "send_recv", LINE)                                                                          \
    X(SEND, "send", LINE)                                                                                    \
    X(RECV, "recv", LINE)                                                                                    \
    X(BARRIER, "barrier", NONE)                                                                              \
    X(DISPATCH, "dispatch", NONE)                                                                            \
    X(COMBINE, "combine", NONE)

// X(NAME, token, doc)
#define RGM_COLLECTIVE_SOURCES(X)                                                                            \
    X(KERNEL, "kernel arguments", "recorded on the kernel")                                                  \
    X(OPERATOR, "operator arguments", "recorded on the operator that launched it")                           \
    X(ANNOTATION, "annotation", "an annotation around the launch names it; no sizes")                        \
    X(OPERATOR_NAME, "operator name", "the operator around the launch names it; no sizes")                   \
    X(KERNEL_NAME, "kernel name", "the kernel's name says it; no sizes")                                     \
    X(NOTHING, "nothing", "not known")

#define RGM_COLLECTIVE_ENUM(name, token, bus) RGM_COLLECTIVE_##name,
#define RGM_COLLECTIVE_SOURCE_ENUM(name, token, doc) RGM_COLLECTIVE_FROM_##name,
typedef enum { RGM_COLLECTIVE_KINDS(RGM_COLLECTIVE_ENUM) RGM_COLLECTIVE_COUNT } rgm_collective_kind;
typedef enum {
    RGM_COLLECTIVE_SOURCES(RGM_COLLECTIVE_SOURCE_ENUM) RGM_COLLECTIVE_FROM_COUNT
} rgm_collective_source;

typedef struct {
    uint32_t row;   // of the kernel in `spans`
    int32_t device; // of the view
    int32_t args;   // row of `collectives`, -1 for none
    uint8_t kind;   // rgm_collective_kind
    uint8_t source; // rgm_collective_source of the kind
    int64_t bytes;  // of the message, -1 when not recorded
    double bus;     // factor of the bus bandwidth, NaN when not known
} rgm_collective_call;

typedef struct {
    rgm_collective_call *calls; // by device, then by start
    size_t count;
} rgm_collective_calls;

rgm_status rgm_collective_calls_find(rgm_collective_calls *calls, const rgm_view *view,
                                     rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_collective_calls_release(rgm_collective_calls *calls);

// The kind that a recorded name, an operator's or a kernel's speaks of.
rgm_collective_kind rgm_collective_named(const char *text, size_t length);

#endif
