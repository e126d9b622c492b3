// SPDX-License-Identifier: Apache-2.0
// What is asked of a run costs steps in proportion to its size. The core is compiled once more for this
// program, with a call at each basic block that runs (CMakeLists.txt), so nothing here hangs on the clock:
// for FACTOR times the spans, import, every analysis, the suggestions, every export, saving and merging may
// take at most MOST times the steps. Sorting takes some more than FACTOR, a search whose depth grows up to a
// bound takes twice that, and what is quadratic takes FACTOR times FACTOR.
#include "analysis/analyses.h"
#include "importing.h"
#include "io/export/export.h"
#include "model/links.h"
#include "model/merge.h"
#include "suggest/suggest.h"

enum { SMALL = 4000, FACTOR = 8, MOST = 24 };

static uint64_t steps;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { steps++; }

// --- programs ---------------------------------------------------------------------------------------------

typedef struct {
    char *text;
    size_t length, capacity;
    int events;
} trace;

static void event(trace *t, const char *category, const char *name, int pid, int tid, int64_t ns,
                  int64_t duration, const char *args) {
    enum { LONGEST = 512 };
    if (t->capacity - t->length < LONGEST) {
        t->capacity = 2 * t->capacity + LONGEST;
        t->text = realloc(t->text, t->capacity);
        if (!t->text) abort();
    }
    t->length += (size_t)snprintf(t->text + t->length, LONGEST,
                                  "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,"
                                  "\"ts\":%.3f,\"dur\":%.3f,\"args\":{%s}}",
                                  t->events++ ? ",\n" : "{\"traceEvents\":[", category, name, pid, tid,
                                  (double)ns / 1000, (double)duration / 1000, args);
}

typedef struct {
    int names;   // of operators and kernels; 0: each its own
    int threads; // on which operators take turns
    int streams, devices;
    int in_step;  // launches
    int in_block; // launches in an annotation
    int every_copy, every_sync, every_collective;
    bool at_once; // everything at one moment
    bool orphans; // no correlations
} program;

static void launch(trace *t, const program *p, int i, int64_t at) {
    char name[64], args[192];
    int kind = p->every_collective && i % p->every_collective == 0 ? 1
               : p->every_copy && i % p->every_copy == 0           ? 2
                                                                   : 0;
    int device = i % p->devices, thread = 1 + i % p->threads, stream = 7 + i / 3 % p->streams;
    int which = p->names ? i % p->names : i;
    (void)snprintf(name, sizeof name, "aten::operator_%d", which);
    (void)snprintf(args, sizeof args,
                   "\"External id\":%d,\"Input Dims\":[[%d,64],[64]],\"Input type\":[\"float\",\"float\"]",
                   i + 1, 1 + which % 99);
    event(t, "cpu_op", name, 100, thread, at, p->at_once ? 0 : 900, args);
    (void)snprintf(args, sizeof args, p->orphans ? "\"cbid\":211" : "\"cbid\":211,\"correlation\":%d", i + 1);
    event(t, "cuda_runtime", kind == 2 ? "cudaMemcpyAsync" : "cudaLaunchKernel", 100, thread, at + 100,
          p->at_once ? 0 : 500, args);
    (void)snprintf(name, sizeof name,
                   kind == 1   ? "ncclDevKernel_AllReduce_%d"
                   : kind == 2 ? "Memcpy HtoD (Pageable -> Device)"
                               : "elementwise_kernel_%d",
                   which % 7 * (kind == 1) + which * (kind == 0));
    (void)snprintf(
        args, sizeof args,
        "\"External "
        "id\":%d,\"device\":%d,\"stream\":%d%s%.0d,\"grid\":[%d,1,1],\"block\":[128,1,1],\"bytes\":4096",
        i + 1, device, stream, p->orphans ? "" : ",\"correlation\":", p->orphans ? 0 : i + 1, 1 + which % 50);
    event(t, kind == 2 ? "gpu_memcpy" : "kernel", name, device, stream,
          at + (p->at_once ? 100 : 700 + i % 5 * 200), p->at_once ? 0 : 400 + i % 11 * 50, args);
    if (p->every_sync && i % p->every_sync == p->every_sync - 1)
        event(t, "cuda_runtime", "cudaDeviceSynchronize", 100, thread, at + 1000, p->at_once ? 0 : 200, "");
}

