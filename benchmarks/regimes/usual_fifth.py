# SPDX-License-Identifier: Apache-2.0
"""Usual operations of data, learning, web and scientific Python, written by someone who had not read the rules."""

import asyncio
import copy
import datetime
import hashlib
import heapq
import io
import json
import logging
import os
import random
import re
import statistics
import struct
import subprocess
import tempfile
import threading
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .case import COMPUTE, MEMORY, OVERHEAD, Case, Parts, library, of_parts, ramp

NAMES = ("river", "stone", "cedar", "falcon", "harbor", "lantern", "meadow", "orchard", "pebble", "quarry", "violet")
STREAMED = "at most one operation an element, over 800 MB or more, which no cache holds"
TOUCHED = "what is made is hundreds of MB of new memory, and nothing is calculated"
CUBED = "n^3 operations on n^2 numbers that the caches hold"
FUNCTION = "tens of operations for each element of what the second cache holds"
SCANNED = "one call of compiled code that compares and branches through cached data"
STEPS = "Python runs many bytecodes or small calls, each for next to no work"
TINY = "the call costs far more than the few numbers that it is given"
ASKED = "each call of the system does next to nothing"
WAITED = "the thread waits, and nothing is calculated"


def case(name: str, label: str, reason: str, make: Callable[[], Parts]) -> Case:
    """Return a case of this set."""
    return of_parts(f"fifth {name}", label, reason, make)


def uniform(*shape: int, dtype: Any = np.float64, seed: int = 61) -> Any:
    """Return random numbers from 0 to 1."""
    return np.random.default_rng(seed).random(shape, dtype=dtype)


def places(count: int, most: int, dtype: Any = np.int64) -> Any:
    """Return random indices below most."""
    return np.random.default_rng(62).integers(0, most, count, dtype=dtype)


def floats(count: int) -> Any:
    """Return a torch tensor of count float32, each of which was written."""
    return library("torch").from_numpy(ramp(count, np.float32))


def tensor(*shape: int, seed: int = 63) -> Any:
    """Return a torch tensor of random float32."""
    return library("torch").from_numpy(uniform(*shape, dtype=np.float32, seed=seed))


def words(count: int) -> list[str]:
    """Return random words."""
    return random.Random(64).choices(NAMES, k=count)


def prose(count: int) -> str:
    """Return that many random words, each with a number."""
    chosen = random.Random(65)
    return " ".join(f"{word} {chosen.randrange(1000)}" for word in words(count))


def orders(count: int) -> list[dict[str, Any]]:
    """Return nested records."""
    chosen = random.Random(66)
    return [
        {"id": place, "customer": {"name": name, "paid": place % 3 == 0}, "amounts": [chosen.random(), place]}
        for place, name in enumerate(words(count))
    ]


# Memory


def written_at_random() -> Parts:
    def write(data: Any, at: Any) -> None:
        data[at] = 1.0

    return write, ramp(100_000_000), places(10_000_000, 100_000_000)


def embedding() -> Parts:
    table = floats(3_000_000 * 64).view(-1, 64)
    return library("torch").nn.functional.embedding, library("torch").from_numpy(places(1_000_000, 3_000_000)), table


def frame_copy() -> Parts:
    frame = library("pandas").DataFrame({name: ramp(8_000_000) for name in NAMES[:8]})
    return (frame.copy,)


def chunks_combined() -> Parts:
    arrow = library("pyarrow")
    whole = arrow.array(ramp(60_000_000))
    chunked = arrow.chunked_array([whole[:20_000_000], whole[20_000_000:35_000_000], whole[35_000_000:]])
    return (chunked.combine_chunks,)


def half_moved() -> Parts:
    def move(view: memoryview) -> None:
        half = len(view) // 2
        view[:half] = view[half:]

    return move, memoryview(bytearray(b"r") * 800_000_000)


def sparse_product() -> Parts:
    rows, each, columns = 2_000_000, 10, 60_000_000
    matrix = library("scipy.sparse").csr_array(
        (
            ramp(rows * each),
            places(rows * each, columns, np.int32),
            np.arange(0, rows * each + 1, each, dtype=np.int32),
        ),
        shape=(rows, columns),
    )
    return (lambda m, v: m @ v), matrix, ramp(columns)


