// SPDX-License-Identifier: Apache-2.0
// What the double of CUPTI offers beside CUPTI's own functions. C tests find these with dlsym, Python tests
// with ctypes. It hears of the calls of the double of the driver (cuda.h) and makes records of them; calls of
// a runtime, graphs and ranges are made here.
#ifndef RGM_FAKES_CUPTI_H
#define RGM_FAKES_CUPTI_H

#include <stddef.h>
#include <stdint.h>

void fake_cupti_set(const char *name, long long value);
long long fake_cupti_get(const char *name);
// cudaLaunchKernel and the cuLaunchKernel inside it, with one correlation, which is returned. The kernel
// starts `delay_ns` after the call and takes `ns`.
uint32_t fake_cupti_launch(const char *name, uint32_t stream, long long delay_ns, long long ns);
// A launch of which no record comes, as of a copy of no bytes.
void fake_cupti_without_record(void);
// Makes a node while a launch is captured (no record), or by a call of the graph's interface; returns its id.
uint64_t fake_cupti_capture(const char *name, uint64_t graph);
// Copies a node into another graph, as an instantiation does.
uint64_t fake_cupti_clone(uint64_t node, uint64_t graph);
// Makes a graph executable: its nodes are replaced by their copies; and takes it down.
uint64_t fake_cupti_instantiate(uint64_t graph, uint64_t *nodes, size_t count);
void fake_cupti_exec_destroy(uint64_t graph, uint64_t exec);
// cudaGraphLaunch: one record, or one per node where nodes are traced.
uint32_t fake_cupti_graph_launch(uint32_t graph, const uint64_t *nodes, size_t count);
void fake_cupti_range(const char *name, uint32_t id, int end);
void fake_cupti_overhead(uint32_t kind, long long ns);
// Another tool takes the buffers over, or gives one of its own back to us.
void fake_cupti_take_over(void);
void fake_cupti_foreign_buffer(void);
// Forgets everything but the numbers.
void fake_cupti_restart(void);

#endif
