// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/range_profiler.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cuda/library/driver.h"

typedef struct {
    int64_t start_ns, end_ns; // CLOCK_MONOTONIC
    uint32_t name;
} range;

struct rgm_range_profiler {
    const rgm_counter_library *library;
    rgm_device_sink sink;
    rgm_range_options options;
    rgm_cu_context context;
    int device;
    rgm_counter_plan plan;
    rgm_counter_configuration configuration;
    uint32_t series[RGM_PLAN_ROLES]; // string ids
    pid_t owner;
    pthread_t thread;
    bool target, started;
    rgm_cupti_ranges object;
    uint8_t *availability, *data;
    size_t data_size;
    range *ranges; // [max_ranges]
    size_t n_ranges;
    bool open;      // the library has a range open
    uint32_t depth; // of pushes without a pop
    _Atomic(int64_t) foreign;
    rgm_range_counts counts;
};

const rgm_counter_plan *rgm_range_profiler_plan(const rgm_range_profiler *profiler) {
    return &profiler->plan;
}

// --- push and pop -----------------------------------------------------------------------------------------

static bool of_this_thread(rgm_range_profiler *p) {
    if (pthread_equal(p->thread, pthread_self())) return true;
    atomic_fetch_add_explicit(&p->foreign, 1, memory_order_relaxed);
    return false;
}

// The library is given the number of a range, not its name: names repeat, and are no concern of its.
static void begin_range(rgm_range_profiler *p, uint32_t name) {
    RGM_PARAMS(rgm_cupti_ranges_push, push, name);
    char number[16];
    (void)snprintf(number, sizeof number, "%zu", p->n_ranges);
    push.ranges = p->object;
    push.name = number;
    if (p->library->ranges_push(&push) != RGM_CUPTI_SUCCESS) {
        p->counts.failures++;
        return;
    }
    int64_t now = rgm_clock_monotonic_ns();
    if (p->n_ranges && now <= p->ranges[p->n_ranges - 1].start_ns)
        now = p->ranges[p->n_ranges - 1].start_ns + 1;
    p->ranges[p->n_ranges++] = (range){.start_ns = now, .end_ns = now, .name = name};
    p->open = true;
}

void rgm_range_profiler_push(rgm_range_profiler *p, uint32_t name) {
    if (!of_this_thread(p)) return;
    if (p->depth++) {
        p->counts.nested++;
        return;
    }
    if (p->n_ranges < p->options.max_ranges)
        begin_range(p, name);
    else
        p->counts.dropped++;
}

static void end_range(rgm_range_profiler *p) {
    RGM_PARAMS(rgm_cupti_ranges_control, pop, ranges);
    pop.ranges = p->object;
    int64_t now = rgm_clock_monotonic_ns();
    range *last = &p->ranges[p->n_ranges - 1];
    if (now > last->end_ns) last->end_ns = now;
    if (p->library->ranges_pop(&pop) != RGM_CUPTI_SUCCESS) p->counts.failures++;
    p->open = false;
}

void rgm_range_profiler_pop(rgm_range_profiler *p) {
    if (!of_this_thread(p) || !p->depth) return;
    if (--p->depth == 0 && p->open) end_range(p);
}

// --- start ------------------------------------------------------------------------------------------------

static rgm_status find_device(rgm_range_profiler *p, rgm_error *err) {
    const rgm_driver *driver;
    rgm_cu_context context = NULL;
    rgm_cu_device device = 0;
    RGM_TRY(rgm_driver_start(&driver, err));
    rgm_cu_result result = driver->context_current(&context);
    if (result != RGM_CU_SUCCESS || !context)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "counters of ranges: this thread has no CUDA context yet; use the device first "
                             "(torch: torch.cuda.init() and one operation)");
    result = driver->context_device(&device);
    if (result != RGM_CU_SUCCESS)
        return rgm_error_set(err, RGM_UNAVAILABLE, "counters of ranges: the context has no device: %s",
                             rgm_driver_text(driver, result));
    p->context = context;
    p->device = device;
    return RGM_OK;
}

