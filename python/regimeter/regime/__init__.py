# SPDX-License-Identifier: Apache-2.0
"""What limits an operation, a model or a block: compute, memory bandwidth or overhead.

    from regimeter import GPUProfiler

    result, profile = GPUProfiler().profile_with_result(numpy.matmul, a, b)
    print(profile["regime"], profile["evidence"])

Names are imported on first use. docs/regime_profiler.md is the guide.
"""

from typing import TYPE_CHECKING

_NAMES = {
    "attention": (
        "AttentionProfile",
        "get_attention_suggestions",
        "profile_attention",
    ),
    "blocks": (
        "GPUProfilerContext",
        "profile_block",
        "profile_regime",
    ),
    "devices": (
        "MultiGPUAnalysis",
        "profile_data_parallel",
        "profile_multi_gpu",
    ),
    "errors": (
        "CUDANotAvailableError",
        "MultiGPUError",
        "OOMError",
        "OperationTooFastError",
        "ProfilingError",
        "safe_profile",
    ),
    "lightning": ("GPURegimeProfiler",),
    "memory": (
        "MemoryAnalysis",
        "analyze_memory",
        "get_memory_summary",
    ),
    "model": (
        "LayerProfile",
        "ModelProfile",
        "profile_model",
        "profile_transformer_block",
    ),
    "plots": ("create_performance_plots",),
    "precision": (
        "Precision",
        "adjust_flops_for_precision",
        "detect_precision",
        "get_precision_peak_flops",
        "get_tensor_core_speedup",
        "has_tensor_cores",
    ),
    "scaling": ("overhead_test",),
    "suggestion": ("suggest_optimization",),
    "threads": (
        "ThreadSafeProfiler",
        "create_thread_safe_profiler",
    ),
}
_HOME = {name: home for home, names in _NAMES.items() for name in names}

if TYPE_CHECKING:
    from .attention import AttentionProfile, get_attention_suggestions, profile_attention
    from .blocks import GPUProfilerContext, profile_block, profile_regime
    from .devices import MultiGPUAnalysis, profile_data_parallel, profile_multi_gpu
    from .errors import (
        CUDANotAvailableError,
        MultiGPUError,
        OOMError,
        OperationTooFastError,
        ProfilingError,
        safe_profile,
    )
    from .lightning import GPURegimeProfiler
    from .memory import MemoryAnalysis, analyze_memory, get_memory_summary
    from .model import LayerProfile, ModelProfile, profile_model, profile_transformer_block
    from .plots import create_performance_plots
    from .precision import (
        Precision,
        adjust_flops_for_precision,
        detect_precision,
        get_precision_peak_flops,
        get_tensor_core_speedup,
        has_tensor_cores,
    )
    from .scaling import overhead_test
    from .suggestion import suggest_optimization
    from .threads import ThreadSafeProfiler, create_thread_safe_profiler

__all__ = [
    "AttentionProfile",
    "CUDANotAvailableError",
    "GPUProfilerContext",
    "GPURegimeProfiler",
    "LayerProfile",
    "MemoryAnalysis",
    "ModelProfile",
    "MultiGPUAnalysis",
    "MultiGPUError",
    "OOMError",
    "OperationTooFastError",
    "Precision",
    "ProfilingError",
    "ThreadSafeProfiler",
    "adjust_flops_for_precision",
    "analyze_memory",
    "create_performance_plots",
    "create_thread_safe_profiler",
    "detect_precision",
    "get_attention_suggestions",
    "get_memory_summary",
    "get_precision_peak_flops",
    "get_tensor_core_speedup",
    "has_tensor_cores",
    "overhead_test",
    "profile_attention",
    "profile_block",
    "profile_data_parallel",
    "profile_model",
    "profile_multi_gpu",
    "profile_regime",
    "profile_transformer_block",
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
