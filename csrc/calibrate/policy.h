// SPDX-License-Identifier: Apache-2.0
// Every number that a calibration is made with: X(name, default, unit, source). A user can set each by its
// name. What ends in _quick holds for a quick calibration.
#ifndef RGM_CALIBRATE_POLICY_H
#define RGM_CALIBRATE_POLICY_H

#define RGM_CALIBRATE_POLICY(X)                                                                              \
    X(batches, 5, "batches", "with `batch`: 20 samples; odd, so that their median is one of them")           \
    X(batches_quick, 3, "batches", "the fewest that have a median and two others")                           \
    X(batch, 4, "samples", "of each the best counts: what disturbs only ever slows down")                    \
    X(batch_quick, 3, "samples", "fits the quick calibration into 10 s")                                     \
    X(sample_seconds, 0.005, "s", "of a sample: many times what starting threads takes")                     \
    X(sample_seconds_quick, 0.002, "s", "the same: less than what a scheduler gives to one thread in a row") \
    X(stolen, 0.02, "",                                                                                      \
      "from this part of a sample's time taken by others on, undisturbed ones count before")                 \
    X(disturbed_spread, 0.5, "", "spread of what others share if all samples were disturbed; chosen here")   \
    X(tries, 8, "", "at most so many samples for one that was not disturbed")                                \
    X(seconds, 50, "s", "then no more is measured than each figure once: 60 s with what cannot be divided")  \
    X(seconds_quick, 8, "s", "the same for 10 s")                                                            \
    X(memory_pieces, 8, "pieces",                                                                            \
      "a sample passes over one of so many: short, and the caches do not hold it")                           \
    X(least_spread, 0.005, "", "no ceiling is known better: clocks alone move by this much")                 \
    X(buffer_caches, 8, "last-level caches", "a buffer beyond all caches; STREAM asks for 4")                \
    X(buffer_caches_quick, 4, "last-level caches", "the rule of STREAM (McCalpin)")                          \
    X(buffer_bytes, 268435456, "bytes", "a buffer has at least this size")                                   \
    X(buffer_bytes_quick, 67108864, "bytes", "the same")                                                     \
    X(buffers_bytes, 1073741824, "bytes",                                                                    \
      "all buffers together take at most this, or cache_ratio times the caches; chosen here")                \
    X(memory_share, 0.25, "", "all buffers together take at most this part of the free memory")              \
    X(cache_share, 0.5, "", "part of a private cache that a working set fills; the rest is for others")      \
    X(shared_cache_share, 0.25, "", "the same of a cache that cores share")                                  \
    X(cache_ratio, 2, "", "a working set is at least so many times the cache below, or tells nothing")       \
    X(chase_steps, 20000, "loads", "of a sample of the latency: a few ms")                                   \
    X(chase_steps_quick, 10000, "loads", "the same")                                                         \
    X(busy_load, 0.25, "processes a core", "more of the load average than this is said with the result")     \
    X(busy_switches, 50, "switches/s", "more involuntary switches than this are said with the result")       \
    X(steal, 0.02, "", "more of the processors' time taken by the hypervisor is said with the result")       \
    X(sane_low, 0.4, "", "below this part of the datasheet a figure is suspect")                             \
    X(sane_high, 1.05, "", "above it too: it was not the work that was thought")                             \
    X(roof_share, 0.6, "", "from this part of a ceiling on it is the limit; Nsight Compute's cut")           \
    X(age_days, 30, "days", "an older calibration is made again")                                            \
    X(age_days_quick, 7, "days", "the same of a quick one")                                                  \
    X(product_size, 2048, "rows", "of a matrix product: three of them in double precision are 100 MB")       \
    X(product_size_quick, 1024, "rows", "the same")                                                          \
    X(product_least_size, 1024, "rows", "of a smaller one beside it, which others disturb less")             \
    X(product_least_size_quick, 512, "rows", "the same")                                                     \
    X(device_product_size, 8192, "rows", "the same on a device: enough tiles for all its cores")             \
    X(device_product_size_quick, 4096, "rows", "the same")                                                   \
    X(dispatch_calls, 100000, "calls", "timed together: 5 ms of empty calls")                                \
    X(dispatch_calls_quick, 20000, "calls", "the same")                                                      \
    X(launches, 2000, "launches", "enqueued to time the host's cost of one")                                 \
    X(launches_quick, 500, "launches", "the same")                                                           \
    X(kernel_seconds, 0.002, "s", "a calibration kernel runs at least so long: 1000 shortest kernels")       \
    X(graph_nodes, 200, "kernels", "in the graph that is replayed: launching it is shared by many")          \
    X(round_trips, 20, "launches", "in a sample, whose mean counts")                                         \
    X(transfer_least_bytes, 4096, "bytes", "smallest transfer; the next is four times as large")             \
    X(transfer_bytes, 268435456, "bytes", "largest transfer")                                                \
    X(transfer_bytes_quick, 33554432, "bytes", "the same")                                                   \
    X(l2_share, 0.25, "", "part of a device's second-level cache that is read: large ones have two halves")

typedef struct {
#define RGM_CALIBRATE_POLICY_FIELD(name, initial, unit, source) double name;
    RGM_CALIBRATE_POLICY(RGM_CALIBRATE_POLICY_FIELD)
#undef RGM_CALIBRATE_POLICY_FIELD
} rgm_calibrate_policy;

#define RGM_CALIBRATE_POLICY_DEFAULT(name, initial, unit, source) .name = (initial),
#define RGM_CALIBRATE_POLICY_DEFAULTS                                                                        \
    (rgm_calibrate_policy) { RGM_CALIBRATE_POLICY(RGM_CALIBRATE_POLICY_DEFAULT) }

#endif