static rgm_status ask_availability(rgm_range_profiler *p, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_range_availability, a, image);
    static const char doing[] = "asking which counters are available";
    a.context = p->context;
    RGM_TRY(rgm_cupti_check(p->library->ranges_availability(&a), doing, err));
    p->availability = a.image = rgm_calloc(1, a.image_size + 1);
    if (!a.image) return rgm_error_no_memory(err);
    return rgm_cupti_check(p->library->ranges_availability(&a), doing, err);
}

static rgm_status make_data(rgm_range_profiler *p, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_ranges_data_size, room, data_size);
    RGM_PARAMS(rgm_cupti_ranges_data_initialize, clear, data);
    room.ranges = clear.ranges = p->object;
    room.metrics = p->configuration.metrics;
    room.count = p->configuration.count;
    room.max_ranges = room.max_nodes = p->options.max_ranges;
    RGM_TRY(rgm_cupti_check(p->library->ranges_data_size(&room), "sizing the ranges", err));
    p->data_size = clear.data_size = room.data_size;
    p->data = clear.data = rgm_calloc(1, room.data_size + 1);
    p->ranges = rgm_malloc(p->options.max_ranges * sizeof *p->ranges);
    if (!p->data || !p->ranges) return rgm_error_no_memory(err);
    return rgm_cupti_check(p->library->ranges_data_initialize(&clear), "preparing the ranges", err);
}

static rgm_status configure(rgm_range_profiler *p, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_ranges_config, config, target_nesting_level);
    config.ranges = p->object;
    config.image_size = p->configuration.image_size;
    config.image = p->configuration.image;
    config.data_size = p->data_size;
    config.data = p->data;
    config.range = RGM_CUPTI_USER_RANGE;
    config.replay = RGM_CUPTI_USER_REPLAY;
    config.max_ranges = p->options.max_ranges;
    config.nesting_levels = config.min_nesting_level = config.target_nesting_level = 1;
    return rgm_cupti_check(p->library->ranges_config(&config), "configuring the Range Profiler", err);
}

static rgm_status prepare(rgm_range_profiler *p, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_ranges_enable, enable, ranges);
    const char *chip;
    RGM_TRY(find_device(p, err));
    RGM_TRY(rgm_counter_library_start(&p->library, RGM_COUNTER_RANGES, err));
    RGM_TRY(rgm_counter_target_begin(p->library, err));
    p->target = true;
    RGM_TRY(rgm_counter_device_chip(p->library, p->device, &chip, err));
    RGM_TRY(ask_availability(p, err));
    RGM_TRY(rgm_counter_plan_make(&p->plan, p->library, p->options.set, chip, p->availability, err));
    RGM_TRY(rgm_counter_configuration_make(&p->configuration, &p->plan, p->library, p->availability, err));
    for (size_t m = 0; m < p->configuration.count; m++) {
        const char *name = p->configuration.metrics[m];
        p->series[m] = p->sink.intern(p->sink.arg, name, strlen(name));
    }
    enable.context = p->context;
    RGM_TRY(rgm_cupti_check(p->library->ranges_enable(&enable), "enabling the Range Profiler", err));
    p->object = enable.ranges;
    RGM_TRY(make_data(p, err));
    return configure(p, err);
}

rgm_status rgm_range_profiler_start(rgm_range_profiler **out, const rgm_range_options *options,
                                    rgm_device_sink sink, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_ranges_control, control, ranges);
    *out = NULL;
    if (!options->max_ranges || rgm_counter_sets[options->set].profiler != RGM_CUPTI_RANGE_PROFILER)
        return rgm_error_set(err, RGM_INVALID, "counters of ranges need a set for ranges and room for one");
    rgm_range_profiler *p = rgm_calloc(1, sizeof *p);
    if (!p) return rgm_error_no_memory(err);
    p->options = *options;
    p->sink = sink;
    p->owner = getpid();
    p->thread = pthread_self();
    rgm_status status = prepare(p, err);
    control.ranges = p->object;
    if (status == RGM_OK)
        status = rgm_cupti_check(p->library->ranges_start(&control), "starting the Range Profiler", err);
    p->started = status == RGM_OK;
    if (status == RGM_OK)
        *out = p;
    else
        rgm_range_profiler_stop(p, NULL);
    return status;
}

// --- stop -------------------------------------------------------------------------------------------------

