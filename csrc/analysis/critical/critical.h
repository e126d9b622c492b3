// SPDX-License-Identifier: Apache-2.0
// The graph behind the critical path of one rank. All times are known, so the graph is not scheduled: it says
// for each event what it had to wait for, and the path is read backwards from the last event by asking what
// came last.
//
// Nodes are points of host threads (each beginning and end of a span, in program order) and the beginning and
// end of each piece of device work (in stream order). An edge is what had to happen before:
//   host point  <- the point before it on its thread
//               <- another thread: a leaf span or a gap that encloses spans of another thread began them
//                  (fork) and waited for the last of them (join); it launched nothing itself meanwhile
//               <- the device work that a synchronising call awaited
//   work begins <- the end of the work before it on its stream
//               <- the beginning of its launch call
//               <- work of another stream: through an event, inside one graph launch, or because that work
//               ran
//                  while this one was launched, had its stream to itself, and did not begin
//   work ends   <- its beginning
// Of the edges into a node one is binding, the one whose other end came last; its weight is the time between
// the two. Edges that did not bind weigh nothing, except that a launch and a change of kernels keep
// the shortest time that this run shows for them. So the longest path through the graph is as long as
// the window, and with the weights of some kinds muted it is a lower bound of what would remain. The window
// is over when all its device work is, whether anything on the path awaited that or not.
#ifndef RGM_ANALYSIS_CRITICAL_H
#define RGM_ANALYSIS_CRITICAL_H

#include "analysis/analyses.h"
#include "analysis/waiting/calls.h"

// X(NAME, token): what the path spends its time on.
#define RGM_PATH_KINDS(X)                                                                                    \
    X(HOST_OPERATOR, "host_operator")                                                                        \
    X(HOST_RUNTIME, "host_runtime")                                                                          \
    X(HOST_SYNC, "host_sync")                                                                                \
    X(HOST_PYTHON, "host_python")                                                                            \
    X(HOST_OTHER, "host_other")                                                                              \
    X(DATA_LOADING, "data_loading")                                                                          \
    X(OUTSIDE, "outside")                                                                                    \
    X(LAUNCH_LATENCY, "launch_latency")                                                                      \
    X(KERNEL_COMPUTE, "kernel_compute")                                                                      \
    X(KERNEL_COMMUNICATION, "kernel_communication")                                                          \
    X(KERNEL_MEMORY, "kernel_memory")                                                                        \
    X(KERNEL_GAP, "kernel_gap")                                                                              \
    X(DEPENDENCY_WAIT, "dependency_wait")                                                                    \
    X(START_DELAY, "start_delay")

#define RGM_PATH_ENUM(name, token) RGM_PATH_##name,
typedef enum { RGM_PATH_KINDS(RGM_PATH_ENUM) RGM_PATH_KIND_COUNT } rgm_path_kind;

// Sets of kinds: the chain of one side is what remains without the other; launching belongs to neither.
#define RGM_PATH_BIT(name) (1u << RGM_PATH_##name)
enum {
    RGM_PATH_LAUNCHING = RGM_PATH_BIT(LAUNCH_LATENCY) | RGM_PATH_BIT(START_DELAY),
    RGM_PATH_ON_HOST = RGM_PATH_BIT(HOST_OPERATOR) | RGM_PATH_BIT(HOST_RUNTIME) | RGM_PATH_BIT(HOST_SYNC) |
                       RGM_PATH_BIT(HOST_PYTHON) | RGM_PATH_BIT(HOST_OTHER) | RGM_PATH_BIT(DATA_LOADING) |
                       RGM_PATH_BIT(OUTSIDE),
    RGM_PATH_ON_DEVICE = RGM_PATH_BIT(KERNEL_COMPUTE) | RGM_PATH_BIT(KERNEL_COMMUNICATION) |
                         RGM_PATH_BIT(KERNEL_MEMORY) | RGM_PATH_BIT(KERNEL_GAP) |
                         RGM_PATH_BIT(DEPENDENCY_WAIT),
};

// X(NAME, token): what is known of a start_delay, the time from a launch call to the beginning of its work
// where that is too long for latency and no other stream was busy. The first that holds.
#define RGM_PATH_REASONS(X)                                                                                  \
    X(NONE, "none")                                                                                          \
    X(LAUNCH_UNRECORDED, "launch_not_recorded")                                                              \
    X(FIRST_WORK, "first_work_in_recording")                                                                 \
    X(GRAPH, "graph_launch")                                                                                 \
    X(IN_CALL, "launch_call_still_running")                                                                  \
    X(FIRST_USE, "first_use_in_recording")                                                                   \
    X(UNRECORDED, "nothing_recorded")

