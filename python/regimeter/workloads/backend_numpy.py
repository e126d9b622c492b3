# SPDX-License-Identifier: Apache-2.0
"""The workloads in NumPy as one would write them there: whole arrays, single precision."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ..system.processors import cpu_model
from .backend import Measured, Request
from .catalog import Arrays, Workload
from .python_timing import time_calls

Floats = NDArray[np.float32]
Sizes = Mapping[str, float]


def _sigmoid(x: Floats) -> Floats:
    one = np.float32(1)
    return one / (one + np.exp(-x))


def ar_forecast(a: Arrays, p: Sizes) -> Arrays:
    """Steps build on each other: one inner product a step."""
    order, steps = int(p["order"]), int(p["steps"])
    values = np.concatenate([a["series"][len(a["series"]) - order :], np.empty(steps, np.float32)])
    backwards = a["coefficients"][::-1].copy()
    for step in range(steps):
        values[order + step] = backwards @ values[step : step + order]
    return {"forecast": values[order:]}


def lstm_cell_forward(a: Arrays, p: Sizes) -> Arrays:
    """Two matrix products, then the gates."""
    batch, inputs, hidden = (int(p[name]) for name in ("batch", "inputs", "hidden"))
    gates = a["input"].reshape(batch, inputs) @ a["weights_ih"].reshape(-1, inputs).T
    gates += a["hidden_state"].reshape(batch, hidden) @ a["weights_hh"].reshape(-1, hidden).T
    gates += a["bias"]
    i, f, g, o = (gates[:, n * hidden : (n + 1) * hidden] for n in range(4))
    cell = _sigmoid(f) * a["cell_state"].reshape(batch, hidden) + _sigmoid(i) * np.tanh(g)
    return {"hidden_out": _sigmoid(o) * np.tanh(cell), "cell_out": cell}


def pixel_entropy(a: Arrays, p: Sizes) -> Arrays:
    """Counts in windows from running sums, one level after the other, of those that the image has."""
    height, width, window = (int(p[name]) for name in ("height", "width", "window"))
    scaled = a["image"].reshape(height, width) * np.float32(np.float32(256) / np.float32(p["range"]))
    levels = np.clip(scaled, 0, 255).astype(np.uint8)
    top = np.arange(height) - window // 2
    left = np.arange(width) - window // 2
    rows = np.clip(top, 0, height), np.clip(top + window, 0, height)
    columns = np.clip(left, 0, width), np.clip(left + window, 0, width)
    n = np.outer(rows[1] - rows[0], columns[1] - columns[0]).astype(np.float32)
    table = np.zeros(window * window + 1, np.float32)
    table[1:] = np.arange(1, len(table)) * np.log2(np.arange(1, len(table)))
    total = np.zeros((height, width), np.float32)
    sums = np.zeros((height + 1, width + 1), np.int32)
    for level in np.unique(levels):
        np.cumsum(np.cumsum(levels == level, axis=0, dtype=np.int32), axis=1, out=sums[1:, 1:])
        strips = sums[rows[1]] - sums[rows[0]]
        total += table[strips[:, columns[1]] - strips[:, columns[0]]]
    return {"entropy": np.log2(n) - total / n}


def conv2d(a: Arrays, p: Sizes) -> Arrays:
    """A shifted image for each weight of the kernel."""
    height, width, side, stride, padding = (int(p[n]) for n in ("height", "width", "side", "stride", "padding"))
    image = np.pad(a["image"].reshape(height, width), padding)
    kernel = a["kernel"].reshape(side, side)
    rows, columns = ((length + 2 * padding - side) // stride + 1 for length in (height, width))
    out = np.zeros((rows, columns), np.float32)
    for y in range(side):
        for x in range(side):
            out += kernel[y, x] * image[y : y + stride * rows : stride, x : x + stride * columns : stride]
    return {"out": out}


def image_segmentation(a: Arrays, p: Sizes) -> Arrays:
    """Votes in the four bytes of a word, one a level; shifted images are added."""
    height, width, threshold = int(p["height"]), int(p["width"]), np.float32(p["threshold"])
    image = a["image"].reshape(height, width)
    votes = np.zeros((height + 2, width + 2), np.uint32)
    low, high = np.float32(0.5) * threshold, np.float32(1.5) * threshold
    own = np.where(image < low, 1, np.where(image < threshold, 1 << 24, np.where(image < high, 1 << 16, 1 << 8)))
    votes[1:-1, 1:-1] = own
    rows = votes[:-2] + votes[1:-1] + votes[2:]
    around = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - votes[1:-1, 1:-1]
    most = (around + np.uint32(0x7A7A7A7A)) & np.uint32(0x80808080)
    chosen = np.where(most, most >> np.uint32(7), votes[1:-1, 1:-1])
    shifts = np.select([chosen == 1, chosen == 1 << 8, chosen == 1 << 16], [0, 1, 2], 3)
    return {"labels": shifts.astype(np.int32)}


def dendritic_integration(a: Arrays, p: Sizes) -> Arrays:
    """Sums over the inputs, bent, and added."""
    shape = int(p["neurons"]), int(p["dendrites"]), int(p["inputs"])
    s = np.einsum("ndi,ndi->nd", a["weights"].reshape(shape), a["branch_inputs"].reshape(shape))
    d = s - np.float32(0.5)
    kind = int(p["nonlinearity"])
    if kind == 0:
        bent = _sigmoid(4 * d)
    elif kind == 1:
        bent = s / (1 + np.exp(np.float32(-0.062) * (100 * s - 65)) / np.float32(3.57))
    elif kind == 2:
        bent = np.where(d < 0, s, np.float32(0.5) + 2 * d * np.exp(np.float32(-0.5) * d))
    else:
        bent = s * s / (1 + s * s)
    return {"soma": a["state"] + bent.sum(axis=1)}


def vector_add(a: Arrays, p: Sizes) -> Arrays:
    """One call."""
    return {"c": a["a"] + a["b"]}


def matrix_multiply(a: Arrays, p: Sizes) -> Arrays:
    """One call."""
    m, n, k = int(p["m"]), int(p["n"]), int(p["k"])
    return {"c": a["a"].reshape(m, k) @ a["b"].reshape(k, n)}


def dot_product(a: Arrays, p: Sizes) -> Arrays:
    """One call."""
    return {"out": np.array([a["a"] @ a["b"]], np.float32)}


FUNCTIONS: dict[str, Callable[[Arrays, Sizes], Arrays]] = {
    function.__name__: function
    for function in (
        ar_forecast,
        lstm_cell_forward,
        pixel_entropy,
        conv2d,
        image_segmentation,
        dendritic_integration,
        vector_add,
        matrix_multiply,
        dot_product,
    )
}


class NumpyBackend:
    """NumPy. Its results are new arrays, so a kernel's time has their allocation in it."""

    name = "numpy"

    def measure(
        self, workload: Workload, sizes: Mapping[str, float], request: Request, inputs: Arrays | None = None
    ) -> Measured:
        """Run and time; a host call copies inputs and outputs besides."""
        given = workload.inputs(sizes) | (inputs or {})
        function = FUNCTIONS[workload.name]

        def host_call() -> Arrays:
            made = function({name: array.copy() for name, array in given.items()}, sizes)
            return {name: array.copy() for name, array in made.items()}

        with np.errstate(over="ignore"):  # an exponential that is infinite makes a quotient of 0, as it should
            kernel, outputs = time_calls(lambda: function(given, sizes), request.warmup, request.iterations)
            host = time_calls(host_call, request.warmup, request.calls)[0] if request.calls else None
        flat = {name: np.ravel(array) for name, array in outputs.items()}
        return Measured(kernel, host, flat, cpu_model(), facts={"numpy": np.__version__})
