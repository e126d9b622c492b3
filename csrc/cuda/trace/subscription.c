// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/subscription.h"

#include <string.h>

#include "cuda/trace/tracing_state.h"

// Versions of the interface: from which on several tools are served, and from which on each has a clock of
// its own. One for all would move the times of the others. Where a clock of one tool works without records of
// time zero.
enum {
    SEVERAL_FROM = 130300,
    CLOCK_OF_EACH_FROM = 130400,
    CLOCK_FAULTY_FROM = 24,
    CLOCK_FAULTY_BEFORE = 130100
};

// --- open and close ---------------------------------------------------------------------------------------

static bool others_are_there(const rgm_cupti *cupti) {
    uint8_t state = RGM_CUPTI_SEVERAL_NOT_SET;
    size_t size = sizeof state;
    (void)cupti->get_attribute_of(NULL, RGM_CUPTI_ATTRIBUTE_SEVERAL, &size, &state);
    return state != RGM_CUPTI_SEVERAL_NOT_SET;
}

static rgm_cupti_result open_beside(rgm_subscription *s, rgm_cupti_callback callback) {
    RGM_PARAMS(rgm_cupti_subscriber_parameters, p, padding);
    if (!rgm_cupti_can(s->cupti, RGM_CUPTI_SUBSCRIBERS) || s->cupti->version < SEVERAL_FROM)
        return RGM_CUPTI_NOT_SUPPORTED;
    p.name = "regimeter";
    p.other = s->other;
    p.other_size = sizeof s->other;
    p.allow_several = 1;
    s->first = !others_are_there(s->cupti);
    rgm_cupti_result result = s->cupti->subscribe_of(&s->handle, callback, NULL, &p);
    s->other[sizeof s->other - 1] = '\0';
    s->several = s->open = result == RGM_CUPTI_SUCCESS;
    return result;
}

static rgm_cupti_result open_alone(rgm_subscription *s, rgm_cupti_callback callback) {
    rgm_cupti_result result = s->cupti->subscribe(&s->handle, callback, NULL);
    s->open = result == RGM_CUPTI_SUCCESS;
    return result;
}

bool rgm_subscription_is_taken(rgm_cupti_result result) {
    return result == RGM_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == RGM_CUPTI_MAX_LIMIT_REACHED;
}

rgm_cupti_result rgm_subscription_open(rgm_subscription *s, const rgm_cupti *cupti, int64_t how_far,
                                       rgm_cupti_callback callback) {
    *s = (rgm_subscription){.cupti = cupti};
    if (how_far >= RGM_SUBSCRIBE_ALLOW && open_beside(s, callback) == RGM_CUPTI_SUCCESS)
        return RGM_CUPTI_SUCCESS;
    rgm_cupti_result result = open_alone(s, callback);
    if (how_far == RGM_SUBSCRIBE_JOIN && rgm_subscription_is_taken(result) &&
        open_beside(s, callback) == RGM_CUPTI_SUCCESS)
        return RGM_CUPTI_SUCCESS;
    return result;
}

// The handle stays: buffers that came late are still read with it.
void rgm_subscription_close(rgm_subscription *s) {
    if (s->open) (void)s->cupti->unsubscribe(s->handle);
    s->open = false;
}

// --- buffers ----------------------------------------------------------------------------------------------

static void requested_by_several(uint8_t **buffer, size_t *size, size_t *most_records, const void *info) {
    (void)info;
    rgm_trace_requested(buffer, size, most_records);
}

static void completed_by_several(uint8_t *buffer, size_t size, size_t valid, const void *info) {
    (void)info;
    rgm_trace_completed(NULL, 0, buffer, size, valid);
}

rgm_cupti_result rgm_subscription_use_buffers(const rgm_subscription *s) {
    if (s->several)
        return s->cupti->register_callbacks_of(s->handle, requested_by_several, completed_by_several);
    return s->cupti->register_callbacks(rgm_trace_requested, rgm_trace_completed);
}

rgm_cupti_result rgm_subscription_next(const rgm_subscription *s, uint8_t *buffer, size_t valid,
                                       void **record) {
    return s->several ? s->cupti->next_record_of(s->handle, buffer, valid, record)
                      : s->cupti->next_record(buffer, valid, record);
}