#define RGM_PATH_REASON_ENUM(name, token) RGM_PATH_REASON_##name,
typedef enum { RGM_PATH_REASONS(RGM_PATH_REASON_ENUM) RGM_PATH_REASON_COUNT } rgm_path_reason;

// X(NAME, token): what the length of the path follows, told by the chains of the two sides.
#define RGM_PATH_SIDES(X)                                                                                    \
    X(HOST, "host")                                                                                          \
    X(DEVICE, "device")                                                                                      \
    X(TIED, "tied")                                                                                          \
    X(IN_TURN, "in_turn")

#define RGM_PATH_SIDE_ENUM(name, token) RGM_PATH_SIDE_##name,
typedef enum { RGM_PATH_SIDES(RGM_PATH_SIDE_ENUM) RGM_PATH_SIDE_COUNT } rgm_path_side;

enum { RGM_NODE_NONE = -1 };
enum {
    RGM_NODE_FIRST = 1,
    RGM_NODE_INFERRED = 2,
    RGM_NODE_INFERRED_EVENT = 4,
    RGM_NODE_MORE = 8,
    RGM_NODE_BEHIND = 16, // work that work of another stream held back: `event` binds
    RGM_NODE_ENDS = 32,   // without it the window is not over
    RGM_NODE_ON_PATH = 64,
};

typedef struct {
    int32_t start, end; // points of a span of a host thread that no other span encloses
} rgm_top_span;

// Streams that a device-wide wait is taken to await: more of them would only raise the bounds of mutings.
enum { RGM_CRITICAL_MORE = 64 };

typedef struct {
    int32_t node, before;
} rgm_more_edge;

typedef struct {
    const rgm_view *view;
    const rgm_policy *policy;
    int32_t rank;
    uint8_t *name_class; // [n_strings] rgm_call_kind plus marks, 0 until somebody asks
    int32_t
        *node_start; // [n_spans] node of the beginning of a host span or of work, -1 for others; while built
    int32_t *node_end; // [n_spans], while built
    size_t n_points;   // host points come first, lane by lane; then two nodes for each piece of work
    size_t n_nodes;
    int64_t *time;       // [n_nodes]
    uint32_t *span;      // [n_nodes] leaf span that ends at a point, work of a node; UINT32_MAX for a gap
    uint8_t *kind;       // [n_nodes] of the segment that ends at a point; of the work
    uint8_t *flags;      // [n_nodes]
    int32_t *other;      // [n_nodes] second edge: fork, join or awaited work; launch of work
    int32_t *event;      // [n_nodes - n_points] third edge of work, by node minus n_points
    int32_t *beside;     // [n_work] beginning of work that took up the device while this one waited, -1
    rgm_more_edge *more; // of nodes with RGM_NODE_MORE, by node: what else a call awaited beside the last
    size_t n_more, more_capacity;
    size_t n_threads, n_streams;
    uint32_t *thread_lane, *thread_first; // lanes of host threads and their first points, [n_threads + 1]
    uint32_t *stream_lane, *stream_first; // lanes of streams and their first piece of work
    rgm_top_span *tops;
    size_t n_tops;
    int64_t launch_ns, gap_ns; // shortest usual launch latency and change of kernels in this run
    uint32_t *order;     // [n_nodes] each node after all it waits for; NULL where that is their own order
    int32_t *bound_by;   // [n_nodes] node of the binding edge, -1 for none
    uint8_t *bound_kind; // [n_nodes] kind of that edge
    int64_t start_ns, end_ns; // window
    int32_t last;             // node with which the window ends, -1 when there is none
    bool kept;                // belongs to the view
} rgm_critical;

rgm_status rgm_critical_build(rgm_critical *graph, const rgm_view *view, const rgm_policy *policy,
                              const rgm_question *question, rgm_error *err) RGM_NODISCARD;
void rgm_critical_release(rgm_critical *graph);
// The same graph for readers: that of the whole run by the usual thresholds is the view's, made by the first
// who asks; any other is the caller's. `close` takes both, and NULL.
rgm_status rgm_critical_open(const rgm_critical **graph, const rgm_view *view, const rgm_policy *policy,
                             const rgm_question *question, rgm_error *err) RGM_NODISCARD;
void rgm_critical_close(const rgm_critical *graph);
// The i-th node in an order in which each comes after all it waits for.
static inline uint32_t rgm_critical_at(const rgm_critical *graph, size_t i) {
    return graph->order ? graph->order[i] : (uint32_t)i;
}
// Length of the longest path with the weights of a set of kinds muted.
rgm_status rgm_critical_length(const rgm_critical *graph, unsigned muted, int64_t *length,
                               rgm_error *err) RGM_NODISCARD;

