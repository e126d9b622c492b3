// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/calls.h"

#include <string.h>

static bool contains(rgm_string name, const char *part) {
    return memmem(name.data, name.length, part, strlen(part)) != NULL;
}

// Names of the CUDA runtime, the CUDA driver and HIP differ in their first letters only.
static bool is_copy(rgm_string name) {
    static const char *const prefixes[] = {"cudaMemcpy", "cuMemcpy", "hipMemcpy"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t length = strlen(prefixes[i]);
        if (name.length >= length && memcmp(name.data, prefixes[i], length) == 0) return true;
    }
    return false;
}

// Freeing later (cudaFreeAsync) and freeing host memory (cudaFreeHost) are other calls.
static bool is_free(rgm_string name) {
    return (name.length == 8 && memcmp(name.data, "cudaFree", 8) == 0) ||
           (name.length == 7 && memcmp(name.data, "hipFree", 7) == 0);
}

static rgm_call_kind synchronizes(rgm_string name) {
    if (contains(name, "Event")) return RGM_CALL_AWAITS_EVENT;
    return contains(name, "Stream") ? RGM_CALL_AWAITS_STREAM : RGM_CALL_AWAITS_DEVICE;
}

rgm_call_kind rgm_call_classify(rgm_string name) {
    if (contains(name, "StreamWaitEvent") || contains(name, "waitOnEvent")) return RGM_CALL_STREAM_WAIT;
    if (is_copy(name)) return contains(name, "Async") ? RGM_CALL_COPY_ASYNC : RGM_CALL_COPY;
    if (contains(name, "ynchronize")) return synchronizes(name);
    return is_free(name) ? RGM_CALL_FREE : RGM_CALL_OTHER;
}
