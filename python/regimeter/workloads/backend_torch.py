# SPDX-License-Identifier: Apache-2.0
"""The workloads in PyTorch, where its operations have a form for them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import _core
from ..system.processors import cpu_model
from .backend import Measured, Request
from .catalog import Arrays, Workload
from .python_timing import time_calls
from .statistics import Times

Tensors = dict[str, Any]
Sizes = Mapping[str, float]
# Why a workload is not here.
NO_FORM = {
    "ar_forecast": "each step depends on the one before, and torch has no operation for that",
    "pixel_entropy": "torch has no histogram of a sliding window",
}


def _lstm_cell_forward(torch: Any, a: Tensors, p: Sizes) -> Tensors:
    batch, inputs, hidden = (int(p[name]) for name in ("batch", "inputs", "hidden"))
    states = a["hidden_state"].view(batch, hidden), a["cell_state"].view(batch, hidden)
    weights = a["weights_ih"].view(-1, inputs), a["weights_hh"].view(-1, hidden)
    h, c = torch.lstm_cell(a["input"].view(batch, inputs), states, *weights, a["bias"], torch.zeros_like(a["bias"]))
    return {"hidden_out": h, "cell_out": c}


def _conv2d(torch: Any, a: Tensors, p: Sizes) -> Tensors:
    height, width, side = (int(p[name]) for name in ("height", "width", "side"))
    image, kernel = a["image"].view(1, 1, height, width), a["kernel"].view(1, 1, side, side)
    return {"out": torch.conv2d(image, kernel, stride=int(p["stride"]), padding=int(p["padding"]))}


def _image_segmentation(torch: Any, a: Tensors, p: Sizes) -> Tensors:
    """Votes in the digits of a number to the base of 16, one a level; shifted images are added."""
    height, width, threshold = int(p["height"]), int(p["width"]), np.float32(p["threshold"])
    edges = torch.tensor([0.5 * float(threshold), float(threshold), 1.5 * float(threshold)], dtype=torch.float32)
    image = a["image"].view(height, width)
    low, middle, high = (image < edge for edge in edges.to(image.device))
    level = torch.where(low, 0, torch.where(middle, 3, torch.where(high, 2, 1))).to(torch.int32)
    own = torch.ones_like(level) << (4 * level)
    votes = torch.nn.functional.pad(own, (1, 1, 1, 1))
    rows = votes[:-2] + votes[1:-1] + votes[2:]
    around = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - own
    most = (around + 0x2222) & 0x8888  # 6 + 2 sets the highest bit of a digit
    for candidate in range(4):
        level = torch.where(most == 8 << (4 * candidate), candidate, level)
    return {"labels": level}


def _dendritic_integration(torch: Any, a: Tensors, p: Sizes) -> Tensors:
    shape = int(p["neurons"]), int(p["dendrites"]), int(p["inputs"])
    s = (a["weights"].view(shape) * a["branch_inputs"].view(shape)).sum(dim=2)
    d = s - 0.5
    kind = int(p["nonlinearity"])
    if kind == 0:
        bent = torch.sigmoid(4 * d)
    elif kind == 1:
        bent = s / (1 + torch.exp(-0.062 * (100 * s - 65)) / 3.57)
    elif kind == 2:
        bent = torch.where(d < 0, s, 0.5 + 2 * d * torch.exp(-0.5 * d))
    else:
        bent = s * s / (1 + s * s)
    return {"soma": a["state"] + bent.sum(dim=1)}


def _vector_add(torch: Any, a: Tensors, p: Sizes) -> Tensors:
    return {"c": torch.add(a["a"], a["b"])}


def _matrix_multiply(torch: Any, a: Tensors, p: Sizes) -> Tensors:
    m, n, k = int(p["m"]), int(p["n"]), int(p["k"])
    return {"c": torch.mm(a["a"].view(m, k), a["b"].view(k, n))}


def _dot_product(torch: Any, a: Tensors, p: Sizes) -> Tensors:
    return {"out": torch.dot(a["a"], a["b"])}


FUNCTIONS: dict[str, Callable[[Any, Tensors, Sizes], Tensors]] = {
    "lstm_cell_forward": _lstm_cell_forward,
    "conv2d": _conv2d,
    "image_segmentation": _image_segmentation,
    "dendritic_integration": _dendritic_integration,
    "vector_add": _vector_add,
    "matrix_multiply": _matrix_multiply,
    "dot_product": _dot_product,
}


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise _core.UnavailableError(
            f"backend torch: {error}; install it with: pip install 'regimeter[torch]'"
        ) from None
    return torch


class TorchBackend:
    """PyTorch, eager, without gradients. `device`: a name such as cpu or cuda:0; a number is the processor."""

    name = "torch"

    def measure(
        self, workload: Workload, sizes: Mapping[str, float], request: Request, inputs: Arrays | None = None
    ) -> Measured:
        """Run and time: on a device a kernel's time ends with a synchronisation, unless events tell it."""
        if workload.name in NO_FORM:
            raise _core.UnavailableError(f"{workload.name} on backend torch: {NO_FORM[workload.name]}")
        torch = _torch()
        place = request.device if isinstance(request.device, str) else "cpu"
        try:
            device = torch.device(place)
        except RuntimeError as error:
            raise ValueError(f"device {place!r} of backend torch: {str(error).splitlines()[0]}") from None
        if device.type == "cuda" and not torch.cuda.is_available():
            raise _core.UnavailableError(f"backend torch: {place} is not available to this torch")
        given = {name: torch.from_numpy(array.copy()) for name, array in
                 (workload.inputs(sizes) | (inputs or {})).items()}  # fmt: skip
        there = {name: tensor.to(device) for name, tensor in given.items()}
        function = FUNCTIONS[workload.name]

        def host_call() -> Arrays:
            moved = {name: tensor.to(device, copy=True) for name, tensor in given.items()}
            return {name: tensor.cpu().clone().numpy() for name, tensor in function(torch, moved, sizes).items()}

        with torch.no_grad():
            if device.type == "cuda":
                with torch.cuda.device(device):
                    kernel, outputs = _by_events(torch, lambda: function(torch, there, sizes), request)
            else:
                kernel, outputs = time_calls(lambda: function(torch, there, sizes), request.warmup, request.iterations)
            host = time_calls(host_call, request.warmup, request.calls)[0] if request.calls else None
        flat = {name: np.ravel(tensor.cpu().numpy()) for name, tensor in outputs.items()}
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else cpu_model()
        facts = {"torch": torch.__version__, "threads": torch.get_num_threads(), "place": str(device)}
        return Measured(kernel, host, flat, name, facts=facts)


def _by_events(torch: Any, call: Callable[[], Tensors], request: Request) -> tuple[Times | None, Tensors]:
    """Time calls by pairs of events: what the device did, with the gaps between the kernels of one call."""
    result: Tensors = {}
    for _ in range(max(1, request.warmup)):
        result = call()
    pairs = []
    for _ in range(request.iterations):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        result = call()
        last.record()
        pairs.append((first, last))
    torch.cuda.synchronize()
    totals = tuple(round(first.elapsed_time(last) * 1e6) for first, last in pairs)
    return (Times(totals) if totals else None), result
