// SPDX-License-Identifier: Apache-2.0
// A double of libnvidia-ml: scripted devices on a scripted clock. With FAKE_OLD it lacks what drivers before
// 2021 lack. The same file holds the few driver functions that name devices (libcuda), so that the mapping of
// ordinals can be tested with an order that differs from that of the bus.
//
// The clock stands still but for what calls cost: each advances clock_ns by cost_ns, the one that slow_call
// names by slow_ns; where follow is 1 it runs with CLOCK_MONOTONIC. Values follow from the clock: utilisation
// is (ms / 10) % 101, and so on; see the functions.
#include "fake.h"

#include <stdbool.h>
#include <time.h>

#include "cuda/library/driver_types.h"
#include "cuda/nvml/nvml_types.h"

// Functions that can be made slow or made to fail, by the place in this list.
#define FAKE_FUNCTIONS(X)                                                                                    \
    X(none)                                                                                                  \
    X(init)                                                                                                  \
    X(device_count)                                                                                          \
    X(device_by_index)                                                                                       \
    X(device_uuid)                                                                                           \
    X(device_name)                                                                                           \
    X(device_pci)                                                                                            \
    X(mig_mode)                                                                                              \
    X(utilization)                                                                                           \
    X(memory_v2)                                                                                             \
    X(memory)                                                                                                \
    X(fields)                                                                                                \
    X(power)                                                                                                 \
    X(energy)                                                                                                \
    X(temperature)                                                                                           \
    X(clock)                                                                                                 \
    X(event_reasons)                                                                                         \
    X(pstate)                                                                                                \
    X(power_limit)                                                                                           \
    X(codec)                                                                                                 \
    X(ecc)                                                                                                   \
    X(pcie_replays)                                                                                          \
    X(fan)                                                                                                   \
    X(pcie_rate)                                                                                             \
    X(processes)                                                                                             \
    X(modes)                                                                                                 \
    X(link)                                                                                                  \
    X(max_clock)                                                                                             \
    X(application_clock)                                                                                     \
    X(count)
#define FAKE_FUNCTION_ENUM(name) CALL_##name,
enum { FAKE_FUNCTIONS(FAKE_FUNCTION_ENUM) };

#define NUMBERS(X)                                                                                           \
    X(devices, 1)                                                                                            \
    X(mixed, 0)     /* devices of different models */                                                        \
    X(model, 0)     /* name of all devices, by its place in MODELS */                                        \
    X(driver, 580)  /* branch of the driver */                                                               \
    X(sm_mhz, 1980) /* clock of the multiprocessors */                                                       \
    X(application_mhz, 1980)                                                                                 \
    X(mig, 0)         /* bit mask of devices in MIG mode */                                                  \
    X(mig_devices, 2) /* instances of each of these */                                                       \
    X(clock_ns, 0)                                                                                           \
    X(follow, 0)                                                                                             \
    X(drivers_uuids, 0) /* 1: devices are those of the double of the driver */                               \
    X(cost_ns, 0)                                                                                            \
    X(slow_call, 0)                                                                                          \
    X(slow_ns, 0)                                                                                            \
    X(sleep_ns, 0)  /* really sleeps, for tests with a thread */                                             \
    X(stuck, 0)     /* calls wait until it is 0 */                                                           \
    X(held, 0)      /* calls that wait so, to be read */                                                     \
    X(fail_call, 0) /* which function fails */                                                               \
    X(fail_result, 0)                                                                                        \
    X(fail_device, -1)                                                                                       \
    X(lost_device, -1) /* answers GPU_IS_LOST to everything */                                               \
    X(power_fields, 1) /* offers instant and average power */                                                \
    X(energy_period_ns, 20000000)                                                                            \
    X(reasons, 4)                                                                                            \
    X(nvlink, 1)                                                                                             \
    X(calls, 0)     /* of functions that read a device */                                                    \
    X(expensive, 0) /* of those that hold the lock for milliseconds */                                       \
    X(inits, 0)                                                                                              \
    X(shutdowns, 0)                                                                                          \
    X(cuda_ready, 0)    /* cuInit was called by the program */                                               \
    X(cuda_devices, -1) /* how many CUDA sees, in the reverse order; -1 all */
