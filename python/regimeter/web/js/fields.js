// SPDX-License-Identifier: Apache-2.0
// The one list of the figures an operation can carry. Both adapters and every table walk it.
//   key      name in the page's model (times in ns, memory in bytes)
//   report   name in a regimeter.report file
//   profile  name in the summary of an exported profile, `scale` takes it to the model's unit
//   kind     how it is shown: time, count, bytes, share (0..1), percent (0..100), plain, text
(function (app) {
  "use strict";

  const MS = 1e6;
  const MB = 1e6;

  app.fields = [
    { key: "name", report: "operation", kind: "text", label: "Operation", title: "Name given to the scope" },
    { key: "device", report: "device", kind: "text", label: "Device", title: "Device that the program declared" },
    { key: "backend", report: "backend", kind: "text", label: "Backend", title: "Library that ran inside the scope" },
    { key: "calls", report: "call_count", profile: "call_count", kind: "count", label: "Calls", title: "Number of recorded calls" },
    { key: "failed", report: "failed_count", profile: "failed_count", kind: "count", label: "Failed", title: "Calls left by an exception", quietZero: true },
    { key: "skipped", report: "skipped_count", profile: "skipped_count", kind: "count", label: "Skipped", title: "Calls that sampling left out", quietZero: true },
    { key: "share", report: "share", profile: "share", kind: "share", label: "Share", title: "Share of all recorded exclusive time" },
    { key: "exclusiveNs", report: "exclusive_ns", profile: "exclusive_time_ms", scale: MS, kind: "time", label: "Exclusive", title: "Time inside the operation, without the operations nested in it" },
    { key: "totalNs", report: "total_ns", profile: "total_time_ms", scale: MS, kind: "time", label: "Total", title: "Time inside the operation, nested operations included" },
    { key: "meanNs", report: "mean_ns", profile: "avg_time_ms", scale: MS, kind: "time", label: "Mean", title: "Mean duration of a call" },
    { key: "medianNs", report: "median_ns", profile: "median_ms", scale: MS, kind: "time", label: "Median", title: "Half of the calls were faster" },
    { key: "p95Ns", report: "p95_ns", profile: "p95_ms", scale: MS, kind: "time", label: "p95", title: "95 % of the calls were faster" },
    { key: "p99Ns", report: "p99_ns", profile: "p99_ms", scale: MS, kind: "time", label: "p99", title: "99 % of the calls were faster" },
    { key: "minNs", report: "min_ns", profile: "min_time_ms", scale: MS, kind: "time", label: "Min", title: "Fastest call" },
    { key: "maxNs", report: "max_ns", profile: "max_time_ms", scale: MS, kind: "time", label: "Max", title: "Slowest call" },
    { key: "stdNs", report: "std_dev_ns", profile: "std_dev_ms", scale: MS, kind: "time", label: "Std dev", title: "Population standard deviation of the durations" },
    { key: "cv", report: "cv", profile: "cv", kind: "plain", label: "CV", title: "Coefficient of variation: standard deviation divided by mean" },
    { key: "gpuNs", report: "gpu_ns", profile: "total_gpu_time_ms", scale: MS, kind: "time", label: "GPU", title: "Time between two events in the stream of each call, an upper bound of the device's work; of calls without events the time of the recorded work that they launched", part: true },
    { key: "cpuNs", report: "cpu_ns", profile: "total_cpu_time_ms", scale: MS, kind: "time", label: "CPU", title: "Time the host worked for the operation", part: true },
    { key: "transferNs", report: "transfer_ns", profile: "total_transfer_time_ms", scale: MS, kind: "time", label: "Transfer", title: "Time spent copying between host and device, or within the device", part: true },
    { key: "overheadNs", report: "overhead_ns", profile: "total_overhead_ms", scale: MS, kind: "time", label: "Overhead", title: "Time of the host beyond that of the device", part: true },
    { key: "memoryAllocatedBytes", report: "memory_allocated_bytes", profile: "avg_memory_mb", scale: MB, kind: "bytes", label: "Allocated", title: "Memory allocated inside the operation" },
    { key: "memoryPeakBytes", report: "memory_peak_bytes", profile: "peak_memory_mb", scale: MB, kind: "bytes", label: "Peak", title: "Highest memory in use inside the operation" },
    { key: "gpuUtilization", report: "gpu_utilization", profile: "avg_gpu_utilization", kind: "percent", label: "GPU util.", title: "Mean part of a call in which the device worked on what it launched" },
  ];

  app.fieldOf = (key) => app.fields.find((field) => field.key === key);
})((globalThis.regimeter ||= {}));
