// SPDX-License-Identifier: Apache-2.0
// Declarations of CUPTI's PC sampling interface, so that it builds without CUDA's headers. The header is the
// same from 12.6 to 13.1; before 12.4 a PC's record is shorter, so older libraries are not used.
// tests/core/cuda/test_cupti_headers.c compares them with the real ones where those are installed.
#ifndef RGM_CUDA_PC_SAMPLING_TYPES_H
#define RGM_CUDA_PC_SAMPLING_TYPES_H

#include <stdint.h>

#include "cuda/library/cupti_results.h"
#include "cuda/library/driver_types.h"

enum { RGM_CUPTI_PC_SAMPLING_FROM = 22, RGM_CUPTI_STALL_NAME = 128 };
enum { RGM_CUPTI_PC_CONTINUOUS = 1, RGM_CUPTI_PC_SERIALIZED = 2 };
enum { RGM_CUPTI_PC_PARSED = 1 };
// Attributes of a configuration.
enum {
    RGM_CUPTI_PC_PERIOD = 1,
    RGM_CUPTI_PC_STALL_REASONS = 2,
    RGM_CUPTI_PC_SCRATCH_BYTES = 3,
    RGM_CUPTI_PC_HARDWARE_BYTES = 4,
    RGM_CUPTI_PC_MODE = 5,
    RGM_CUPTI_PC_START_STOP = 6,
    RGM_CUPTI_PC_FORMAT = 7,
    RGM_CUPTI_PC_DATA = 8,
};

typedef struct {
    uint32_t reason; // its index, as the library gave it
    uint32_t samples;
} rgm_cupti_stall;

// One instruction. The name belongs to the library, which shares it with the records of kernels.
typedef struct {
    size_t size;
    uint64_t cubin;
    uint64_t offset;
    uint32_t function;
    uint32_t padding;
    char *name;
    size_t count;
    rgm_cupti_stall *stalls;
    uint32_t correlation; // of serialised kernels alone
} rgm_cupti_pc;

typedef struct {
    size_t size;
    size_t room; // for PCs
    uint64_t total, dropped;
    size_t count;
    size_t remaining; // PCs that wait for another call
    uint64_t range;
    rgm_cupti_pc *pcs;
    uint64_t no_record; // samples of kernels that are not the program's
    uint8_t full;       // the hardware's buffer
} rgm_cupti_pc_data;

typedef struct {
    int attribute;
    rgm_cupti_result status;
    union {
        uint64_t words[3];
        uint32_t number; // of the period, of start and stop
        int choice;      // of mode and format
        size_t bytes;
        void *data;
        struct {
            size_t count;
            uint32_t *indices;
        } reasons;
    } value;
} rgm_cupti_pc_attribute;

typedef struct {
    size_t size;
    void *priv;
    rgm_cu_context context;
    size_t count;
    rgm_cupti_pc_attribute *attributes;
} rgm_cupti_pc_configuration;

// Of enable, disable, start and stop.
typedef struct {
    size_t size;
    void *priv;
    rgm_cu_context context;
} rgm_cupti_pc_control;

typedef struct {
    size_t size;
    void *priv;
    rgm_cu_context context;
    void *data;
} rgm_cupti_pc_get_data;

typedef struct {
    size_t size;
    void *priv;
    rgm_cu_context context;
    size_t *count;
} rgm_cupti_pc_reason_count;

typedef struct {
    size_t size;
    void *priv;
    rgm_cu_context context;
    size_t count;
    uint32_t *indices;
    char **names; // each of RGM_CUPTI_STALL_NAME bytes
} rgm_cupti_pc_reasons;

// Which line of source an instruction is of. The two texts are the caller's to free.
typedef struct {
    size_t size;
    const void *cubin;
    const char *function;
    size_t cubin_bytes;
    uint32_t line;
    uint64_t offset;
    char *file, *folder;
} rgm_cupti_source_line;

// Asks for the number that samples are to carry for a binary.
typedef void (*rgm_cupti_number_cubin)(const void *cubin, size_t bytes, uint64_t *number);

#endif
