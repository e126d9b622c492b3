// SPDX-License-Identifier: Apache-2.0
// The devices that NVML knows, MIG devices among them, and which of them a CUDA ordinal of this process
// means.
//
// NVML numbers all devices of the machine in the order of the PCI bus; CUDA numbers those that
// CUDA_VISIBLE_DEVICES leaves, by default with the fastest first. Where the program uses CUDA already, the
// driver is asked for the UUID behind each ordinal; elsewhere the variables are read by CUDA's rules:
//   indices, or prefixes of UUIDs ("GPU-...", "MIG-..."), of the kind of the first entry; an entry that names
//   nothing, or more than one device, ends the list; a device named twice empties it; a process sees one MIG
//   device at most, and beside it no other device.
// What rests on an order that NVML cannot know is marked RGM_MAPPING_ASSUMED.
#ifndef RGM_CUDA_NVML_DEVICES_H
#define RGM_CUDA_NVML_DEVICES_H

#include "cuda/nvml/nvml.h"

// X(NAME, token): how the ordinal of a device was found.
#define RGM_DEVICE_MAPPINGS(X)                                                                               \
    X(NONE, "not visible to CUDA")                                                                           \
    X(DRIVER, "UUID from the CUDA driver")                                                                   \
    X(UUID, "UUID in CUDA_VISIBLE_DEVICES")                                                                  \
    X(ONLY, "only device")                                                                                   \
    X(BUS_ORDER, "order of the PCI bus")                                                                     \
    X(ASSUMED, "assumed: CUDA's default order is not known to NVML")

#define RGM_DEVICE_MAPPING_ENUM(name, token) RGM_MAPPING_##name,
typedef enum { RGM_DEVICE_MAPPINGS(RGM_DEVICE_MAPPING_ENUM) RGM_MAPPING_COUNT } rgm_device_mapping;

typedef struct {
    rgm_nvml_device handle; // NULL where result says why
    rgm_nvml_result result;
    rgm_nvml_device whole; // the physical device: of a MIG device the one that it is a part of
    char uuid[RGM_NVML_UUID_ROOM];
    char name[RGM_NVML_NAME_ROOM];
    char bus[32];
    unsigned index;       // of the physical device in NVML
    int mig_mode;         // of the physical device: 1 on, 0 off, -1 not offered
    bool mig;             // a part of a device
    int gpu_instance;     // of a MIG device, -1 unknown
    int compute_instance; // of a MIG device, -1 unknown
    int ordinal;          // what CUDA calls it in this process, -1 not visible
    rgm_device_mapping mapping;
} rgm_nvml_gpu;

// Physical devices in NVML's order, each followed by its MIG devices.
typedef struct {
    rgm_nvml_gpu *gpus;
    size_t count;
    size_t visible;
} rgm_nvml_list;

// Reads the devices and maps the ordinals. A device that cannot be opened stays in the list with its result.
rgm_status rgm_nvml_list_read(rgm_nvml_list *list, const rgm_nvml *nvml, rgm_error *err) RGM_NODISCARD;
void rgm_nvml_list_release(rgm_nvml_list *list);
// The device of an ordinal, NULL when CUDA sees none of that number.
const rgm_nvml_gpu *rgm_nvml_list_find(const rgm_nvml_list *list, int ordinal);
// Ordinals by the rules above; the texts are those of the environment, NULL when unset.
void rgm_nvml_list_map(rgm_nvml_list *list, const char *visible, const char *order);
const char *rgm_device_mapping_text(rgm_device_mapping mapping);

#endif