// Edges of a node, as many as rgm_critical_edge_count says; -1 where there is none.
int rgm_critical_edge_count(const rgm_critical *graph, size_t node);
int32_t rgm_critical_edge(const rgm_critical *graph, size_t node, int which);
// How much sooner than the binding edge another one let its node go; never negative.
int64_t rgm_critical_slack(const rgm_critical *graph, size_t node, int which);

typedef struct {
    int64_t start_ns, duration_ns;
    int64_t span, lane, from; // -1 for none
    int32_t node;             // with which it ends
    uint8_t kind, inferred, reason;
} rgm_critical_segment;

// The time from the binding edge of a node to it, within the window.
rgm_critical_segment rgm_critical_segment_of(const rgm_critical *graph, int32_t node);

// The steps of building, one file each.
rgm_status rgm_critical_host(rgm_critical *graph, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_critical_device(rgm_critical *graph, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_critical_threads(rgm_critical *graph, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_critical_waits(rgm_critical *graph, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_critical_measure(rgm_critical *graph, rgm_error *err) RGM_NODISCARD;
// Looks at the edges that bind so far; they are bound anew afterwards.
rgm_status rgm_critical_behind(rgm_critical *graph, rgm_error *err) RGM_NODISCARD;
// The rank whose path it is, by the question; then, with all nodes made and bound, the window.
rgm_status rgm_critical_rank(rgm_critical *graph, int32_t wanted, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_critical_window(rgm_critical *graph, const rgm_question *question,
                               rgm_error *err) RGM_NODISCARD;

// What the name of a call stands for, and whether a name is that of an operator that loads data.
rgm_call_kind rgm_critical_call(const rgm_critical *graph, rgm_name name);
bool rgm_critical_loads(const rgm_critical *graph, rgm_name name);
static inline bool rgm_critical_waits_for_device(rgm_call_kind call) {
    return call == RGM_CALL_FREE || rgm_call_synchronizes(call);
}

// Kinds of spans that say what a host thread did.
static inline bool rgm_critical_is_host(rgm_kind kind) {
    return kind == RGM_KIND_SCOPE || kind == RGM_KIND_CPU_OP || kind == RGM_KIND_PYTHON ||
           kind == RGM_KIND_ANNOTATION || rgm_kind_is_call(kind);
}
static inline bool rgm_critical_on_rank(const rgm_critical *graph, size_t lane) {
    return RGM_CELL(&graph->view->run->lanes, rank, lane, -1) == graph->rank;
}
// Whether a node is the beginning of a piece of work.
static inline bool rgm_critical_is_start(const rgm_critical *graph, int32_t node) {
    return (size_t)node >= graph->n_points && ((size_t)node - graph->n_points) % 2 == 0;
}
// Whether a node is a point that waited for nothing but the one before it on its thread, as nearly all are.
static inline bool rgm_critical_is_plain(const rgm_critical *graph, size_t node) {
    return node < graph->n_points && graph->other[node] < 0 &&
           !(graph->flags[node] & (RGM_NODE_FIRST | RGM_NODE_MORE));
}
// Work that took up the device while this one waited, as the node of its beginning; -1 for none.
static inline int32_t rgm_critical_beside(const rgm_critical *graph, int32_t node) {
    bool start = rgm_critical_is_start(graph, node);
    return start ? graph->beside[((size_t)node - graph->n_points) / 2] : RGM_NODE_NONE;
}
// a - b, for times of a damaged file too.
static inline int64_t rgm_critical_between(int64_t a, int64_t b) {
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? INT64_MAX : difference;
}
// Node of work that something at `time` waited for: its end, or, when the clocks of host and device disagree
// by less than the tolerance, its beginning; -1 when it was not over by then.
static inline int32_t rgm_critical_awaited(const rgm_critical *graph, uint32_t work, int64_t time) {
    int32_t start = graph->node_start[work], end = graph->node_end[work];
    if (graph->time[end] <= time) return end;
    double late = (double)rgm_critical_between(graph->time[end], time);
    return graph->time[start] <= time && late <= graph->policy->critical_clock_tolerance_ns ? start
                                                                                            : RGM_NODE_NONE;
}
// Time when work was launched; work without a recorded launch when it began.
static inline int64_t rgm_critical_launched(const rgm_critical *graph, uint32_t work) {
    int64_t start = rgm_view_start(graph->view, work);
    int32_t launch = graph->view->launch[work];
    if (launch < 0) return start;
    int64_t call = rgm_view_start(graph->view, (size_t)launch);
    return call < start ? call : start;
}

#endif
