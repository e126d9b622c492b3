# SPDX-License-Identifier: Apache-2.0
"""The three stages of scaled dot-product attention, each measured by itself."""

import sys
from dataclasses import dataclass, field
from typing import Any

from ..system.text import percent
from .calls import Question, need_ceilings, profile_call

FLASH_DTYPES = ("float16", "bfloat16")
FLASH_CAPABILITY = (8, 0)
FLASH_HEAD_LIMIT = 256


@dataclass(frozen=True, slots=True)
class AttentionProfile:
    """Stages of ``softmax(q k^T scale) v``: regime and time of each, None where a figure is not known.

    flash_attention_compatible: whether torch's flash kernel takes these tensors on a CUDA device (types, head size);
    flash_reason says what is in its way. profiles: the full profile of each stage.
    """

    qk_matmul_regime: str
    softmax_regime: str
    v_matmul_regime: str
    total_time_ms: float
    qk_time_ms: float
    softmax_time_ms: float
    v_time_ms: float
    bottleneck_stage: str
    flash_attention_compatible: bool
    qk_flops_utilization: float | None
    v_flops_utilization: float | None
    softmax_bandwidth_utilization: float | None
    flash_reason: str = ""
    scores_bytes: int = 0
    profiles: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)


def profile_attention(
    q: Any, k: Any, v: Any, device_id: int = 0, scale: float | None = None, *, repeat: int = 1, profiler: Any = None
) -> AttentionProfile:
    """Compute attention in its three stages, each `repeat` times, and say what limits each.

    q, k, v: torch tensors (..., sequence, head size) on one device. scale: 1 / sqrt(head size) by default. device_id is
    kept for the documented call; the tensors decide. ValueError for shapes that do not go together, TypeError for
    anything but tensors.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not all(isinstance(x, torch.Tensor) for x in (q, k, v)):
        raise TypeError("q, k and v must be torch tensors")
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        shapes = f"{tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}"
        raise ValueError(f"q and k share the head size, k and v the sequence; the shapes are {shapes}")
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    question = Question(repeat)

    def stage(function: Any, *args: Any) -> tuple[Any, dict[str, Any]]:
        return profile_call(function, args, {}, question, lambda device: need_ceilings(profiler, device))

    scores, qk = stage(torch.matmul, q * factor, k.transpose(-2, -1))
    weights, softmax = stage(torch.softmax, scores, -1)
    _, product = stage(torch.matmul, weights, v)
    profiles = {"qk_matmul": qk, "softmax": softmax, "v_matmul": product}
    reason = flash_reason(q)
    times = {name: profile["runtime_ms"] for name, profile in profiles.items()}
    return AttentionProfile(
        qk["regime"],
        softmax["regime"],
        product["regime"],
        sum(times.values()),
        times["qk_matmul"],
        times["softmax"],
        times["v_matmul"],
        max(times, key=lambda name: times[name]),
        not reason,
        qk["flops_utilization"],
        product["flops_utilization"],
        softmax["bandwidth_utilization"],
        reason,
        scores.numel() * scores.element_size(),
        profiles,
    )


def flash_reason(q: Any) -> str:
    """Return what keeps torch's flash kernel from taking a tensor, "" if nothing does."""
    torch: Any = sys.modules["torch"]
    dtype = str(q.dtype).removeprefix("torch.")
    if dtype not in FLASH_DTYPES:
        return f"{dtype} is not float16 or bfloat16"
    if q.shape[-1] > FLASH_HEAD_LIMIT:
        return f"a head size of {q.shape[-1]} is more than {FLASH_HEAD_LIMIT}"
    if not q.is_cuda:
        return "the tensors are not on a CUDA device"
    capability = torch.cuda.get_device_capability(q.device)
    return "" if capability >= FLASH_CAPABILITY else f"compute capability {capability[0]}.{capability[1]} is below 8.0"


def get_attention_suggestions(profile: AttentionProfile) -> list[str]:
    """Return what to try, each with the measured figures that it rests on."""
    found = []
    share = profile.softmax_time_ms / profile.total_time_ms if profile.total_time_ms else 0.0
    written = 2 * profile.scores_bytes / 1e6
    found.append(
        f"A fused kernel (scaled_dot_product_attention) does not write the scores and the weights, {written:,.1f} MB "
        f"here; softmax takes {percent(share, 0)} of the three stages."
    )
    if profile.flash_reason:
        found.append(f"The flash kernel does not take these tensors: {profile.flash_reason}.")
    for name, regime in (("q k^T", profile.qk_matmul_regime), ("weights v", profile.v_matmul_regime)):
        if regime == "OVERHEAD_BOUND":
            found.append(
                f"The product {name} is overhead-bound: more heads or sequences in one batch fill the machine."
            )
    return found
