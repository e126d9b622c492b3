// SPDX-License-Identifier: Apache-2.0
// PC sampling by the double of CUPTI, of kernels that the double of the driver runs. A part of cupti.c, which
// includes it once. The numbers:
//   pc_sample_ns            a kernel is found once in so many nanoseconds of its time: 6 of 10 times at 0x80,
//                           for long_scoreboard; 3 at 0x50, selected; 1 at 0x10, wait. Half of the waits
//                           issued nothing
//   pc_period               what the device samples with where it is left the choice
//   pc_dropped, pc_no_record  samples more a collection, that the hardware dropped, and of other kernels
//   pc_full_at              the collection (from 1) that finds the hardware's buffer full
//   refuse_PCSamplingNAME   what that function answers instead of working
//   hang_PCSamplingGetData  1: it does not return until it is 0; pc_hanging counts who waits there
// and counts: pc_misuse (calls in a wrong order, or with structs of another size), pc_contexts (enabled),
// pc_collections, pc_foreign_thread.
//
// The real one deadlocks where sampling is begun by a thread that CUPTI has not called: it holds CUPTI's
// mutex and waits for the driver's lock, while a thread inside the driver holds that and waits, in a callback
// of CUPTI's own, for CUPTI's mutex (seen on an H200, CUPTI 13.0.1). Whether they meet is chance, so the
// double does not hang: pc_foreign_thread counts each enabling, configuration and start outside a callback
// about contexts that is made while another thread is in a call of the driver, or by a thread that did not
// make the context.
//
// As the real one: one context of a device at a time; a collection holds the kernels that have ended, as many
// instructions as there is room for; what comes later is there at the next, or when sampling is disabled. The
// number of a binary is the client's, asked for when a module is loaded; a kernel of none has 0xC0FFEE. Lines
// of source are told of the kernel "add" in a binary with a section of lines, as CUPTI 13.0 tells them of
// tests/data/cubins/add_with_lines.cubin (tests/core/cuda/test_source_lines.c asks the real one where it is
// there).
#ifndef RGM_FAKES_CUPTI_PCSAMPLING_H
#define RGM_FAKES_CUPTI_PCSAMPLING_H

#include "cuda/trace/pc_sampling_types.h"

enum { PC_KERNELS = 4096, PC_CONTEXTS = 8, PC_PLACES = 3, PC_DATA_BYTES = 80, PC_BYTES = 64 };