FAKE_NUMBERS(nvml, "FAKE_NVML", NUMBERS)

enum { MOST = 8, PARTS = 8 };
struct rgm_nvml_device_s {
    unsigned index;
    int part; // -1: the whole device
};
static struct rgm_nvml_device_s wholes[MOST];
#ifndef FAKE_OLD
static struct rgm_nvml_device_s parts[MOST][PARTS];
#endif

// Handles are made once, so that threads may ask for them side by side.
__attribute__((constructor)) static void make_handles(void) {
    for (unsigned i = 0; i < MOST; i++) {
        wholes[i] = (struct rgm_nvml_device_s){.index = i, .part = -1};
#ifndef FAKE_OLD
        for (int k = 0; k < PARTS; k++) parts[i][k] = (struct rgm_nvml_device_s){.index = i, .part = k};
#endif
    }
}

static rgm_nvml_result step(int call, rgm_nvml_device device) {
    if (FAKE_VALUE(stuck)) { // who passes is not counted
        FAKE_VALUE(held)++;
        while (FAKE_VALUE(stuck)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        FAKE_VALUE(held)--;
    }
    if (device) FAKE_VALUE(calls)++;
    FAKE_VALUE(clock_ns) += call == FAKE_VALUE(slow_call) ? FAKE_VALUE(slow_ns) : FAKE_VALUE(cost_ns);
    if (FAKE_VALUE(sleep_ns)) nanosleep(&(struct timespec){.tv_nsec = FAKE_VALUE(sleep_ns)}, NULL);
    if (device && FAKE_VALUE(lost_device) == (long long)device->index) return RGM_NVML_GPU_IS_LOST;
    bool hit = !device || FAKE_VALUE(fail_device) < 0 || FAKE_VALUE(fail_device) == (long long)device->index;
    if (call == FAKE_VALUE(fail_call) && hit) return (rgm_nvml_result)FAKE_VALUE(fail_result);
    return RGM_NVML_SUCCESS;
}
#define STEP(call, device)                                                                                   \
    do {                                                                                                     \
        rgm_nvml_result step_result = step(CALL_##call, device);                                             \
        if (step_result != RGM_NVML_SUCCESS) return step_result;                                             \
    } while (0)
#define WHOLE_ONLY(device)                                                                                   \
    do {                                                                                                     \
        if ((device)->part >= 0) return RGM_NVML_NOT_SUPPORTED;                                              \
    } while (0)
#define UNWRAPPED(...) __VA_ARGS__
// A function that reads a whole device: what it takes beside the device, in parentheses, and what it gives.
#define READING(function, parameters, call, statement)                                                       \
    FAKE_EXPORT rgm_nvml_result function(rgm_nvml_device device, UNWRAPPED parameters) {                     \
        WHOLE_ONLY(device);                                                                                  \
        STEP(call, device);                                                                                  \
        statement;                                                                                           \
        return RGM_NVML_SUCCESS;                                                                             \
    }

static long long clock_now(void) {
    struct timespec now = {0};
    if (FAKE_VALUE(follow)) (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return FAKE_VALUE(clock_ns) + now.tv_sec * 1000000000LL + now.tv_nsec;
}
static long long ms(void) { return clock_now() / 1000000; }

// --- library and devices ----------------------------------------------------------------------------------

FAKE_EXPORT int fake_nvml_function(const char *name) {
#define SAME(function)                                                                                       \
    if (strcmp(name, #function) == 0) return CALL_##function;
    FAKE_FUNCTIONS(SAME)
#undef SAME
    abort();
}
FAKE_EXPORT rgm_nvml_result nvmlInit_v2(void) {
    FAKE_VALUE(inits)++;
    STEP(init, NULL);
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlInitWithFlags(unsigned flags) { return nvmlInit_v2(); }
FAKE_EXPORT rgm_nvml_result nvmlShutdown(void) {
    FAKE_VALUE(shutdowns)++;
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT const char *nvmlErrorString(rgm_nvml_result result) {
    return result == RGM_NVML_SUCCESS ? "Success" : "Scripted";
}
FAKE_EXPORT rgm_nvml_result nvmlSystemGetDriverVersion(char *text, unsigned room) {
    (void)snprintf(text, room, "%lld.65.06", FAKE_VALUE(driver));
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlSystemGetNVMLVersion(char *text, unsigned room) {
    (void)snprintf(text, room, "13.580.65.06");
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetCount_v2(unsigned *count) {
    STEP(device_count, NULL);
    *count = (unsigned)FAKE_VALUE(devices);
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned index, rgm_nvml_device *device) {
    if (index >= MOST || index >= FAKE_VALUE(devices)) return RGM_NVML_INVALID_ARGUMENT;
    STEP(device_by_index, &wholes[index]);
    *device = &wholes[index];
    return RGM_NVML_SUCCESS;
}
// The first eight digits tell devices apart: 1000000N. Parts: 2000000N-000M.
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetUUID(rgm_nvml_device device, char *text, unsigned room) {
    STEP(device_uuid, device);
    if (FAKE_VALUE(drivers_uuids))
        (void)snprintf(text, room, "GPU-0%x1%x2%x3%x-4%x5%x-6%x7%x-8%x9%x-a%xb%xc%xd%xe%xf%x", device->index,
                       device->index, device->index, device->index, device->index, device->index,
                       device->index, device->index, device->index, device->index, device->index,
                       device->index, device->index, device->index, device->index, device->index);
    else if (device->part < 0)
        (void)snprintf(text, room, "GPU-1000000%u-0a0b-0c0d-0e0f-101112131415", device->index);
    else
        (void)snprintf(text, room, "MIG-2000000%u-000%d-5c5c-8888-a0a1a2a3a4a5", device->index, device->part);
    return RGM_NVML_SUCCESS;
}
// For NVIDIA's package; our own code takes devices by index.
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, rgm_nvml_device *device) {
    unsigned index;
    if (sscanf(uuid, FAKE_VALUE(drivers_uuids) ? "GPU-0%1x" : "GPU-1000000%1u", &index) != 1)
        return RGM_NVML_NOT_FOUND;
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}
static const char *const MODELS[] = {"Scripted GPU", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"};
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetName(rgm_nvml_device device, char *text, unsigned room) {
    STEP(device_name, device);
    size_t model = (size_t)FAKE_VALUE(model);
    if (model >= sizeof MODELS / sizeof *MODELS) abort();
    (void)snprintf(text, room, FAKE_VALUE(mixed) ? "%s %u" : "%s", MODELS[model], device->index);
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetPciInfo_v3(rgm_nvml_device device, rgm_nvml_pci *pci) {
    STEP(device_pci, device);
    *pci = (rgm_nvml_pci){.bus = device->index + 1};
    (void)snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", device->index + 1);
    return RGM_NVML_SUCCESS;
}

#ifndef FAKE_OLD
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetMigMode(rgm_nvml_device device, unsigned *current,
                                                 unsigned *pending) {
    STEP(mig_mode, device);
    *current = *pending = (FAKE_VALUE(mig) >> device->index) & 1;
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetMaxMigDeviceCount(rgm_nvml_device device, unsigned *count) {
    *count = 7;
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetMigDeviceHandleByIndex(rgm_nvml_device device, unsigned index,
                                                                rgm_nvml_device *part) {
    if (index >= PARTS || index >= FAKE_VALUE(mig_devices)) return RGM_NVML_NOT_FOUND;
    *part = &parts[device->index][index];
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetGpuInstanceId(rgm_nvml_device device, unsigned *id) {
    *id = (unsigned)device->part + 7;
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetComputeInstanceId(rgm_nvml_device device, unsigned *id) {
    *id = 0;
    return RGM_NVML_SUCCESS;
}
#endif

// --- readings ----------------------------------------------------------------------------------------------

FAKE_EXPORT rgm_nvml_result nvmlDeviceGetUtilizationRates(rgm_nvml_device device,
                                                          rgm_nvml_utilization *rates) {
    WHOLE_ONLY(device);
    if ((FAKE_VALUE(mig) >> device->index) & 1) return RGM_NVML_NOT_SUPPORTED;
    STEP(utilization, device);
    *rates = (rgm_nvml_utilization){.gpu = (unsigned)(ms() / 10 % 101), .memory = 7};
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetMemoryInfo(rgm_nvml_device device, rgm_nvml_memory *memory) {
    STEP(memory, device);
    *memory = (rgm_nvml_memory){.total = 80ull << 30, .free = 69ull << 30, .used = 11ull << 30};
    return RGM_NVML_SUCCESS;
}
#ifndef FAKE_OLD
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetMemoryInfo_v2(rgm_nvml_device device, rgm_nvml_memory_v2 *memory) {
    STEP(memory_v2, device);
    if (memory->version != (sizeof *memory | 2u << 24)) return RGM_NVML_ARGUMENT_VERSION_MISMATCH;
    memory->total = (device->part < 0 ? 80ull : 10ull) << 30;
    memory->reserved = 1ull << 30;
    memory->used = (device->part < 0 ? 10ull : 2ull) << 30;
    memory->free = memory->total - memory->reserved - memory->used;
    return RGM_NVML_SUCCESS;
}
static rgm_nvml_result fill_field(rgm_nvml_device device, rgm_nvml_field *field) {
    bool power = field->field == RGM_NVML_FIELD_POWER_INSTANT || field->field == RGM_NVML_FIELD_POWER_AVERAGE;
    bool link = field->field == RGM_NVML_FIELD_NVLINK_THROUGHPUT_DATA_TX ||
                field->field == RGM_NVML_FIELD_NVLINK_THROUGHPUT_DATA_RX;
    if (power && !FAKE_VALUE(power_fields)) return RGM_NVML_NOT_SUPPORTED;
    if (link && (!FAKE_VALUE(nvlink) || field->scope != RGM_NVML_ALL_LINKS)) return RGM_NVML_NOT_SUPPORTED;
    field->type = RGM_NVML_VALUE_U32;
    switch (field->field) {
    case RGM_NVML_FIELD_POWER_INSTANT: field->value.u32 = (unsigned)(300000 + ms() % 1000 * 100); break;
    case RGM_NVML_FIELD_POWER_AVERAGE: field->value.u32 = 350000; break;
    case RGM_NVML_FIELD_MEMORY_TEMP: field->value.u32 = 61; break;
    case RGM_NVML_FIELD_PCIE_COUNT_TX_BYTES:
    case RGM_NVML_FIELD_PCIE_COUNT_RX_BYTES: field->value.u32 = (unsigned)ms() * 1000; break;
    case RGM_NVML_FIELD_NVLINK_THROUGHPUT_DATA_TX:
        field->type = RGM_NVML_VALUE_U64;
        field->value.u64 = 1ull << 33;
        break;
    case RGM_NVML_FIELD_NVLINK_THROUGHPUT_DATA_RX:
        field->type = RGM_NVML_VALUE_DOUBLE;
        field->value.f64 = 12.0;
        break;
    default: return RGM_NVML_NOT_SUPPORTED;
    }
    return RGM_NVML_SUCCESS;
}
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetFieldValues(rgm_nvml_device device, int count,
                                                     rgm_nvml_field *fields) {
    WHOLE_ONLY(device);
    STEP(fields, device);
    for (int i = 0; i < count; i++) fields[i].result = fill_field(device, &fields[i]);
    return RGM_NVML_SUCCESS;
}
READING(nvmlDeviceGetCurrentClocksEventReasons, (unsigned long long *bits), event_reasons,
        *bits = (unsigned long long)FAKE_VALUE(reasons))
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetComputeRunningProcesses_v3(rgm_nvml_device device, unsigned *count,
                                                                    rgm_nvml_process *rows) {
    FAKE_VALUE(expensive)++;
    STEP(processes, device);
    *count = 3;
    return rows ? RGM_NVML_INVALID_ARGUMENT : RGM_NVML_INSUFFICIENT_SIZE;
}
#endif
READING(nvmlDeviceGetCurrentClocksThrottleReasons, (unsigned long long *bits), event_reasons,
        *bits = (unsigned long long)FAKE_VALUE(reasons))
READING(nvmlDeviceGetPowerUsage, (unsigned *milliwatts), power, *milliwatts = 345678)
READING(nvmlDeviceGetEnforcedPowerLimit, (unsigned *milliwatts), power_limit, *milliwatts = 700000)
// 400 W since the clock's zero, brought up to date once per period.
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetTotalEnergyConsumption(rgm_nvml_device device,
                                                                unsigned long long *millijoules) {
    long long period = FAKE_VALUE(energy_period_ns);
    WHOLE_ONLY(device);
    STEP(energy, device);
    *millijoules = (unsigned long long)(FAKE_VALUE(clock_ns) / period * period / 1000000 * 400);
    return RGM_NVML_SUCCESS;
}
READING(nvmlDeviceGetTemperature, (int sensor, unsigned *celsius), temperature,
        *celsius = sensor == RGM_NVML_SENSOR_GPU ? 55 : 0)
READING(nvmlDeviceGetClockInfo, (int clock, unsigned *mhz), clock,
        *mhz = clock == RGM_NVML_CLOCK_SM ? (unsigned)FAKE_VALUE(sm_mhz) : 2619)
READING(nvmlDeviceGetMaxClockInfo, (int clock, unsigned *mhz), max_clock,
        *mhz = clock == RGM_NVML_CLOCK_SM ? 1990 : 2620)
READING(nvmlDeviceGetApplicationsClock, (int clock, unsigned *mhz), application_clock,
        *mhz = clock == RGM_NVML_CLOCK_SM ? (unsigned)FAKE_VALUE(application_mhz) : 2619)
READING(nvmlDeviceGetDefaultApplicationsClock, (int clock, unsigned *mhz), application_clock,
        *mhz = clock == RGM_NVML_CLOCK_SM ? 1980 : 2619)
READING(nvmlDeviceGetPerformanceState, (int *state), pstate, *state = 0)
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetFanSpeed(rgm_nvml_device device, unsigned *percent) {
    FAKE_VALUE(expensive)++;
    STEP(fan, device);
    return RGM_NVML_NOT_SUPPORTED; // a passively cooled board
}
READING(nvmlDeviceGetEncoderUtilization, (unsigned *percent, unsigned *period_us), codec,
        (*percent = 3, *period_us = 167000))
READING(nvmlDeviceGetDecoderUtilization, (unsigned *percent, unsigned *period_us), codec,
        (*percent = 4, *period_us = 167000))
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetPcieThroughput(rgm_nvml_device device, int counter,
                                                        unsigned *kilobytes) {
    FAKE_VALUE(expensive)++;
    WHOLE_ONLY(device);
    STEP(pcie_rate, device);
    *kilobytes = counter == RGM_NVML_PCIE_TRANSMIT ? 1500 : 2500;
    return RGM_NVML_SUCCESS;
}
READING(nvmlDeviceGetPcieReplayCounter, (unsigned *count), pcie_replays, *count = 0)
READING(nvmlDeviceGetCurrPcieLinkGeneration, (unsigned *generation), link, *generation = 5)
READING(nvmlDeviceGetCurrPcieLinkWidth, (unsigned *lanes), link, *lanes = 16)
FAKE_EXPORT rgm_nvml_result nvmlDeviceGetTotalEccErrors(rgm_nvml_device device, int kind, int counter,
                                                        unsigned long long *count) {
    WHOLE_ONLY(device);
    STEP(ecc, device);
    *count = kind == RGM_NVML_ECC_CORRECTED ? 2 : 0;
    return counter == RGM_NVML_ECC_VOLATILE ? RGM_NVML_SUCCESS : RGM_NVML_INVALID_ARGUMENT;
}
READING(nvmlDeviceGetEccMode, (int *current, int *pending), modes, *current = *pending = 1)
READING(nvmlDeviceGetPersistenceMode, (int *mode), modes, *mode = 1)

// --- the driver's names for the same devices, last device first
// ---------------------------------------------

static int cuda_count(void) {
    return (int)(FAKE_VALUE(cuda_devices) < 0 ? FAKE_VALUE(devices) : FAKE_VALUE(cuda_devices));
}
FAKE_EXPORT rgm_cu_result cuInit(unsigned flags) {
    FAKE_VALUE(cuda_ready) = 1;
    return RGM_CU_SUCCESS;
}
FAKE_EXPORT rgm_cu_result cuCtxGetCurrent(rgm_cu_context *context) {
    *context = NULL;
    return FAKE_VALUE(cuda_ready) ? RGM_CU_SUCCESS : RGM_CU_NOT_INITIALIZED;
}
FAKE_EXPORT rgm_cu_result cuDeviceGetCount(int *count) {
    *count = cuda_count();
    return RGM_CU_SUCCESS;
}
FAKE_EXPORT rgm_cu_result cuDeviceGet(rgm_cu_device *device, int ordinal) {
    *device = ordinal;
    return ordinal < cuda_count() ? RGM_CU_SUCCESS : RGM_CU_INVALID_DEVICE;
}
FAKE_EXPORT rgm_cu_result cuDeviceGetUuid(rgm_cu_uuid *uuid, rgm_cu_device device) {
    static const unsigned char rest[16] = {0x10, 0,    0,    0,    0x0a, 0x0b, 0x0c, 0x0d,
                                           0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15};
    memcpy(uuid->bytes, rest, sizeof rest);
    uuid->bytes[3] = (unsigned char)(FAKE_VALUE(devices) - 1 - device);
    return RGM_CU_SUCCESS;
}
#define UNUSED_DRIVER_FUNCTION(name)                                                                         \
    FAKE_EXPORT rgm_cu_result name(void) { return RGM_CU_NOT_SUPPORTED; }
UNUSED_DRIVER_FUNCTION(cuDriverGetVersion)
UNUSED_DRIVER_FUNCTION(cuGetErrorName)
UNUSED_DRIVER_FUNCTION(cuDeviceGetName)
UNUSED_DRIVER_FUNCTION(cuDeviceGetAttribute)
UNUSED_DRIVER_FUNCTION(cuDeviceTotalMem_v2)
UNUSED_DRIVER_FUNCTION(cuCtxGetDevice)
UNUSED_DRIVER_FUNCTION(cuCtxPushCurrent_v2)
UNUSED_DRIVER_FUNCTION(cuCtxPopCurrent_v2)
UNUSED_DRIVER_FUNCTION(cuCtxSynchronize)
UNUSED_DRIVER_FUNCTION(cuDevicePrimaryCtxRetain)
UNUSED_DRIVER_FUNCTION(cuDevicePrimaryCtxRelease_v2)
UNUSED_DRIVER_FUNCTION(cuDevicePrimaryCtxGetState)
UNUSED_DRIVER_FUNCTION(cuStreamCreate)
UNUSED_DRIVER_FUNCTION(cuStreamDestroy_v2)
UNUSED_DRIVER_FUNCTION(cuStreamSynchronize)
UNUSED_DRIVER_FUNCTION(cuStreamGetCtx)
