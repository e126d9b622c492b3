// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/copies.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

typedef struct {
    const char *text;
    int code;
} spelling;

static const spelling directions[] = {
    {"HtoD", RGM_COPY_HOST_TO_DEVICE},
    {"HtoA", RGM_COPY_HOST_TO_DEVICE},
    {"DtoH", RGM_COPY_DEVICE_TO_HOST},
    {"AtoH", RGM_COPY_DEVICE_TO_HOST},
    {"DtoD", RGM_COPY_DEVICE_TO_DEVICE},
    {"AtoD", RGM_COPY_DEVICE_TO_DEVICE},
    {"DtoA", RGM_COPY_DEVICE_TO_DEVICE},
    {"AtoA", RGM_COPY_DEVICE_TO_DEVICE},
    {"HtoH", RGM_COPY_HOST_TO_HOST},
    {"PtoP", RGM_COPY_PEER_TO_PEER},
    {"HostToDevice", RGM_COPY_HOST_TO_DEVICE},
    {"Host-to-Device", RGM_COPY_HOST_TO_DEVICE},
    {"DeviceToHost", RGM_COPY_DEVICE_TO_HOST},
    {"Device-to-Host", RGM_COPY_DEVICE_TO_HOST},
    {"DeviceToDevice", RGM_COPY_DEVICE_TO_DEVICE},
    {"Device-to-Device", RGM_COPY_DEVICE_TO_DEVICE},
    {"HostToHost", RGM_COPY_HOST_TO_HOST},
    {"Host-to-Host", RGM_COPY_HOST_TO_HOST},
    {"Peer-to-Peer", RGM_COPY_PEER_TO_PEER},
};

static const spelling memories[] = {
    {"Pageable", RGM_COPY_MEMORY_PAGEABLE}, {"Pinned", RGM_COPY_MEMORY_PINNED},
    {"Host", RGM_COPY_MEMORY_HOST},         {"Device", RGM_COPY_MEMORY_DEVICE},
    {"Array", RGM_COPY_MEMORY_ARRAY},       {"Managed", RGM_COPY_MEMORY_MANAGED},
};

static rgm_copy_direction direction_of(rgm_string name) {
    for (size_t i = 0; i < sizeof directions / sizeof directions[0]; i++)
        if (memmem(name.data, name.length, directions[i].text, strlen(directions[i].text)))
            return (rgm_copy_direction)directions[i].code;
    return RGM_COPY_UNKNOWN;
}

// The memory that the text begins with, after spaces.
static rgm_copy_memory memory_at(const char *text, size_t length) {
    for (; length && isspace((unsigned char)*text); length--) text++;
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        size_t size = strlen(memories[i].text);
        if (length >= size && strncasecmp(text, memories[i].text, size) == 0)
            return (rgm_copy_memory)memories[i].code;
    }
    return RGM_COPY_MEMORY_UNKNOWN;
}

rgm_copy rgm_copy_of(const rgm_view *view, uint32_t row) {
    rgm_string name = rgm_view_text(view, rgm_view_name(view, row));
    const char *end = name.data + name.length, *open = memchr(name.data, '(', name.length);
    const char *arrow = open ? memmem(open, (size_t)(end - open), "->", 2) : NULL;
    rgm_copy_memory first = open ? memory_at(open + 1, (size_t)(end - open - 1)) : RGM_COPY_MEMORY_UNKNOWN;
    if (rgm_view_kind(view, row) == RGM_KIND_MEMSET)
        return (rgm_copy){RGM_COPY_SET, RGM_COPY_MEMORY_UNKNOWN, first};
    return (rgm_copy){direction_of(name), first,
                      arrow ? memory_at(arrow + 2, (size_t)(end - arrow - 2)) : RGM_COPY_MEMORY_UNKNOWN};
}
