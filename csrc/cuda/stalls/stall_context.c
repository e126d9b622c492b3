// SPDX-License-Identifier: Apache-2.0
#include "cuda/stalls/stall_context.h"

#include <string.h>

#include "base/memory.h"

enum { BATCH = 128, ROUNDS_MOST = 4096, SCRATCH_BYTES = 16 << 20 };
// Common to the names of all reasons, and the end of those whose samples saw nothing issued.
static const char prefix[] = "smsp__pcsamp_warps_issue_stalled_", suffix[] = "_not_issued";

// --- reasons ----------------------------------------------------------------------------------------------

static uint32_t place_of(rgm_stall_context *c, rgm_device_sink sink, const char *text, size_t length) {
    uint32_t id = sink.intern(sink.arg, text, length);
    for (size_t i = 0; i < c->texts_count; i++)
        if (c->texts[i] == id) return (uint32_t)i;
    c->texts[c->texts_count] = id;
    return (uint32_t)c->texts_count++;
}

// "smsp__pcsamp_warps_issue_stalled_barrier_not_issued" is barrier, of samples that saw nothing issued.
static void read_reason(rgm_stall_context *c, rgm_device_sink sink, size_t i) {
    char *name = c->names + i * RGM_CUPTI_STALL_NAME;
    name[RGM_CUPTI_STALL_NAME - 1] = '\0';
    if (strncmp(name, prefix, sizeof prefix - 1) == 0) name += sizeof prefix - 1;
    size_t length = strlen(name), end = sizeof suffix - 1;
    c->quiet[i] = length > end && strcmp(name + length - end, suffix) == 0;
    c->places[i] = place_of(c, sink, name, c->quiet[i] ? length - end : length);
}

static rgm_status ask_reasons(rgm_stall_context *c, rgm_device_sink sink, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_pc_reason_count, many, count);
    RGM_PARAMS(rgm_cupti_pc_reasons, all, names);
    static const char doing[] = "PC sampling: asking for the reasons of stalls";
    many.context = all.context = c->context;
    many.count = &c->reasons;
    RGM_TRY(rgm_cupti_check(c->cupti->pc_reason_count(&many), doing, err));
    if (!c->reasons || c->reasons > 4096)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "CUPTI: PC sampling: the device tells %zu reasons of stalls", c->reasons);
    char **each = rgm_malloc(c->reasons * sizeof *each);
    c->indices = rgm_calloc(c->reasons, sizeof *c->indices);
    c->names = rgm_calloc(c->reasons, RGM_CUPTI_STALL_NAME);
    c->places = rgm_calloc(c->reasons, sizeof *c->places);
    c->quiet = rgm_calloc(c->reasons, sizeof *c->quiet);
    c->texts = rgm_calloc(c->reasons, sizeof *c->texts);
    c->sums = rgm_calloc(c->reasons, 2 * sizeof *c->sums);
    rgm_status status = RGM_OK;
    if (!each || !c->indices || !c->names || !c->places || !c->quiet || !c->texts || !c->sums) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    for (size_t i = 0; i < c->reasons; i++) each[i] = c->names + i * RGM_CUPTI_STALL_NAME;
    all.count = c->reasons;
    all.indices = c->indices;
    all.names = each;
    RGM_GOTO(rgm_cupti_check(c->cupti->pc_reasons(&all), doing, err));
    for (size_t i = 0; i < c->reasons; i++) read_reason(c, sink, i);
done:
    rgm_free(each);
    return status;
}

// --- configuration ----------------------------------------------------------------------------------------

static rgm_status make_room(rgm_stall_context *c, size_t most, rgm_error *err) {
    c->data = (rgm_cupti_pc_data){.size = sizeof c->data, .room = most};
    c->data.pcs = rgm_calloc(most, sizeof *c->data.pcs);
    c->stalls = rgm_calloc(most * c->reasons, sizeof *c->stalls);
    if (!c->data.pcs || !c->stalls) return rgm_error_no_memory(err);
    for (size_t i = 0; i < most; i++) {
        c->data.pcs[i].size = sizeof *c->data.pcs;
        c->data.pcs[i].stalls = c->stalls + i * c->reasons;
    }
    return RGM_OK;
}

