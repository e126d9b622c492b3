// SPDX-License-Identifier: Apache-2.0
// The driver's functions that starting a measurement of counters needs, so that one double can stand for both
// libraries: one device, ordinal 0, with a current context unless the number no_context is set.
#ifndef RGM_FAKES_COUNTER_DRIVER_H
#define RGM_FAKES_COUNTER_DRIVER_H

#include "cuda/library/driver_types.h"

#define FAKE_DRIVER_NOTHING(symbol)                                                                          \
    FAKE_EXPORT rgm_cu_result symbol(void) { return RGM_CU_SUCCESS; }

FAKE_DRIVER_NOTHING(cuDeviceGetName)
FAKE_DRIVER_NOTHING(cuDeviceGetAttribute)
FAKE_DRIVER_NOTHING(cuDeviceTotalMem_v2)
FAKE_DRIVER_NOTHING(cuCtxPushCurrent_v2)
FAKE_DRIVER_NOTHING(cuCtxPopCurrent_v2)
FAKE_DRIVER_NOTHING(cuCtxSynchronize)
FAKE_DRIVER_NOTHING(cuDevicePrimaryCtxRetain)
FAKE_DRIVER_NOTHING(cuDevicePrimaryCtxRelease_v2)
FAKE_DRIVER_NOTHING(cuDevicePrimaryCtxGetState)
FAKE_DRIVER_NOTHING(cuStreamCreate)
FAKE_DRIVER_NOTHING(cuStreamDestroy_v2)
FAKE_DRIVER_NOTHING(cuStreamSynchronize)
FAKE_DRIVER_NOTHING(cuStreamGetCtx)

FAKE_EXPORT rgm_cu_result cuInit(unsigned flags) {
    return FAKE_VALUE(no_driver) ? RGM_CU_NO_DEVICE : RGM_CU_SUCCESS;
}
FAKE_EXPORT rgm_cu_result cuDriverGetVersion(int *version) {
    *version = 13000;
    return RGM_CU_SUCCESS;
}
FAKE_EXPORT rgm_cu_result cuGetErrorName(rgm_cu_result result, const char **text) {
    *text = "an error of the double";
    return RGM_CU_SUCCESS;
}
FAKE_EXPORT rgm_cu_result cuDeviceGetCount(int *count) {
    *count = 1;
    return RGM_CU_SUCCESS;
}
FAKE_EXPORT rgm_cu_result cuDeviceGet(rgm_cu_device *device, int ordinal) {
    *device = ordinal;
    return ordinal == 0 ? RGM_CU_SUCCESS : RGM_CU_INVALID_DEVICE;
}
FAKE_EXPORT rgm_cu_result cuDeviceGetUuid(rgm_cu_uuid *uuid, rgm_cu_device device) {
    for (int i = 0; i < 16; i++) uuid->bytes[i] = (unsigned char)(i * 17);
    return RGM_CU_SUCCESS;
}
FAKE_EXPORT rgm_cu_result cuCtxGetCurrent(rgm_cu_context *context) {
    static char one;
    *context = FAKE_VALUE(no_context) ? NULL : (rgm_cu_context)(void *)&one;
    return RGM_CU_SUCCESS;
}
FAKE_EXPORT rgm_cu_result cuCtxGetDevice(rgm_cu_device *device) {
    *device = 0;
    return RGM_CU_SUCCESS;
}

#endif