// Numbers of reasons are no places in a list.
static const struct {
    uint32_t index;
    const char *name;
} pc_reasons[] = {
    {3, "smsp__pcsamp_warps_issue_stalled_long_scoreboard"},
    {4, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"},
    {7, "smsp__pcsamp_warps_issue_stalled_selected"},
    {9, "smsp__pcsamp_warps_issue_stalled_wait"},
    {10, "smsp__pcsamp_warps_issue_stalled_wait_not_issued"},
};
enum { PC_REASONS = sizeof pc_reasons / sizeof *pc_reasons };

typedef struct {
    const char *name;
    int64_t end_ns;
    uint64_t samples, cubin;
} pc_kernel;

enum { PC_CUBINS = 64 };
static struct {
    const void *image;
    uint64_t number;
} pc_cubins[PC_CUBINS];
static size_t pc_cubins_count;
static rgm_cupti_number_cubin pc_number;

static struct pc_context {
    void *context;
    bool enabled, configured, controlled, started, disabled;
    int device;
    rgm_cupti_pc_data *data;
    pc_kernel kernels[PC_KERNELS];
    size_t count, given; // given: instructions of kernels[0] that were handed over
} pc_contexts[PC_CONTEXTS];

static int pc_misuse(int result) {
    FAKE_VALUE(pc_misuse)++;
    return result;
}

static struct pc_context *pc_of(const void *context) {
    for (int i = 0; i < PC_CONTEXTS; i++)
        if (pc_contexts[i].enabled && pc_contexts[i].context == context) return &pc_contexts[i];
    return NULL;
}

static void pc_check_thread(void *context) {
    int (*others)(void) = NULL, (*made_here)(void *) = NULL;
    void *address = of_driver("fake_cuda_others_inside");
    memcpy(&others, &address, sizeof address);
    address = of_driver("fake_cuda_is_maker");
    memcpy(&made_here, &address, sizeof address);
    if (in_context_callback || !others || !made_here) return;
    if (others() > 0 || !made_here(context)) FAKE_VALUE(pc_foreign_thread)++;
}

// Of a context that has ended: nobody can disable it any more.
static void pc_end(const void *context) {
    pthread_mutex_lock(&mutex);
    struct pc_context *c = pc_of(context);
    if (c) c->enabled = false;
    pthread_mutex_unlock(&mutex);
    if (!c) return;
    FAKE_VALUE(pc_contexts)--;
    hear(false);
}

// As where the contexts of the driver have ended.
static void pc_forget(void) {
    memset(pc_contexts, 0, sizeof pc_contexts);
    pc_cubins_count = 0;
    pc_number = NULL;
    FAKE_VALUE(pc_contexts) = 0;
}

// A module of the driver that has been loaded.
static void pc_load(const fake_cuda_call *call) {
    uint64_t number = 0xC0FFEE;
    if (!pc_number) return;
    pc_number(call->image, call->image_bytes, &number);
    pthread_mutex_lock(&mutex);
    if (pc_cubins_count == PC_CUBINS) abort();
    pc_cubins[pc_cubins_count].image = call->image;
    pc_cubins[pc_cubins_count++].number = number;
    pthread_mutex_unlock(&mutex);
}

static uint64_t pc_cubin_of(const void *image) {
    for (size_t i = pc_cubins_count; image && i-- > 0;) // the latest: memory serves again
        if (pc_cubins[i].image == image) return pc_cubins[i].number;
    return 0xC0FFEE;
}

// A kernel of the driver that has been queued.
static void pc_hear(const fake_cuda_call *call) {
    pthread_mutex_lock(&mutex);
    struct pc_context *c = pc_of(call->context);
    if (c && c->started && call->kind == 1 && c->count < PC_KERNELS)
        c->kernels[c->count++] =
            (pc_kernel){call->name, call->host_end_ns,
                        (uint64_t)((call->host_end_ns - call->host_start_ns) / FAKE_VALUE(pc_sample_ns)),
                        pc_cubin_of(call->image)};
    pthread_mutex_unlock(&mutex);
}

static void pc_fill(rgm_cupti_pc *pc, const pc_kernel *kernel, size_t place) {
    static const uint64_t tenths[PC_PLACES] = {6, 3, 1};
    static const uint32_t plain[PC_PLACES] = {3, 7, 9}, quiet[PC_PLACES] = {4, 0, 10};
    static const uint64_t offsets[PC_PLACES] = {0x80, 0x50, 0x10};
    uint32_t samples = (uint32_t)(kernel->samples * tenths[place] / 10);
    if (pc->size != PC_BYTES || !pc->stalls) abort();
    pc->cubin = kernel->cubin;
    pc->offset = offsets[place];
    pc->function = 1;
    pc->name = (char *)(uintptr_t)kernel->name;
    pc->correlation = 0;
    pc->count = 1;
    pc->stalls[0] = (rgm_cupti_stall){plain[place], samples};
    if (quiet[place])
        pc->stalls[pc->count++] = (rgm_cupti_stall){quiet[place], place ? samples / 2 : samples};
}

static void pc_hand_over(struct pc_context *c, rgm_cupti_pc_data *data, bool all) {
    int64_t now = monotonic();
    data->count = data->remaining = 0;
    data->total = data->no_record = (uint64_t)FAKE_VALUE(pc_no_record);
    data->dropped = (uint64_t)FAKE_VALUE(pc_dropped);
    data->total += data->dropped;
    while (c->count && (all || c->kernels[0].end_ns <= now)) {
        for (; c->given < PC_PLACES && data->count < data->room; c->given++) {
            pc_fill(&data->pcs[data->count], &c->kernels[0], c->given);
            data->total += data->pcs[data->count++].stalls[0].samples;
        }
        if (c->given < PC_PLACES) break;
        memmove(c->kernels, c->kernels + 1, --c->count * sizeof *c->kernels);
        c->given = 0;
    }
    for (size_t i = 0; i < c->count; i++)
        if (all || c->kernels[i].end_ns <= now) data->remaining += PC_PLACES - (i ? 0 : c->given);
}

#define PC_ENTER(name, bytes)                                                                                \
    REFUSE(name);                                                                                            \
    if (p->size != (bytes)) return pc_misuse(RGM_CUPTI_INVALID_PARAMETER);                                   \
    int result = RGM_CUPTI_SUCCESS;                                                                          \
    pthread_mutex_lock(&mutex);                                                                              \
    struct pc_context *c = pc_of(p->context)
#define PC_LEAVE                                                                                             \
    pthread_mutex_unlock(&mutex);                                                                            \
    return result

static int pc_device(void *context) {
    int (*push)(void *) = NULL, (*pop)(void **) = NULL, (*of)(int *) = NULL, device = -1;
    void *address = of_driver("cuCtxPushCurrent_v2"), *left;
    memcpy(&push, &address, sizeof address);
    address = of_driver("cuCtxPopCurrent_v2");
    memcpy(&pop, &address, sizeof address);
    address = of_driver("cuCtxGetDevice");
    memcpy(&of, &address, sizeof address);
    if (!push || push(context) != 0) return -1;
    (void)of(&device);
    (void)pop(&left);
    return device;
}

static int pc_new(void *context, int device) {
    struct pc_context *free = NULL;
    if (device < 0) return RGM_CUPTI_INVALID_CONTEXT;
    for (int i = 0; i < PC_CONTEXTS; i++) {
        if (pc_contexts[i].enabled && pc_contexts[i].device == device)
            return pc_misuse(RGM_CUPTI_INVALID_OPERATION);
        if (!pc_contexts[i].enabled && !free) free = &pc_contexts[i];
    }
    if (!free) return RGM_CUPTI_MAX_LIMIT_REACHED;
    *free = (struct pc_context){.context = context, .enabled = true, .device = device};
    FAKE_VALUE(pc_contexts)++;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT int cuptiPCSamplingEnable(rgm_cupti_pc_control *p) {
    int device = pc_device(p->context);
    pc_check_thread(p->context);
    owner = owner ? owner : getpid();
    PC_ENTER(PCSamplingEnable, 24);
    result = c ? pc_misuse(RGM_CUPTI_INVALID_OPERATION) : pc_new(p->context, device);
    pthread_mutex_unlock(&mutex);
    if (result == RGM_CUPTI_SUCCESS) hear(true);
    return result;
}

FAKE_EXPORT int cuptiPCSamplingDisable(rgm_cupti_pc_control *p) {
    PC_ENTER(PCSamplingDisable, 24);
    if (!c) {
        result = pc_misuse(RGM_CUPTI_INVALID_OPERATION);
    } else {
        if (c->data) pc_hand_over(c, c->data, true);
        c->enabled = false;
        FAKE_VALUE(pc_contexts)--;
    }
    pthread_mutex_unlock(&mutex);
    if (result == RGM_CUPTI_SUCCESS) hear(false);
    return result;
}

FAKE_EXPORT int cuptiPCSamplingStart(rgm_cupti_pc_control *p) {
    pc_check_thread(p->context);
    PC_ENTER(PCSamplingStart, 24);
    if (!c || !c->controlled || c->started)
        result = pc_misuse(RGM_CUPTI_INVALID_OPERATION);
    else
        c->started = true;
    PC_LEAVE;
}

FAKE_EXPORT int cuptiPCSamplingStop(rgm_cupti_pc_control *p) {
    PC_ENTER(PCSamplingStop, 24);
    if (!c || !c->started)
        result = pc_misuse(RGM_CUPTI_INVALID_OPERATION);
    else
        c->started = false;
    PC_LEAVE;
}

static int pc_set(struct pc_context *c, const rgm_cupti_pc_attribute *a) {
    switch (a->attribute) {
    case RGM_CUPTI_PC_PERIOD:
        if (a->value.number < 5 || a->value.number > 31) return RGM_CUPTI_INVALID_OPERATION;
        FAKE_VALUE(pc_period) = a->value.number;
        return 0;
    case RGM_CUPTI_PC_STALL_REASONS:
        return a->value.reasons.count > PC_REASONS ? RGM_CUPTI_INVALID_OPERATION : 0;
    case RGM_CUPTI_PC_MODE:
        return a->value.choice == RGM_CUPTI_PC_CONTINUOUS ? 0 : RGM_CUPTI_INVALID_OPERATION;
    case RGM_CUPTI_PC_START_STOP: c->controlled = a->value.number == 1; return 0;
    case RGM_CUPTI_PC_DATA:
        c->data = a->value.data;
        return c->data->size == PC_DATA_BYTES ? 0 : pc_misuse(RGM_CUPTI_INVALID_OPERATION);
    default: return a->attribute > 0 && a->attribute < 10 ? 0 : RGM_CUPTI_INVALID_PARAMETER;
    }
}

FAKE_EXPORT int cuptiPCSamplingSetConfigurationAttribute(rgm_cupti_pc_configuration *p) {
    pc_check_thread(p->context);
    PC_ENTER(PCSamplingSetConfigurationAttribute, 40);
    if (!c || c->started) result = pc_misuse(RGM_CUPTI_INVALID_OPERATION);
    for (size_t i = 0; c && i < p->count; i++) {
        p->attributes[i].status = pc_set(c, &p->attributes[i]);
        if (p->attributes[i].status) result = RGM_CUPTI_INVALID_OPERATION;
    }
    PC_LEAVE;
}

FAKE_EXPORT int cuptiPCSamplingGetConfigurationAttribute(rgm_cupti_pc_configuration *p) {
    PC_ENTER(PCSamplingGetConfigurationAttribute, 40);
    if (!c || p->count != 1 || p->attributes[0].attribute != RGM_CUPTI_PC_PERIOD)
        result = pc_misuse(RGM_CUPTI_INVALID_PARAMETER);
    else
        p->attributes[0].value.number = (uint32_t)FAKE_VALUE(pc_period);
    PC_LEAVE;
}

FAKE_EXPORT int cuptiPCSamplingGetData(rgm_cupti_pc_get_data *p) {
    if (FAKE_VALUE(hang_PCSamplingGetData)) {
        pthread_mutex_lock(&mutex);
        bool known = pc_of(p->context) != NULL;
        pthread_mutex_unlock(&mutex);
        FAKE_VALUE(pc_hanging)++;
        hang_while(FAKE_hang_PCSamplingGetData);
        FAKE_VALUE(pc_hanging)--;
        pthread_mutex_lock(&mutex);
        bool ended = known && !pc_of(p->context);
        pthread_mutex_unlock(&mutex);
        if (ended) return RGM_CUPTI_INVALID_CONTEXT;
    }
    PC_ENTER(PCSamplingGetData, 32);
    rgm_cupti_pc_data *data = p->data;
    if (!c || !data || data->size != PC_DATA_BYTES) {
        result = pc_misuse(RGM_CUPTI_INVALID_OPERATION);
    } else if (++FAKE_VALUE(pc_collections) == FAKE_VALUE(pc_full_at)) {
        data->count = 0;
        data->full = 1;
        result = RGM_CUPTI_OUT_OF_MEMORY;
    } else {
        pc_hand_over(c, data, false);
    }
    PC_LEAVE;
}

FAKE_EXPORT int cuptiPCSamplingGetNumStallReasons(rgm_cupti_pc_reason_count *p) {
    PC_ENTER(PCSamplingGetNumStallReasons, 32);
    if (!c) result = pc_misuse(RGM_CUPTI_INVALID_OPERATION);
    *p->count = PC_REASONS;
    PC_LEAVE;
}

FAKE_EXPORT int cuptiPCSamplingGetStallReasons(rgm_cupti_pc_reasons *p) {
    PC_ENTER(PCSamplingGetStallReasons, 48);
    if (!c || p->count != PC_REASONS) result = pc_misuse(RGM_CUPTI_INVALID_PARAMETER);
    for (size_t i = 0; i < PC_REASONS && result == 0; i++) {
        p->indices[i] = pc_reasons[i].index;
        (void)snprintf(p->names[i], RGM_CUPTI_STALL_NAME, "%s", pc_reasons[i].name);
    }
    PC_LEAVE;
}

FAKE_EXPORT int cuptiRegisterComputeCrcCallback(rgm_cupti_number_cubin number) {
    REFUSE(RegisterComputeCrcCallback);
    if (!number) return RGM_CUPTI_INVALID_PARAMETER;
    if (!pc_number) hear(true); // for the rest of the process: it cannot be taken back
    pc_number = number;
    return RGM_CUPTI_SUCCESS;
}

static bool pc_has_lines(const void *cubin, size_t bytes) {
    static const char name[] = ".debug_line";
    return memmem(cubin, bytes, name, sizeof name) != NULL;
}

FAKE_EXPORT int cuptiGetSassToSourceCorrelation(rgm_cupti_source_line *p) {
    static const struct {
        uint64_t until;
        uint32_t line;
    } lines[] = {{0x10, 3}, {0x50, 4}, {0x80, 5}, {0x110, 6}, {0x120, 7}};
    REFUSE(GetSassToSourceCorrelation);
    if (p->size != 64 || !p->cubin || !p->function || !p->cubin_bytes)
        return pc_misuse(RGM_CUPTI_INVALID_PARAMETER);
    if (strcmp(p->function, "add") != 0) return RGM_CUPTI_INVALID_PARAMETER;
    p->line = 0;
    p->file = p->folder = NULL;
    if (!pc_has_lines(p->cubin, p->cubin_bytes)) return RGM_CUPTI_SUCCESS;
    for (size_t i = 0; i < sizeof lines / sizeof *lines && !p->line; i++)
        if (p->offset < lines[i].until) p->line = lines[i].line;
    if (p->line) p->file = strdup("add.cu"), p->folder = strdup("/tmp/kernels");
    return RGM_CUPTI_SUCCESS;
}

#endif
