// SPDX-License-Identifier: Apache-2.0
#include "cuda/nvml/nvml_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/tokens.h"
#include "cuda/library/driver.h"

enum { MOST_DEVICES = 256 }; // of an answer that is to be believed

const char *rgm_device_mapping_text(rgm_device_mapping mapping) {
    static const char *const texts[] = {RGM_DEVICE_MAPPINGS(RGM_TOKEN)};
    return mapping < RGM_MAPPING_COUNT ? texts[mapping] : texts[RGM_MAPPING_NONE];
}

void rgm_nvml_list_release(rgm_nvml_list *list) {
    rgm_free(list->gpus);
    *list = (rgm_nvml_list){0};
}

const rgm_nvml_gpu *rgm_nvml_list_find(const rgm_nvml_list *list, int ordinal) {
    for (size_t i = 0; ordinal >= 0 && i < list->count; i++)
        if (list->gpus[i].ordinal == ordinal) return &list->gpus[i];
    return NULL;
}

// --- reading ----------------------------------------------------------------------------------------------

static rgm_nvml_gpu *append(rgm_nvml_list *list, rgm_error *err) {
    rgm_nvml_gpu *grown = rgm_realloc(list->gpus, (list->count + 1) * sizeof *grown);
    if (!grown) {
        (void)rgm_error_no_memory(err);
        return NULL;
    }
    list->gpus = grown;
    rgm_nvml_gpu *gpu = &grown[list->count++];
    *gpu = (rgm_nvml_gpu){.mig_mode = -1, .gpu_instance = -1, .compute_instance = -1, .ordinal = -1};
    return gpu;
}

// The texts stay empty where NVML does not tell them.
static void name_device(const rgm_nvml *nvml, rgm_nvml_gpu *gpu) {
    rgm_nvml_pci pci = {0};
    if (nvml->device_uuid(gpu->handle, gpu->uuid, sizeof gpu->uuid) != RGM_NVML_SUCCESS) gpu->uuid[0] = '\0';
    if (nvml->device_name(gpu->handle, gpu->name, sizeof gpu->name) != RGM_NVML_SUCCESS) gpu->name[0] = '\0';
    if (nvml->device_pci(gpu->whole, &pci) == RGM_NVML_SUCCESS)
        (void)snprintf(gpu->bus, sizeof gpu->bus, "%.*s", (int)sizeof pci.bus_id, pci.bus_id);
    gpu->uuid[sizeof gpu->uuid - 1] = gpu->name[sizeof gpu->name - 1] = '\0';
}

static rgm_status read_mig(rgm_nvml_list *list, const rgm_nvml *nvml, size_t parent, rgm_error *err) {
    unsigned most = 0;
    rgm_nvml_gpu whole = list->gpus[parent];
    if (nvml->mig_most(whole.handle, &most) != RGM_NVML_SUCCESS) return RGM_OK;
    for (unsigned i = 0; i < most && i < MOST_DEVICES; i++) {
        rgm_nvml_device handle = NULL;
        unsigned id = 0;
        if (nvml->mig_by_index(whole.handle, i, &handle) != RGM_NVML_SUCCESS) continue;
        rgm_nvml_gpu *gpu = append(list, err);
        if (!gpu) return RGM_NO_MEMORY;
        gpu->handle = handle;
        gpu->whole = whole.handle;
        gpu->index = whole.index;
        gpu->mig_mode = 1;
        gpu->mig = true;
        name_device(nvml, gpu);
        if (nvml->gpu_instance(handle, &id) == RGM_NVML_SUCCESS) gpu->gpu_instance = (int)id;
        if (nvml->compute_instance(handle, &id) == RGM_NVML_SUCCESS) gpu->compute_instance = (int)id;
    }
    return RGM_OK;
}