def memory_cases() -> Iterator[Case]:
    """Yield what the memory limits."""
    count = 50_000_000
    yield case(
        "numpy add into a third array", MEMORY, STREAMED, lambda: (np.add, ramp(count), ramp(count), ramp(count))
    )
    yield case("numpy full", MEMORY, TOUCHED, lambda: (np.full, 60_000_000, 1.5))
    yield case("numpy fill", MEMORY, STREAMED, lambda: (ramp(100_000_000).fill, 2.0))
    yield case(
        "numpy sum of every eighth",
        MEMORY,
        "each element that is added lies in a line of its own, and the lines are 960 MB",
        lambda: ((lambda x: x[::8].sum()), ramp(120_000_000)),
    )
    yield case(
        "numpy assignment to random places",
        MEMORY,
        "each of ten million elements is a line of 800 MB that no cache holds",
        written_at_random,
    )
    yield case("numpy roll", MEMORY, TOUCHED, lambda: ((lambda x: np.roll(x, 1000)), ramp(count)))
    yield case("numpy dot of long vectors", MEMORY, STREAMED, lambda: (np.dot, ramp(60_000_000), ramp(60_000_000)))
    yield case(
        "numpy copyto between transposes",
        MEMORY,
        STREAMED,
        lambda: (np.copyto, np.ones((6000, 10_000)).T, ramp(60_000_000).reshape(6000, 10_000).T),
    )
    yield case(
        "torch add in place with alpha",
        MEMORY,
        STREAMED,
        lambda: ((lambda a, b: a.add_(b, alpha=0.5)), floats(120_000_000), floats(120_000_000)),
    )
    yield case("torch clone", MEMORY, TOUCHED, lambda: (floats(120_000_000).clone,))
    yield case(
        "torch embedding of random rows",
        MEMORY,
        "a million rows of 256 bytes are copied from random places of 768 MB to new memory",
        embedding,
    )
    yield case(
        "torch matrix by vector",
        MEMORY,
        "each element of 900 MB is read once for one multiply-add",
        lambda: (library("torch").mv, floats(15_000 * 15_000).view(15_000, -1), floats(15_000)),
    )
    yield case("pandas copy of a table", MEMORY, TOUCHED, frame_copy)
    yield case(
        "pandas sum of two columns",
        MEMORY,
        STREAMED,
        lambda: ((lambda a, b: a + b), library("pandas").Series(ramp(count)), library("pandas").Series(ramp(count))),
    )
    yield case(
        "polars difference of two columns",
        MEMORY,
        STREAMED,
        lambda: ((lambda a, b: a - b), library("polars").Series(ramp(count)), library("polars").Series(ramp(count))),
    )
    yield case("pyarrow chunks combined", MEMORY, "480 MB are copied once and nothing is calculated", chunks_combined)
    yield case("bytearray of bytes", MEMORY, TOUCHED, lambda: (bytearray, b"s" * 320_000_000))
    yield case("memoryview half assigned to the other", MEMORY, STREAMED, half_moved)
    yield case("str encode", MEMORY, TOUCHED, lambda: ((lambda s: s.encode()), "t" * 320_000_000))
    yield case(
        "scipy sparse product with a vector",
        MEMORY,
        "each multiply-add reads 12 bytes in order and a line at a random place of 480 MB",
        sparse_product,
    )


# Compute


def convolution() -> Parts:
    return library("torch").nn.functional.conv2d, tensor(1, 32, 48, 48), tensor(32, 32, 3, 3)


def attention() -> Parts:
    shape = (1, 4, 256, 64)
    function = library("torch").nn.functional.scaled_dot_product_attention
    return function, tensor(*shape), tensor(*shape, seed=67), tensor(*shape, seed=68)


def power_of_integers() -> Parts:
    chosen = random.Random(69)
    return pow, chosen.getrandbits(2048), chosen.getrandbits(2048), chosen.getrandbits(2048) | 1 | 1 << 2047


def filtered() -> Parts:
    signal = library("scipy.signal")
    return signal.lfilter, *signal.butter(6, 0.2), uniform(60_000)


def never_found() -> Parts:
    return re.compile(r"([a-z]+) \d+ (\1 \d+ )*[a-z]+!").search, prose(10_000)


