// SPDX-License-Identifier: Apache-2.0
// What scopes with roles tell together: which modules are outermost, and where each step begins and ends.
//
// Steps are those of one lane, the one with most steps of optimizers, else with most waits for batches, else
// with most outermost modules. An event is a scope of that lane with a role that lies in no other such scope.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/tokens.h"
#include "model/links_parts.h"

enum { SELDOM = 16 }; // an optimizer that steps so many times less often than another does not make steps

#define STEP_COLUMNS                                                                                         \
    (RGM_COLUMN_BIT(spans, start_ns) | RGM_COLUMN_BIT(spans, duration_ns) | RGM_COLUMN_BIT(spans, name) |    \
     RGM_COLUMN_BIT(spans, lane) | RGM_COLUMN_BIT(spans, parent) | RGM_COLUMN_BIT(spans, category))

rgm_status rgm_links_role_names(rgm_run *run, rgm_name names[RGM_ROLE_COUNT], rgm_error *err) {
    static const char *const tokens[] = {RGM_ROLES(RGM_TOKEN)};
    for (int role = 0; role < RGM_ROLE_COUNT; role++)
        RGM_TRY(rgm_strings_intern(&run->strings, tokens[role], strlen(tokens[role]), &names[role], err));
    return RGM_OK;
}

typedef struct {
    uint32_t row;
    uint8_t role;
    bool key;      // of an optimizer whose step ends a step of the program
    bool computes; // there is a forward or backward pass in it: an optimizer that calls a closure
} event;

// An optimizer among the events: how often it steps, and from which event to which.
typedef struct {
    rgm_name name;
    size_t count, first, last;
} optimizer;

typedef struct {
    size_t first;   // event
    uint32_t roles; // bits of what it has
    bool done;      // the optimizer has made its step
} open_step;

typedef struct {
    rgm_run *run;
    size_t rows; // without the steps
    rgm_name names[RGM_ROLE_COUNT];
    uint8_t *roles;   // [spans]
    uint32_t *around; // [spans] bits of the roles that the span lies in
    uint32_t *inside; // [spans] bits of the roles that lie in the span
    event *events;
    size_t n_events;
    optimizer *optimizers;
    size_t n_optimizers;
    size_t steps;
    bool trains, loads; // there are backward passes or optimizers; there are waits for batches
} finding;

static int64_t start_of(const finding *f, size_t i) { return f->run->spans.start_ns[f->events[i].row]; }
static int64_t end_of(const finding *f, size_t i) {
    return start_of(f, i) + f->run->spans.duration_ns[f->events[i].row];
}

// --- roles ------------------------------------------------------------------------------------------------

static uint8_t role_of(const finding *f, size_t row) {
    rgm_name category = f->run->spans.category[row];
    if (!category || rgm_links_kind(f->run, row) != RGM_KIND_SCOPE) return RGM_ROLE_NONE;
    for (int role = RGM_ROLE_NONE + 1; role < RGM_ROLE_COUNT; role++)
        if (f->names[role] == category) return (uint8_t)role;
    return RGM_ROLE_NONE;
}

// Parents come before what they enclose.
static void find_roles(finding *f) {
    const uint32_t modules = RGM_ROLE_BIT(FORWARD) | RGM_ROLE_BIT(MODULE) | RGM_ROLE_BIT(BACKWARD);
    rgm_spans *spans = &f->run->spans;
    for (size_t row = 0; row < f->rows; row++) {
        int32_t parent = spans->parent[row];
        bool known = parent >= 0 && (size_t)parent < row;
        f->around[row] = known ? f->around[parent] | (1u << f->roles[parent] & ~RGM_ROLE_BIT(NONE)) : 0;
        f->roles[row] = role_of(f, row);
        if (f->roles[row] != RGM_ROLE_MODULE || f->around[row] & modules) continue;
        f->roles[row] = RGM_ROLE_FORWARD;
        spans->category[row] = f->names[RGM_ROLE_FORWARD];
    }
    for (size_t row = f->rows; row-- > 0;) {
        int32_t parent = spans->parent[row];
        if (parent >= 0 && (size_t)parent < row) f->inside[parent] |= f->inside[row] | 1u << f->roles[row];
    }
}

// --- events -----------------------------------------------------------------------------------------------

static bool is_event(const finding *f, size_t row) {
    static const uint32_t roles = RGM_ROLE_BIT(DATA_WAIT) | RGM_ROLE_BIT(FORWARD) | RGM_ROLE_BIT(BACKWARD) |
                                  RGM_ROLE_BIT(ZERO_GRAD) | RGM_ROLE_BIT(OPTIMIZER);
    return roles & 1u << f->roles[row] && !(f->around[row] & ~RGM_ROLE_BIT(STEP));
}

static uint64_t weight(uint8_t role) {
    return role == RGM_ROLE_OPTIMIZER ? UINT64_C(1) << 40 : role == RGM_ROLE_DATA_WAIT ? 1u << 20 : 1;
}