rgm_cupti_result rgm_subscription_dropped(const rgm_subscription *s, size_t *count) {
    return s->several ? s->cupti->dropped_records_of(s->handle, NULL, 0, count)
                      : s->cupti->dropped_records(NULL, 0, count);
}

// --- kinds ------------------------------------------------------------------------------------------------

rgm_cupti_result rgm_subscription_enable(const rgm_subscription *s, int kind) {
    return s->several ? s->cupti->enable_of(s->handle, kind, NULL) : s->cupti->enable(kind);
}

rgm_cupti_result rgm_subscription_enable_and_dump(const rgm_subscription *s, int kind) {
    if (s->several) return s->cupti->enable_and_dump_of(s->handle, kind, NULL);
    return rgm_cupti_can(s->cupti, RGM_CUPTI_DUMP) ? s->cupti->enable_and_dump(kind) : s->cupti->enable(kind);
}

rgm_cupti_result rgm_subscription_disable(const rgm_subscription *s, int kind) {
    return s->several ? s->cupti->disable_of(s->handle, kind, NULL) : s->cupti->disable(kind);
}

// --- attributes -------------------------------------------------------------------------------------------

rgm_cupti_result rgm_subscription_set(const rgm_subscription *s, int attribute, size_t size, void *value) {
    if (s->several) return s->cupti->set_attribute_of(s->handle, attribute, &size, value);
    if (!rgm_cupti_can(s->cupti, RGM_CUPTI_ATTRIBUTES)) return RGM_CUPTI_NOT_SUPPORTED;
    return s->cupti->set_attribute(attribute, &size, value);
}

rgm_cupti_result rgm_subscription_set_thread_ids(const rgm_subscription *s, int type) {
    if (s->several) return rgm_subscription_set(s, RGM_CUPTI_ATTRIBUTE_THREAD_IDS, sizeof type, &type);
    if (!rgm_cupti_can(s->cupti, RGM_CUPTI_THREAD_IDS)) return RGM_CUPTI_NOT_SUPPORTED;
    return s->cupti->set_thread_ids(type);
}

rgm_cupti_result rgm_subscription_set_queue_times(const rgm_subscription *s, uint8_t on) {
    if (s->several) return rgm_subscription_set(s, RGM_CUPTI_ATTRIBUTE_QUEUE_TIMES, sizeof on, &on);
    if (!rgm_cupti_can(s->cupti, RGM_CUPTI_QUEUE_TIMES)) return RGM_CUPTI_NOT_SUPPORTED;
    return s->cupti->enable_queue_times(on);
}

bool rgm_subscription_set_clock(const rgm_subscription *s, rgm_cupti_clock clock) {
    uint32_t version = s->cupti->version;
    if (s->several)
        return version >= CLOCK_OF_EACH_FROM &&
               rgm_subscription_set(s, RGM_CUPTI_ATTRIBUTE_CLOCK, sizeof clock, &clock) == RGM_CUPTI_SUCCESS;
    bool sound = version < CLOCK_FAULTY_FROM || version >= CLOCK_FAULTY_BEFORE;
    return sound && rgm_cupti_can(s->cupti, RGM_CUPTI_CLOCK) &&
           s->cupti->register_clock(clock) == RGM_CUPTI_SUCCESS;
}

bool rgm_subscription_choose_graph_nodes(const rgm_subscription *s, bool wanted) {
    uint8_t whole = !wanted;
    size_t size = sizeof whole;
    if (!s->several) return wanted;
    if (s->first) (void)rgm_subscription_set(s, RGM_CUPTI_ATTRIBUTE_WHOLE_GRAPHS, sizeof whole, &whole);
    (void)s->cupti->get_attribute_of(s->handle, RGM_CUPTI_ATTRIBUTE_WHOLE_GRAPHS, &size, &whole);
    return !whole;
}

rgm_cupti_result rgm_subscription_time(const rgm_subscription *s, uint64_t *now) {
    return s->several ? s->cupti->get_timestamp_of(s->handle, now) : s->cupti->get_timestamp(now);
}
