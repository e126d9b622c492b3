// SPDX-License-Identifier: Apache-2.0
// How long the calibration kernels take on the device on paper: what they are asked to do, told by their
// launch, at rates that an H100 can have. A part of cuda.c, which includes it once.
#ifndef RGM_FAKES_CALIBRATION_TIMES_H
#define RGM_FAKES_CALIBRATION_TIMES_H

enum { PER_UNIT, PER_THREAD, PER_WARP, UNITS_AND_PASSES };

static const struct {
    const char *name;
    int work, argument; // where the count of units or of rounds stands
    double each, per_ns;
} paper_kernels[] = {
    {"rgm_copy", PER_UNIT, 2, 32, 2900},
    {"rgm_triad", PER_UNIT, 4, 48, 3000},
    {"rgm_read", PER_UNIT, 2, 16, 3050},
    {"rgm_fill", PER_UNIT, 2, 16, 2950},
    {"rgm_read_l2", UNITS_AND_PASSES, 2, 16, 6000},
    {"rgm_fma_fp32", PER_THREAD, 3, 256, 61e3},
    {"rgm_fma_fp64", PER_THREAD, 3, 256, 31e3},
    {"rgm_fma_fp16", PER_THREAD, 3, 512, 121e3},
    {"rgm_fma_bf16", PER_THREAD, 3, 512, 121e3},
    {"rgm_mma_fp16_k8", PER_WARP, 2, 16384, 300e3},
    {"rgm_mma_int8_k16", PER_WARP, 2, 16384, 600e3},
    {"rgm_mma_fp16", PER_WARP, 2, 32768, 620e3},
    {"rgm_mma_bf16", PER_WARP, 2, 32768, 620e3},
    {"rgm_mma_tf32", PER_WARP, 2, 16384, 310e3},
    {"rgm_mma_int8", PER_WARP, 2, 65536, 1240e3},
    {"rgm_mma_fp8", PER_WARP, 2, 65536, 1000e3},
};

// A kernel that is known here takes no less than any kernel; -1 for others.
static int64_t paper_ns(const char *name, const unsigned *grid, const unsigned *block, void **parameters) {
    enum { SHORTEST_NS = 2000, WARP = 32 };
    if (!parameters) return -1;
    for (size_t i = 0; i < sizeof paper_kernels / sizeof *paper_kernels; i++) {
        if (strcmp(paper_kernels[i].name, name) != 0) continue;
        const void *argument = parameters[paper_kernels[i].argument];
        double threads = (double)grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2], count;
        unsigned long long units = 0;
        int rounds = 0;
        switch (paper_kernels[i].work) {
        case PER_THREAD: memcpy(&rounds, argument, sizeof rounds), count = threads * rounds; break;
        case PER_WARP: memcpy(&rounds, argument, sizeof rounds), count = threads / WARP * rounds; break;
        case UNITS_AND_PASSES:
            memcpy(&rounds, parameters[paper_kernels[i].argument + 1], sizeof rounds);
            memcpy(&units, argument, sizeof units), count = (double)units * rounds;
            break;
        default: memcpy(&units, argument, sizeof units), count = (double)units;
        }
        return SHORTEST_NS + (int64_t)(count * paper_kernels[i].each / paper_kernels[i].per_ns);
    }
    return strncmp(name, "rgm_", 4) == 0 ? SHORTEST_NS : -1;
}

// rgm_timestamp leaves nanoseconds and cycles of the device's clock where its argument points.
static void paper_result(const char *name, void **parameters, int64_t start_ns) {
    enum { MHZ = 1980 };
    if (!parameters || strcmp(name, "rgm_timestamp") != 0) return;
    long long *out;
    memcpy(&out, parameters[0], sizeof out);
    out[0] = start_ns;
    out[1] = start_ns * MHZ / 1000;
}

#endif
