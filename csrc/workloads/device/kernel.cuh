// SPDX-License-Identifier: Apache-2.0
// What the kernels need beyond the language, for a device. The tests compile the same kernels for the
// processor with another file of this name (tests/fakes/device/kernel.cuh), so a kernel that includes this
// keeps to what C and CUDA C++ have in common: no references, templates or overloads, and what differs has a
// name here.
#ifndef RGM_DEVICE_KERNEL_CUH
#define RGM_DEVICE_KERNEL_CUH

// C linkage: the name of a kernel is the name in the module and in a trace.
#define RGM_KERNEL extern "C" __global__ void
#define RGM_DEVICE static __device__ __forceinline__
#define RGM_ALL_LANES 0xffffffffu

// Nanoseconds of the device's clock that all multiprocessors share; its step is 32 ns to 1 us.
RGM_DEVICE unsigned long long rgm_global_ns(void) {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

// Cycles of this multiprocessor.
RGM_DEVICE long long rgm_cycles(void) { return clock64(); }

// A load that the first-level cache does not keep.
RGM_DEVICE uint4 rgm_load_l2(const uint4 *at) {
    uint4 value;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(at));
    return value;
}

RGM_DEVICE int rgm_load_host_flag(const volatile int *flag) { return *flag; }

#endif
