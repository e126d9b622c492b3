# SPDX-License-Identifier: Apache-2.0
"""The nine workloads in NumPy, in double precision and written without a look at the C code."""

from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Values = dict[str, float]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def ar_forecast(a: Arrays, p: Values) -> Arrays:
    known = list(a["series"].astype(float))
    for _ in range(int(p["steps"])):
        newest_first = known[: -int(p["order"]) - 1 : -1]
        known.append(float(np.dot(a["coefficients"].astype(float), newest_first)))
    return {"forecast": np.array(known[len(a["series"]) :])}


def lstm_cell_forward(a: Arrays, p: Values) -> Arrays:
    batch, inputs, hidden = int(p["batch"]), int(p["inputs"]), int(p["hidden"])
    a = {name: array.astype(float) for name, array in a.items()}
    gates = a["input"].reshape(batch, inputs) @ a["weights_ih"].reshape(4 * hidden, inputs).T
    gates += a["hidden_state"].reshape(batch, hidden) @ a["weights_hh"].reshape(4 * hidden, hidden).T
    i, f, g, o = np.split(gates + a["bias"], 4, axis=1)
    cell = sigmoid(f) * a["cell_state"].reshape(batch, hidden) + sigmoid(i) * np.tanh(g)
    return {"hidden_out": sigmoid(o) * np.tanh(cell), "cell_out": cell}


def pixel_entropy(a: Arrays, p: Values) -> Arrays:
    height, width, window = int(p["height"]), int(p["width"]), int(p["window"])
    scaled = a["image"].reshape(height, width) * np.float32(np.float32(256) / np.float32(p["range"]))
    levels = np.clip(scaled, 0, 255).astype(int)
    rows, columns = np.arange(height)[:, None] - window // 2, np.arange(width) - window // 2
    top, left = np.maximum(rows, 0), np.maximum(columns, 0)
    bottom, right = np.minimum(rows + window, height), np.minimum(columns + window, width)

    def within(chosen: Any) -> Any:
        """Count what is chosen in the window of each pixel, as far as that lies in the image."""
        sums = np.pad(chosen.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        return sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]

    out, pixels = np.zeros((height, width)), within(np.ones_like(levels))
    for level in np.unique(levels):
        share = within(levels == level) / pixels
        out -= share * np.log2(share, where=share > 0, out=np.zeros_like(share))
    return {"entropy": out}


def conv2d(a: Arrays, p: Values) -> Arrays:
    height, width, side = int(p["height"]), int(p["width"]), int(p["side"])
    stride, padding = int(p["stride"]), int(p["padding"])
    image = np.pad(a["image"].reshape(height, width).astype(float), padding)
    windows = np.lib.stride_tricks.sliding_window_view(image, (side, side))[::stride, ::stride]
    return {"out": np.einsum("yxij,ij->yx", windows, a["kernel"].reshape(side, side).astype(float))}


def image_segmentation(a: Arrays, p: Values) -> Arrays:
    height, width, threshold = int(p["height"]), int(p["width"]), np.float32(p["threshold"])
    image = a["image"].reshape(height, width)
    edges = [image < np.float32(0.5) * threshold, image < threshold, image < np.float32(1.5) * threshold]
    level = np.select(edges, [0, 3, 2], 1)
    around = np.pad(level, 1, constant_values=-1)
    shifts = [(y, x) for y in range(3) for x in range(3) if (y, x) != (1, 1)]
    neighbours = np.stack([around[y : y + height, x : x + width] for y, x in shifts])
    out = level.copy()
    for candidate in range(4):
        out[(neighbours == candidate).sum(axis=0) > 5] = candidate
    return {"labels": out}


def dendritic_integration(a: Arrays, p: Values) -> Arrays:
    shape = int(p["neurons"]), int(p["dendrites"]), int(p["inputs"])
    s = (a["weights"].astype(float) * a["branch_inputs"].astype(float)).reshape(shape).sum(axis=2)
    d = s - 0.5
    bent = [
        sigmoid(4 * d),
        s / (1 + np.exp(-0.062 * (100 * s - 65)) / 3.57),
        np.where(d < 0, s, 0.5 + 2 * d * np.exp(-d / 2)),
        s**2 / (1 + s**2),
    ][int(p["nonlinearity"])]
    return {"soma": a["state"] + bent.sum(axis=1)}


