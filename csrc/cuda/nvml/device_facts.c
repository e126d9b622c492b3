// SPDX-License-Identifier: Apache-2.0
#include "cuda/nvml/device_facts.h"

#include <stdio.h>

#include "base/clock.h"

static const struct {
    const char *name, *symbol;
} descriptions[] = {
#define FACT(name, symbol, doc) {#name, symbol},
    RGM_DEVICE_FACTS(FACT)
#undef FACT
};

const char *rgm_device_fact_name(int fact) { return descriptions[fact].name; }

// Which call a fact is made of; the ones that take the same kind of argument share a line.
static rgm_nvml_result read_fact(int fact, const rgm_nvml *nvml, const rgm_nvml_gpu *gpu, double *value) {
    const rgm_nvml_device device = gpu->whole;
    rgm_nvml_memory memory = {0};
    unsigned number = 0;
    int mode = 0, pending = 0;
    rgm_nvml_result result = RGM_NVML_FUNCTION_NOT_FOUND;
    switch (fact) {
    case RGM_FACT_memory_bytes:
        if (nvml->memory) result = nvml->memory(gpu->handle, &memory);
        *value = (double)memory.total;
        return result;
    case RGM_FACT_persistence_mode:
        if (nvml->persistence) result = nvml->persistence(device, &mode);
        *value = mode;
        return result;
    case RGM_FACT_ecc_mode:
        if (nvml->ecc_mode) result = nvml->ecc_mode(device, &mode, &pending);
        *value = mode;
        return result;
    case RGM_FACT_power_limit_watts:
        if (nvml->power_limit) result = nvml->power_limit(device, &number);
        *value = number / 1e3;
        return result;
    case RGM_FACT_clock_sm_mhz:
        if (nvml->clock) result = nvml->clock(device, RGM_NVML_CLOCK_SM, &number);
        break;
    case RGM_FACT_clock_memory_mhz:
        if (nvml->clock) result = nvml->clock(device, RGM_NVML_CLOCK_MEMORY, &number);
        break;
    case RGM_FACT_clock_sm_max_mhz:
        if (nvml->max_clock) result = nvml->max_clock(device, RGM_NVML_CLOCK_SM, &number);
        break;
    case RGM_FACT_clock_memory_max_mhz:
        if (nvml->max_clock) result = nvml->max_clock(device, RGM_NVML_CLOCK_MEMORY, &number);
        break;
    case RGM_FACT_clock_application_sm_mhz:
        if (nvml->application_clock) result = nvml->application_clock(device, RGM_NVML_CLOCK_SM, &number);
        break;
    case RGM_FACT_clock_application_default_sm_mhz:
        if (nvml->default_clock) result = nvml->default_clock(device, RGM_NVML_CLOCK_SM, &number);
        break;
    case RGM_FACT_pcie_generation:
        if (nvml->pcie_generation) result = nvml->pcie_generation(device, &number);
        break;
    case RGM_FACT_pcie_width:
        if (nvml->pcie_width) result = nvml->pcie_width(device, &number);
        break;
    default: break;
    }
    *value = number;
    return result;
}

void rgm_device_facts_read(rgm_device_facts *facts, const rgm_nvml *nvml, const rgm_nvml_gpu *gpu,
                           int64_t limit_ns) {
    *facts = (rgm_device_facts){0};
    int64_t begin = rgm_clock_monotonic_ns(), before = begin, longest = 0;
    for (int i = 0; i < RGM_FACT_COUNT; i++) {
        int64_t now = rgm_clock_monotonic_ns();
        // The longest does not count: on a busy machine the thread may have been without a processor
        // meanwhile.
        if (now - before > longest) longest = now - before;
        facts->left_out[i] = now - begin - longest > limit_ns;
        before = now;
        if (facts->left_out[i])
            facts->result[i] = RGM_NVML_TIMEOUT;
        else if (!gpu->handle)
            facts->result[i] = gpu->result;
        else
            facts->result[i] = read_fact(i, nvml, gpu, &facts->value[i]);
    }
}

void rgm_device_fact_reason(char *text, size_t room, const rgm_device_facts *facts, int fact) {
    if (facts->left_out[fact])
        (void)snprintf(text, room, "not asked: the facts before it took too long");
    else
        (void)snprintf(text, room, "%s answers %s: %s", descriptions[fact].symbol,
                       rgm_nvml_name(facts->result[fact]), rgm_nvml_text(facts->result[fact]));
}
