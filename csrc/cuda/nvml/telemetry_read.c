// SPDX-License-Identifier: Apache-2.0
#include "cuda/nvml/telemetry_read.h"

#include <math.h>
#include <stdio.h>

#include "base/tokens.h"

const rgm_telemetry_call_desc rgm_telemetry_calls[RGM_CALL_COUNT] = {
#define CALL(name, cost, symbol, part) {symbol, RGM_COST_##cost, part},
    RGM_TELEMETRY_CALLS(CALL)
#undef CALL
};

const rgm_telemetry_metric_desc rgm_telemetry_metrics[RGM_TELEMETRY_COUNT] = {
#define METRIC(NAME, name, unit, kind, call, slot, dcgm, otel, attributes, doc)                              \
    {name, unit, dcgm, otel, attributes, doc, RGM_METRIC_##kind, RGM_CALL_##call, slot},
    RGM_TELEMETRY_METRICS(METRIC)
#undef METRIC
};

const char *rgm_telemetry_cost_text(rgm_telemetry_cost cost) {
    static const char *const texts[] = {RGM_TELEMETRY_COSTS(RGM_TOKEN)};
    return texts[cost];
}

const char *rgm_telemetry_kind_text(rgm_telemetry_kind kind) {
    static const char *const texts[] = {RGM_TELEMETRY_KINDS(RGM_TOKEN)};
    return texts[kind];
}

// --- one function a call --------------------------------------------------------------------------------

static void put(rgm_telemetry_reading *reading, int slot, rgm_nvml_result result, double value) {
    reading->result[slot] = result;
    reading->value[slot] = value;
}

static void put_all(rgm_telemetry_reading *reading, rgm_nvml_result result) {
    for (int i = 0; i < RGM_TELEMETRY_SLOTS; i++) put(reading, i, result, 0);
}

static double field_value(const rgm_nvml_field *field) {
    switch (field->type) {
    case RGM_NVML_VALUE_DOUBLE: return field->value.f64;
    case RGM_NVML_VALUE_U32: return field->value.u32;
    case RGM_NVML_VALUE_UL: return (double)field->value.ul;
    case RGM_NVML_VALUE_U64: return (double)field->value.u64;
    case RGM_NVML_VALUE_I64: return (double)field->value.i64;
    case RGM_NVML_VALUE_I32: return field->value.i32;
    case RGM_NVML_VALUE_U16: return field->value.u16;
    default: return NAN;
    }
}

// Two fields of one driver call, in steps of which per_unit make one; the second number may be 0 for none.
static void read_fields(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device,
                        unsigned first, unsigned second, unsigned scope, double per_unit) {
    rgm_nvml_field fields[2] = {{.field = first, .scope = scope, .result = RGM_NVML_NOT_SUPPORTED},
                                {.field = second, .scope = scope, .result = RGM_NVML_NOT_SUPPORTED}};
    int count = second ? 2 : 1;
    if (!nvml->fields) return;
    rgm_nvml_result result = nvml->fields(device, count, fields);
    for (int i = 0; i < count; i++) {
        double value = field_value(&fields[i]);
        rgm_nvml_result own = result == RGM_NVML_SUCCESS ? fields[i].result : result;
        if (own == RGM_NVML_SUCCESS && isnan(value)) own = RGM_NVML_ARGUMENT_VERSION_MISMATCH;
        put(reading, i, own, value / per_unit);
    }
}

static void read_utilization(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    rgm_nvml_utilization rates = {0};
    if (!nvml->utilization) return;
    rgm_nvml_result result = nvml->utilization(device, &rates);
    put(reading, 0, result, rates.gpu);
    put(reading, 1, result, rates.memory);
}

// The second version tells what is reserved; before it that was part of what is used.
static void read_memory(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    rgm_nvml_memory_v2 memory = {.version = sizeof memory | 2u << 24};
    rgm_nvml_memory old = {0};
    rgm_nvml_result result = RGM_NVML_FUNCTION_NOT_FOUND;
    if (nvml->memory_v2) result = nvml->memory_v2(device, &memory);
    if (result == RGM_NVML_SUCCESS) {
        put(reading, 3, result, (double)memory.reserved);
    } else if (nvml->memory) {
        put(reading, 3, result, 0);
        result = nvml->memory(device, &old);
        memory = (rgm_nvml_memory_v2){.total = old.total, .free = old.free, .used = old.used};
    }
    put(reading, 0, result, (double)memory.used);
    put(reading, 1, result, (double)memory.free);
    put(reading, 2, result, (double)memory.total);
}

static void read_energy(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    unsigned long long millijoules = 0;
    if (!nvml->energy) return;
    rgm_nvml_result result = nvml->energy(device, &millijoules);
    put(reading, 0, result, (double)millijoules / 1e3);
}

static void read_clocks(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    static const int clocks[] = {RGM_NVML_CLOCK_SM, RGM_NVML_CLOCK_MEMORY};
    for (int i = 0; i < 2 && nvml->clock; i++) {
        unsigned mhz = 0;
        rgm_nvml_result result = nvml->clock(device, clocks[i], &mhz);
        put(reading, i, result, mhz);
    }
}

// Renamed in the drivers of 2023; the bits are the same.
static void read_reasons(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    unsigned long long bits = 0;
    rgm_nvml_result result = RGM_NVML_FUNCTION_NOT_FOUND;
    if (nvml->event_reasons) result = nvml->event_reasons(device, &bits);
    if (result == RGM_NVML_FUNCTION_NOT_FOUND && nvml->throttle_reasons)
        result = nvml->throttle_reasons(device, &bits);
    put(reading, 0, result, (double)bits);
}

static void read_codecs(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    unsigned percent = 0, period_us = 0;
    if (!nvml->encoder || !nvml->decoder) return;
    rgm_nvml_result result = nvml->encoder(device, &percent, &period_us);
    put(reading, 0, result, percent);
    result = nvml->decoder(device, &percent, &period_us);
    put(reading, 1, result, percent);
}

static void read_ecc(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    static const int kinds[] = {RGM_NVML_ECC_CORRECTED, RGM_NVML_ECC_UNCORRECTED};
    for (int i = 0; i < 2 && nvml->ecc_errors; i++) {
        unsigned long long count = 0;
        rgm_nvml_result result = nvml->ecc_errors(device, kinds[i], RGM_NVML_ECC_VOLATILE, &count);
        put(reading, i, result, (double)count);
    }
}

static void read_pcie_rate(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    static const int directions[] = {RGM_NVML_PCIE_TRANSMIT, RGM_NVML_PCIE_RECEIVE};
    for (int i = 0; i < 2 && nvml->pcie_rate; i++) {
        unsigned kilobytes = 0;
        rgm_nvml_result result = nvml->pcie_rate(device, directions[i], &kilobytes);
        put(reading, i, result, kilobytes * 1e3);
    }
}

// Asked for no rows, the driver answers with their number.
static void read_processes(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    unsigned count = 0;
    if (!nvml->compute_processes) return;
    rgm_nvml_result result = nvml->compute_processes(device, &count, NULL);
    if (result == RGM_NVML_INSUFFICIENT_SIZE) result = RGM_NVML_SUCCESS;
    put(reading, 0, result, count);
}

typedef rgm_nvml_result unsigned_call(rgm_nvml_device device, unsigned *value);
static void read_unsigned(rgm_telemetry_reading *reading, unsigned_call *call, rgm_nvml_device device,
                          double per_unit) {
    unsigned value = 0;
    if (!call) return;
    rgm_nvml_result result = call(device, &value);
    put(reading, 0, result, value / per_unit);
}

static void read_temperature(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    unsigned celsius = 0;
    if (!nvml->temperature) return;
    rgm_nvml_result result = nvml->temperature(device, RGM_NVML_SENSOR_GPU, &celsius);
    put(reading, 0, result, celsius);
}

static void read_pstate(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_nvml_device device) {
    enum { UNKNOWN_STATE = 32 };
    int state = UNKNOWN_STATE;
    if (!nvml->performance_state) return;
    rgm_nvml_result result = nvml->performance_state(device, &state);
    if (result == RGM_NVML_SUCCESS && state == UNKNOWN_STATE) result = RGM_NVML_NO_DATA;
    put(reading, 0, result, state);
}

void rgm_telemetry_read(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_telemetry_call call,
                        const rgm_nvml_gpu *gpu) {
    rgm_nvml_device device = rgm_telemetry_calls[call].of_part ? gpu->handle : gpu->whole;
    put_all(reading, RGM_NVML_FUNCTION_NOT_FOUND);
    if (!device) {
        put_all(reading, gpu->result);
        return;
    }
    switch (call) {
    case RGM_CALL_UTILIZATION: read_utilization(reading, nvml, device); break;
    case RGM_CALL_MEMORY: read_memory(reading, nvml, device); break;
    case RGM_CALL_POWER_FIELDS:
        read_fields(reading, nvml, device, RGM_NVML_FIELD_POWER_INSTANT, RGM_NVML_FIELD_POWER_AVERAGE, 0,
                    1e3);
        break;
    case RGM_CALL_POWER: read_unsigned(reading, nvml->power, device, 1e3); break;
    case RGM_CALL_ENERGY: read_energy(reading, nvml, device); break;
    case RGM_CALL_TEMPERATURE: read_temperature(reading, nvml, device); break;
    case RGM_CALL_CLOCKS: read_clocks(reading, nvml, device); break;
    case RGM_CALL_REASONS: read_reasons(reading, nvml, device); break;
    case RGM_CALL_PCIE_BYTES:
        read_fields(reading, nvml, device, RGM_NVML_FIELD_PCIE_COUNT_TX_BYTES,
                    RGM_NVML_FIELD_PCIE_COUNT_RX_BYTES, 0, 1);
        break;
    case RGM_CALL_NVLINK:
        read_fields(reading, nvml, device, RGM_NVML_FIELD_NVLINK_THROUGHPUT_DATA_TX,
                    RGM_NVML_FIELD_NVLINK_THROUGHPUT_DATA_RX, RGM_NVML_ALL_LINKS, 1.0 / 1024);
        break;
    case RGM_CALL_MEMORY_TEMPERATURE:
        read_fields(reading, nvml, device, RGM_NVML_FIELD_MEMORY_TEMP, 0, 0, 1);
        break;
    case RGM_CALL_PSTATE: read_pstate(reading, nvml, device); break;
    case RGM_CALL_POWER_LIMIT: read_unsigned(reading, nvml->power_limit, device, 1e3); break;
    case RGM_CALL_CODECS: read_codecs(reading, nvml, device); break;
    case RGM_CALL_ECC: read_ecc(reading, nvml, device); break;
    case RGM_CALL_PCIE_REPLAYS: read_unsigned(reading, nvml->pcie_replays, device, 1); break;
    case RGM_CALL_FAN: read_unsigned(reading, nvml->fan_speed, device, 1); break;
    case RGM_CALL_PCIE_RATE: read_pcie_rate(reading, nvml, device); break;
    case RGM_CALL_PROCESSES: read_processes(reading, nvml, device); break;
    case RGM_CALL_COUNT: break;
    }
}

void rgm_telemetry_reason(char *text, size_t room, rgm_telemetry_metric metric, rgm_nvml_result result) {
    (void)snprintf(text, room, "%s answers %s: %s",
                   rgm_telemetry_calls[rgm_telemetry_metrics[metric].call].symbol, rgm_nvml_name(result),
                   rgm_nvml_text(result));
}