static char *text_of_program(const program *p, int spans) {
    trace t = {0};
    char name[64];
    int launches = spans / 3;
    for (int i = 0; i < launches; i++) {
        int64_t at = p->at_once ? 1000000 : 1000000 + (int64_t)i * 1300;
        if (p->in_step && i % p->in_step == 0) {
            (void)snprintf(name, sizeof name, "ProfilerStep#%d", i / p->in_step);
            event(&t, "user_annotation", name, 100, 1, at - 10,
                  p->at_once ? 0 : (int64_t)p->in_step * 1300 - 20, "");
        }
        if (p->in_block && i % p->in_block == 0)
            event(&t, "user_annotation", i % 2 ? "block" : "other", 100, 1, at - 5,
                  p->at_once ? 0 : (int64_t)p->in_block * 1300 - 30, "");
        launch(&t, p, i, at);
    }
    event(&t, "cpu_op", "end", 100, 1, 1000000 + (int64_t)launches * 1300, 10, "");
    (void)snprintf(t.text + t.length, t.capacity - t.length, "]}");
    return t.text;
}

// --- counting ---------------------------------------------------------------------------------------------

enum { MOST_TASKS = 400 };
typedef struct {
    char name[64];
    uint64_t steps[2];
} task;
static task tasks[MOST_TASKS];
static int n_tasks;

static void note(int size, const char *name, uint64_t begin) {
    uint64_t used = steps - begin;
    int i = 0;
    while (i < n_tasks && strcmp(tasks[i].name, name) != 0) i++;
    if (i == n_tasks) {
        if (n_tasks == MOST_TASKS) abort();
        n_tasks++;
        tasks[i] = (task){{0}, {0}};
        (void)snprintf(tasks[i].name, sizeof tasks[i].name, "%s", name);
    }
    tasks[i].steps[size] += used;
}

static void analyses(int size, const rgm_view *view) {
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    for (size_t i = 0; i < rgm_analyses_count; i++) {
        const rgm_analysis *a = &rgm_analyses[i];
        for (int32_t by = 0; by < 3; by++) {
            const rgm_question asked = {.group_by = by, .other = view};
            char name[64];
            void *result = calloc(1, a->size);
            if (!result) abort();
            uint64_t begin = steps;
            if (a->compute(view, &policy, &asked, result, NULL) == RGM_OK) {
                (void)snprintf(name, sizeof name, "%s by %d", a->name, (int)by);
                note(size, name, begin);
            }
            rgm_table_release(a->desc, result);
            free(result);
        }
    }
}

static size_t n_found;

static void suggestions(int size, const rgm_view *view) {
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    rgm_suggestions found = {0};
    rgm_suggestion_evidence evidence = {0};
    uint64_t begin = steps;
    CHECK_OK(rgm_suggest(view, &policy, NULL, &found, &evidence, NULL));
    note(size, "suggestions", begin);
    n_found = found.rows;
    rgm_table_release(&rgm_suggestions_desc, &found);
    rgm_table_release(&rgm_suggestion_evidence_desc, &evidence);
}

static rgm_status swallow(void *context, const void *data, size_t length, rgm_error *err) {
    (void)context, (void)data, (void)length, (void)err;
    return RGM_OK;
}

static void exports(int size, const rgm_run *run) {
    for (size_t i = 0; i < rgm_export_formats_count; i++) {
        char name[64];
        uint64_t begin = steps;
        CHECK_OK(rgm_export(run, rgm_export_formats[i].name, NULL, swallow, NULL, NULL));
        (void)snprintf(name, sizeof name, "export %s", rgm_export_formats[i].name);
        note(size, name, begin);
    }
}