def compute_cases() -> Iterator[Case]:
    """Yield what arithmetic, comparisons and branches limit."""
    yield case("numpy matmul", COMPUTE, CUBED, lambda: ((lambda a, b: a @ b), uniform(320, 320), uniform(320, 320)))
    yield case(
        "numpy exp with out",
        COMPUTE,
        FUNCTION,
        lambda: ((lambda x, out: np.exp(x, out=out)), uniform(50_000), np.ones(50_000)),
    )
    yield case("numpy power of a fraction", COMPUTE, FUNCTION, lambda: ((lambda x: x**1.7), uniform(40_000)))
    yield case("numpy singular values", COMPUTE, CUBED, lambda: (np.linalg.svd, uniform(180, 180)))
    yield case(
        "numpy convolve",
        COMPUTE,
        "300 multiply-adds for each of 20 k results",
        lambda: (np.convolve, uniform(20_000), uniform(300), "valid"),
    )
    yield case(
        "numpy searchsorted",
        COMPUTE,
        "15 comparisons for each of 40 k numbers, all in the second cache",
        lambda: (np.searchsorted, np.sort(uniform(30_000)), uniform(40_000, seed=70)),
    )
    yield case("torch convolution of images", COMPUTE, "288 multiply-adds for each result", convolution)
    yield case("torch attention", COMPUTE, "hundreds of multiply-adds for each result", attention)
    yield case(
        "torch gelu", COMPUTE, FUNCTION, lambda: ((lambda x: library("torch").nn.functional.gelu(x)), tensor(200, 500))
    )
    yield case(
        "torch distances of all pairs",
        COMPUTE,
        "64 multiply-adds for each of 160 k distances",
        lambda: (library("torch").cdist, tensor(400, 64), tensor(400, 64, seed=71)),
    )
    yield case(
        "scipy nearest neighbours",
        COMPUTE,
        "hundreds of comparisons and distances for each point, in a tree that the second cache holds",
        lambda: (library("scipy.spatial").cKDTree(uniform(5000, 3)).query, uniform(3000, 3, seed=72), 5),
    )
    yield case(
        "scipy median filter",
        COMPUTE,
        "25 numbers are put in order for each of 22 k pixels",
        lambda: ((lambda x: library("scipy.ndimage").median_filter(x, size=5)), uniform(150, 150)),
    )
    yield case("scipy recursive filter", COMPUTE, "13 dependent multiply-adds for each cached sample", filtered)
    yield case(
        "pandas rolling median",
        COMPUTE,
        "compiled code searches an ordered window for each of 20 k numbers",
        lambda: ((lambda s: s.rolling(100).median()), library("pandas").Series(uniform(20_000))),
    )
    yield case(
        "polars sort",
        COMPUTE,
        "n log n comparisons of 800 kB",
        lambda: ((lambda s: s.sort()), library("polars").Series(uniform(100_000))),
    )
    yield case(
        "password hash",
        COMPUTE,
        "40 k rounds over the same 64 bytes",
        lambda: (hashlib.pbkdf2_hmac, "sha256", b"correct horse", b"battery staple", 20_000),
    )
    yield case("zlib compress", COMPUTE, SCANNED, lambda: ((lambda d: zlib.compress(d, 9)), prose(8000).encode()))
    yield case("power of long integers", COMPUTE, "2048 long products of cached numbers", power_of_integers)
    yield case("re search that finds nothing", COMPUTE, SCANNED, never_found)
    yield case("json loads", COMPUTE, SCANNED, lambda: (json.loads, json.dumps(orders(2000))))


# Overhead


def fibonacci(place: int) -> int:
    """Call itself, as in every tutorial."""
    return place if place < 2 else fibonacci(place - 1) + fibonacci(place - 2)


def counted(found: list[str]) -> dict[str, int]:
    """Count words."""
    counts: dict[str, int] = {}
    for word in found:
        counts[word] = counts.get(word, 0) + 1
    return counts


def unpacked(data: bytes) -> float:
    """Read records of an integer and a number one by one."""
    total = 0.0
    for offset in range(0, len(data), 12):
        number, value = struct.unpack_from("<id", data, offset)
        total += number * value
    return total


def shortest(graph: dict[int, list[tuple[int, int]]]) -> dict[int, int]:
    """Return the lengths of the shortest ways from node 0."""
    known: dict[int, int] = {}
    waiting = [(0, 0)]
    while waiting:
        length, node = heapq.heappop(waiting)
        if node in known:
            continue
        known[node] = length
        for other, step in graph[node]:
            heapq.heappush(waiting, (length + step, other))
    return known


def renamed(names: list[str]) -> list[str]:
    """Make paths of names."""
    folder = Path("/srv/data")
    return [str((folder / name).with_suffix(".txt")) for name in names]


def mapped(found: list[str]) -> int:
    """Give each word to a pool of threads."""
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(len, found))