def vector_add(a: Arrays, p: Values) -> Arrays:
    return {"c": a["a"] + a["b"]}


def matrix_multiply(a: Arrays, p: Values) -> Arrays:
    m, n, k = int(p["m"]), int(p["n"]), int(p["k"])
    return {"c": a["a"].reshape(m, k).astype(float) @ a["b"].reshape(k, n).astype(float)}


def dot_product(a: Arrays, p: Values) -> Arrays:
    return {"out": np.array([np.dot(a["a"].astype(float), a["b"].astype(float))])}


ORACLES: dict[str, Callable[[Arrays, Values], Arrays]] = {
    oracle.__name__: oracle
    for oracle in (
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
# Single precision against double: relative to the size of what is summed. Where results are exact, 0.
TOLERANCES = {
    "ar_forecast": 1e-5,
    "lstm_cell_forward": 2e-6,
    "pixel_entropy": 2e-5,
    "conv2d": 1e-5,
    "image_segmentation": 0.0,
    "dendritic_integration": 1e-5,
    "vector_add": 0.0,
    "matrix_multiply": 1e-5,
    "dot_product": 1e-5,
}


# --- inputs ---------------------------------------------------------------------------------------------------


def documented_inputs(name: str) -> Arrays:
    """Return the documented inputs, as the specification's workloads state them, as far as they do."""
    i = np.arange(1000)
    image = np.full((512, 512), 100.0)
    image[200:300, 200:300] = 5000.0
    thirds = np.select([np.arange(256) < 85, np.arange(256) < 170], [50.0, 150.0], 250.0)
    stated: dict[str, Arrays] = {
        "ar_forecast": {
            "series": 100 + 0.01 * i + 10 * np.sin(0.1 * i),
            "coefficients": np.array([0.5, -0.3, 0.2, -0.1, 0.05]),
        },
        "lstm_cell_forward": {"weights_ih": np.full(512 * 64, 0.01), "weights_hh": np.full(512 * 128, 0.01)},
        "pixel_entropy": {"image": image},
        "conv2d": {"kernel": np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])},
        "image_segmentation": {"image": np.tile(thirds, (256, 1))},
        "dendritic_integration": {"branch_inputs": np.full(1280, 0.5), "weights": np.full(1280, 0.1)},
        "matrix_multiply": {"a": np.full((256, 256), 0.1), "b": np.full((256, 256), 0.1)},
    }
    return {key: value.astype(np.float32).ravel() for key, value in stated.get(name, {}).items()}


def random_inputs(name: str, p: Values, rng: np.random.Generator) -> Arrays:
    """Return inputs of the right sizes that no symmetry can make look right."""

    def normal(*sizes: float) -> np.ndarray:
        return rng.standard_normal(int(np.prod(sizes))).astype(np.float32)

    made: dict[str, Callable[[], Arrays]] = {
        "ar_forecast": lambda: {
            "series": normal(p["points"]),
            "coefficients": (normal(p["order"]) * np.float32(0.3 / p["order"])),
        },
        "lstm_cell_forward": lambda: {
            "input": normal(p["batch"], p["inputs"]),
            "hidden_state": normal(p["batch"], p["hidden"]),
            "cell_state": normal(p["batch"], p["hidden"]),
            "weights_ih": normal(4, p["hidden"], p["inputs"]) * np.float32(0.2),
            "weights_hh": normal(4, p["hidden"], p["hidden"]) * np.float32(0.2),
            "bias": normal(4, p["hidden"]),
        },
        "pixel_entropy": lambda: {
            "image": rng.choice(np.float32([0, 300, 700, 65535, 90000, -5]), int(p["height"] * p["width"]))
            + rng.integers(0, 1000, int(p["height"] * p["width"])).astype(np.float32)
        },
        "conv2d": lambda: {"image": normal(p["height"], p["width"]), "kernel": normal(p["side"], p["side"])},
        "image_segmentation": lambda: {"image": rng.uniform(0, 200, int(p["height"] * p["width"])).astype(np.float32)},
        "dendritic_integration": lambda: {
            "branch_inputs": normal(p["neurons"], p["dendrites"], p["inputs"]),
            "weights": normal(p["neurons"], p["dendrites"], p["inputs"]),
            "state": normal(p["neurons"]),
        },
        "vector_add": lambda: {"a": normal(p["n"]), "b": normal(p["n"])},
        "matrix_multiply": lambda: {"a": normal(p["m"], p["k"]), "b": normal(p["k"], p["n"])},
        "dot_product": lambda: {"a": normal(p["n"]), "b": normal(p["n"])},
    }
    return made[name]()


