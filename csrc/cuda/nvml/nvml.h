// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library (NVML), as one table that is filled and initialised once.
//
// Threads: get from any thread; NVML's own functions may be called from any thread, but most take a lock of
// the driver, which the program's CUDA calls take too, so nothing here belongs into a hot path. Fork: the
// child initialises the library anew when it asks for it. It is never shut down before the process ends.
#ifndef RGM_CUDA_NVML_H
#define RGM_CUDA_NVML_H

#include "cuda/library/library.h"
#include "cuda/nvml/nvml_types.h"

// Capabilities: X(NAME). A missing symbol takes away its own and no other.
#define RGM_NVML_CAPABILITIES(X)                                                                             \
    X(BASE)                                                                                                  \
    X(MIG)                                                                                                   \
    X(UTILIZATION)                                                                                           \
    X(CODECS)                                                                                                \
    X(MEMORY)                                                                                                \
    X(MEMORY_V2)                                                                                             \
    X(POWER)                                                                                                 \
    X(POWER_LIMIT)                                                                                           \
    X(ENERGY)                                                                                                \
    X(TEMPERATURE)                                                                                           \
    X(CLOCKS)                                                                                                \
    X(MAX_CLOCKS)                                                                                            \
    X(APPLICATION_CLOCKS)                                                                                    \
    X(EVENT_REASONS)                                                                                         \
    X(THROTTLE_REASONS)                                                                                      \
    X(PSTATE)                                                                                                \
    X(FAN)                                                                                                   \
    X(FIELDS)                                                                                                \
    X(PCIE)                                                                                                  \
    X(PCIE_LINK)                                                                                             \
    X(PCIE_REPLAYS)                                                                                          \
    X(ECC)                                                                                                   \
    X(ECC_MODE)                                                                                              \
    X(PERSISTENCE)                                                                                           \
    X(PROCESSES)