def through_queue(count: int) -> int:
    """Hand numbers from one task to another."""

    async def give(queue: Any) -> None:
        for place in range(count):
            await queue.put(place)
        await queue.put(-1)

    async def both() -> int:
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1)
        giver = asyncio.create_task(give(queue))
        total = 0
        while (got := await queue.get()) >= 0:
            total += got
        await giver
        return total

    return asyncio.run(both())


def graph_of(count: int) -> dict[int, list[tuple[int, int]]]:
    """Return a graph of five ways from each node."""
    chosen = random.Random(73)
    return {node: [(chosen.randrange(count), chosen.randrange(1, 99)) for _ in range(5)] for node in range(count)}


def messages() -> Parts:
    log = logging.Logger("shop")
    log.addHandler(logging.StreamHandler(io.StringIO()))

    def write(found: list[str]) -> None:
        for place, word in enumerate(found):
            log.info("order %d of %s", place, word)

    return write, words(800)


def training_step() -> Parts:
    torch = library("torch")
    torch.manual_seed(74)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(inputs: Any, wanted: Any) -> None:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), wanted).backward()
        optimizer.step()

    return step, tensor(2, 4), tensor(2, 1)


def small_file() -> Parts:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "version"
    path.write_text("1.2.3\n")
    return (lambda _, where: [where.read_text() for _ in range(500)]), folder, path


def held_lock() -> Parts:
    lock = threading.Lock()
    lock.acquire()
    return lock.acquire, True, 0.02


def overhead_cases() -> Iterator[Case]:
    """Yield what calls, steps of Python, the system and waits limit."""
    yield case("Python recursion", OVERHEAD, STEPS, lambda: (fibonacci, 19))
    yield case("Python words counted in a dict", OVERHEAD, STEPS, lambda: (counted, words(20_000)))
    yield case("struct records one by one", OVERHEAD, STEPS, lambda: (unpacked, struct.pack("<id", 7, 0.5) * 6000))
    yield case("heapq shortest ways", OVERHEAD, STEPS, lambda: (shortest, graph_of(1000)))
    yield case("pathlib paths of names", OVERHEAD, STEPS, lambda: (renamed, [f"{word}.csv" for word in words(1000)]))
    yield case("copy deepcopy of records", OVERHEAD, STEPS, lambda: (copy.deepcopy, orders(400)))
    yield case(
        "datetime strptime again and again",
        OVERHEAD,
        STEPS,
        lambda: (
            (lambda found: [datetime.datetime.strptime(one, "%Y-%m-%d %H:%M") for one in found]),
            [f"2024-0{1 + place % 9}-1{place % 7} 12:{10 + place % 50}" for place in range(800)],
        ),
    )
    yield case(
        "urllib queries parsed one by one",
        OVERHEAD,
        STEPS,
        lambda: (
            (lambda found: [urllib.parse.parse_qs(one) for one in found]),
            [f"q={word}&page={place}&sort=price" for place, word in enumerate(words(800))],
        ),
    )
    yield case("statistics stdev", OVERHEAD, STEPS, lambda: (statistics.stdev, uniform(2000).tolist()))
    yield case("logging messages", OVERHEAD, STEPS, messages)
    yield case(
        "pandas apply to each row",
        OVERHEAD,
        STEPS,
        lambda: (
            (lambda frame: frame.apply(lambda row: row["a"] + row["b"], axis=1)),
            library("pandas").DataFrame({"a": uniform(500), "b": uniform(500)}),
        ),
    )
    yield case("asyncio queue between two tasks", OVERHEAD, STEPS, lambda: (through_queue, 500))
    yield case("threads of a pool that do nothing", OVERHEAD, STEPS, lambda: (mapped, words(400)))
    yield case("numpy norm of three", OVERHEAD, TINY, lambda: (np.linalg.norm, uniform(3)))
    yield case("torch training step of a tiny model", OVERHEAD, TINY, training_step)
    yield case("small file read again and again", OVERHEAD, ASKED, small_file)
    yield case(
        "os urandom of few bytes", OVERHEAD, ASKED, lambda: ((lambda n: [os.urandom(8) for _ in range(n)]), 3000)
    )
    yield case("time sleep", OVERHEAD, WAITED, lambda: (time.sleep, 0.01))
    yield case("lock that another holds", OVERHEAD, WAITED, held_lock)
    yield case(
        "subprocess that sleeps",
        OVERHEAD,
        WAITED,
        lambda: ((lambda command: subprocess.run(command, check=True)), ["sleep", "0.05"]),
    )


def cases() -> Iterator[Case]:
    """Yield sixty operations."""
    yield from memory_cases()
    yield from compute_cases()
    yield from overhead_cases()
