// SPDX-License-Identifier: Apache-2.0
// What a device is and how it is set up: what two runs must share to be comparable.
#ifndef RGM_CUDA_DEVICE_FACTS_H
#define RGM_CUDA_DEVICE_FACTS_H

#include "cuda/nvml/nvml_devices.h"

// X(name, what is called, doc): modes are 1 for on and 0 for off.
#define RGM_DEVICE_FACTS(X)                                                                                  \
    X(memory_bytes, "nvmlDeviceGetMemoryInfo", "Memory of the device.")                                      \
    X(power_limit_watts, "nvmlDeviceGetEnforcedPowerLimit", "Power limit in force.")                         \
    X(clock_sm_mhz, "nvmlDeviceGetClockInfo", "Clock of the multiprocessors at the reading.")                \
    X(clock_memory_mhz, "nvmlDeviceGetClockInfo", "Clock of the device memory at the reading.")              \
    X(clock_sm_max_mhz, "nvmlDeviceGetMaxClockInfo", "Highest clock of the multiprocessors.")                \
    X(clock_memory_max_mhz, "nvmlDeviceGetMaxClockInfo", "Highest clock of the device memory.")              \
    X(clock_application_sm_mhz, "nvmlDeviceGetApplicationsClock",                                            \
      "Application clock of the multiprocessors; clocks that are locked otherwise are not in it.")           \
    X(clock_application_default_sm_mhz, "nvmlDeviceGetDefaultApplicationsClock",                             \
      "Application clock of the multiprocessors as from the factory.")                                       \
    X(persistence_mode, "nvmlDeviceGetPersistenceMode", "The driver stays loaded without a client.")         \
    X(ecc_mode, "nvmlDeviceGetEccMode", "Memory errors are corrected.")                                      \
    X(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration",                                                \
      "Generation of the PCIe link at the reading; an idle device may lower it.")                            \
    X(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", "Lanes of the PCIe link.")

#define RGM_DEVICE_FACT_ENUM(name, symbol, doc) RGM_FACT_##name,
enum { RGM_DEVICE_FACTS(RGM_DEVICE_FACT_ENUM) RGM_FACT_COUNT };

typedef struct {
    double value[RGM_FACT_COUNT];
    rgm_nvml_result result[RGM_FACT_COUNT]; // value is valid where this is SUCCESS
    bool left_out[RGM_FACT_COUNT];          // not asked: the time was up
} rgm_device_facts;

// Asks no more once `limit_ns` have passed since the begin.
void rgm_device_facts_read(rgm_device_facts *facts, const rgm_nvml *nvml, const rgm_nvml_gpu *gpu,
                           int64_t limit_ns);
void rgm_device_fact_reason(char *text, size_t room, const rgm_device_facts *facts, int fact);
const char *rgm_device_fact_name(int fact);

#endif
