// SPDX-License-Identifier: Apache-2.0
// Who has subscribed to the double of CUPTI: one tool by the first version of the functions, or several by
// the second. A part of cupti.c, which includes it once.
#ifndef RGM_FAKES_CUPTI_CLIENTS_H
#define RGM_FAKES_CUPTI_CLIENTS_H

enum { KINDS = 64, DOMAINS = 4, IDS = 1024, BUFFERS = 512, CLIENTS = 3 };

typedef struct client client;
typedef struct {
    client *of;
    uint8_t *data;
    size_t size, used;
    int64_t ready_ns; // CLOCK_MONOTONIC: when all its work has ended
    long long records;
} buffer;

struct client {
    bool subscribed;
    rgm_cupti_callback callback;
    void *user;
    rgm_cupti_requested requested;
    rgm_cupti_completed completed;
    rgm_cupti_requested_of requested_of;
    rgm_cupti_completed_of completed_of;
    bool kinds[KINDS], ids[DOMAINS][IDS];
    buffer current, full[BUFFERS];
    size_t full_count;
    char name[RGM_CUPTI_SUBSCRIBER_NAME];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
// The first is that of the first version, the others are those of the second.
static client clients[CLIENTS];
static int allowed = RGM_CUPTI_SEVERAL_NOT_SET;
static uint8_t whole_graphs; // of all clients of the second version

static bool are_several(void) {
    for (int i = 1; i < CLIENTS; i++)
        if (clients[i].subscribed) return true;
    return false;
}

// Of a call of the first version beside clients of the second.
#define REFUSE_MIXED()                                                                                       \
    if (are_several()) return RGM_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED

// Those that hear of this id, without holding the mutex while they are told.
typedef struct {
    rgm_cupti_callback callback;
    void *user;
} listener;

static size_t listeners_of(int domain, uint32_t id, listener out[CLIENTS]) {
    size_t count = 0;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < CLIENTS; i++)
        if (clients[i].callback && id < IDS && clients[i].ids[domain][id])
            out[count++] = (listener){clients[i].callback, clients[i].user};
    pthread_mutex_unlock(&mutex);
    return count;
}

#endif