static rgm_status configure(rgm_stall_context *c, uint32_t period, rgm_error *err) {
    rgm_cupti_pc_attribute wanted[] = {
        {.attribute = RGM_CUPTI_PC_STALL_REASONS, .value.reasons = {c->reasons, c->indices}},
        {.attribute = RGM_CUPTI_PC_SCRATCH_BYTES, .value.bytes = SCRATCH_BYTES},
        {.attribute = RGM_CUPTI_PC_DATA, .value.data = &c->data},
        {.attribute = RGM_CUPTI_PC_FORMAT, .value.choice = RGM_CUPTI_PC_PARSED},
        {.attribute = RGM_CUPTI_PC_START_STOP, .value.number = 1},
        {.attribute = RGM_CUPTI_PC_MODE, .value.choice = RGM_CUPTI_PC_CONTINUOUS},
        {.attribute = RGM_CUPTI_PC_PERIOD, .value.number = period},
    };
    RGM_PARAMS(rgm_cupti_pc_configuration, p, attributes);
    p.context = c->context;
    p.count = sizeof wanted / sizeof *wanted - (period ? 0 : 1);
    p.attributes = wanted;
    rgm_cupti_result result = c->cupti->pc_configure(&p);
    for (size_t i = 0; i < p.count; i++)
        if (wanted[i].status != RGM_CUPTI_SUCCESS)
            return rgm_error_set(err, RGM_UNAVAILABLE,
                                 "CUPTI: PC sampling: attribute %d of the configuration: %s (error %d)",
                                 wanted[i].attribute, rgm_cupti_text(wanted[i].status), wanted[i].status);
    return rgm_cupti_check(result, "configuring PC sampling", err);
}

// What CUPTI took where it was left the choice; 0 where it does not say.
static uint32_t ask_period(const rgm_stall_context *c) {
    rgm_cupti_pc_attribute asked = {.attribute = RGM_CUPTI_PC_PERIOD};
    RGM_PARAMS(rgm_cupti_pc_configuration, p, attributes);
    p.context = c->context;
    p.count = 1;
    p.attributes = &asked;
    bool known = c->cupti->pc_configured(&p) == RGM_CUPTI_SUCCESS && asked.status == RGM_CUPTI_SUCCESS;
    return known ? asked.value.number : 0;
}

static rgm_status begin(rgm_stall_context *c, const rgm_stall_setting *setting, rgm_device_sink sink,
                        rgm_error *err) {
    RGM_PARAMS(rgm_cupti_pc_control, p, context);
    p.context = c->context;
    RGM_TRY(rgm_cupti_check(c->cupti->pc_enable(&p), "enabling PC sampling", err));
    c->enabled = true;
    RGM_TRY(ask_reasons(c, sink, err));
    RGM_TRY(make_room(c, setting->most_pcs, err));
    RGM_TRY(configure(c, setting->period, err));
    c->period = ask_period(c);
    RGM_TRY(rgm_cupti_check(c->cupti->pc_start(&p), "starting PC sampling", err));
    c->started = true;
    return RGM_OK;
}

// Current while CUPTI is called, because not every of its functions says that its own parameter is enough.
// In the program's call that makes it, it may be so already, and stays so.
static bool enter(const rgm_stall_context *c) {
    rgm_cu_context now = NULL;
    if (c->driver->context_current(&now) == RGM_CU_SUCCESS && now == c->context) return false;
    return c->driver->context_push(c->context) == RGM_CU_SUCCESS;
}
static void leave(const rgm_stall_context *c, bool entered) {
    rgm_cu_context left;
    if (entered) (void)c->driver->context_pop(&left);
}

static void disable(rgm_stall_context *c) {
    RGM_PARAMS(rgm_cupti_pc_control, p, context);
    p.context = c->context;
    if (c->enabled) (void)c->cupti->pc_disable(&p);
    c->enabled = false;
}

rgm_status rgm_stall_context_start(rgm_stall_context *c, const rgm_stall_setting *setting,
                                   rgm_device_sink sink, rgm_error *err) {
    bool entered = enter(c);
    rgm_status status = begin(c, setting, sink, err);
    if (status != RGM_OK) disable(c);
    leave(c, entered);
    if (status != RGM_OK) rgm_stall_context_release(c);
    return status;
}

// --- collecting -------------------------------------------------------------------------------------------

static void add_up(rgm_stall_context *c, const rgm_cupti_pc *pc) {
    memset(c->sums, 0, c->texts_count * 2 * sizeof *c->sums);
    for (size_t s = 0; s < pc->count && s < c->reasons; s++) {
        size_t i = pc->stalls[s].reason;
        // Indices are mostly the places; where they are not they are looked for.
        if (i >= c->reasons || c->indices[i] != pc->stalls[s].reason)
            for (i = 0; i < c->reasons && c->indices[i] != pc->stalls[s].reason;) i++;
        if (i < c->reasons) c->sums[c->places[i] * 2 + c->quiet[i]] += pc->stalls[s].samples;
    }
}

