// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_devices.h"

#include "io/json/json_value.h"
#include "io/trace/trace_finish.h"

enum { NVIDIA_WARP = 32 };

static int32_t number(const uint8_t *object, size_t length, const char *key) {
    int64_t value = rgm_trace_member_number(object, length, key, 0);
    return value > 0 && value <= INT32_MAX ? (int32_t)value : 0;
}

static void read_device(rgm_trace_devices *devices, const uint8_t *object, size_t length) {
    int64_t id = rgm_trace_member_number(object, length, "id", -1);
    rgm_device_limits limits = {
        .major = number(object, length, "computeMajor"),
        .minor = number(object, length, "computeMinor"),
        .warp_threads = number(object, length, "warpSize"),
        .threads = number(object, length, "maxThreadsPerMultiprocessor"),
        .registers = number(object, length, "regsPerMultiprocessor"),
        .shared_bytes = number(object, length, "sharedMemPerMultiprocessor"),
    };
    bool whole = limits.threads && limits.registers && limits.shared_bytes;
    if (id < 0 || id >= RGM_TRACE_DEVICES || limits.warp_threads != NVIDIA_WARP || !whole ||
        !rgm_device_limits_complete(&limits))
        return;
    devices->limits[id] = limits;
    devices->any = true;
}

void rgm_trace_devices_read(rgm_trace_devices *devices, const uint8_t *value, size_t size) {
    const uint8_t *at = value, *end = value + size;
    *devices = (rgm_trace_devices){0};
    if (!size || *at++ != '[') return;
    while (at < end && *at == '{') {
        const uint8_t *device = at;
        if (rgm_json_skip(&at, end) != RGM_JSON_WHOLE) return;
        read_device(devices, device, (size_t)(at - device));
        if (at < end && *at == ',') at++;
    }
}

static const rgm_device_limits *limits_of(const rgm_trace_devices *devices, const rgm_run *run,
                                          uint32_t span) {
    int16_t device = run->lanes.device[run->spans.lane[span]];
    bool known = device >= 0 && device < RGM_TRACE_DEVICES && devices->limits[device].major > 0;
    return known ? &devices->limits[device] : NULL;
}

rgm_status rgm_trace_devices_apply(const rgm_trace_devices *devices, rgm_run *run, rgm_error *err) {
    rgm_launches *launches = &run->launches;
    if (!devices->any || !launches->rows) return RGM_OK;
    size_t column = RGM_COLUMN_INDEX(launches, occupancy_limit);
    RGM_TRY(rgm_table_ensure(&rgm_launches_desc, launches, column, err));
    for (size_t i = 0; i < launches->rows; i++) {
        const rgm_device_limits *limits = limits_of(devices, run, launches->span[i]);
        int64_t x = launches->block_x[i], y = launches->block_y[i], z = launches->block_z[i];
        bool sound = x > 0 && y > 0 && z > 0 && x <= 1024 && y <= 1024 && z <= 1024;
        if (!limits || !sound || launches->registers[i] < 0 || launches->shared_bytes[i] < 0) continue;
        rgm_occupancy found =
            rgm_occupancy_of(limits, x * y * z, launches->registers[i], launches->shared_bytes[i]);
        launches->occupancy_limit[i] = (rgm_u8)found.limit;
        if (isnan(launches->occupancy[i])) launches->occupancy[i] = found.share;
    }
    return RGM_OK;
}
