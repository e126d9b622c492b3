// SPDX-License-Identifier: Apache-2.0
// Declarations of the NVML interface that this code calls, so that it builds without NVIDIA's headers.
// tests/core/cuda/test_nvml.c compares them with the real ones where nvml.h is installed.
#ifndef RGM_CUDA_NVML_TYPES_H
#define RGM_CUDA_NVML_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int rgm_nvml_result;
typedef struct rgm_nvml_device_s *rgm_nvml_device;

// X(NAME, value, what it means for a user): all results that a release up to 13.5 can give.
#define RGM_NVML_RESULTS(X)                                                                                  \
    X(SUCCESS, 0, "success")                                                                                 \
    X(UNINITIALIZED, 1, "the library is not initialised")                                                    \
    X(INVALID_ARGUMENT, 2, "the driver refused the question")                                                \
    X(NOT_SUPPORTED, 3, "this device does not offer it")                                                     \
    X(NO_PERMISSION, 4, "this user may not read it")                                                         \
    X(ALREADY_INITIALIZED, 5, "the library is initialised already")                                          \
    X(NOT_FOUND, 6, "there is no such object")                                                               \
    X(INSUFFICIENT_SIZE, 7, "the answer is larger than expected")                                            \
    X(INSUFFICIENT_POWER, 8, "the power cables of the device are not attached properly")                     \
    X(DRIVER_NOT_LOADED, 9, "the kernel driver is not loaded")                                               \
    X(TIMEOUT, 10, "it timed out")                                                                           \
    X(IRQ_ISSUE, 11, "the kernel driver has trouble with the interrupts of the device")                      \
    X(LIBRARY_NOT_FOUND, 12, "a part of the driver is missing")                                              \
    X(FUNCTION_NOT_FOUND, 13, "this driver is too old for it")                                               \
    X(CORRUPTED_INFOROM, 14, "the device's information memory is corrupted")                                 \
    X(GPU_IS_LOST, 15, "the device was lost: it fell off the bus or cannot be reached")                      \
    X(RESET_REQUIRED, 16, "the device must be reset before it can be used")                                  \
    X(OPERATING_SYSTEM, 17, "the operating system blocks it")                                                \
    X(LIB_RM_VERSION_MISMATCH, 18,                                                                           \
      "library and kernel driver are of different versions; reboot, or reload the driver")                   \
    X(IN_USE, 19, "the device is in use")                                                                    \
    X(MEMORY, 20, "the driver is out of memory")                                                             \
    X(NO_DATA, 21, "there is no data yet")                                                                   \
    X(VGPU_ECC_NOT_SUPPORTED, 22, "not offered on a virtual GPU with ECC")                                   \
    X(INSUFFICIENT_RESOURCES, 23, "the driver is out of resources")                                          \
    X(FREQ_NOT_SUPPORTED, 24, "the frequency is not offered")                                                \
    X(ARGUMENT_VERSION_MISMATCH, 25, "this driver knows another version of the question")                    \
    X(DEPRECATED, 26, "this driver does not offer it any more")                                              \
    X(NOT_READY, 27, "the system is not ready for it")                                                       \
    X(GPU_NOT_FOUND, 28, "no GPU was found")                                                                 \
    X(INVALID_STATE, 29, "the device is in a state that does not allow it")                                  \
    X(RESET_TYPE_NOT_SUPPORTED, 30, "this kind of reset is not offered")                                     \
    X(UNKNOWN, 999, "an internal error of the driver")

#define RGM_NVML_RESULT_ENUM(name, value, text) RGM_NVML_##name = (value),
enum { RGM_NVML_RESULTS(RGM_NVML_RESULT_ENUM) };

typedef struct {
    unsigned gpu, memory; // percent
} rgm_nvml_utilization;

typedef struct {
    unsigned long long total, free, used;
} rgm_nvml_memory;

typedef struct {
    unsigned version;
    unsigned long long total, reserved, free, used;
} rgm_nvml_memory_v2;

typedef struct {
    char bus_legacy[16];
    unsigned domain, bus, device, pci_device, pci_subsystem;
    char bus_id[32];
} rgm_nvml_pci;

typedef union {
    double f64;
    int i32;
    unsigned u32;
    unsigned long ul;
    unsigned long long u64;
    long long i64;
    unsigned short u16;
} rgm_nvml_value;

typedef struct {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    int type; // a RGM_NVML_VALUE
    rgm_nvml_result result;
    rgm_nvml_value value;
} rgm_nvml_field;

// The list of processes is asked for its length only, so that the rows stay opaque.
typedef struct rgm_nvml_process_s rgm_nvml_process;

enum {
    RGM_NVML_VALUE_DOUBLE,
    RGM_NVML_VALUE_U32,
    RGM_NVML_VALUE_UL,
    RGM_NVML_VALUE_U64,
    RGM_NVML_VALUE_I64,
    RGM_NVML_VALUE_I32,
    RGM_NVML_VALUE_U16
};
enum { RGM_NVML_CLOCK_SM = 1, RGM_NVML_CLOCK_MEMORY = 2 };
enum { RGM_NVML_SENSOR_GPU = 0 };
enum { RGM_NVML_PCIE_TRANSMIT = 0, RGM_NVML_PCIE_RECEIVE = 1 };
enum { RGM_NVML_ECC_CORRECTED = 0, RGM_NVML_ECC_UNCORRECTED = 1, RGM_NVML_ECC_VOLATILE = 0 };
enum { RGM_NVML_UUID_ROOM = 96, RGM_NVML_NAME_ROOM = 96, RGM_NVML_VERSION_ROOM = 80 };
#define RGM_NVML_ALL_LINKS 0xFFFFFFFFu

// X(NAME, number): fields of nvmlDeviceGetFieldValues.
#define RGM_NVML_FIELDS(X)                                                                                   \
    X(MEMORY_TEMP, 82)                                                                                       \
    X(NVLINK_THROUGHPUT_DATA_TX, 138)                                                                        \
    X(NVLINK_THROUGHPUT_DATA_RX, 139)                                                                        \
    X(POWER_AVERAGE, 185)                                                                                    \
    X(POWER_INSTANT, 186)                                                                                    \
    X(PCIE_COUNT_TX_BYTES, 197)                                                                              \
    X(PCIE_COUNT_RX_BYTES, 198)
#define RGM_NVML_FIELD_ENUM(name, number) RGM_NVML_FIELD_##name = (number),
enum { RGM_NVML_FIELDS(RGM_NVML_FIELD_ENUM) };

#endif
