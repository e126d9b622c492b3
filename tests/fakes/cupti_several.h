// SPDX-License-Identifier: Apache-2.0
// The second version of the functions of the double of CUPTI: each subscriber has kinds, buffers and
// attributes of its own. A part of cupti.c, which includes it once. As NVIDIA documents 13.3: the first says
// whether others may come, a client of the first version excludes all of these and is excluded by them, and
// whether graphs are recorded as a whole is one choice of all, made before any kind is enabled. The clock is
// one for all, so a test of times has one subscriber.
#ifndef RGM_FAKES_CUPTI_SEVERAL_H
#define RGM_FAKES_CUPTI_SEVERAL_H

static client *client_of(rgm_cupti_subscriber subscriber) {
    for (int i = 1; i < CLIENTS; i++)
        if ((void *)subscriber == (void *)&clients[i]) return clients[i].subscribed ? &clients[i] : NULL;
    return NULL;
}

#define ENTER_OF(name)                                                                                       \
    forbid("cupti" #name "_v2");                                                                             \
    client *c = client_of(subscriber);                                                                       \
    if (!c) return RGM_CUPTI_INVALID_PARAMETER

FAKE_EXPORT int cuptiSubscribe_v2(rgm_cupti_subscriber *subscriber, rgm_cupti_callback to, void *user,
                                  rgm_cupti_subscriber_parameters *p) {
    client *c = NULL, *there = NULL;
    forbid("cuptiSubscribe_v2");
    if (!FAKE_VALUE(several)) return RGM_CUPTI_NOT_SUPPORTED;
    if (!p || p->size != 40) return RGM_CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&mutex);
    for (int i = CLIENTS; i-- > 0;) {
        if (clients[i].subscribed) there = &clients[i];
        if (i && !clients[i].subscribed) c = &clients[i];
    }
    if (there && p->other) (void)snprintf(p->other, p->other_size, "CUPTI for %s", there->name);
    bool refused = !c || FAKE_VALUE(taken) || clients[0].subscribed ||
                   (there && (!p->allow_several || allowed != RGM_CUPTI_SEVERAL_ALLOWED));
    if (!refused) {
        *c = (client){.subscribed = true, .callback = to, .user = user};
        (void)snprintf(c->name, sizeof c->name, "%s", p->name ? p->name : "");
        if (!there) allowed = p->allow_several ? RGM_CUPTI_SEVERAL_ALLOWED : RGM_CUPTI_SEVERAL_REFUSED;
        owner = getpid();
        *subscriber = (rgm_cupti_subscriber)(void *)c;
    }
    pthread_mutex_unlock(&mutex);
    if (refused) return RGM_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    FAKE_VALUE(subscribed)++;
    hear(true);
    return 0;
}

FAKE_EXPORT int cuptiActivityRegisterCallbacks_v2(rgm_cupti_subscriber subscriber, rgm_cupti_requested_of ask,
                                                  rgm_cupti_completed_of back) {
    ENTER_OF(ActivityRegisterCallbacks);
    pthread_mutex_lock(&mutex);
    c->requested_of = ask;
    c->completed_of = back;
    pthread_mutex_unlock(&mutex);
    return 0;
}

FAKE_EXPORT int cuptiActivityEnable_v2(rgm_cupti_subscriber subscriber, int kind, void *configuration) {
    if (FAKE_VALUE(refuse_ActivityEnable)) return (int)FAKE_VALUE(refuse_ActivityEnable);
    ENTER_OF(ActivityEnable);
    return set_kind(c, kind, true);
}

FAKE_EXPORT int cuptiActivityEnableAndDump_v2(rgm_cupti_subscriber subscriber, int kind,
                                              void *configuration) {
    ENTER_OF(ActivityEnableAndDump);
    int result = set_kind(c, kind, true);
    if (result == 0) dump_context(c, kind);
    return result;
}

FAKE_EXPORT int cuptiActivityDisable_v2(rgm_cupti_subscriber subscriber, int kind, void *configuration) {
    ENTER_OF(ActivityDisable);
    return set_kind(c, kind, false);
}

FAKE_EXPORT int cuptiActivityGetAttribute_v2(rgm_cupti_subscriber subscriber, int attribute, size_t *size,
                                             void *value) {
    uint8_t told;
    if (!FAKE_VALUE(several)) return RGM_CUPTI_NOT_SUPPORTED;
    if (attribute == RGM_CUPTI_ATTRIBUTE_SEVERAL)
        told = (uint8_t)allowed; // needs no subscriber
    else if (attribute == RGM_CUPTI_ATTRIBUTE_WHOLE_GRAPHS)
        told = whole_graphs;
    else
        return RGM_CUPTI_INVALID_PARAMETER;
    if (*size < sizeof told) return RGM_CUPTI_INVALID_PARAMETER;
    memcpy(value, &told, sizeof told);
    return 0;
}

static bool any_kind(void) {
    for (int i = 0; i < CLIENTS; i++)
        if (memchr(clients[i].kinds, true, sizeof clients[i].kinds)) return true;
    return false;
}

FAKE_EXPORT int cuptiActivitySetAttribute_v2(rgm_cupti_subscriber subscriber, int attribute, size_t *size,
                                             void *value) {
    ENTER_OF(ActivitySetAttribute);
    if (attribute == RGM_CUPTI_ATTRIBUTE_WHOLE_GRAPHS) {
        if (any_kind()) return RGM_CUPTI_INVALID_OPERATION;
        memcpy(&whole_graphs, value, sizeof whole_graphs);
    }
    if (attribute == RGM_CUPTI_ATTRIBUTE_CLOCK) {
        rgm_cupti_clock clock;
        memcpy(&clock, value, sizeof clock);
        user_clock = clock;
    }
    if (attribute == RGM_CUPTI_ATTRIBUTE_QUEUE_TIMES) memcpy(&queue_times, value, sizeof queue_times);
    return 0;
}

FAKE_EXPORT int cuptiActivityGetNextRecord_v2(rgm_cupti_subscriber subscriber, uint8_t *data, size_t valid,
                                              void **record) {
    return subscriber ? layout_next(version(), data, valid, record) : RGM_CUPTI_INVALID_PARAMETER;
}

FAKE_EXPORT int cuptiActivityGetNumDroppedRecords_v2(rgm_cupti_subscriber subscriber, void *context,
                                                     uint32_t stream, size_t *dropped) {
    ENTER_OF(ActivityGetNumDroppedRecords);
    *dropped = (size_t)FAKE_VALUE(drop);
    FAKE_VALUE(drop) = 0;
    return 0;
}

FAKE_EXPORT int cuptiGetTimestamp_v2(rgm_cupti_subscriber subscriber, uint64_t *now) {
    *now = own_clock();
    return subscriber ? 0 : RGM_CUPTI_INVALID_PARAMETER;
}

#endif