# Parameters that are not the documented ones: the smallest, one short of and one past a tile, other options.
SIZES: list[tuple[str, Values]] = [
    ("ar_forecast", {"points": 1, "order": 1, "steps": 1}),
    ("ar_forecast", {"points": 40, "order": 32, "steps": 70}),
    ("ar_forecast", {"points": 7, "order": 7, "steps": 3}),
    ("lstm_cell_forward", {"batch": 1, "inputs": 1, "hidden": 1}),
    ("lstm_cell_forward", {"batch": 9, "inputs": 33, "hidden": 17}),
    ("lstm_cell_forward", {"batch": 7, "inputs": 31, "hidden": 40}),
    ("pixel_entropy", {"height": 1, "width": 1, "window": 1, "range": 65536}),
    ("pixel_entropy", {"height": 17, "width": 65, "window": 16, "range": 65536}),
    ("pixel_entropy", {"height": 40, "width": 70, "window": 32, "range": 4096}),
    ("pixel_entropy", {"height": 33, "width": 10, "window": 7, "range": 65536}),
    ("pixel_entropy", {"height": 3, "width": 130, "window": 31, "range": 500}),
    ("conv2d", {"height": 1, "width": 1, "side": 1, "stride": 1, "padding": 0}),
    ("conv2d", {"height": 9, "width": 33, "side": 3, "stride": 1, "padding": 0}),
    ("conv2d", {"height": 19, "width": 70, "side": 7, "stride": 2, "padding": 3}),
    ("conv2d", {"height": 16, "width": 65, "side": 2, "stride": 2, "padding": 1}),
    ("conv2d", {"height": 5, "width": 5, "side": 5, "stride": 1, "padding": 4}),
    ("image_segmentation", {"height": 1, "width": 1, "threshold": 100}),
    ("image_segmentation", {"height": 17, "width": 33, "threshold": 100}),
    ("image_segmentation", {"height": 40, "width": 64, "threshold": 240}),
    *(
        ("dendritic_integration", {"neurons": n, "dendrites": d, "inputs": i, "nonlinearity": kind})
        for kind in range(4)
        for n, d, i in ((1, 1, 1), (3, 32, 33), (5, 7, 64))
    ),
    ("vector_add", {"n": 1}),
    ("vector_add", {"n": 1023}),
    ("vector_add", {"n": 4097}),
    ("matrix_multiply", {"m": 1, "n": 1, "k": 1}),
    ("matrix_multiply", {"m": 33, "n": 31, "k": 65}),
    ("matrix_multiply", {"m": 5, "n": 100, "k": 32}),
    ("dot_product", {"n": 1}),
    ("dot_product", {"n": 257}),
    ("dot_product", {"n": 300001}),
]


def compare(name: str, outputs: dict[str, Any], dtypes: dict[str, str], expected: Arrays) -> None:
    """Raise AssertionError where an output is not what the oracle says."""
    assert set(outputs) == set(expected)
    for key, wanted in expected.items():
        found = np.frombuffer(outputs[key], dtypes[key]).astype(float)
        scale = max(1.0, float(np.abs(wanted).max()))
        bound = TOLERANCES[name] * scale
        np.testing.assert_allclose(found, wanted.ravel(), rtol=0, atol=bound, err_msg=f"{name}.{key}")
