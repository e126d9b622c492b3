# SPDX-License-Identifier: Apache-2.0
"""regimeter: a GPU profiler for Python whose core is C.

    import regimeter

    profiler = regimeter.get_profiler()
    with profiler.profile("forward", device="gpu"):
        ...
    profiler.print_summary()

Names are imported on first use, so that importing the package costs next to nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import BusyError, Error, FormatError, UnavailableError, __version__
    from .active_memory_pool import ActiveMemoryPool, ActivePoolConfig
    from .calibration import Calibration, GPUCalibrator, GPUSpecs, calibrate, detect_gpu_specs
    from .compare import (
        ChangeType,
        ComparisonSummary,
        OperationComparison,
        ProfilerComparison,
        compare_profiling_runs,
        compare_samples,
    )
    from .cuda_environment import CudaEnvironment, initialize_cuda_environment, is_cuda_available
    from .flame import FlameGraphGenerator
    from .gpu_monitoring import GpuMonitor, MonitoringConfig, get_global_monitor
    from .hta import HTAAnalyzer, HTAReport
    from .kernel_autotuner import AutoTunerConfig, GpuKernelAutotuner, KernelAutoTuner, KernelAutotuner
    from .profiler import GPUProfiler, get_profiler, profile
    from .records import ProfileEntry, ProfileSummary
    from .regime import (
        AttentionProfile,
        CUDANotAvailableError,
        GPUProfilerContext,
        GPURegimeProfiler,
        LayerProfile,
        MemoryAnalysis,
        ModelProfile,
        MultiGPUAnalysis,
        MultiGPUError,
        OOMError,
        OperationTooFastError,
        Precision,
        ProfilingError,
        ThreadSafeProfiler,
        adjust_flops_for_precision,
        analyze_memory,
        create_performance_plots,
        create_thread_safe_profiler,
        detect_precision,
        get_attention_suggestions,
        get_memory_summary,
        get_precision_peak_flops,
        get_tensor_core_speedup,
        has_tensor_cores,
        overhead_test,
        profile_attention,
        profile_block,
        profile_data_parallel,
        profile_model,
        profile_multi_gpu,
        profile_regime,
        profile_transformer_block,
        safe_profile,
        suggest_optimization,
    )
    from .suggest import OptimizationSuggestion, OptimizationType, Priority, ProfilerOptimizer
    from .timeline import TimelineData, TimelineGenerator
    from .trace import Run, load
    from .tuning_trial import KernelConfig
    from .workloads import KernelStats, WorkloadReport, profile_kernel, run_workloads

_HOME = {
    "ActiveMemoryPool": "active_memory_pool",
    "ActivePoolConfig": "active_memory_pool",
    "BusyError": "_core",
    "Error": "_core",
    "FormatError": "_core",
    "UnavailableError": "_core",
    "__version__": "_core",
    "Calibration": "calibration",
    "GPUCalibrator": "calibration",
    "GPUSpecs": "calibration",
    "calibrate": "calibration",
    "detect_gpu_specs": "calibration",
    "ChangeType": "compare",
    "ComparisonSummary": "compare",
    "OperationComparison": "compare",
    "ProfilerComparison": "compare",
    "compare_profiling_runs": "compare",
    "compare_samples": "compare",
    "CudaEnvironment": "cuda_environment",
    "initialize_cuda_environment": "cuda_environment",
    "is_cuda_available": "cuda_environment",
    "FlameGraphGenerator": "flame",
    "GpuMonitor": "gpu_monitoring",
    "MonitoringConfig": "gpu_monitoring",
    "get_global_monitor": "gpu_monitoring",
    "HTAAnalyzer": "hta",
    "HTAReport": "hta",
    "AutoTunerConfig": "kernel_autotuner",
    "GpuKernelAutotuner": "kernel_autotuner",
    "KernelAutoTuner": "kernel_autotuner",
    "KernelAutotuner": "kernel_autotuner",
    "KernelConfig": "tuning_trial",
    "GPUProfiler": "profiler",
    "get_profiler": "profiler",
    "profile": "profiler",
    "OptimizationSuggestion": "suggest",
    "OptimizationType": "suggest",
    "Priority": "suggest",
    "ProfilerOptimizer": "suggest",
    "ProfileEntry": "records",
    "ProfileSummary": "records",
    "AttentionProfile": "regime",
    "CUDANotAvailableError": "regime",
    "GPUProfilerContext": "regime",
    "GPURegimeProfiler": "regime",
    "LayerProfile": "regime",
    "MemoryAnalysis": "regime",
    "ModelProfile": "regime",
    "MultiGPUAnalysis": "regime",
    "MultiGPUError": "regime",
    "OOMError": "regime",
    "OperationTooFastError": "regime",
    "Precision": "regime",
    "ProfilingError": "regime",
    "ThreadSafeProfiler": "regime",
    "adjust_flops_for_precision": "regime",
    "analyze_memory": "regime",
    "create_performance_plots": "regime",
    "create_thread_safe_profiler": "regime",
    "detect_precision": "regime",
    "get_attention_suggestions": "regime",
    "get_memory_summary": "regime",
    "get_precision_peak_flops": "regime",
    "get_tensor_core_speedup": "regime",
    "has_tensor_cores": "regime",
    "overhead_test": "regime",
    "profile_attention": "regime",
    "profile_block": "regime",
    "profile_data_parallel": "regime",
    "profile_model": "regime",
    "profile_multi_gpu": "regime",
    "profile_regime": "regime",
    "profile_transformer_block": "regime",
    "safe_profile": "regime",
    "suggest_optimization": "regime",
    "TimelineData": "timeline",
    "TimelineGenerator": "timeline",
    "Run": "trace",
    "load": "trace",
    "KernelStats": "workloads",
    "WorkloadReport": "workloads",
    "profile_kernel": "workloads",
    "run_workloads": "workloads",
}

__all__ = [
    "ActiveMemoryPool",
    "ActivePoolConfig",
    "AttentionProfile",
    "AutoTunerConfig",
    "BusyError",
    "CUDANotAvailableError",
    "Calibration",
    "ChangeType",
    "ComparisonSummary",
    "CudaEnvironment",
    "Error",
    "FlameGraphGenerator",
    "FormatError",
    "GPUCalibrator",
    "GPUProfiler",
    "GPUProfilerContext",
    "GPURegimeProfiler",
    "GPUSpecs",
    "GpuKernelAutotuner",
    "GpuMonitor",
    "HTAAnalyzer",
    "HTAReport",
    "KernelAutoTuner",
    "KernelAutotuner",
    "KernelConfig",
    "KernelStats",
    "LayerProfile",
    "MemoryAnalysis",
    "ModelProfile",
    "MonitoringConfig",
    "MultiGPUAnalysis",
    "MultiGPUError",
    "OOMError",
    "OperationComparison",
    "OperationTooFastError",
    "OptimizationSuggestion",
    "OptimizationType",
    "Precision",
    "Priority",
    "ProfileEntry",
    "ProfileSummary",
    "ProfilerComparison",
    "ProfilerOptimizer",
    "ProfilingError",
    "Run",
    "ThreadSafeProfiler",
    "TimelineData",
    "TimelineGenerator",
    "UnavailableError",
    "WorkloadReport",
    "__version__",
    "adjust_flops_for_precision",
    "analyze_memory",
    "calibrate",
    "compare_profiling_runs",
    "compare_samples",
    "create_performance_plots",
    "create_thread_safe_profiler",
    "detect_gpu_specs",
    "detect_precision",
    "get_attention_suggestions",
    "get_global_monitor",
    "get_memory_summary",
    "get_precision_peak_flops",
    "get_profiler",
    "get_tensor_core_speedup",
    "has_tensor_cores",
    "initialize_cuda_environment",
    "is_cuda_available",
    "load",
    "overhead_test",
    "profile",
    "profile_attention",
    "profile_block",
    "profile_data_parallel",
    "profile_kernel",
    "profile_model",
    "profile_multi_gpu",
    "profile_regime",
    "profile_transformer_block",
    "run_workloads",
    "safe_profile",
    "suggest_optimization",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
