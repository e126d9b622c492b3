// SPDX-License-Identifier: Apache-2.0
// What telemetry can read of a device, once: the calls, the metrics that each call gives, the bits of clocks.
//
// DCGM names are those of dcgm_fields.h up to release 4 (its numbers are stable, some names are not); units
// there differ (MiB, mJ). OpenTelemetry names are those of the semantic conventions for hardware (status
// "development"), which hold ratios of 1 where this list has percent; "" where neither has a counterpart.
#ifndef RGM_CUDA_TELEMETRY_METRICS_H
#define RGM_CUDA_TELEMETRY_METRICS_H

#include <stddef.h>
#include <stdint.h>

// X(NAME, token, doc): when the sampler makes a call; the measured cost can make it rarer, never more
// frequent.
#define RGM_TELEMETRY_COSTS(X)                                                                               \
    X(CHEAP, "cheap", "at each interval")                                                                    \
    X(MODERATE, "moderate", "once per second at most")                                                       \
    X(EXPENSIVE, "expensive", "never by the sampler: it holds the driver's lock for milliseconds, or waits")

// X(NAME, cost, what is called, of the part): `part` is 1 where a MIG device is asked itself, 0 where only
// the whole device that it is a part of can be.
#define RGM_TELEMETRY_CALLS(X)                                                                               \
    X(UTILIZATION, CHEAP, "nvmlDeviceGetUtilizationRates", 0)                                                \
    X(MEMORY, CHEAP, "nvmlDeviceGetMemoryInfo_v2", 1)                                                        \
    X(POWER_FIELDS, CHEAP, "nvmlDeviceGetFieldValues", 0)                                                    \
    X(POWER, CHEAP, "nvmlDeviceGetPowerUsage", 0)                                                            \
    X(ENERGY, CHEAP, "nvmlDeviceGetTotalEnergyConsumption", 0)                                               \
    X(TEMPERATURE, CHEAP, "nvmlDeviceGetTemperature", 0)                                                     \
    X(CLOCKS, CHEAP, "nvmlDeviceGetClockInfo", 0)                                                            \
    X(REASONS, CHEAP, "nvmlDeviceGetCurrentClocksEventReasons", 0)                                           \
    X(PCIE_BYTES, CHEAP, "nvmlDeviceGetFieldValues", 0)                                                      \
    X(NVLINK, CHEAP, "nvmlDeviceGetFieldValues", 0)                                                          \
    X(MEMORY_TEMPERATURE, MODERATE, "nvmlDeviceGetFieldValues", 0)                                           \
    X(PSTATE, MODERATE, "nvmlDeviceGetPerformanceState", 0)                                                  \
    X(POWER_LIMIT, MODERATE, "nvmlDeviceGetEnforcedPowerLimit", 0)                                           \
    X(CODECS, MODERATE, "nvmlDeviceGetEncoderUtilization", 0)                                                \
    X(ECC, MODERATE, "nvmlDeviceGetTotalEccErrors", 0)                                                       \
    X(PCIE_REPLAYS, MODERATE, "nvmlDeviceGetPcieReplayCounter", 0)                                           \
    X(FAN, EXPENSIVE, "nvmlDeviceGetFanSpeed", 0)                                                            \
    X(PCIE_RATE, EXPENSIVE, "nvmlDeviceGetPcieThroughput", 0)                                                \
    X(PROCESSES, EXPENSIVE, "nvmlDeviceGetComputeRunningProcesses_v3", 1)

// X(NAME, token): a counter only grows (until the driver is loaded anew, or the value wraps).
#define RGM_TELEMETRY_KINDS(X)                                                                               \
    X(GAUGE, "gauge")                                                                                        \
    X(COUNTER, "counter")                                                                                    \
    X(FLAGS, "flags")

