// SPDX-License-Identifier: Apache-2.0
#include "capture/device.h"

#include "capture/session_state.h"

static void on_interval(void *arg, const rgm_interval_row *row) {
    rgm_session_rows(arg, RGM_LOG_INTERVALS, row, 1);
}

static void on_activities(void *arg, const rgm_activity_row *rows, size_t count) {
    rgm_session_rows(arg, RGM_LOG_ACTIVITIES, rows, count);
}

static void on_memory(void *arg, const rgm_device_memory_row *rows, size_t count) {
    rgm_session_rows(arg, RGM_LOG_DEVICE_MEMORY, rows, count);
}

static void on_queue_times(void *arg, const rgm_queue_time_row *rows, size_t count) {
    rgm_session_rows(arg, RGM_LOG_QUEUE_TIMES, rows, count);
}

static void on_counters(void *arg, const rgm_counter_row *rows, size_t count) {
    rgm_session_rows(arg, RGM_LOG_VALUES, rows, count);
}

static void on_stalls(void *arg, const rgm_stall_row *rows, size_t count) {
    rgm_session_rows(arg, RGM_LOG_STALLS, rows, count);
}

static uint32_t innermost(const rgm_track *track) {
    const rgm_frame *frame = rgm_innermost_open(atomic_load_explicit(&track->top, memory_order_relaxed));
    if (frame) return atomic_load_explicit(&frame->seq, memory_order_relaxed);
    return rgm_frame_outer(track->outer, track->outer_seq);
}

static void on_call(void *arg, uint64_t begin, uint64_t end, uint32_t name, uint32_t correlation) {
    rgm_session *session = arg;
    uint64_t id = rgm_session_id(session);
    rgm_recorder *recorder = id ? rgm_recorder_get(session, id) : NULL;
    if (!recorder) return;
    uint64_t ticks = end > begin ? end - begin : 0;
    const rgm_track *track = recorder->track;
    rgm_record record = {
        .start = begin,
        .value_track = rgm_record_pack(ticks, track ? track->index : 0),
        .seq = correlation,
        .parent = track ? innermost(track) : RGM_RECORD_NO_PARENT,
        .site = name,
        .info = (uint32_t)RGM_RECORD_CALL << RGM_RECORD_FLAG_BITS,
    };
    (void)rgm_recorder_write(recorder, &record); // counted when there is no room
}

static uint32_t on_intern(void *arg, const char *text, size_t length) {
    rgm_session *session = arg;
    uint32_t id = 0;
    if (rgm_strings_intern(&session->strings, text, length, &id, NULL) == RGM_OK) return id;
    rgm_session_note(session, RGM_ANOMALY_DROPPED_NAMES, 1);
    return 0;
}

static void on_note(void *arg, rgm_anomaly code, int64_t count) { rgm_session_note(arg, code, count); }

rgm_device_sink rgm_session_sink(rgm_session *session) {
    return (rgm_device_sink){.arg = session,
                             .interval = on_interval,
                             .activities = on_activities,
                             .memory = on_memory,
                             .queue_times = on_queue_times,
                             .counters = on_counters,
                             .stalls = on_stalls,
                             .call = on_call,
                             .intern = on_intern,
                             .note = on_note};
}