static rgm_status choose_lane(const finding *f, uint32_t *lane, rgm_error *err) {
    const rgm_run *run = f->run;
    uint64_t *weights = rgm_calloc(run->lanes.rows + 1, sizeof *weights);
    if (!weights) return rgm_error_no_memory(err);
    *lane = 0;
    for (size_t row = 0; row < f->rows; row++)
        if (is_event(f, row)) weights[run->spans.lane[row]] += weight(f->roles[row]);
    for (uint32_t i = 1; i < run->lanes.rows; i++)
        if (weights[i] > weights[*lane]) *lane = i;
    rgm_free(weights);
    return RGM_OK;
}

static rgm_status find_events(finding *f, rgm_error *err) {
    const rgm_spans *spans = &f->run->spans;
    uint32_t lane;
    RGM_TRY(choose_lane(f, &lane, err));
    for (int fill = 0; fill < 2; fill++) {
        f->n_events = 0;
        for (uint32_t row = 0; row < f->rows; row++) {
            if (spans->lane[row] != lane || !is_event(f, row)) continue;
            bool computes = f->inside[row] & (RGM_ROLE_BIT(FORWARD) | RGM_ROLE_BIT(BACKWARD));
            if (fill) f->events[f->n_events] = (event){row, f->roles[row], false, computes};
            f->n_events++;
        }
        if (!fill) f->events = rgm_malloc((f->n_events + 1) * sizeof *f->events);
        if (!f->events) return rgm_error_no_memory(err);
    }
    for (size_t i = 0; i < f->n_events; i++) {
        uint8_t role = f->events[i].role;
        f->trains = f->trains || role == RGM_ROLE_OPTIMIZER || role == RGM_ROLE_BACKWARD;
        f->loads = f->loads || role == RGM_ROLE_DATA_WAIT;
    }
    return RGM_OK;
}

// --- optimizers -------------------------------------------------------------------------------------------

static void add_optimizer(finding *f, size_t at) {
    rgm_name name = f->run->spans.name[f->events[at].row];
    size_t i = 0;
    while (i < f->n_optimizers && f->optimizers[i].name != name) i++;
    if (i == f->n_optimizers) f->optimizers[f->n_optimizers++] = (optimizer){name, 0, at, at};
    f->optimizers[i].count++;
    f->optimizers[i].last = at;
}

// Those who step in turns share one step of the program: it ends with the one that steps least often, of
// equals with the one that came last.
static const optimizer *key_of(const finding *f, const optimizer *of) {
    const optimizer *key = of;
    size_t most = of->count;
    for (const optimizer *o = f->optimizers; o < f->optimizers + f->n_optimizers; o++)
        if (o->first < of->last && of->first < o->last && o->count > most) most = o->count;
    for (const optimizer *o = f->optimizers; o < f->optimizers + f->n_optimizers; o++) {
        if (o->first >= of->last || of->first >= o->last || o->count * SELDOM < most) continue;
        bool seldom = key->count * SELDOM < most;
        if (seldom || o->count < key->count || (o->count == key->count && o->first > key->first)) key = o;
    }
    return key;
}

static rgm_status find_keys(finding *f, rgm_error *err) {
    f->optimizers = rgm_malloc((f->n_events + 1) * sizeof *f->optimizers);
    if (!f->optimizers) return rgm_error_no_memory(err);
    for (size_t i = 0; i < f->n_events; i++)
        if (f->events[i].role == RGM_ROLE_OPTIMIZER) add_optimizer(f, i);
    for (size_t k = 0; k < f->n_optimizers; k++) {
        if (key_of(f, &f->optimizers[k]) != &f->optimizers[k]) continue;
        for (size_t i = 0; i < f->n_events; i++)
            if (f->events[i].role == RGM_ROLE_OPTIMIZER &&
                f->run->spans.name[f->events[i].row] == f->optimizers[k].name)
                f->events[i].key = true;
    }
    return RGM_OK;
}

// --- steps ------------------------------------------------------------------------------------------------

// A wait for a batch that another wait of another kind follows: the end of a loop over batches, or the start
// of the next one's workers.
static bool between_loops(const finding *f, size_t at) {
    if (at + 1 == f->n_events || f->events[at + 1].role != RGM_ROLE_DATA_WAIT) return false;
    return f->run->spans.name[f->events[at].row] != f->run->spans.name[f->events[at + 1].row];
}

// Whether the event is the first of the next step.
static bool begins(const finding *f, const open_step *step, size_t at) {
    uint8_t role = f->events[at].role;
    bool computed = step->roles & (RGM_ROLE_BIT(FORWARD) | RGM_ROLE_BIT(BACKWARD));
    bool updated = step->roles & (RGM_ROLE_BIT(BACKWARD) | RGM_ROLE_BIT(OPTIMIZER));
    if (role == RGM_ROLE_DATA_WAIT && between_loops(f, at)) return false;
    if (step->done) return role != RGM_ROLE_OPTIMIZER || f->events[at].computes;
    if (role == RGM_ROLE_DATA_WAIT) return computed && (!updated || f->n_optimizers == 0);
    if (f->loads || f->n_optimizers || role == RGM_ROLE_BACKWARD) return false;
    if (f->trains) return step->roles & RGM_ROLE_BIT(BACKWARD);
    return role == RGM_ROLE_FORWARD &&
           f->run->spans.name[f->events[at].row] == f->run->spans.name[f->events[step->first].row];
}

