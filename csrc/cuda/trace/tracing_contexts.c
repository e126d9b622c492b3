// SPDX-License-Identifier: Apache-2.0
// Contexts that the program makes and ends, told on its own threads. CUPTI and the driver may hold locks of
// theirs there, so no lock of ours is held over a call of the listener.
#include "base/thread.h"
#include "cuda/trace/tracing_state.h"

void rgm_trace_forget_contexts(rgm_trace *trace) {
    pthread_mutex_init(&trace->context_mutex, NULL);
    rgm_cond_init(&trace->context_told);
    trace->context_listener = NULL;
    trace->context_telling = 0;
}

bool rgm_tracing_on_context(rgm_context_listener listener, void *arg) {
    rgm_trace *trace = &rgm_trace_now;
    rgm_trace_prepare();
    pthread_mutex_lock(&trace->context_mutex);
    bool free = !trace->context_listener;
    if (free) {
        trace->context_listener = listener;
        trace->context_arg = arg;
    }
    pthread_mutex_unlock(&trace->context_mutex);
    return free;
}

void rgm_tracing_off_context(const void *arg) {
    rgm_trace *trace = &rgm_trace_now;
    rgm_trace_prepare();
    pthread_mutex_lock(&trace->context_mutex);
    if (trace->context_listener && trace->context_arg == arg) {
        trace->context_listener = NULL;
        while (trace->context_telling) pthread_cond_wait(&trace->context_told, &trace->context_mutex);
    }
    pthread_mutex_unlock(&trace->context_mutex);
}

// Whoever starts or ends tracing changes its subscription without the lock, but in neither of these states.
bool rgm_tracing_tells_of_contexts(void) {
    rgm_trace *trace = &rgm_trace_now;
    rgm_trace_prepare();
    pthread_mutex_lock(&trace->mutex);
    bool settled = trace->state == RGM_TRACING_RUNNING || trace->state == RGM_TRACING_ATTACHED;
    bool tells = settled && !trace->in_start && trace->subscription.open;
    pthread_mutex_unlock(&trace->mutex);
    return tells;
}

static void tell(rgm_trace *trace, rgm_cu_context context, bool made) {
    pthread_mutex_lock(&trace->context_mutex);
    rgm_context_listener listener = trace->context_listener;
    void *arg = trace->context_arg;
    trace->context_telling += listener != NULL;
    pthread_mutex_unlock(&trace->context_mutex);
    if (!listener) return;
    listener(arg, context, made);
    pthread_mutex_lock(&trace->context_mutex);
    if (--trace->context_telling == 0) pthread_cond_broadcast(&trace->context_told);
    pthread_mutex_unlock(&trace->context_mutex);
}

bool rgm_tracing_is_of_context(int domain, uint32_t id) {
    return domain == RGM_CUPTI_RESOURCE && (id == RGM_CUPTI_CONTEXT_CREATED || id == RGM_CUPTI_CONTEXT_ENDS);
}

void rgm_tracing_hear_context(void *user, int domain, uint32_t id, const void *data) {
    const rgm_cupti_resource *resource = data;
    (void)user;
    if (rgm_tracing_is_of_context(domain, id) && resource->context)
        tell(&rgm_trace_now, resource->context, id == RGM_CUPTI_CONTEXT_CREATED);
}
