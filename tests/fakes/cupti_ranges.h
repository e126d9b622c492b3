// SPDX-License-Identifier: Apache-2.0
// Range Profiler of the double of CUPTI: absent in a library of 12.6 before its second update. A part of
// cupti_profiler.c, which includes it once.
#ifndef RGM_FAKES_CUPTI_RANGES_H
#define RGM_FAKES_CUPTI_RANGES_H

#ifndef FAKE_WITHOUT_RANGES
static struct rgm_cupti_ranges_s {
    bool enabled, configured, started, stopped, open;
    data_image *image;
    uint64_t dropped;
} ranges;

FAKE_EXPORT rgm_cupti_result cuptiProfilerGetCounterAvailability(rgm_cupti_range_availability *p) {
    CHECK_SIZE(ProfilerGetCounterAvailability);
    return availability(&p->image_size, p->image);
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerEnable(rgm_cupti_ranges_enable *p) {
    CHECK_SIZE(RangeProfilerEnable);
    REFUSE_IF_ASKED();
    if (ranges.enabled || !p->context) return misuse();
    ranges = (struct rgm_cupti_ranges_s){.enabled = true};
    p->ranges = &ranges;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerDisable(rgm_cupti_ranges_control *p) {
    CHECK_SIZE(RangeProfilerDisable);
    if (!ranges.enabled || p->ranges != &ranges || (ranges.started && !ranges.stopped)) return misuse();
    ranges.enabled = false;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerGetCounterDataSize(rgm_cupti_ranges_data_size *p) {
    CHECK_SIZE(RangeProfilerGetCounterDataSize);
    if (!ranges.enabled || p->max_nodes < p->max_ranges) return misuse();
    p->data_size = sizeof(data_image) + p->max_ranges * sizeof((data_image){0}.rows[0]);
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result
cuptiRangeProfilerCounterDataImageInitialize(rgm_cupti_ranges_data_initialize *p) {
    CHECK_SIZE(RangeProfilerCounterDataImageInitialize);
    return clear_image(p->data, p->data_size);
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerSetConfig(rgm_cupti_ranges_config *p) {
    CHECK_SIZE(RangeProfilerSetConfig);
    REFUSE_IF_ASKED();
    if (!ranges.enabled || !configured(p->image, p->image_size) || p->nesting_levels != 1) return misuse();
    ranges.image = (void *)p->data;
    FAKE_VALUE(range_mode) = p->range;
    FAKE_VALUE(replay_mode) = p->replay;
    FAKE_VALUE(max_ranges) = (long long)p->max_ranges;
    ranges.configured = true;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerStart(rgm_cupti_ranges_control *p) {
    CHECK_SIZE(RangeProfilerStart);
    REFUSE_IF_ASKED();
    if (!ranges.configured || ranges.started) return misuse();
    ranges.started = true;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerStop(rgm_cupti_ranges_stop *p) {
    CHECK_SIZE(RangeProfilerStop);
    if (!ranges.started || ranges.stopped || ranges.open) return misuse();
    ranges.stopped = true;
    p->all_submitted = 1;
    return RGM_CUPTI_SUCCESS;
}

// What NVIDIA says ranges of the user's do not do: wait for the device.
static void drain(void) {
    int (*wait)(void) = NULL;
    void *address = FAKE_VALUE(range_drains) ? of_driver("cuCtxSynchronize") : NULL;
    memcpy(&wait, &address, sizeof address);
    if (wait) (void)wait();
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerPushRange(rgm_cupti_ranges_push *p) {
    CHECK_SIZE(RangeProfilerPushRange);
    if (!ranges.started || ranges.stopped || ranges.open) return misuse();
    drain();
    ranges.open = true;
    if ((long long)ranges.image->count >= FAKE_VALUE(range_limit) ||
        ranges.image->count >= ranges.image->room) {
        ranges.dropped++;
        return RGM_CUPTI_SUCCESS;
    }
    uint64_t row = ranges.image->count++;
    ranges.image->rows[row].number = row;
    (void)snprintf(ranges.image->rows[row].name, sizeof ranges.image->rows[row].name, "%s", p->name);
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerPopRange(rgm_cupti_ranges_control *p) {
    CHECK_SIZE(RangeProfilerPopRange);
    if (!ranges.open) return misuse();
    drain();
    ranges.open = false;
    return FAKE_VALUE(range_pop_fails) ? RGM_CUPTI_UNKNOWN : RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerDecodeData(rgm_cupti_ranges_decode *p) {
    CHECK_SIZE(RangeProfilerDecodeData);
    if (!ranges.stopped) return misuse();
    p->dropped = ranges.dropped;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerGetCounterDataInfo(rgm_cupti_ranges_data_info *p) {
    CHECK_SIZE(RangeProfilerGetCounterDataInfo);
    p->count = ((const data_image *)(const void *)p->data)->count;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiRangeProfilerCounterDataGetRangeInfo(rgm_cupti_ranges_range_info *p) {
    CHECK_SIZE(RangeProfilerCounterDataGetRangeInfo);
    const data_image *image = (const void *)p->data;
    // The library's order of ranges is its own.
    size_t row = image->count - 1 - p->index;
    p->name = image->rows[p->index].name;
    return row < image->count && p->delimiter ? RGM_CUPTI_SUCCESS : misuse();
}
#endif

#endif
