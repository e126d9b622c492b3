// SPDX-License-Identifier: Apache-2.0
// The double of NVML in C tests: loaded anew with the numbers of a test, which can be set and read meanwhile.
#ifndef RGM_TEST_SCRIPTED_NVML_H
#define RGM_TEST_SCRIPTED_NVML_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cuda/nvml/nvml.h"

static void *scripted_handle;
static void (*script_set)(const char *name, long long value);
static long long (*script_get)(const char *name);
static int (*script_function)(const char *name);

static void script_end(void) {
    rgm_nvml_forget();
    if (scripted_handle) dlclose(scripted_handle);
    scripted_handle = NULL;
}

// `numbers` as in FAKE_NVML, NULL for none. Each test finds the numbers at their initial values.
static bool script_begin(const char *file, const char *numbers) {
    char path[1024];
    script_end();
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
    unsetenv("FAKE_NVML");
    if (numbers) setenv("FAKE_NVML", numbers, 1);
    setenv("REGIMETER_LIBCUDA", "off", 1);
    (void)snprintf(path, sizeof path, "%s/%s", FAKES, file);
    setenv("REGIMETER_LIBNVML", path, 1);
    scripted_handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!scripted_handle) return false;
    *(void **)&script_set = dlsym(scripted_handle, "fake_nvml_set");
    *(void **)&script_get = dlsym(scripted_handle, "fake_nvml_get");
    *(void **)&script_function = dlsym(scripted_handle, "fake_nvml_function");
    return script_set && script_get && script_function;
}

#endif
