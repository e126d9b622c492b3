// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_era.h"

#include "base/list.h"
#include "base/memory.h"

// 18 March and 1 July 2024, in nanoseconds: nightly builds of the fortnight were used for weeks.
static const int64_t first_ns = INT64_C(1710720000000000000), last_ns = INT64_C(1719792000000000000);
static const uint32_t tens[4] = {1, 10, 100, 1000};

static void reject(rgm_trace_era *era) {
    era->state = RGM_ERA_DECIMAL;
    rgm_free(era->fractions);
    era->fractions = NULL;
    era->n_fractions = era->capacity = 0;
}

static rgm_status add(rgm_trace_era *era, rgm_era_fraction fraction, rgm_error *err) {
    RGM_TRY(RGM_LIST_ROOM(era->fractions, era->n_fractions, era->capacity, 256, err));
    era->fractions[era->n_fractions++] = fraction;
    return RGM_OK;
}

// The parser leaves the number of decimals in `length` and their digits in `traits`.
static rgm_status look_at(rgm_trace_era *era, const rgm_event_value *time, uint8_t place, size_t row,
                          rgm_error *err) {
    uint32_t digits = time->length, value = time->traits;
    if (digits == 0 || (digits == 1 && value == 0)) return RGM_OK;
    if (digits > 3 || (digits > 1 && value < tens[digits - 1])) {
        reject(era);
        return RGM_OK;
    }
    if (place != 1 && value * tens[3 - digits] % 250 != 0) era->odd = true;
    if (digits == 3) return RGM_OK;
    return add(era, (rgm_era_fraction){(uint32_t)row, (uint16_t)value, (uint8_t)digits, place}, err);
}

rgm_status rgm_trace_era_look(rgm_trace_era *era, const rgm_event *event, bool flow, size_t row,
                              rgm_error *err) {
    const rgm_event_value *ts = &event->value[RGM_FIELD_TS];
    if (era->state == RGM_ERA_DECIMAL) return RGM_OK;
    if (ts->number < first_ns || ts->number >= last_ns) { // one event of another time settles it
        reject(era);
        return RGM_OK;
    }
    era->state = RGM_ERA_POSSIBLE;
    RGM_TRY(look_at(era, ts, flow ? 2 : 0, row, err));
    if (era->state != RGM_ERA_POSSIBLE || flow || !rgm_event_has(event, RGM_FIELD_DUR)) return RGM_OK;
    return look_at(era, &event->value[RGM_FIELD_DUR], 1, row, err);
}

rgm_status rgm_trace_era_join(rgm_trace_era *to, const rgm_trace_era *from, size_t first_span,
                              size_t first_flow, rgm_error *err) {
    if (from->state == RGM_ERA_DECIMAL) reject(to);
    if (to->state == RGM_ERA_DECIMAL || from->state == RGM_ERA_UNKNOWN) return RGM_OK;
    to->state = RGM_ERA_POSSIBLE;
    to->odd = to->odd || from->odd;
    for (size_t i = 0; i < from->n_fractions; i++) {
        rgm_era_fraction fraction = from->fractions[i];
        fraction.row += (uint32_t)(fraction.place == 2 ? first_flow : first_span);
        RGM_TRY(add(to, fraction, err));
    }
    return RGM_OK;
}

int64_t rgm_trace_era_apply(const rgm_trace_era *era, rgm_run *run, int64_t base_ns) {
    if (era->state != RGM_ERA_POSSIBLE || !era->odd || base_ns != 0) return 0;
    for (size_t i = 0; i < era->n_fractions; i++) {
        const rgm_era_fraction *f = &era->fractions[i];
        int64_t *time = f->place == 0   ? &run->spans.start_ns[f->row]
                        : f->place == 1 ? &run->spans.duration_ns[f->row]
                                        : &run->flows.time_ns[f->row];
        *time -= (int64_t)f->digits_value * (tens[3 - f->digits] - 1);
    }
    return (int64_t)era->n_fractions;
}