static rgm_status read_device(rgm_nvml_list *list, const rgm_nvml *nvml, unsigned index, rgm_error *err) {
    unsigned current = 0, pending = 0;
    rgm_nvml_gpu *gpu = append(list, err);
    if (!gpu) return RGM_NO_MEMORY;
    gpu->index = index;
    gpu->result = nvml->device_by_index(index, &gpu->handle);
    if (gpu->result != RGM_NVML_SUCCESS) {
        gpu->handle = NULL;
        return RGM_OK;
    }
    gpu->whole = gpu->handle;
    name_device(nvml, gpu);
    if (!rgm_nvml_can(nvml, RGM_NVML_HAS_MIG)) return RGM_OK;
    if (nvml->mig_mode(gpu->handle, &current, &pending) == RGM_NVML_SUCCESS) gpu->mig_mode = current ? 1 : 0;
    return gpu->mig_mode == 1 ? read_mig(list, nvml, list->count - 1, err) : RGM_OK;
}

// --- ordinals by the variables ----------------------------------------------------------------------------

typedef struct {
    size_t rows[MOST_DEVICES]; // of the list
    size_t count;
    rgm_device_mapping mapping;
} choice;

// What CUDA makes of a physical device: itself, or the first of its MIG devices. count when it has none.
static size_t usable(const rgm_nvml_list *list, size_t row) {
    if (list->gpus[row].mig_mode != 1) return row;
    size_t next = row + 1;
    return next < list->count && list->gpus[next].mig ? next : list->count;
}

static size_t physical_row(const rgm_nvml_list *list, long index) {
    for (size_t i = 0; index >= 0 && i < list->count; i++)
        if (!list->gpus[i].mig && (long)list->gpus[i].index == index) return i;
    return list->count;
}

// The row of the only device whose UUID begins so; count when there is none, or more than one.
static size_t uuid_row(const rgm_nvml_list *list, const char *prefix, size_t length) {
    size_t found = list->count;
    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->gpus[i].uuid, prefix, length) != 0) continue;
        if (found < list->count) return list->count;
        found = i;
    }
    return found;
}

static bool take(choice *chosen, size_t row) {
    for (size_t i = 0; i < chosen->count; i++) {
        if (chosen->rows[i] != row) continue;
        chosen->count = 0; // named twice
        return false;
    }
    if (chosen->count == MOST_DEVICES) return false;
    chosen->rows[chosen->count++] = row;
    return true;
}

static void choose_by_uuid(const rgm_nvml_list *list, const char *visible, choice *chosen) {
    for (const char *at = visible;;) {
        size_t length = strcspn(at, ",");
        // The kind of the first entry is that of the list.
        if (length < 4 || strncmp(at, visible, 4) != 0) return;
        size_t row = uuid_row(list, at, length);
        if (row == list->count) return;
        if (!list->gpus[row].mig) row = usable(list, row);
        if (row < list->count && !take(chosen, row)) return;
        if (!at[length]) return;
        at += length + 1;
    }
}

// An entry is read as strtol does it: "1x" means 1.
static void choose_by_index(const rgm_nvml_list *list, const char *visible, choice *chosen) {
    for (const char *at = visible;;) {
        char *end;
        long index = strtol(at, &end, 10);
        size_t row = end > at ? physical_row(list, index) : list->count;
        if (row == list->count) return;
        row = usable(list, row);
        if (row < list->count && !take(chosen, row)) return;
        at = strchr(at, ',');
        if (!at) return;
        at++;
    }
}

void rgm_nvml_list_map(rgm_nvml_list *list, const char *visible, const char *order) {
    choice chosen = {.mapping = RGM_MAPPING_ASSUMED};
    size_t physical = 0;
    for (size_t i = 0; i < list->count; i++) {
        list->gpus[i].ordinal = -1;
        list->gpus[i].mapping = RGM_MAPPING_NONE;
        physical += !list->gpus[i].mig;
    }
    if (order && strcmp(order, "PCI_BUS_ID") == 0) chosen.mapping = RGM_MAPPING_BUS_ORDER;
    if (physical == 1) chosen.mapping = RGM_MAPPING_ONLY;
    if (visible && (strncmp(visible, "GPU-", 4) == 0 || strncmp(visible, "MIG-", 4) == 0)) {
        chosen.mapping = RGM_MAPPING_UUID;
        choose_by_uuid(list, visible, &chosen);
    } else if (visible) {
        choose_by_index(list, visible, &chosen);
    } else {
        for (size_t i = 0; i < list->count; i++) {
            size_t row = list->gpus[i].mig ? list->count : usable(list, i);
            if (row < list->count) (void)take(&chosen, row);
        }
    }
    for (size_t i = 0; i < chosen.count; i++) {
        if (!list->gpus[chosen.rows[i]].mig) continue;
        chosen.rows[0] = chosen.rows[i]; // the first MIG device, and nothing else
        chosen.count = 1;
        // Which of several MIG devices is the first is the driver's choice where none was named.
        if (chosen.mapping != RGM_MAPPING_UUID || strncmp(visible, "MIG-", 4) != 0)
            chosen.mapping = RGM_MAPPING_ASSUMED;
    }
    for (size_t i = 0; i < chosen.count; i++) {
        list->gpus[chosen.rows[i]].ordinal = (int)i;
        list->gpus[chosen.rows[i]].mapping = chosen.mapping;
    }
    list->visible = chosen.count;
}