static void files(int size, rgm_run *run) {
    const char *path = temp_path("growth.rgm");
    rgm_run *back = NULL;
    uint64_t begin = steps;
    CHECK_OK(rgm_run_save(run, path, NULL));
    note(size, "save", begin);
    begin = steps;
    CHECK_OK(rgm_run_load(path, RGM_LOAD_STRICT, &back, NULL));
    note(size, "load", begin);
    rgm_run_free(back);
    unlink(path);
}

static void merging(int size, rgm_run *run, const char *text) {
    rgm_run *merged = NULL, *both[2] = {run, import_text(text)};
    REQUIRE(both[1]);
    for (size_t lane = 0; lane < both[1]->lanes.rows; lane++) both[1]->lanes.rank[lane] = 1;
    for (size_t lane = 0; lane < run->lanes.rows; lane++) run->lanes.rank[lane] = 0;
    uint64_t begin = steps;
    CHECK_OK(rgm_run_merge(both, NULL, 2, RGM_MERGE_RANKS, &merged, NULL));
    note(size, "merge", begin);
    rgm_run_free(merged);
    rgm_run_free(both[1]);
}

static void everything_of(int size, const char *text) {
    rgm_view view = {0};
    uint64_t begin = steps;
    rgm_run *run = import_text(text);
    REQUIRE(run);
    note(size, "import", begin);
    begin = steps;
    CHECK_OK(rgm_view_init(&view, run, NULL, 0, NULL));
    note(size, "view", begin);
    analyses(size, &view);
    suggestions(size, &view);
    exports(size, run);
    files(size, run);
    rgm_view_release(&view);
    merging(size, run, text);
    rgm_run_free(run);
}

// Which task grows more than it may from so many spans to FACTOR times as many, NULL for none.
static const task *growing(const program *p, int spans) {
    n_tasks = 0;
    for (int size = 0; size < 2; size++) {
        char *text = text_of_program(p, size ? FACTOR * spans : spans);
        everything_of(size, text);
        free(text);
    }
    CHECK(n_tasks > 40);
    for (int i = 0; i < n_tasks; i++)
        if (tasks[i].steps[1] > MOST * tasks[i].steps[0] && tasks[i].steps[1] > (uint64_t)(FACTOR * spans))
            return &tasks[i];
    return NULL;
}

// A task that finds next to nothing at the smallest size has its growth from the next one on.
static void check_growth(const char *what, const program *p) {
    const task *t = growing(p, SMALL);
    if (t) t = growing(p, FACTOR * SMALL);
    if (t)
        HARNESS_FAIL(
            "%s, %s: %" PRIu64 " steps become %" PRIu64 ", %.1f times as many for %d times the spans", what,
            t->name, t->steps[0], t->steps[1], (double)t->steps[1] / (double)t->steps[0], FACTOR);
}

static const program loop = {.names = 37,
                             .threads = 1,
                             .streams = 2,
                             .devices = 1,
                             .in_step = 400,
                             .in_block = 20,
                             .every_copy = 50,
                             .every_sync = 40,
                             .every_collective = 30};