// X(CAPABILITY, member, symbol, parameters); all return rgm_nvml_result.
#define RGM_NVML_SYMBOLS(X)                                                                                  \
    X(BASE, init, "nvmlInit_v2", (void))                                                                     \
    X(BASE, shutdown, "nvmlShutdown", (void))                                                                \
    X(BASE, driver_version, "nvmlSystemGetDriverVersion", (char *text, unsigned room))                       \
    X(BASE, library_version, "nvmlSystemGetNVMLVersion", (char *text, unsigned room))                        \
    X(BASE, device_count, "nvmlDeviceGetCount_v2", (unsigned *count))                                        \
    X(BASE, device_by_index, "nvmlDeviceGetHandleByIndex_v2", (unsigned index, rgm_nvml_device *device))     \
    X(BASE, device_uuid, "nvmlDeviceGetUUID", (rgm_nvml_device device, char *text, unsigned room))           \
    X(BASE, device_name, "nvmlDeviceGetName", (rgm_nvml_device device, char *text, unsigned room))           \
    X(BASE, device_pci, "nvmlDeviceGetPciInfo_v3", (rgm_nvml_device device, rgm_nvml_pci * pci))             \
    X(MIG, mig_mode, "nvmlDeviceGetMigMode", (rgm_nvml_device device, unsigned *current, unsigned *pending)) \
    X(MIG, mig_most, "nvmlDeviceGetMaxMigDeviceCount", (rgm_nvml_device device, unsigned *count))            \
    X(MIG, mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex",                                              \
      (rgm_nvml_device device, unsigned index, rgm_nvml_device *mig))                                        \
    X(MIG, gpu_instance, "nvmlDeviceGetGpuInstanceId", (rgm_nvml_device device, unsigned *id))               \
    X(MIG, compute_instance, "nvmlDeviceGetComputeInstanceId", (rgm_nvml_device device, unsigned *id))       \
    X(UTILIZATION, utilization, "nvmlDeviceGetUtilizationRates",                                             \
      (rgm_nvml_device device, rgm_nvml_utilization * rates))                                                \
    X(CODECS, encoder, "nvmlDeviceGetEncoderUtilization",                                                    \
      (rgm_nvml_device device, unsigned *percent, unsigned *period_us))                                      \
    X(CODECS, decoder, "nvmlDeviceGetDecoderUtilization",                                                    \
      (rgm_nvml_device device, unsigned *percent, unsigned *period_us))                                      \
    X(MEMORY, memory, "nvmlDeviceGetMemoryInfo", (rgm_nvml_device device, rgm_nvml_memory * memory))         \
    X(MEMORY_V2, memory_v2, "nvmlDeviceGetMemoryInfo_v2",                                                    \
      (rgm_nvml_device device, rgm_nvml_memory_v2 * memory))                                                 \
    X(POWER, power, "nvmlDeviceGetPowerUsage", (rgm_nvml_device device, unsigned *milliwatts))               \
    X(POWER_LIMIT, power_limit, "nvmlDeviceGetEnforcedPowerLimit",                                           \
      (rgm_nvml_device device, unsigned *milliwatts))                                                        \
    X(ENERGY, energy, "nvmlDeviceGetTotalEnergyConsumption",                                                 \
      (rgm_nvml_device device, unsigned long long *millijoules))                                             \
    X(TEMPERATURE, temperature, "nvmlDeviceGetTemperature",                                                  \
      (rgm_nvml_device device, int sensor, unsigned *celsius))                                               \
    X(CLOCKS, clock, "nvmlDeviceGetClockInfo", (rgm_nvml_device device, int clock, unsigned *mhz))           \
    X(MAX_CLOCKS, max_clock, "nvmlDeviceGetMaxClockInfo",                                                    \
      (rgm_nvml_device device, int clock, unsigned *mhz))                                                    \
    X(APPLICATION_CLOCKS, application_clock, "nvmlDeviceGetApplicationsClock",                               \
      (rgm_nvml_device device, int clock, unsigned *mhz))                                                    \
    X(APPLICATION_CLOCKS, default_clock, "nvmlDeviceGetDefaultApplicationsClock",                            \
      (rgm_nvml_device device, int clock, unsigned *mhz))                                                    \
    X(EVENT_REASONS, event_reasons, "nvmlDeviceGetCurrentClocksEventReasons",                                \
      (rgm_nvml_device device, unsigned long long *bits))                                                    \
    X(THROTTLE_REASONS, throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons",                       \
      (rgm_nvml_device device, unsigned long long *bits))                                                    \
    X(PSTATE, performance_state, "nvmlDeviceGetPerformanceState", (rgm_nvml_device device, int *state))      \
    X(FAN, fan_speed, "nvmlDeviceGetFanSpeed", (rgm_nvml_device device, unsigned *percent))                  \
    X(FIELDS, fields, "nvmlDeviceGetFieldValues",                                                            \
      (rgm_nvml_device device, int count, rgm_nvml_field *fields))                                           \
    X(PCIE, pcie_rate, "nvmlDeviceGetPcieThroughput",                                                        \
      (rgm_nvml_device device, int counter, unsigned *kilobytes))                                            \
    X(PCIE_LINK, pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration",                                     \
      (rgm_nvml_device device, unsigned *generation))                                                        \
    X(PCIE_LINK, pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", (rgm_nvml_device device, unsigned *lanes))    \
    X(PCIE_REPLAYS, pcie_replays, "nvmlDeviceGetPcieReplayCounter",                                          \
      (rgm_nvml_device device, unsigned *count))                                                             \
    X(ECC, ecc_errors, "nvmlDeviceGetTotalEccErrors",                                                        \
      (rgm_nvml_device device, int kind, int counter, unsigned long long *count))                            \
    X(ECC_MODE, ecc_mode, "nvmlDeviceGetEccMode", (rgm_nvml_device device, int *current, int *pending))      \
    X(PERSISTENCE, persistence, "nvmlDeviceGetPersistenceMode", (rgm_nvml_device device, int *mode))         \
    X(PROCESSES, compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3",                               \
      (rgm_nvml_device device, unsigned *count, rgm_nvml_process *processes))

#define RGM_NVML_CAPABILITY_ENUM(name) RGM_NVML_HAS_##name,
enum { RGM_NVML_CAPABILITIES(RGM_NVML_CAPABILITY_ENUM) RGM_NVML_CAPABILITY_COUNT };

#define RGM_NVML_MEMBER(capability, member, symbol, parameters) rgm_nvml_result(*member) parameters;
typedef struct {
    rgm_library library;
    RGM_NVML_SYMBOLS(RGM_NVML_MEMBER)
    int64_t init_ns; // what nvmlInit_v2 took
} rgm_nvml;

extern const rgm_library_spec rgm_nvml_spec;

// The table, loaded and initialised by the first call, which may take long where no other process keeps the
// driver awake (persistence mode). RGM_UNAVAILABLE with the reason; the next call tries again.
rgm_status rgm_nvml_get(const rgm_nvml **nvml, rgm_error *err) RGM_NODISCARD;
bool rgm_nvml_can(const rgm_nvml *nvml, uint32_t capability);
// What a result means, never NULL; and its name in NVIDIA's header without the prefix.
const char *rgm_nvml_text(rgm_nvml_result result);
const char *rgm_nvml_name(rgm_nvml_result result);
// Tests only: shuts the library down and forgets it, so that another can be loaded.
void rgm_nvml_forget(void);

#endif
