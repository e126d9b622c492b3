// SPDX-License-Identifier: Apache-2.0
// Kernels of ours on a stream of ours: compile or take from the cache, load, launch, time. What workloads and
// calibration share.
//
// Times are those of pairs of events around single launches. Launches of a batch are enqueued while a kernel
// of ours holds the stream, so that neither the host nor the launch path is in an interval; an event pair
// still contains the device's own cost of starting a kernel. Where the hold gave up before everything was
// enqueued, which a stalled host can cause, the launches of the batch are counted as gaps.
//
// Works on the device's primary context; open makes it current and close puts the caller's back, so both are
// called on one thread, and everything between on that thread too.
#ifndef RGM_WORKLOADS_GPU_QUEUE_H
#define RGM_WORKLOADS_GPU_QUEUE_H

#include "cuda/library/driver.h"
#include "workloads/kernels.h"

enum {
    RGM_GPU_BATCH = 64, // three entries each stay far below the thousand that fit in a stream's queue
    RGM_GPU_MODULES = 16,
    RGM_GPU_MOST_LAUNCHES = 1 << 20,
};

// Words that the host and the holding kernel share.
typedef struct {
    int released;
    int gave_up;
} rgm_gpu_hold;

typedef struct {
    const rgm_driver *driver;
    const char *subject; // begins every message
    rgm_error *err;
    rgm_cubin_cache *cache; // NULL: none
    rgm_cu_device device;
    bool retained, pushed;
    int capability; // times ten
    char arch[16];  // compiled for
    rgm_cu_stream stream;
    rgm_cu_module modules[RGM_GPU_MODULES];
    size_t n_modules;
    rgm_cu_function hold;
    volatile rgm_gpu_hold *words; // pinned
    rgm_cu_event events[2 * RGM_GPU_BATCH];
} rgm_gpu_queue;

// What is launched, over and over, with the same arguments.
typedef struct {
    rgm_cu_function function;
    uint32_t grid[3], block[3];
    void **arguments; // pointers to the values, as cuLaunchKernel takes them
} rgm_gpu_launch;

// Device by the driver's ordinal. RGM_UNAVAILABLE with the reason when there is no driver, device or
// compiler. close is due after a failure too.
rgm_status rgm_gpu_open(rgm_gpu_queue *queue, int device, const char *subject, rgm_cubin_cache *cache,
                        rgm_error *err) RGM_NODISCARD;
// Waits for the stream and gives everything back that the queue made.
void rgm_gpu_close(rgm_gpu_queue *queue);
// A kernel of ours, by file and entry.
rgm_status rgm_gpu_load(rgm_gpu_queue *queue, const char *file, const char *entry,
                        rgm_cu_function *function) RGM_NODISCARD;
// Launches and does not wait; a kernel that has run before, see rgm_gpu_warm_up.
rgm_status rgm_gpu_launch_once(rgm_gpu_queue *queue, const rgm_gpu_launch *what) RGM_NODISCARD;
// Launches without timing, at least once, and waits: the first launch of a kernel loads it, for which the
// device may have to be idle.
rgm_status rgm_gpu_warm_up(rgm_gpu_queue *queue, const rgm_gpu_launch *what, uint32_t launches) RGM_NODISCARD;
// Times single launches, after rgm_gpu_warm_up. `gaps` grows by those that may have waited for the host.
rgm_status rgm_gpu_time(rgm_gpu_queue *queue, const rgm_gpu_launch *what, uint32_t launches,
                        int64_t *times_ns, uint32_t *gaps) RGM_NODISCARD;
// Once, without timing and without waiting.
rgm_status rgm_gpu_launch_once(rgm_gpu_queue *queue, const rgm_gpu_launch *what) RGM_NODISCARD;
// Times whatever `enqueue` puts on the stream, as one. With `held` it is enqueued while the stream is held,
// for which nothing in it may wait for the stream; `gaps` grows by one where the hold gave up.
typedef rgm_status (*rgm_gpu_enqueue)(rgm_gpu_queue *queue, void *arg);
rgm_status rgm_gpu_span(rgm_gpu_queue *queue, bool held, rgm_gpu_enqueue enqueue, void *arg, int64_t *ns,
                        uint32_t *gaps) RGM_NODISCARD;
// RGM_OK or the driver's answer as an error: RGM_LIMIT when the device's memory is full, else
// RGM_UNAVAILABLE.
rgm_status rgm_gpu_check(const rgm_gpu_queue *queue, rgm_cu_result result, const char *what) RGM_NODISCARD;

// Returns from the enclosing function when a call of the driver fails.
#define RGM_GPU_TRY(queue, call, what) RGM_TRY(rgm_gpu_check(queue, (queue)->driver->call, what))

#endif