// --- ordinals from the driver -----------------------------------------------------------------------------

static void uuid_text(char *text, size_t room, const rgm_cu_uuid *uuid) {
    const unsigned char *b = uuid->bytes;
    (void)snprintf(text, room, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                   b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                   b[14], b[15]);
}

// Fills rows with the device behind each ordinal; false when the driver cannot be asked or names a stranger.
static bool ask_driver(const rgm_nvml_list *list, choice *chosen) {
    const rgm_driver *driver;
    rgm_cu_context context = NULL;
    int count = 0;
    if (rgm_driver_get(&driver, RGM_LIBRARY_IF_LOADED, NULL) != RGM_OK) return false;
    // A driver that the program has not initialised is not initialised by asking for telemetry.
    if (driver->context_current(&context) == RGM_CU_NOT_INITIALIZED) return false;
    if (driver->device_count(&count) != RGM_CU_SUCCESS || count < 0 || count > MOST_DEVICES) return false;
    for (int ordinal = 0; ordinal < count; ordinal++) {
        rgm_cu_device device;
        rgm_cu_uuid uuid;
        char text[RGM_NVML_UUID_ROOM];
        if (driver->device_get(&device, ordinal) != RGM_CU_SUCCESS) return false;
        if (driver->device_uuid(&uuid, device) != RGM_CU_SUCCESS) return false;
        uuid_text(text, sizeof text, &uuid);
        size_t row = uuid_row(list, text, sizeof text);
        if (row == list->count || !take(chosen, row)) return false;
    }
    return true;
}

// The driver gives the UUID of the physical device also for a MIG device: then the variables say which part.
static void map_by_driver(rgm_nvml_list *list) {
    choice chosen = {0};
    if (!ask_driver(list, &chosen)) return;
    for (size_t i = 0; i < chosen.count; i++)
        if (list->gpus[chosen.rows[i]].mig_mode == 1) return;
    for (size_t i = 0; i < list->count; i++) {
        list->gpus[i].ordinal = -1;
        list->gpus[i].mapping = RGM_MAPPING_NONE;
    }
    for (size_t i = 0; i < chosen.count; i++) {
        list->gpus[chosen.rows[i]].ordinal = (int)i;
        list->gpus[chosen.rows[i]].mapping = RGM_MAPPING_DRIVER;
    }
    list->visible = chosen.count;
}

rgm_status rgm_nvml_list_read(rgm_nvml_list *list, const rgm_nvml *nvml, rgm_error *err) {
    unsigned count = 0;
    *list = (rgm_nvml_list){0};
    rgm_nvml_result result = nvml->device_count(&count);
    if (result != RGM_NVML_SUCCESS)
        return rgm_error_set(err, RGM_UNAVAILABLE, "NVML: the devices cannot be counted: %s",
                             rgm_nvml_text(result));
    for (unsigned i = 0; i < count && i < MOST_DEVICES; i++) {
        rgm_status status = read_device(list, nvml, i, err);
        if (status != RGM_OK) {
            rgm_nvml_list_release(list);
            return status;
        }
    }
    rgm_nvml_list_map(list, getenv("CUDA_VISIBLE_DEVICES"), getenv("CUDA_DEVICE_ORDER"));
    map_by_driver(list);
    return RGM_OK;
}