static void emit(rgm_range_profiler *p, const range *of, size_t index) {
    RGM_PARAMS(rgm_cupti_host_evaluate, e, values);
    double values[RGM_PLAN_ROLES];
    rgm_counter_row rows[RGM_PLAN_ROLES];
    size_t n = 0;
    e.host = p->configuration.host.object;
    e.data = p->data;
    e.data_size = p->data_size;
    e.index = index;
    e.metrics = p->configuration.metrics;
    e.count = p->configuration.count;
    e.values = values;
    if (p->library->host_evaluate(&e) != RGM_CUPTI_SUCCESS) {
        p->counts.failures++;
        return;
    }
    rgm_activity_row row = {.start_ns = of->start_ns,
                            .duration_ns = of->end_ns - of->start_ns,
                            .stream = -1,
                            .bytes = -1,
                            .graph_node = -1,
                            .name = of->name,
                            .graph = UINT32_MAX,
                            .grid = {-1, -1, -1},
                            .block = {-1, -1, -1},
                            .registers = -1,
                            .shared_bytes = -1,
                            .occupancy = NAN,
                            .device = (int16_t)p->device,
                            .kind = RGM_KIND_COUNTER_RANGE};
    for (size_t m = 0; m < p->configuration.count; m++)
        if (isfinite(values[m]))
            rows[n++] = (rgm_counter_row){.time_ns = of->start_ns,
                                          .value = values[m],
                                          .series = p->series[m],
                                          .device = (int16_t)p->device};
    p->sink.activities(p->sink.arg, &row, 1);
    if (n) p->sink.counters(p->sink.arg, rows, n);
    p->counts.ranges++;
}

// The number that the library was given at the push; max_ranges for anything else.
static size_t number_of(const rgm_range_profiler *p, size_t index) {
    RGM_PARAMS(rgm_cupti_ranges_range_info, info, name);
    info.data = p->data;
    info.data_size = p->data_size;
    info.index = index;
    info.delimiter = "/";
    if (p->library->ranges_range_info(&info) != RGM_CUPTI_SUCCESS || !info.name) return p->n_ranges;
    char *end;
    unsigned long number = strtoul(info.name, &end, 10);
    return end != info.name && !*end && number < p->n_ranges ? number : p->n_ranges;
}

static void read_ranges(rgm_range_profiler *p) {
    RGM_PARAMS(rgm_cupti_ranges_decode, decode, dropped);
    RGM_PARAMS(rgm_cupti_ranges_data_info, info, count);
    decode.ranges = p->object;
    info.data = p->data;
    info.data_size = p->data_size;
    if (p->library->ranges_decode(&decode) != RGM_CUPTI_SUCCESS) p->counts.failures++;
    p->counts.dropped += (int64_t)decode.dropped;
    if (p->library->ranges_data_info(&info) != RGM_CUPTI_SUCCESS) info.count = 0;
    for (size_t i = 0; i < info.count && i < p->options.max_ranges; i++) {
        size_t number = number_of(p, i);
        if (number < p->n_ranges)
            emit(p, &p->ranges[number], i);
        else
            p->counts.failures++;
    }
}

static void end_profiling(rgm_range_profiler *p) {
    RGM_PARAMS(rgm_cupti_ranges_stop, stop, all_submitted);
    RGM_PARAMS(rgm_cupti_ranges_control, disable, ranges);
    stop.ranges = disable.ranges = p->object;
    if (p->open) end_range(p);
    if (p->started) {
        if (p->library->ranges_stop(&stop) != RGM_CUPTI_SUCCESS) p->counts.failures++;
        read_ranges(p);
    }
    if (p->counts.dropped) p->sink.note(p->sink.arg, RGM_ANOMALY_DROPPED_COUNTERS, p->counts.dropped);
    if (p->object) (void)p->library->ranges_disable(&disable);
    rgm_counter_configuration_release(&p->configuration);
    if (p->target) rgm_counter_target_end(p->library);
}

void rgm_range_profiler_stop(rgm_range_profiler *p, rgm_range_counts *counts) {
    if (!p) return;
    if (p->owner == getpid())
        end_profiling(p);
    else
        rgm_free(p->configuration.image);
    p->counts.foreign = atomic_load(&p->foreign);
    if (counts) *counts = p->counts;
    rgm_free(p->availability);
    rgm_free(p->data);
    rgm_free(p->ranges);
    rgm_free(p);
}
