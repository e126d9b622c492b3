// SPDX-License-Identifier: Apache-2.0
#include "cuda/stalls/stall_devices.h"

#include <stdio.h>

void rgm_stall_devices_read(rgm_stall_devices *d) {
    if (d->driver->device_count(&d->count) != RGM_CU_SUCCESS) d->count = 0;
    if (d->count > RGM_STALL_DEVICES) d->count = RGM_STALL_DEVICES;
    for (int i = 0; i < d->count; i++)
        if (d->driver->device_get(&d->handles[i], i) != RGM_CU_SUCCESS) d->seen[i] = RGM_STALL_REFUSED;
}

static bool has_primary(const rgm_stall_devices *d, int ordinal) {
    unsigned flags;
    int active = 0;
    return d->driver->primary_state(d->handles[ordinal], &flags, &active) == RGM_CU_SUCCESS && active;
}

// Of a retained one the program may have reset the device; of the others it is heard.
static bool is_alive(const rgm_stall_devices *d, int ordinal) {
    return d->seen[ordinal] == RGM_STALL_SAMPLED && (!d->retained[ordinal] || has_primary(d, ordinal));
}

static void set_free(rgm_stall_devices *d, int ordinal) {
    rgm_stall_context_release(&d->contexts[ordinal]);
    d->seen[ordinal] = RGM_STALL_UNSEEN;
    d->retained[ordinal] = false;
}

// --- taking up --------------------------------------------------------------------------------------------

static bool take_up(rgm_stall_devices *d, int ordinal, rgm_cu_context context) {
    rgm_error err = RGM_ERROR_NONE;
    rgm_stall_context *c = &d->contexts[ordinal];
    *c = (rgm_stall_context){.driver = d->driver,
                             .cupti = d->cupti,
                             .lines = d->lines,
                             .context = context,
                             .device = (int16_t)ordinal,
                             .figures = c->figures};
    bool started = rgm_stall_context_start(c, &d->setting, d->names->sink, &err) == RGM_OK;
    d->seen[ordinal] = started ? RGM_STALL_SAMPLED : RGM_STALL_REFUSED;
    d->retained[ordinal] = false;
    if (started && !d->counted[ordinal] && !d->sampled++) d->period = c->period;
    d->counted[ordinal] |= started;
    if (!started && !d->reason[0]) (void)snprintf(d->reason, sizeof d->reason, "%s", err.message);
    return started;
}

static void take_up_primary(rgm_stall_devices *d, int ordinal) {
    rgm_cu_context context;
    if (d->driver->primary_retain(&context, d->handles[ordinal]) != RGM_CU_SUCCESS) return;
    d->retained[ordinal] = take_up(d, ordinal, context);
    if (!d->retained[ordinal]) (void)d->driver->primary_release(d->handles[ordinal]);
}

static void take_up_waiting(rgm_stall_devices *d) {
    size_t kept = 0;
    for (size_t i = 0; i < d->waiting_count; i++) {
        int ordinal = d->waiting[i].ordinal;
        if (d->seen[ordinal] == RGM_STALL_UNSEEN)
            (void)take_up(d, ordinal, d->waiting[i].context);
        else
            d->waiting[kept++] = d->waiting[i];
    }
    d->waiting_count = kept;
}

void rgm_stall_devices_look(rgm_stall_devices *d) {
    take_up_waiting(d);
    for (int i = 0; i < d->count; i++) {
        if (d->retained[i] && !has_primary(d, i)) set_free(d, i); // the program has reset the device
        if (d->seen[i] == RGM_STALL_UNSEEN && has_primary(d, i)) take_up_primary(d, i);
    }
}

// --- what is heard ----------------------------------------------------------------------------------------

// In the call that makes it a context of cuCtxCreate is current, and a primary one is not.
static int ordinal_of(const rgm_stall_devices *d, rgm_cu_context context) {
    rgm_cu_device device;
    rgm_cu_context now = NULL, left;
    bool current = d->driver->context_current(&now) == RGM_CU_SUCCESS && now == context;
    if (!current && d->driver->context_push(context) != RGM_CU_SUCCESS) return -1;
    bool known = d->driver->context_device(&device) == RGM_CU_SUCCESS;
    if (!current) (void)d->driver->context_pop(&left);
    for (int i = 0; known && i < d->count; i++)
        if (d->handles[i] == device) return i;
    return -1;
}

void rgm_stall_devices_made(rgm_stall_devices *d, rgm_cu_context context) {
    int ordinal = ordinal_of(d, context);
    if (ordinal < 0) return;
    bool known = d->seen[ordinal] == RGM_STALL_SAMPLED && d->contexts[ordinal].context == context;
    if (!known && d->waiting_count < RGM_STALL_WAITING) {
        d->waiting[d->waiting_count].context = context;
        d->waiting[d->waiting_count++].ordinal = ordinal;
    } else if (!known) {
        d->no_place++;
    }
    take_up_waiting(d);
}

static int let_go(rgm_stall_devices *d, rgm_cu_context context) {
    size_t kept = 0;
    for (size_t i = 0; i < d->waiting_count; i++)
        if (d->waiting[i].context != context) d->waiting[kept++] = d->waiting[i];
    d->waiting_count = kept;
    for (int i = 0; i < d->count; i++)
        if (d->seen[i] == RGM_STALL_SAMPLED && d->contexts[i].context == context) return i;
    return -1;
}

void rgm_stall_devices_ends(rgm_stall_devices *d, rgm_cu_context context) {
    int ordinal = let_go(d, context);
    if (ordinal >= 0) {
        rgm_stall_context_stop(&d->contexts[ordinal], d->names);
        set_free(d, ordinal);
    }
    take_up_waiting(d);
}

void rgm_stall_devices_forget(rgm_stall_devices *d, rgm_cu_context context) {
    int ordinal = let_go(d, context);
    if (ordinal >= 0) set_free(d, ordinal);
}

void rgm_stall_devices_forget_untold(rgm_stall_devices *d) {
    d->waiting_count = 0;
    for (int i = 0; i < d->count; i++)
        if (d->seen[i] == RGM_STALL_SAMPLED && !d->retained[i]) set_free(d, i);
}

// --- collecting and the end -------------------------------------------------------------------------------

void rgm_stall_devices_collect(rgm_stall_devices *d) {
    for (int i = 0; i < d->count; i++)
        if (is_alive(d, i)) rgm_stall_context_collect(&d->contexts[i], d->names);
}

void rgm_stall_devices_stop(rgm_stall_devices *d) {
    for (int i = 0; i < d->count; i++) {
        if (!is_alive(d, i)) continue; // the program has reset the device: there is nothing to end
        rgm_stall_context_stop(&d->contexts[i], d->names);
        if (d->retained[i]) (void)d->driver->primary_release(d->handles[i]);
    }
}

void rgm_stall_devices_release(rgm_stall_devices *d) {
    for (int i = 0; i < d->count; i++) rgm_stall_context_release(&d->contexts[i]);
}