#define GROWTH(name, ...)                                                                                    \
    TEST(name) {                                                                                             \
        program p = loop;                                                                                    \
        __VA_ARGS__;                                                                                         \
        check_growth(#name, &p);                                                                             \
    }

// --- scopes of a recording --------------------------------------------------------------------------------

typedef struct {
    int names; // of operations; 0: each its own
    bool open; // all at once, each in a lane of its own, as concurrent tasks are
} recording;

// Each scope takes so much that a rule speaks of its operation.
static void takes_memory(rgm_run *run, size_t scopes) {
    CHECK_OK(rgm_table_reserve(&rgm_memory_desc, &run->memory, RGM_ALL_COLUMNS, 2 * scopes, NULL));
    run->memory.rows = 2 * scopes;
    for (size_t c = 0; c < rgm_memory_desc.n_columns; c++)
        rgm_table_fill(&rgm_memory_desc, &run->memory, c, 0, 2 * scopes);
    for (size_t i = 0; i < 2 * scopes; i++) {
        bool end = i % 2;
        run->memory.device[i] = -1;
        run->memory.time_ns[i] = run->spans.start_ns[i / 2] + (end ? run->spans.duration_ns[i / 2] : 0);
        run->memory.action[i] = end ? RGM_ACTION_END : RGM_ACTION_BEGIN;
        run->memory.span[i] = (int64_t)(i / 2);
        run->memory.allocated[i] = run->memory.bytes[i] = end ? 500000000 : 0;
    }
}

static rgm_run *run_of_scopes(const recording *r, size_t count) {
    rgm_run *run = NULL;
    char name[32];
    size_t lanes = r->open ? count : 1;
    CHECK_OK(rgm_run_new(&run, NULL));
    CHECK_OK(rgm_table_reserve(&rgm_spans_desc, &run->spans, RGM_ALL_COLUMNS, count, NULL));
    CHECK_OK(rgm_table_reserve(&rgm_lanes_desc, &run->lanes, RGM_ALL_COLUMNS, lanes, NULL));
    run->spans.rows = count;
    run->lanes.rows = lanes;
    for (size_t c = 0; c < rgm_spans_desc.n_columns; c++)
        rgm_table_fill(&rgm_spans_desc, &run->spans, c, 0, count);
    for (size_t c = 0; c < rgm_lanes_desc.n_columns; c++)
        rgm_table_fill(&rgm_lanes_desc, &run->lanes, c, 0, lanes);
    for (size_t i = 0; i < count; i++) {
        int length = snprintf(name, sizeof name, "operation %d", (int)(r->names ? i % (size_t)r->names : i));
        CHECK_OK(rgm_strings_intern(&run->strings, name, (size_t)length, &run->spans.name[i], NULL));
        run->spans.kind[i] = RGM_KIND_SCOPE;
        run->spans.lane[i] = (rgm_u32)(r->open ? i : 0);
        run->spans.start_ns[i] = (int64_t)i * 1000;
        run->spans.duration_ns[i] = (int64_t)((r->open ? count - i : 1) * 1000);
        run->spans.parent[i] = -1;
    }
    run->end_ns = (int64_t)count * 1000;
    takes_memory(run, count);
    return run;
}

static void check_scopes(const char *what, const recording *r) {
    n_tasks = 0;
    for (int size = 0; size < 2; size++) {
        rgm_run *run = run_of_scopes(r, size ? FACTOR * SMALL : SMALL);
        rgm_view view = {0};
        CHECK_OK(rgm_view_init(&view, run, NULL, 0, NULL));
        suggestions(size, &view);
        rgm_view_release(&view);
        rgm_run_free(run);
    }
    CHECK(n_found >= (r->names ? (size_t)r->names : (size_t)FACTOR * SMALL));
    if (tasks[0].steps[1] > MOST * tasks[0].steps[0])
        HARNESS_FAIL("%s: %" PRIu64 " steps become %" PRIu64, what, tasks[0].steps[0], tasks[0].steps[1]);
}

TEST(scopes_of_one_operation) { check_scopes("one operation", &(recording){.names = 1}); }
TEST(scopes_with_names_of_their_own) { check_scopes("own names", &(recording){.names = 0}); }
TEST(tasks_that_are_open_at_once) { check_scopes("tasks", &(recording){.names = 1, .open = true}); }
TEST(open_tasks_with_names_of_their_own) {
    check_scopes("own tasks", &(recording){.names = 0, .open = true});
}

GROWTH(a_training_loop, (void)0)
GROWTH(short_steps, p.in_step = 4; p.in_block = 2)
GROWTH(names_of_their_own, p.names = 0)
GROWTH(many_threads, p.threads = 1000000)
GROWTH(many_streams, p.streams = 1000000)
GROWTH(many_devices, p.devices = 8)
GROWTH(one_moment, p.at_once = true; p.in_block = 0; p.in_step = 0)
GROWTH(device_work_without_launches, p.orphans = true)
GROWTH(collectives_alone, p.every_collective = 1)
GROWTH(copies_alone, p.every_copy = 1; p.every_collective = 0)
GROWTH(a_wait_after_each, p.every_sync = 1)