// In a damaged recording parents may stand anywhere.
static int32_t parent_of(const finding *f, int32_t row) {
    int32_t parent = f->run->spans.parent[row];
    return parent < row ? parent : -1;
}

// The innermost span that encloses all events of the step, -1 for none.
static int32_t common_parent(const finding *f, size_t first, size_t end) {
    int32_t parent = parent_of(f, (int32_t)f->events[first].row);
    for (size_t i = first + 1; i < end && parent >= 0; i++) {
        int32_t at = parent_of(f, (int32_t)f->events[i].row);
        while (at != parent) {
            if (at > parent)
                at = parent_of(f, at);
            else
                parent = parent_of(f, parent);
        }
    }
    return parent;
}

static void adopt(finding *f, size_t first, int32_t parent, size_t step) {
    rgm_spans *spans = &f->run->spans;
    int64_t begin = spans->start_ns[step], end = begin + spans->duration_ns[step];
    size_t row = f->events[first].row;
    while (row > 0 && spans->start_ns[row - 1] >= begin) row--;
    for (; row < f->rows && spans->start_ns[row] < end; row++)
        if (spans->lane[row] == spans->lane[step] && spans->parent[row] == parent && (int32_t)row != parent &&
            f->roles[row] != RGM_ROLE_STEP && spans->start_ns[row] + spans->duration_ns[row] <= end)
            spans->parent[row] = (rgm_i32)step;
}

static rgm_status add_step(finding *f, const open_step *open, size_t next, rgm_error *err) {
    if (!(open->roles & (RGM_ROLE_BIT(FORWARD) | RGM_ROLE_BIT(BACKWARD) | RGM_ROLE_BIT(OPTIMIZER))))
        return RGM_OK;
    rgm_spans *spans = &f->run->spans;
    bool trains = open->roles & (RGM_ROLE_BIT(BACKWARD) | RGM_ROLE_BIT(OPTIMIZER));
    const char *name = trains ? "training step" : "iteration";
    int32_t parent = common_parent(f, open->first, next);
    int64_t begin = start_of(f, open->first),
            end = next < f->n_events ? start_of(f, next) : end_of(f, next - 1);
    if (parent >= 0) {
        int64_t most = spans->start_ns[parent] + spans->duration_ns[parent];
        if (most < begin)
            parent = -1; // damaged: it had ended
        else if (most < end)
            end = most;
    }
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_spans_desc, spans, STEP_COLUMNS, &row, err));
    RGM_TRY(rgm_strings_intern(&f->run->strings, name, strlen(name), &spans->name[row], err));
    spans->start_ns[row] = begin;
    spans->duration_ns[row] = end - begin;
    spans->lane[row] = spans->lane[f->events[open->first].row];
    spans->parent[row] = parent;
    spans->category[row] = f->names[RGM_ROLE_STEP];
    if (spans->flags) spans->flags[row] = rgm_flags_pack(0, RGM_DEVICE_CPU, RGM_BACKEND_UNKNOWN);
    f->steps++;
    adopt(f, open->first, parent, row);
    return RGM_OK;
}

static rgm_status find_steps(finding *f, rgm_error *err) {
    open_step open = {0};
    for (size_t i = 0; i < f->n_events; i++) {
        if (open.roles == RGM_ROLE_BIT(DATA_WAIT) && between_loops(f, i - 1)) open = (open_step){.first = i};
        if (i > open.first && begins(f, &open, i)) {
            RGM_TRY(add_step(f, &open, i, err));
            open = (open_step){.first = i};
        }
        open.roles |= 1u << f->events[i].role;
        open.done = open.done || f->events[i].key;
    }
    return f->n_events ? add_step(f, &open, f->n_events, err) : RGM_OK;
}

rgm_status rgm_links_roles(rgm_run *run, size_t *steps, rgm_error *err) {
    finding f = {.run = run, .rows = run->spans.rows};
    rgm_status status;
    RGM_GOTO(rgm_links_role_names(run, f.names, err));
    f.roles = rgm_malloc(f.rows + 1);
    f.around = rgm_malloc((f.rows + 1) * sizeof *f.around);
    f.inside = rgm_calloc(f.rows + 1, sizeof *f.inside);
    if (!f.roles || !f.around || !f.inside) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    find_roles(&f);
    RGM_GOTO(find_events(&f, err));
    RGM_GOTO(find_keys(&f, err));
    RGM_GOTO(find_steps(&f, err));
    *steps = f.steps;
done:
    rgm_free(f.roles);
    rgm_free(f.around);
    rgm_free(f.inside);
    rgm_free(f.events);
    rgm_free(f.optimizers);
    return status;
}
