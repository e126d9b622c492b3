# SPDX-License-Identifier: Apache-2.0
"""regimeter: a GPU profiler for Python whose core is C.

    import regimeter

    profiler = regimeter.get_profiler()
    with profiler.profile("forward", device="gpu"):
        ...
    profiler.print_summary()

Names are imported on first use, so that importing the package costs next to nothing.

PYTEST_DONT_REWRITE: nothing here asserts, and a program that is recorded has imported it before pytest begins.
"""

TYPE_CHECKING = False  # type checkers know it by this name; importing it takes as long as all of Python's start

if TYPE_CHECKING:
    from ._core import BusyError, Error, FormatError, UnavailableError, __version__
    from .calibration import Calibration, GPUCalibrator, GPUSpecs, calibrate, detect_gpu_specs
    from .capture.cuda_environment import CudaEnvironment, initialize_cuda_environment, is_cuda_available
    from .compare import (
        ChangeType,
        ComparisonSummary,
        OperationComparison,
        ProfilerComparison,
        compare_profiling_runs,
        compare_samples,
    )
    from .integrations.ipython import load_ipython_extension
    from .job import RankAnalysis, analyze_ranks
    from .profiler import GPUProfiler, get_profiler, profile
    from .public.optimizer import ProfilerOptimizer
    from .public.run import Run, load
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
    from .run.records import ProfileEntry, ProfileSummary
    from .suggest import OptimizationSuggestion, OptimizationType, Priority
    from .suite import (
        CompileBreak,
        CompileReport,
        FusedKernel,
        KernelInfo,
        MemoryProfiler,
        MemorySnapshot,
        ProfileSession,
        TorchCompileAnalyzer,
        UnifiedProfiler,
    )
    from .suite.flame import FlameGraphGenerator
    from .suite.hta import HTAAnalyzer, HTAReport
    from .suite.timeline_data import TimelineData, TimelineGenerator
    from .tuning.active_memory_pool import ActiveMemoryPool, ActivePoolConfig
    from .tuning.gpu_monitoring import GpuMonitor, MonitoringConfig, get_global_monitor
    from .tuning.kernel_autotuner import AutoTunerConfig, GpuKernelAutotuner, KernelAutoTuner, KernelAutotuner
    from .tuning.trial import KernelConfig
    from .workloads import KernelStats, WorkloadReport, profile_kernel, run_workloads

_HOME = {
    "ActiveMemoryPool": "tuning.active_memory_pool",
    "ActivePoolConfig": "tuning.active_memory_pool",
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
    "CudaEnvironment": "capture.cuda_environment",
    "initialize_cuda_environment": "capture.cuda_environment",
    "is_cuda_available": "capture.cuda_environment",
    "FlameGraphGenerator": "suite.flame",
    "GpuMonitor": "tuning.gpu_monitoring",
    "MonitoringConfig": "tuning.gpu_monitoring",
    "get_global_monitor": "tuning.gpu_monitoring",
    "HTAAnalyzer": "suite.hta",
    "HTAReport": "suite.hta",
    "AutoTunerConfig": "tuning.kernel_autotuner",
    "GpuKernelAutotuner": "tuning.kernel_autotuner",
    "KernelAutoTuner": "tuning.kernel_autotuner",
    "KernelAutotuner": "tuning.kernel_autotuner",
    "KernelConfig": "tuning.trial",
    "RankAnalysis": "job",
    "analyze_ranks": "job",
    "load_ipython_extension": "integrations.ipython",
    "GPUProfiler": "profiler",
    "get_profiler": "profiler",
    "profile": "profiler",
    "OptimizationSuggestion": "suggest",
    "OptimizationType": "suggest",
    "Priority": "suggest",
    "ProfilerOptimizer": "public.optimizer",
    "ProfileEntry": "run.records",
    "ProfileSummary": "run.records",
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
    "CompileBreak": "suite",
    "CompileReport": "suite",
    "FusedKernel": "suite",
    "KernelInfo": "suite",
    "MemoryProfiler": "suite",
    "MemorySnapshot": "suite",
    "ProfileSession": "suite",
    "TorchCompileAnalyzer": "suite",
    "UnifiedProfiler": "suite",
    "TimelineData": "suite.timeline_data",
    "TimelineGenerator": "suite.timeline_data",
    "Run": "public.run",
    "load": "public.run",
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
    "CompileBreak",
    "CompileReport",
    "CudaEnvironment",
    "Error",
    "FlameGraphGenerator",
    "FormatError",
    "FusedKernel",
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
    "KernelInfo",
    "KernelStats",
    "LayerProfile",
    "MemoryAnalysis",
    "MemoryProfiler",
    "MemorySnapshot",
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
    "ProfileSession",
    "ProfileSummary",
    "ProfilerComparison",
    "ProfilerOptimizer",
    "ProfilingError",
    "RankAnalysis",
    "Run",
    "ThreadSafeProfiler",
    "TimelineData",
    "TimelineGenerator",
    "TorchCompileAnalyzer",
    "UnavailableError",
    "UnifiedProfiler",
    "WorkloadReport",
    "__version__",
    "adjust_flops_for_precision",
    "analyze_memory",
    "analyze_ranks",
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
    "load_ipython_extension",
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
    from importlib import import_module

    if name == "schemas":  # documented as an attribute
        return import_module(".schemas", __name__)
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