// X(NAME, name, unit, kind, CALL, slot, DCGM, OpenTelemetry, its attributes, doc)
#define RGM_TELEMETRY_METRICS(X)                                                                             \
    X(GPU_UTILIZATION, "gpu_utilization_percent", "percent", GAUGE, UTILIZATION, 0, "DCGM_FI_DEV_GPU_UTIL",  \
      "hw.gpu.utilization", "hw.gpu.task=general",                                                           \
      "Share of the last 1/6 to 1 s in which some kernel ran; says nothing of how much of the device it "    \
      "used.")                                                                                               \
    X(MEMORY_UTILIZATION, "memory_utilization_percent", "percent", GAUGE, UTILIZATION, 1,                    \
      "DCGM_FI_DEV_MEM_COPY_UTIL", "", "",                                                                   \
      "Share of the last 1/6 to 1 s in which device memory was read or written; no bandwidth.")              \
    X(MEMORY_USED, "memory_used_bytes", "bytes", GAUGE, MEMORY, 0, "DCGM_FI_DEV_FB_USED",                    \
      "hw.gpu.memory.usage", "",                                                                             \
      "Memory allocated by all processes; where memory_reserved_bytes is unavailable, what the driver "      \
      "reserves is in it.")                                                                                  \
    X(MEMORY_FREE, "memory_free_bytes", "bytes", GAUGE, MEMORY, 1, "DCGM_FI_DEV_FB_FREE", "", "",            \
      "Memory that is not allocated.")                                                                       \
    X(MEMORY_TOTAL, "memory_total_bytes", "bytes", GAUGE, MEMORY, 2, "DCGM_FI_DEV_FB_TOTAL",                 \
      "hw.gpu.memory.limit", "", "Memory of the device.")                                                    \
    X(MEMORY_RESERVED, "memory_reserved_bytes", "bytes", GAUGE, MEMORY, 3, "DCGM_FI_DEV_FB_RESERVED", "",    \
      "", "Memory that driver and firmware keep.")                                                           \
    X(POWER_INSTANT, "power_instant_watts", "W", GAUGE, POWER_FIELDS, 0, "DCGM_FI_DEV_POWER_USAGE_INSTANT",  \
      "hw.power", "hw.type=gpu", "Power at the moment of the reading.")                                      \
    X(POWER_AVERAGE, "power_average_watts", "W", GAUGE, POWER_FIELDS, 1, "DCGM_FI_DEV_POWER_USAGE", "", "",  \
      "Power averaged over one second (Ampere and later, except GA100).")                                    \
    X(POWER, "power_watts", "W", GAUGE, POWER, 0, "DCGM_FI_DEV_POWER_USAGE", "hw.power", "hw.type=gpu",      \
      "Power as older drivers tell it: a 1 s average on Ampere and later except GA100, of the moment "       \
      "before. Sampled only where neither power_instant_watts nor power_average_watts is offered.")          \
    X(ENERGY, "energy_joules", "J", COUNTER, ENERGY, 0, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "hw.energy", \
      "hw.type=gpu",                                                                                         \
      "Energy since the driver was loaded; the device updates it at a period of its own, which the "         \
      "sampler's statistics bound from above.")                                                              \
    X(TEMPERATURE, "temperature_gpu_celsius", "celsius", GAUGE, TEMPERATURE, 0, "DCGM_FI_DEV_GPU_TEMP",      \
      "hw.temperature", "hw.sensor_location=gpu", "Temperature of the die.")                                 \
    X(CLOCK_SM, "clock_sm_mhz", "MHz", GAUGE, CLOCKS, 0, "DCGM_FI_DEV_SM_CLOCK", "", "",                     \
      "Clock of the multiprocessors.")                                                                       \
    X(CLOCK_MEMORY, "clock_memory_mhz", "MHz", GAUGE, CLOCKS, 1, "DCGM_FI_DEV_MEM_CLOCK", "", "",            \
      "Clock of the device memory.")                                                                         \
    X(REASONS, "clock_reasons", "bits", FLAGS, REASONS, 0, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "", "",     \
      "Why the clocks are not at their highest, as bits; see the list of reasons.")                          \
    X(PCIE_TRANSMIT, "pcie_transmit_bytes", "bytes", COUNTER, PCIE_BYTES, 0, "", "hw.gpu.io",                \
      "network.io.direction=transmit", "Bytes that the device sent over PCIe; the count can wrap.")          \
    X(PCIE_RECEIVE, "pcie_receive_bytes", "bytes", COUNTER, PCIE_BYTES, 1, "", "hw.gpu.io",                  \
      "network.io.direction=receive", "Bytes that the device received over PCIe; the count can wrap.")       \
    X(NVLINK_TRANSMIT, "nvlink_transmit_bytes", "bytes", COUNTER, NVLINK, 0, "", "hw.gpu.io",                \
      "network.io.direction=transmit", "Payload sent over all NVLinks, in steps of 1 KiB.")                  \
    X(NVLINK_RECEIVE, "nvlink_receive_bytes", "bytes", COUNTER, NVLINK, 1, "", "hw.gpu.io",                  \
      "network.io.direction=receive", "Payload received over all NVLinks, in steps of 1 KiB.")               \
    X(TEMPERATURE_MEMORY, "temperature_memory_celsius", "celsius", GAUGE, MEMORY_TEMPERATURE, 0,             \
      "DCGM_FI_DEV_MEMORY_TEMP", "hw.temperature", "hw.sensor_location=memory",                              \
      "Temperature of the device memory.")                                                                   \
    X(PSTATE, "performance_state", "", GAUGE, PSTATE, 0, "DCGM_FI_DEV_PSTATE", "", "",                       \
      "Performance state, 0 the highest to 15.")                                                             \
    X(POWER_LIMIT, "power_limit_watts", "W", GAUGE, POWER_LIMIT, 0, "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "",  \
      "", "Power limit in force.")                                                                           \
    X(ENCODER, "encoder_utilization_percent", "percent", GAUGE, CODECS, 0, "DCGM_FI_DEV_ENC_UTIL",           \
      "hw.gpu.utilization", "hw.gpu.task=encoder", "Use of the video encoders over the driver's period.")    \
    X(DECODER, "decoder_utilization_percent", "percent", GAUGE, CODECS, 1, "DCGM_FI_DEV_DEC_UTIL",           \
      "hw.gpu.utilization", "hw.gpu.task=decoder", "Use of the video decoders over the driver's period.")    \
    X(ECC_CORRECTED, "ecc_corrected_errors", "errors", COUNTER, ECC, 0, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",     \
      "hw.errors", "hw.type=gpu, error.type=corrected", "Corrected memory errors since the driver's start.") \
    X(ECC_UNCORRECTED, "ecc_uncorrected_errors", "errors", COUNTER, ECC, 1, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", \
      "hw.errors", "hw.type=gpu, error.type=uncorrected",                                                    \
      "Uncorrected memory errors since the driver's start.")                                                 \
    X(PCIE_REPLAYS, "pcie_replays", "errors", COUNTER, PCIE_REPLAYS, 0, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",   \
      "", "", "Packets that PCIe sent again.")                                                               \
    X(FAN, "fan_speed_percent", "percent", GAUGE, FAN, 0, "DCGM_FI_DEV_FAN_SPEED", "hw.fan.speed_ratio", "", \
      "Intended speed of the fan; more than 100 is possible.")                                               \
    X(PCIE_TRANSMIT_RATE, "pcie_transmit_bytes_per_second", "bytes/s", GAUGE, PCIE_RATE, 0,                  \
      "DCGM_FI_DEV_PCIE_TX_THROUGHPUT", "", "",                                                              \
      "What the device sent over PCIe during 20 ms, for which the call waits.")                              \
    X(PCIE_RECEIVE_RATE, "pcie_receive_bytes_per_second", "bytes/s", GAUGE, PCIE_RATE, 1,                    \
      "DCGM_FI_DEV_PCIE_RX_THROUGHPUT", "", "",                                                              \
      "What the device received over PCIe during 20 ms, for which the call waits.")                          \
    X(PROCESSES, "compute_processes", "processes", GAUGE, PROCESSES, 0, "DCGM_FI_DEV_COMPUTE_PIDS", "", "",  \
      "Processes with a compute context on the device.")

// X(NAME, bit, token, text): bits of clock_reasons. What slows a loaded device down is told from what does
// not by the last column (1: the clocks are lower than the program could use).
#define RGM_CLOCK_REASONS(X)                                                                                 \
    X(IDLE, 0, "idle", "nothing runs", 0)                                                                    \
    X(APPLICATION_CLOCKS, 1, "application_clocks", "clocks were set by the user", 1)                         \
    X(SW_POWER_CAP, 2, "sw_power_cap", "the power limit is reached", 1)                                      \
    X(HW_SLOWDOWN, 3, "hw_slowdown", "the hardware halves the clocks: heat, power brake or fast trigger", 1) \
    X(SYNC_BOOST, 4, "sync_boost", "held to the clock of the slowest device of a group", 1)                  \
    X(SW_THERMAL, 5, "sw_thermal_slowdown", "too hot for the driver", 1)                                     \
    X(HW_THERMAL, 6, "hw_thermal_slowdown", "too hot for the hardware", 1)                                   \
    X(HW_POWER_BRAKE, 7, "hw_power_brake", "the power supply asked for less", 1)                             \
    X(DISPLAY_CLOCKS, 8, "display_clocks", "clocks are held for a display", 0)                               \
    X(BOARD_LIMIT, 9, "board_limit", "a limit of the board is reached", 1)                                   \
    X(RELIABILITY, 10, "reliability", "a limit of voltage is reached", 1)

#define RGM_TELEMETRY_COST_ENUM(name, token, doc) RGM_COST_##name,
typedef enum { RGM_TELEMETRY_COSTS(RGM_TELEMETRY_COST_ENUM) RGM_COST_COUNT } rgm_telemetry_cost;
#define RGM_TELEMETRY_CALL_ENUM(name, cost, symbol, part) RGM_CALL_##name,
typedef enum { RGM_TELEMETRY_CALLS(RGM_TELEMETRY_CALL_ENUM) RGM_CALL_COUNT } rgm_telemetry_call;
#define RGM_TELEMETRY_KIND_ENUM(name, token) RGM_METRIC_##name,
typedef enum { RGM_TELEMETRY_KINDS(RGM_TELEMETRY_KIND_ENUM) RGM_METRIC_KINDS } rgm_telemetry_kind;
#define RGM_TELEMETRY_METRIC_ENUM(NAME, name, unit, kind, call, slot, dcgm, otel, attributes, doc)           \
    RGM_TELEMETRY_##NAME,
typedef enum { RGM_TELEMETRY_METRICS(RGM_TELEMETRY_METRIC_ENUM) RGM_TELEMETRY_COUNT } rgm_telemetry_metric;
#define RGM_CLOCK_REASON_ENUM(name, bit, token, text, slows) RGM_CLOCK_REASON_##name = 1 << (bit),
enum { RGM_CLOCK_REASONS(RGM_CLOCK_REASON_ENUM) };

typedef struct {
    const char *symbol;
    rgm_telemetry_cost cost;
    uint8_t of_part;
} rgm_telemetry_call_desc;

typedef struct {
    const char *name, *unit, *dcgm, *otel, *otel_attributes, *doc;
    rgm_telemetry_kind kind;
    rgm_telemetry_call call;
    uint8_t slot;
} rgm_telemetry_metric_desc;

extern const rgm_telemetry_call_desc rgm_telemetry_calls[RGM_CALL_COUNT];
extern const rgm_telemetry_metric_desc rgm_telemetry_metrics[RGM_TELEMETRY_COUNT];
const char *rgm_telemetry_cost_text(rgm_telemetry_cost cost);
const char *rgm_telemetry_kind_text(rgm_telemetry_kind kind);

#endif
