// SPDX-License-Identifier: Apache-2.0
// What the rules look at: a view of the run, its critical path cut into segments that can be found by span
// and by time, idle gaps of the devices, and small look-ups that several rules need. Made once for all rules.
//
// The critical path is that of one rank, the one that lasts longest; rules look at spans of that rank.
#ifndef RGM_SUGGEST_FACTS_H
#define RGM_SUGGEST_FACTS_H

#include "analysis/analyses.h"
#include "analysis/critical/critical.h"
#include "analysis/times/kernel_types.h"
#include "analysis/waiting/hosts.h"
#include "analysis/waiting/idle.h"
#include "base/text.h"
#include "model/regimes.h"
#include "suggest/claim.h"

// Sets of kinds of path segments.
enum {
    RGM_ON_DEVICE_PATH =
        RGM_PATH_BIT(KERNEL_COMPUTE) | RGM_PATH_BIT(KERNEL_COMMUNICATION) | RGM_PATH_BIT(KERNEL_MEMORY),
    RGM_WAITING_PATH = RGM_PATH_LAUNCHING | RGM_PATH_BIT(KERNEL_GAP) | RGM_PATH_BIT(DEPENDENCY_WAIT),
    RGM_ASKING_PATH = RGM_PATH_BIT(HOST_OPERATOR) | RGM_PATH_BIT(HOST_RUNTIME) | RGM_PATH_BIT(HOST_PYTHON) |
                      RGM_PATH_BIT(HOST_OTHER), // the host at work, without waits
    // The host between two operators too: a loop in Python is no span of its own unless stacks are recorded.
    RGM_ISSUING_PATH = RGM_ASKING_PATH | RGM_PATH_BIT(OUTSIDE),
    RGM_HOST_PATH = RGM_PATH_ON_HOST,
    RGM_ANY_PATH = RGM_ON_DEVICE_PATH | RGM_WAITING_PATH | RGM_HOST_PATH,
};

typedef struct {
    const rgm_view *view;
    const rgm_policy *policy;
    const rgm_ceilings *ceilings; // NULL where none were given
    rgm_critical_path path;
    uint32_t *segment_first, *segments; // [n_spans + 1] into segments: rows of `path` by their span
    int64_t start_ns, end_ns, whole_ns; // of the path; of the run where there is none
    int32_t rank;
    // Less work of the host saves at most the time in which the busiest device of the rank has nothing to do:
    // the run cannot become shorter than what that device does.
    rgm_claim idle_times;   // of that device, within the path; all of the path where the rank has none
    rgm_claim device_times; // segments of the path that are device work
    int64_t idle_ns;        // of idle_times
    rgm_hosts hosts;
    rgm_idle idle;
    int32_t *arguments;    // [n_spans] row in `operators`, -1 for none
    int32_t *launch_row;   // [n_spans] row in `launches`, -1 for none
    int32_t *blocked_by;   // [n_spans] of launches: the last call before on the thread that blocked, -1
    uint8_t *type_of_name; // [n_strings] kernel type, 0xFF until somebody asks
    // [n_lanes + 2] into segments: rows of `path`, those of the host by their lane, then all others.
    uint32_t *lane_segment_first, *lane_segments;
    double memory_total;   // bytes of the device, NaN when the run does not say
    double memory_of_host; // the same of the machine
    double compute_major;  // compute capability, NaN when the run does not say
} rgm_facts;

rgm_status rgm_facts_init(rgm_facts *facts, const rgm_view *view, const rgm_policy *policy,
                          const rgm_ceilings *ceilings, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_facts_release(rgm_facts *facts);

static inline rgm_string rgm_facts_text(const rgm_facts *facts, size_t row) {
    return rgm_view_text(facts->view, rgm_view_name(facts->view, row));
}
static inline int64_t rgm_facts_duration(const rgm_facts *facts, size_t row) {
    return facts->view->run->spans.duration_ns[row];
}
static inline bool rgm_facts_on_rank(const rgm_facts *facts, size_t row) {
    return RGM_CELL(&facts->view->run->lanes, rank, rgm_view_lane(facts->view, row), -1) == facts->rank;
}
// A total order of spans by what they are, whatever order the input had: by start, the longer first, then by
// name, process and thread. Of two that agree in all of these, which is which cannot be told.
bool rgm_facts_before(const rgm_facts *facts, size_t a, size_t b);
rgm_kernel_type rgm_facts_type(const rgm_facts *facts, size_t row);
// The nearest operator around a span (of device work: around its launch) that has one of the names, -1.
int32_t rgm_facts_above(const rgm_facts *facts, size_t row, const char *const *names);
// Whether a host span or one around it has a name with this part.
bool rgm_facts_below(const rgm_facts *facts, int32_t row, const char *part);
// Innermost operator around a host span, -1 for none.
int32_t rgm_facts_operator(const rgm_facts *facts, size_t row);
// Index into lane_spans of the first span of a lane that starts at `time` or later.
uint32_t rgm_facts_first_from(const rgm_facts *facts, uint32_t lane, int64_t time);
// Time of the path that a span has in segments of these kinds.
int64_t rgm_facts_on_path(const rgm_facts *facts, size_t row, unsigned kinds);
// Time of the path in segments of these kinds.
int64_t rgm_facts_path_total(const rgm_facts *facts, unsigned kinds);
static inline double rgm_facts_share(const rgm_facts *facts, int64_t ns) {
    return facts->whole_ns > 0 ? (double)ns / (double)facts->whole_ns : 0.0;
}
static inline bool rgm_facts_is_kernel(const rgm_facts *facts, size_t row) {
    rgm_kind kind = rgm_view_kind(facts->view, row);
    return kind == RGM_KIND_KERNEL || kind == RGM_KIND_ACCELERATOR;
}

#endif
