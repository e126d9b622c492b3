// SPDX-License-Identifier: Apache-2.0
#include "model/self_time.h"

#include "model/links.h"

bool rgm_kind_is_host_time(rgm_kind kind) {
    return !rgm_kind_is_work(kind) && kind != RGM_KIND_INSTANT && kind != RGM_KIND_WINDOW &&
           kind != RGM_KIND_COUNTER_RANGE && kind != RGM_KIND_DEVICE_ANNOTATION && kind != RGM_KIND_SYNC;
}

// Moves time forward to `next`.
static void advance(rgm_self_time *self, int64_t next) {
    const rgm_spans *spans = &self->run->spans;
    while (self->depth && self->now < next) {
        uint32_t row = self->open[self->depth - 1];
        int64_t end = spans->start_ns[row] + spans->duration_ns[row], until = end < next ? end : next;
        if (until > self->now) {
            self->take(self->context, row, until - self->now);
            self->now = until;
        }
        if (end <= self->now) self->depth--;
    }
    self->now = next;
}

void rgm_self_time_begin(rgm_self_time *self, uint32_t row) {
    advance(self, self->run->spans.start_ns[row]);
    self->open[self->depth++] = row;
}

void rgm_self_time_end(rgm_self_time *self) {
    advance(self, INT64_MAX);
    self->depth = 0;
    self->now = INT64_MIN;
}
