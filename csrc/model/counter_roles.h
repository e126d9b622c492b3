// SPDX-License-Identifier: Apache-2.0
// What a hardware counter is for, whatever it is called. NVIDIA's metric names differ from chip to chip and
// between the two ways of reading them, so the rest of the code asks for roles. One list names, for each
// role, the metrics that fill it, the preferred one first; which of them a chip has is found at run time.
//
// A series of the counters table is called by its metric. rgm_counter_role_of leads back to the role, so that
// an analysis needs no names of metrics either.
#ifndef RGM_MODEL_COUNTER_ROLES_H
#define RGM_MODEL_COUNTER_ROLES_H

#include <stddef.h>

#define RGM_OF_PEAK ".avg.pct_of_peak_sustained_elapsed"
#define RGM_FP_OPS(op) "smsp__sass_thread_inst_executed_op_" op "_pred_on.sum"

// X(NAME, token, unit, doc, (metrics of the range profiler), (metrics of PM sampling)). An empty text: none.
#define RGM_COUNTER_ROLES(X)                                                                                 \
    X(GPU_TIME, "gpu_time", "ns", "length of the range or of the sample", ("gpu__time_duration.sum"),        \
      ("gpu__time_duration.sum"))                                                                            \
    X(GR_ACTIVE, "gr_active", "%", "time in which the graphics and compute engine had work",                 \
      ("gr__cycles_active" RGM_OF_PEAK), ("gr__cycles_active" RGM_OF_PEAK))                                  \
    X(SM_ACTIVE, "sm_active", "%", "multiprocessors that had at least one warp",                             \
      ("sm__cycles_active" RGM_OF_PEAK), ("sm__cycles_active" RGM_OF_PEAK))                                  \
    X(WARPS_ACTIVE, "warps_active", "%", "resident warps, of those that the multiprocessors can hold",       \
      ("sm__warps_active" RGM_OF_PEAK), ("sm__warps_active_realtime" RGM_OF_PEAK))                           \
    X(IPC, "ipc", "instructions/cycle", "warp instructions executed per cycle and multiprocessor",           \
      ("sm__inst_executed.avg.per_cycle_elapsed"), ("sm__inst_executed_realtime.avg.per_cycle_elapsed"))     \
    X(TENSOR_ACTIVE, "tensor_active", "%", "time in which the tensor pipes were busy",                       \
      ("sm__pipe_tensor_cycles_active" RGM_OF_PEAK), ("sm__pipe_tensor_cycles_active_realtime" RGM_OF_PEAK)) \
    X(TENSOR_INSTRUCTIONS, "tensor_instructions", "instructions", "warp instructions of the tensor pipes",   \
      ("sm__inst_executed_pipe_tensor.sum"), (""))                                                           \
    X(DRAM_THROUGHPUT, "dram_throughput", "%", "device memory: the busiest of its units, of its peak",       \
      ("gpu__dram_throughput" RGM_OF_PEAK, "dram__throughput" RGM_OF_PEAK),                                  \
      ("dram__throughput" RGM_OF_PEAK))                                                                      \
    X(DRAM_READ, "dram_read", "%", "reads of device memory, of its peak", (""),                              \
      ("dram__read_throughput" RGM_OF_PEAK, "dramc__read_throughput" RGM_OF_PEAK,                            \
       "FBPA.TriageA.dramc__read_throughput" RGM_OF_PEAK))                                                   \
    X(DRAM_WRITE, "dram_write", "%", "writes of device memory, of its peak", (""),                           \
      ("dram__write_throughput" RGM_OF_PEAK, "dramc__write_throughput" RGM_OF_PEAK,                          \
       "FBPA.TriageA.dramc__write_throughput" RGM_OF_PEAK))                                                  \
    X(DRAM_BYTES, "dram_bytes", "bytes", "bytes to and from device memory", ("dram__bytes.sum"),             \
      ("dram__bytes.sum"))                                                                                   \
    X(PCIE_READ, "pcie_read", "bytes/s", "PCIe read data", ("pcie__read_bytes.sum.per_second"),              \
      ("pcie__read_bytes.sum.per_second", "PCI.TriageCompute.pcie__read_bytes.sum.per_second"))              \
    X(PCIE_WRITE, "pcie_write", "bytes/s", "PCIe write data", ("pcie__write_bytes.sum.per_second"),          \
      ("pcie__write_bytes.sum.per_second", "PCI.TriageCompute.pcie__write_bytes.sum.per_second"))            \
    X(SM_CLOCK, "sm_clock", "Hz", "clock of the multiprocessors", ("sm__cycles_elapsed.avg.per_second"),     \
      ("gpc__cycles_elapsed.avg.per_second"))                                                                \
    X(SYS_CLOCK, "sys_clock", "Hz", "clock of the front end", ("sys__cycles_elapsed.avg.per_second"),        \
      ("sys__cycles_elapsed.avg.per_second"))                                                                \
    X(DRAM_CLOCK, "dram_clock", "Hz", "clock of the device memory", ("dram__cycles_elapsed.avg.per_second"), \
      ("dram__cycles_elapsed.avg.per_second", "dramc__cycles_elapsed.avg.per_second"))                       \
    X(HADD, "hadd", "operations", "half-precision additions of threads", (RGM_FP_OPS("hadd")), (""))         \
    X(HMUL, "hmul", "operations", "half-precision multiplications", (RGM_FP_OPS("hmul")), (""))              \
    X(HFMA, "hfma", "operations", "half-precision multiply-adds", (RGM_FP_OPS("hfma")), (""))                \
    X(FADD, "fadd", "operations", "single-precision additions", (RGM_FP_OPS("fadd")), (""))                  \
    X(FMUL, "fmul", "operations", "single-precision multiplications", (RGM_FP_OPS("fmul")), (""))            \
    X(FFMA, "ffma", "operations", "single-precision multiply-adds", (RGM_FP_OPS("ffma")), (""))              \
    X(DADD, "dadd", "operations", "double-precision additions", (RGM_FP_OPS("dadd")), (""))                  \
    X(DMUL, "dmul", "operations", "double-precision multiplications", (RGM_FP_OPS("dmul")), (""))            \
    X(DFMA, "dfma", "operations", "double-precision multiply-adds", (RGM_FP_OPS("dfma")), (""))              \
    X(TENSOR_FP16, "tensor_fp16", "operations", "tensor operations on half precision",                       \
      ("sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_src_fp16_dst_fp32.sum"), (""))               \
    X(TENSOR_BF16, "tensor_bf16", "operations", "tensor operations on bfloat16",                             \
      ("sm__ops_path_tensor_src_bf16_dst_fp32.sum"), (""))                                                   \
    X(TENSOR_TF32, "tensor_tf32", "operations", "tensor operations on tf32",                                 \
      ("sm__ops_path_tensor_src_tf32_dst_fp32.sum"), (""))                                                   \
    X(TENSOR_FP8, "tensor_fp8", "operations", "tensor operations on 8-bit floats",                           \
      ("sm__ops_path_tensor_src_fp8.sum", "sm__ops_path_tensor_src_fp8_dst_fp32.sum"), (""))                 \
    X(TENSOR_INT8, "tensor_int8", "operations", "tensor operations on 8-bit integers",                       \
      ("sm__ops_path_tensor_src_int8.sum"), (""))                                                            \
    X(TENSOR_FP64, "tensor_fp64", "operations", "tensor operations on double precision",                     \
      ("sm__ops_path_tensor_src_fp64.sum"), (""))                                                            \
    X(SM_THROUGHPUT, "sm_throughput", "%", "the busiest unit of the multiprocessors, of its peak",           \
      ("sm__throughput" RGM_OF_PEAK), (""))                                                                  \
    X(COMPUTE_MEMORY, "compute_memory", "%", "the busiest unit of the memory system, of its peak",           \
      ("gpu__compute_memory_throughput" RGM_OF_PEAK), (""))

