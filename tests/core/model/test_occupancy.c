// SPDX-License-Identifier: Apache-2.0
// Theoretical occupancy against values that NVIDIA has published, and against its own calculator where the
// toolkit is installed.
#include "harness.h"
#include "model/occupancy.h"

#if defined(__has_include)
#if __has_include(<cuda_occupancy.h>)
#define HAS_CALCULATOR 1
#endif
#endif

static const rgm_device_limits devices[] = {
    {6, 0, 32, 2048, 32, 65536, 65536, 0, 56},       // P100
    {7, 0, 32, 2048, 32, 65536, 98304, 0, 80},       // V100
    {7, 5, 32, 1024, 16, 65536, 65536, 0, 40},       // T4
    {8, 0, 32, 2048, 32, 65536, 167936, 1024, 108},  // A100
    {8, 6, 32, 1536, 16, 65536, 102400, 1024, 72},   // A10
    {8, 9, 32, 1536, 24, 65536, 102400, 1024, 58},   // L4
    {9, 0, 32, 2048, 32, 65536, 233472, 1024, 132},  // H100
    {10, 0, 32, 2048, 32, 65536, 233472, 1024, 148}, // B200
};

// From the "Achieved Occupancy" and "Multiprocessor Level" sections of NVIDIA's guides and the calculator's
// sheets: device, threads, registers, shared bytes, active warps.
TEST(published_values) {
    static const struct {
        int device;
        int32_t threads, registers;
        int64_t shared;
        int warps, most;
        rgm_occupancy_limit limit;
    } known[] = {
        {1, 256, 32, 0, 64, 64, RGM_OCCUPANCY_LIMIT_WARPS}, // all warps
        {1, 128, 37, 0, 48, 64,
         RGM_OCCUPANCY_LIMIT_REGISTERS}, // the best-practices guide: 37 registers allow 12 blocks of 128
        {1, 320, 37, 0, 40, 64, RGM_OCCUPANCY_LIMIT_REGISTERS},  // and of 320 threads 4 blocks
        {3, 1024, 64, 0, 32, 64, RGM_OCCUPANCY_LIMIT_REGISTERS}, // registers allow one block
        {6, 32, 16, 0, 32, 64, RGM_OCCUPANCY_LIMIT_BLOCKS},      // the number of blocks limits
        {6, 128, 16, 49152, 16, 64, RGM_OCCUPANCY_LIMIT_SHARED}, // 48 KiB and 1 KiB for the system: 4 blocks
        {4, 512, 128, 0, 16, 48, RGM_OCCUPANCY_LIMIT_REGISTERS},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        rgm_occupancy found = rgm_occupancy_of(&devices[known[i].device], known[i].threads,
                                               known[i].registers, known[i].shared);
        CHECK_NEAR(found.share, (double)known[i].warps / known[i].most, 1e-6);
        CHECK_EQ_I64(found.limit, known[i].limit);
    }
}

// What a trace does not say is what the driver says.
TEST(limits_by_compute_capability) {
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        rgm_device_limits limits = devices[i];
        limits.blocks = limits.reserved_bytes = 0;
        CHECK(rgm_device_limits_complete(&limits));
        CHECK_EQ_I64(limits.blocks, devices[i].blocks);
        CHECK_EQ_I64(limits.reserved_bytes, devices[i].reserved_bytes);
    }
    CHECK(!rgm_device_limits_complete(&(rgm_device_limits){.major = 99, .minor = 9}));
}

// By hand: 132 multiprocessors of 64 warps hold 8,448; 120 clusters of two blocks of 32 warps are 7,680.
TEST(clusters_that_the_device_holds) {
    rgm_device_limits limits = {
        .major = 9, .warp_threads = 32, .threads = 2048, .blocks = 32, .multiprocessors = 132};
    rgm_occupancy without = rgm_occupancy_of(&limits, 1024, 0, 0);
    CHECK_NEAR(without.share, 1, 1e-12);
    rgm_occupancy found = rgm_occupancy_in_clusters(&limits, without, 1024, 2, 120);
    CHECK_NEAR(found.share, 7680.0 / 8448, 1e-12);
    CHECK_EQ_I64(found.limit, RGM_OCCUPANCY_LIMIT_CLUSTERS);
    // What clusters do not take away, and what is not known of them, changes nothing.
    CHECK_EQ_I64(rgm_occupancy_in_clusters(&limits, without, 1024, 2, 132).limit, without.limit);
    CHECK_EQ_I64(rgm_occupancy_in_clusters(&limits, without, 1024, 2, 0).limit, without.limit);
    CHECK_EQ_I64(rgm_occupancy_in_clusters(&limits, without, 1024, 1, 1).limit, without.limit);
    limits.multiprocessors = 0;
    CHECK_EQ_I64(rgm_occupancy_in_clusters(&limits, without, 1024, 2, 120).limit, without.limit);
}

TEST(what_is_not_known) {
    rgm_device_limits nothing = {0};
    CHECK(isnan(rgm_occupancy_of(&nothing, 128, 32, 0).share));
    CHECK(isnan(rgm_occupancy_of(&devices[1], 0, 32, 0).share));
    CHECK(isnan(rgm_occupancy_of(&devices[1], 128, 32, 1 << 30).share));
    CHECK(isnan(rgm_occupancy_of(&devices[1], 128, 32, INT64_MAX).share));
}

#ifdef HAS_CALCULATOR
#include <cuda_occupancy.h>

static int calculator(const rgm_device_limits *d, int threads, int registers, size_t shared) {
    cudaOccDeviceProp device = {.computeMajor = d->major,
                                .computeMinor = d->minor,
                                .maxThreadsPerBlock = 1024,
                                .maxThreadsPerMultiprocessor = d->threads,
                                .regsPerBlock = 65536,
                                .regsPerMultiprocessor = d->registers,
                                .warpSize = 32,
                                .sharedMemPerBlock = 49152,
                                .sharedMemPerMultiprocessor = (size_t)d->shared_bytes,
                                .numSms = 1,
                                .sharedMemPerBlockOptin = (size_t)(d->shared_bytes - d->reserved_bytes),
                                .reservedSharedMemPerBlock = (size_t)d->reserved_bytes};
    cudaOccFuncAttributes function = {.maxThreadsPerBlock = 1024,
                                      .numRegs = registers,
                                      .sharedSizeBytes = shared,
                                      .partitionedGCConfig = PARTITIONED_GC_OFF};
    cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_SHARED,
                                .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, 0) !=
        CUDA_OCC_SUCCESS)
        return -1;
    return result.activeBlocksPerMultiprocessor;
}

TEST(nvidias_calculator) {
    int compared = 0;
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
        for (int threads = 1; threads <= 1024; threads += threads < 64 ? 7 : 31)
            for (int registers = 8; registers <= 255; registers += 13)
                for (int shared = 0; shared <= 49152; shared += 5000) {
                    int blocks = calculator(&devices[d], threads, registers, (size_t)shared);
                    if (blocks <= 0) continue; // such a launch fails
                    double warps = (threads + 31) / 32;
                    CHECK_NEAR(rgm_occupancy_of(&devices[d], threads, registers, shared).share,
                               blocks * warps / (devices[d].threads / 32), 1e-6);
                    compared++;
                }
    CHECK(compared > 10000);
}
#endif