static void hand_over(rgm_stall_context *c, rgm_activity_names *names) {
    rgm_stall_row rows[BATCH];
    size_t n = 0;
    const rgm_device_sink *sink = &names->sink;
    for (size_t i = 0; i < c->data.count && i < c->data.room; i++) {
        const rgm_cupti_pc *pc = &c->data.pcs[i];
        uint32_t file, line;
        rgm_source_lines_find(c->lines, pc, &file, &line);
        uint32_t kernel = rgm_activity_kernel_name(names, (uint64_t)(uintptr_t)pc->name, pc->name);
        add_up(c, pc);
        for (size_t t = 0; t < c->texts_count; t++) {
            const uint32_t *sum = c->sums + t * 2;
            if (!sum[0] && !sum[1]) continue;
            rows[n++] = (rgm_stall_row){.cubin = pc->cubin,
                                        .offset = pc->offset,
                                        .kernel = kernel,
                                        .reason = c->texts[t],
                                        .samples = sum[0],
                                        .not_issued = sum[1],
                                        .device = c->device,
                                        .file = file,
                                        .line = line};
            if (line) c->figures.lines += sum[0];
            c->figures.samples += sum[0];
            c->figures.not_issued += sum[1];
            if (n == BATCH) sink->stalls(sink->arg, rows, n), n = 0;
        }
    }
    if (n) sink->stalls(sink->arg, rows, n);
}

// Takes what the data hold, and empties them for the next call.
static void take(rgm_stall_context *c, rgm_activity_names *names) {
    rgm_cupti_pc_data *data = &c->data;
    hand_over(c, names);
    c->figures.total += (int64_t)data->total;
    c->figures.dropped += (int64_t)data->dropped;
    c->figures.no_record += (int64_t)data->no_record;
    c->figures.full += data->full != 0;
    if (data->dropped)
        names->sink.note(names->sink.arg, RGM_ANOMALY_DROPPED_COUNTERS, (int64_t)data->dropped);
    data->count = 0;
    data->total = data->dropped = data->no_record = 0;
    data->full = 0;
}

static void collect(rgm_stall_context *c, rgm_activity_names *names) {
    RGM_PARAMS(rgm_cupti_pc_get_data, p, data);
    p.context = c->context;
    p.data = &c->data;
    if (c->data.count) take(c, names); // CUPTI fills them by itself when a module is unloaded
    for (int round = 0; round < ROUNDS_MOST; round++) {
        rgm_cupti_result result = c->cupti->pc_get_data(&p);
        bool full = result == RGM_CUPTI_OUT_OF_MEMORY; // the hardware's buffer: what it held is lost
        if (full) c->data.full = 1;
        c->figures.failures += result != RGM_CUPTI_SUCCESS && !full;
        if (result != RGM_CUPTI_SUCCESS) c->data.count = 0;
        bool more = result == RGM_CUPTI_SUCCESS && c->data.count && c->data.remaining;
        take(c, names);
        if (!more) return;
    }
}

void rgm_stall_context_collect(rgm_stall_context *c, rgm_activity_names *names) {
    if (!c->started) return;
    bool entered = enter(c);
    collect(c, names);
    leave(c, entered);
}

void rgm_stall_context_stop(rgm_stall_context *c, rgm_activity_names *names) {
    RGM_PARAMS(rgm_cupti_pc_control, p, context);
    p.context = c->context;
    if (c->started) {
        bool entered = enter(c);
        c->figures.failures += c->cupti->pc_stop(&p) != RGM_CUPTI_SUCCESS;
        collect(c, names);
        disable(c); // which hands over what its threads still had
        if (c->data.count) take(c, names);
        leave(c, entered);
    }
    rgm_stall_context_release(c);
}

void rgm_stall_context_release(rgm_stall_context *c) {
    rgm_free(c->indices);
    rgm_free(c->names);
    rgm_free(c->places);
    rgm_free(c->quiet);
    rgm_free(c->texts);
    rgm_free(c->sums);
    rgm_free(c->data.pcs);
    rgm_free(c->stalls);
    c->indices = c->places = c->texts = c->sums = NULL;
    c->names = NULL;
    c->quiet = NULL;
    c->stalls = NULL;
    c->data.pcs = NULL;
    c->started = c->enabled = false;
}