// The driver's own average of some counters, where the counters themselves are out of reach: X(NVML's number,
// series, role, factor to the unit of the series, doc). Its utilisations are percentages, its rates MiB/s.
// Which role the directions of PCIe have is not documented, so they have none.
#define RGM_GPM_METRICS(X)                                                                                   \
    X(1, "gpm__gr_active.pct", GR_ACTIVE, 1, "time in which the engine had work")                            \
    X(2, "gpm__sm_active.pct", SM_ACTIVE, 1, "multiprocessors that were busy")                               \
    X(3, "gpm__warps_active.pct", WARPS_ACTIVE, 1, "resident warps, of those that fit")                      \
    X(5, "gpm__tensor_active.pct", TENSOR_ACTIVE, 1, "time in which the tensor pipes were busy")             \
    X(6, "gpm__tensor_dfma_active.pct", NONE, 1, "of these, double precision")                               \
    X(7, "gpm__tensor_hmma_active.pct", NONE, 1, "of these, half precision")                                 \
    X(9, "gpm__tensor_imma_active.pct", NONE, 1, "of these, integers")                                       \
    X(10, "gpm__dram_throughput.pct", DRAM_THROUGHPUT, 1, "bandwidth of device memory, of its peak")         \
    X(11, "gpm__fp64_active.pct", NONE, 1, "time in double-precision arithmetic, without tensor cores")      \
    X(12, "gpm__fp32_active.pct", NONE, 1, "time in single-precision arithmetic, without tensor cores")      \
    X(13, "gpm__fp16_active.pct", NONE, 1, "time in half-precision arithmetic, without tensor cores")        \
    X(20, "gpm__pcie_tx_bytes.per_second", NONE, 1048576, "PCIe traffic from the device")                    \
    X(21, "gpm__pcie_rx_bytes.per_second", NONE, 1048576, "PCIe traffic to the device")                      \
    X(60, "gpm__nvlink_rx_bytes.per_second", NONE, 1048576, "NVLink traffic to the device, all links")       \
    X(61, "gpm__nvlink_tx_bytes.per_second", NONE, 1048576, "NVLink traffic from the device, all links")

#define RGM_COUNTER_ROLE_ENUM(name, token, unit, doc, range, sampled) RGM_COUNTER_ROLE_##name,
typedef enum {
    RGM_COUNTER_ROLES(RGM_COUNTER_ROLE_ENUM) RGM_COUNTER_ROLE_COUNT,
    RGM_COUNTER_ROLE_NONE = -1
} rgm_counter_role;

enum { RGM_COUNTER_CANDIDATES = 3 };
typedef struct {
    const char *token, *unit, *doc;
    const char *range[RGM_COUNTER_CANDIDATES], *sampled[RGM_COUNTER_CANDIDATES]; // end with NULL or ""
} rgm_counter_role_row;

extern const rgm_counter_role_row rgm_counter_roles[RGM_COUNTER_ROLE_COUNT];

typedef struct {
    unsigned number;
    const char *series;
    rgm_counter_role role;
    double factor;
    const char *doc;
} rgm_gpm_metric_row;

extern const rgm_gpm_metric_row rgm_gpm_metrics[];
extern const size_t rgm_gpm_metrics_count;

// The role of a series by its name; RGM_COUNTER_ROLE_NONE for any other series.
rgm_counter_role rgm_counter_role_of(const char *series, size_t length);

#endif
