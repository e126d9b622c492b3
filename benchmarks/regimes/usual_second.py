# SPDX-License-Identifier: Apache-2.0
"""Usual operations by a writer who knew neither the rules nor the other sets; labels by construction."""

import csv
import datetime
import hashlib
import io
import json
import lzma
import random
import re
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .case import COMPUTE, MEMORY, OVERHEAD, Case, Parts, library, of_parts, ramp

GIGA = 128_000_000  # doubles: 1 GB an array, beyond the last-level cache also of the largest servers
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu")


def case(name: str, labels: str | tuple[str, ...], reason: str, make: Callable[[], Parts]) -> Case:
    """Return a case of this set."""
    return of_parts(f"second {name}", labels, reason, make)


def uniform(*shape: int, dtype: Any = np.float64, seed: int = 11) -> Any:
    """Return random numbers from 0 to 1, each of which was written."""
    return np.random.default_rng(seed).random(shape, dtype=dtype)


def tensor(*shape: int, seed: int = 11) -> Any:
    """Return a torch tensor of random float32."""
    return library("torch").from_numpy(uniform(*shape, dtype=np.float32, seed=seed))


def anywhere(count: int, most: int) -> Any:
    """Return random indices below most."""
    return np.random.default_rng(12).integers(0, most, count)


def prose(words: int) -> str:
    """Return text of random words, numbers and addresses."""
    chosen = random.Random(13)
    parts = []
    for place in range(words):
        parts.append(chosen.choice(WORDS))
        if place % 17 == 0:
            parts.append(f"{chosen.choice(WORDS)}{chosen.randrange(1000)}@{chosen.choice(WORDS)}.example.org")
        if place % 11 == 0:
            parts.append(f"{chosen.randrange(1, 29):02d}/{chosen.randrange(1, 13):02d}/{chosen.randrange(1990, 2030)}")
    return " ".join(parts)


# Memory


def strided_column() -> Parts:
    return (lambda table: table[:, 5].copy()), ramp(160_000_000).reshape(-1, 16)


def embedding() -> Parts:
    torch = library("torch")
    rows = 4_000_000
    return torch.nn.functional.embedding, torch.from_numpy(anywhere(600_000, rows)), tensor(rows, 64)


def momentum_step() -> Parts:
    torch = library("torch")
    weight = torch.nn.Parameter(tensor(100_000_000))
    weight.grad = tensor(100_000_000, seed=14)
    return (torch.optim.SGD([weight], lr=1e-6, momentum=0.9).step,)


def index_add() -> Parts:
    torch = library("torch")
    count, bins = 4_000_000, GIGA
    where = torch.from_numpy(anywhere(count, bins))
    return (
        (lambda into, at, what: into.index_add_(0, at, what)),
        torch.from_numpy(ramp(bins)),
        where,
        torch.ones(count, dtype=torch.float64),
    )


def frame_copy() -> Parts:
    frame = library("pandas").DataFrame({name: ramp(20_000_000) for name in "abcdef"})
    return (lambda data: data.copy(deep=True)), frame


def polars_columns() -> Parts:
    polars = library("polars")
    frame = polars.DataFrame({"a": ramp(100_000_000, np.float32), "b": ramp(100_000_000, np.float32)})
    return (lambda data: data.select(polars.col("a") + polars.col("b"))), frame


def sparse_product() -> Parts:
    rows, each, columns = 1_000_000, 8, GIGA
    where = anywhere(rows * each, columns).astype(np.int32)
    starts = np.arange(0, rows * each + 1, each, dtype=np.int32)
    matrix = library("scipy.sparse").csr_matrix((uniform(rows * each), where, starts), shape=(rows, columns))
    return (lambda left, right: left @ right), matrix, ramp(columns)


def normalise() -> Parts:
    torch = library("torch")
    channels = 64
    image = torch.from_numpy(ramp(40 * channels * 256 * 256, np.float32)).reshape(40, channels, 256, 256)
    mean, variance = tensor(channels), tensor(channels, seed=15) + 0.5
    return torch.nn.functional.batch_norm, image, mean, variance


def decode_attention() -> Parts:
    torch = library("torch")
    query, keys, values = tensor(8, 32, 1, 64), tensor(8, 32, 8192, 64, seed=16), tensor(8, 32, 8192, 64, seed=17)
    return torch.nn.functional.scaled_dot_product_attention, query, keys, values


def memory_cases() -> Iterator[Case]:
    """Yield what the memory limits."""
    yield case(
        "numpy copyto of a gigabyte",
        MEMORY,
        "reads 1 GB and writes 1 GB, no arithmetic",
        lambda: (np.copyto, np.ones(GIGA), ramp(GIGA)),
    )
    yield case(
        "copy of one column of 16 of a C-ordered table",
        MEMORY,
        "one double of each 128 bytes of 1.3 GB: a line fetched for every element",
        strided_column,
    )
    yield case(
        "fancy index of 4 M random places in a gigabyte",
        MEMORY,
        "each element lies in a line that no cache holds",
        lambda: ((lambda table, at: table[at]), ramp(GIGA), anywhere(4_000_000, GIGA)),
    )
    yield case(
        "torch embedding of 600 k random rows of a gigabyte",
        MEMORY,
        "copies rows of 256 bytes from random places, no arithmetic",
        embedding,
    )
    yield case(
        "numpy full of 60 M doubles",
        MEMORY,
        "first touch of 480 MB of fresh memory, one store an element",
        lambda: (np.full, 60_000_000, 1.5),
    )
    yield case(
        "bytearray from 600 MB of bytes",
        MEMORY,
        "copies bytes into memory just taken from the system",
        lambda: (bytearray, np.ones(600_000_000, np.uint8).tobytes()),
    )
    yield case(
        "torch contiguous transpose of 12000 x 12000 floats",
        MEMORY,
        "reads rows and writes columns of 576 MB each, no arithmetic",
        lambda: ((lambda matrix: matrix.t().contiguous()), tensor(12_000, 12_000)),
    )
    yield case(
        "torch SGD step with momentum, 100 M parameters",
        MEMORY,
        "passes over three arrays of 400 MB with two multiply-adds an element",
        momentum_step,
    )
    yield case(
        "torch index_add at 4 M random places in a gigabyte",
        MEMORY,
        "one addition for a line read and written at a random place",
        index_add,
    )
    yield case(
        "pandas deep copy of a frame of a gigabyte",
        MEMORY,
        "reads 960 MB and writes as much fresh memory, no arithmetic",
        frame_copy,
    )
    yield case(
        "polars sum of two columns of 100 M floats",
        MEMORY,
        "one addition for 12 bytes that go through memory, into a fresh column",
        polars_columns,
    )
    yield case(
        "scipy CSR product with 8 random columns a row",
        MEMORY,
        "one multiply-add for each element of a 1 GB vector read at a random place",
        sparse_product,
    )
    yield case(
        "numpy dot of two vectors of a gigabyte",
        MEMORY,
        "one vectorised multiply-add for 16 bytes read",
        lambda: (np.dot, ramp(GIGA), np.ones(GIGA)),
    )
    yield case(
        "torch linear layer 16384 to 16384, batch of one",
        MEMORY,
        "each weight of 1 GB is read once for one multiply-add",
        lambda: (library("torch").nn.functional.linear, tensor(1, 16_384), tensor(16_384, 16_384, seed=18)),
    )
    yield case(
        "numpy count_nonzero of 1.6 G booleans",
        MEMORY,
        "reads 1.6 GB once, with vector additions of whole registers of bytes",
        lambda: (np.count_nonzero, np.ones(1_600_000_000, np.bool_)),
    )
    yield case(
        "bytes find of a byte that is not there, 1.6 GB",
        MEMORY,
        "memchr reads each byte once, a register of them at a time",
        lambda: ((lambda blob: blob.find(b"\xff")), np.ones(1_600_000_000, np.uint8).tobytes()),
    )
    yield case(
        "torch batch norm in evaluation, 671 MB of images",
        MEMORY,
        "one multiply-add an element, read once and written to fresh memory",
        normalise,
    )
    yield case(
        "torch attention of one new token over a long cache",
        MEMORY,
        "each key and value of 1 GB is read once for one multiply-add",
        decode_attention,
    )


# Compute


def sorted_strings() -> Parts:
    chosen = random.Random(19)
    return sorted, [f"{chosen.choice(WORDS)}-{chosen.randrange(10**8)}" for _ in range(60_000)]


def dates_and_addresses() -> Parts:
    pattern = re.compile(r"\b(?:[a-z]+\d+@[a-z]+(?:\.[a-z]+)+|\d{2}/\d{2}/(?:19|20)\d{2})\b")
    return pattern.findall, prose(40_000)


def json_text() -> Parts:
    chosen = random.Random(20)
    rows = [
        {"id": place, "name": chosen.choice(WORDS), "score": chosen.random(), "tags": chosen.sample(WORDS, 3)}
        for place in range(8_000)
    ]
    return json.loads, json.dumps(rows)


def arrow_csv() -> Parts:
    arrow, reader = library("pyarrow"), library("pyarrow.csv")
    numbers = uniform(60_000, 5)
    text = "a,b,c,d,e\n" + "\n".join(",".join(f"{one:.9f}" for one in row) for row in numbers)
    return (lambda data: reader.read_csv(arrow.BufferReader(data))), arrow.py_buffer(text.encode())


def cholesky() -> Parts:
    square = uniform(1_000, 1_000)
    return library("scipy.linalg").cholesky, square @ square.T + 1_000 * np.eye(1_000)


def convolution() -> Parts:
    torch = library("torch")
    return torch.nn.functional.conv2d, tensor(4, 64, 56, 56), tensor(64, 64, 3, 3, seed=21), None, 1, 1


def recursive_filter() -> Parts:
    signal = library("scipy.signal")
    above, below = signal.butter(4, 0.2)
    return signal.lfilter, above, below, uniform(400_000)


def prefill_attention() -> Parts:
    torch = library("torch")
    query, keys, values = (tensor(1, 8, 1024, 64, seed=seed) for seed in (22, 23, 24))
    return torch.nn.functional.scaled_dot_product_attention, query, keys, values


def modular_power() -> Parts:
    chosen = random.Random(25)
    return pow, chosen.getrandbits(2048), chosen.getrandbits(2048), chosen.getrandbits(2048) | 1


def compute_cases() -> Iterator[Case]:
    """Yield what arithmetic, comparisons and branches limit."""
    yield case(
        "scipy gammaln of 200 k doubles",
        COMPUTE,
        "a logarithm and a series an element, in the cache",
        lambda: (library("scipy.special").gammaln, uniform(200_000) * 50 + 0.1),
    )
    yield case(
        "numpy arctan2 of 12 k pairs",
        COMPUTE,
        "a division and a series an element, in the cache",
        lambda: (np.arctan2, uniform(12_000), uniform(12_000, seed=26)),
    )
    yield case(
        "numpy stable argsort of 300 k doubles",
        COMPUTE,
        "n log n comparisons of what the cache holds",
        lambda: ((lambda data: np.argsort(data, kind="stable")), uniform(300_000)),
    )
    yield case(
        "sorted list of 60 k strings",
        COMPUTE,
        "n log n comparisons of strings in the compiled sort",
        sorted_strings,
    )
    yield case(
        "hashlib sha3_512 of 2 MB",
        COMPUTE,
        "rounds of logic on each block, tens of operations a byte",
        lambda: ((lambda data: hashlib.sha3_512(data).digest()), random.Random(27).randbytes(2_000_000)),
    )
    yield case(
        "lzma compression of 150 kB of text",
        COMPUTE,
        "searches matches and codes them bit by bit, hundreds of operations a byte",
        lambda: (lzma.compress, prose(30_000).encode()[:150_000]),
    )
    yield case(
        "re findall of dates and addresses in text",
        COMPUTE,
        "the compiled matcher tries alternatives at each character, few matches",
        dates_and_addresses,
    )
    yield case(
        "json loads of 8 k records",
        COMPUTE,
        "a parser in C: branches and conversions for each character of one megabyte",
        json_text,
    )
    yield case(
        "pyarrow read_csv of 300 k numbers in memory",
        COMPUTE,
        "a compiled parser: splits and converts decimal numbers of 3.6 MB",
        arrow_csv,
    )
    yield case(
        "torch product of 800 x 800 floats",
        COMPUTE,
        "n^3 multiply-adds on n^2 elements",
        lambda: (library("torch").matmul, tensor(800, 800), tensor(800, 800, seed=28)),
    )
    yield case(
        "scipy cholesky of 1000 x 1000",
        COMPUTE,
        "n^3 / 3 operations on n^2 elements",
        cholesky,
    )
    yield case(
        "numpy convolve of 20 k samples with 400 taps",
        COMPUTE,
        "400 multiply-adds for each sample, in the first cache",
        lambda: (np.convolve, uniform(20_000), uniform(400, seed=27)),
    )
    yield case(
        "torch convolution 3 x 3 of 64 channels",
        COMPUTE,
        "1152 operations for each element written",
        convolution,
    )
    yield case(
        "scipy median filter 7 x 7 of an image",
        COMPUTE,
        "selects among 49 neighbours for each pixel",
        lambda: (library("scipy.ndimage").median_filter, uniform(256, 256), 7),
    )
    yield case(
        "torch attention of 1024 tokens, 8 heads",
        COMPUTE,
        "each key is used by 1024 queries, with an exponential a pair",
        prefill_attention,
    )
    yield case(
        "scipy cdist of 1000 by 1000 points in 32 dimensions",
        COMPUTE,
        "96 operations and a root for each distance of points that the cache holds",
        lambda: (library("scipy.spatial.distance").cdist, uniform(1_000, 32), uniform(1_000, 32, seed=29)),
    )
    yield case(
        "scipy lfilter of order 4 on 400 k samples",
        COMPUTE,
        "9 multiply-adds a sample in a chain, each needs the one before",
        recursive_filter,
    )
    yield case(
        "modular power of 2048-bit integers",
        COMPUTE,
        "thousands of long products and remainders within one call, on 256 bytes",
        modular_power,
    )


# Overhead


def small_record() -> Parts:
    return json.dumps, {
        "id": 17,
        "name": "valve",
        "open": True,
        "limits": [0.5, 2.5],
        "place": {"row": 3, "shelf": "upper left"},
    }


def small_network() -> Parts:
    torch = library("torch")
    layers = torch.nn
    torch.manual_seed(30)
    network = layers.Sequential(layers.Linear(4, 8), layers.ReLU(), layers.Linear(8, 2), layers.Softmax(dim=-1))
    return network, tensor(1, 4)


def small_groups() -> Parts:
    frame = library("pandas").DataFrame({"team": list("aabbccaabbcc"), "points": range(12)})
    return (lambda data: data.groupby("team")["points"].sum()), frame


def held_lock() -> Parts:
    lock = threading.Lock()
    lock.acquire()
    return (lambda held: held.acquire(timeout=0.006)), lock


def ping(near: socket.socket, far: socket.socket) -> int:
    """Send short messages to and fro."""
    total = 0
    for _ in range(150):
        near.sendall(b"ping")
        far.sendall(far.recv(16))
        total += len(near.recv(16))
    return total


def start_and_join(count: int) -> int:
    """Start threads that do nearly nothing and wait for them."""
    found: list[int] = []
    threads = [threading.Thread(target=found.append, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(found)


def small_files() -> Parts:
    directory = tempfile.TemporaryDirectory()
    for place in range(60):
        (Path(directory.name) / f"{place}.txt").write_text(f"setting = {place}\n")

    def read_all(where: tempfile.TemporaryDirectory[str]) -> int:
        return sum(len(path.read_text()) for path in Path(where.name).glob("*.txt"))

    return read_all, directory


def fibonacci(n: int) -> int:
    """Return a Fibonacci number, by recursion."""
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def pipeline(count: int) -> int:
    """Pass numbers through generators."""
    odd = (one for one in range(count) if one % 2)
    squares = (one * one for one in odd)
    return sum(one for one in squares if one % 3 == 1)


def valid_numbers(fields: list[str]) -> int:
    """Count the fields that are numbers; half of them raise."""
    count = 0
    for field in fields:
        try:
            int(field)
        except ValueError:
            continue
        count += 1
    return count


def count_words(words: list[str]) -> dict[str, int]:
    """Count words in a loop."""
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def csv_totals(text: str) -> dict[str, int]:
    """Add a column of a table by another."""
    totals: dict[str, int] = {}
    for row in csv.DictReader(io.StringIO(text)):
        totals[row["name"]] = totals.get(row["name"], 0) + int(row["count"])
    return totals


def csv_table() -> Parts:
    chosen = random.Random(31)
    lines = [f"{place},{chosen.choice(WORDS)},{chosen.randrange(100)}" for place in range(1_500)]
    return csv_totals, "id,name,count\n" + "\n".join(lines)


def shortest_path() -> Parts:
    networkx = library("networkx")
    grid = networkx.grid_2d_graph(25, 25)
    chosen = random.Random(32)
    for _, _, data in grid.edges(data=True):
        data["weight"] = chosen.randrange(1, 10)
    return networkx.dijkstra_path, grid, (0, 0), (24, 24)


def parse_dates(stamps: list[str]) -> list[datetime.datetime]:
    """Parse dates one by one."""
    return [datetime.datetime.strptime(stamp, "%d %b %Y %H:%M:%S") for stamp in stamps]


def report(rows: list[tuple[str, int]]) -> str:
    """Build text line by line."""
    text = ""
    for place, (name, amount) in enumerate(rows):
        text += f"{place:>5} | {name:<10} | {amount:8.2f}\n"
    return text


def row_norms(rows: Any) -> list[float]:
    """Call the library for each short row."""
    return [float(np.sqrt(np.sum(row * row))) for row in rows]


def overhead_cases() -> Iterator[Case]:
    """Yield what the interpreter, calls, the system and waits limit."""
    yield case("json dumps of one small record", OVERHEAD, "a hundred bytes: the call is the time", small_record)
    yield case(
        "numpy cross product of two vectors of 3",
        OVERHEAD,
        "9 operations within some tens of Python calls",
        lambda: (np.cross, uniform(3), uniform(3, seed=33)),
    )
    yield case(
        "torch network of 4, 8 and 2 units on one sample",
        OVERHEAD,
        "under a hundred multiply-adds in four dispatched layers",
        small_network,
    )
    yield case(
        "pandas group-by of 12 rows",
        OVERHEAD,
        "12 additions: the Python layers of the library are the time",
        small_groups,
    )
    yield case("lock that another holds, with a timeout", OVERHEAD, "the thread sleeps for 6 ms", held_lock)
    yield case(
        "subprocess run of true",
        OVERHEAD,
        "starts a process that does nothing and waits for it",
        lambda: (subprocess.run, ["true"]),
    )
    yield case(
        "150 round trips over a socket pair",
        OVERHEAD,
        "600 system calls for 4 bytes each",
        lambda: (ping, *socket.socketpair()),
    )
    yield case(
        "start and join of 10 threads",
        OVERHEAD,
        "the system makes and ends threads that do nothing",
        lambda: (start_and_join, 10),
    )
    yield case("read of 60 small files", OVERHEAD, "opens, reads and closes for some bytes each", small_files)
    yield case("recursive Fibonacci of 18", OVERHEAD, "calls of Python functions", lambda: (fibonacci, 18))
    yield case(
        "chain of three generators over 20 k integers",
        OVERHEAD,
        "the interpreter resumes a generator for each short operation",
        lambda: (pipeline, 20_000),
    )
    yield case(
        "int of 2000 fields, half of which raise",
        OVERHEAD,
        "the interpreter makes, raises and catches exceptions",
        lambda: (valid_numbers, [str(place) if place % 2 else f"x{place}" for place in range(2_000)]),
    )
    yield case(
        "word count in a dictionary, 20 k words",
        OVERHEAD,
        "an interpreter loop over a dictionary of a few words",
        lambda: (count_words, prose(20_000).split()),
    )
    yield case(
        "csv DictReader of 1500 rows",
        OVERHEAD,
        "Python code for each row of 15 characters: a dictionary, a look-up, an addition",
        csv_table,
    )
    yield case(
        "networkx shortest path on a grid of 625 nodes",
        OVERHEAD,
        "Dijkstra's algorithm in Python, over dictionaries",
        shortest_path,
    )
    yield case(
        "strptime of 150 dates",
        OVERHEAD,
        "a parser written in Python, called for each date of 20 characters",
        lambda: (parse_dates, [f"{1 + place % 28} Mar 2021 10:{place % 60:02d}:07" for place in range(150)]),
    )
    yield case(
        "string of 3000 formatted lines",
        OVERHEAD,
        "an interpreter loop that formats three short fields a line",
        lambda: (report, [(WORDS[place % len(WORDS)], place * 7 % 1000) for place in range(3_000)]),
    )
    yield case(
        "norms of 1000 rows of 4, one by one",
        OVERHEAD,
        "three calls of the library for 8 operations",
        lambda: (row_norms, uniform(1_000, 4)),
    )


# Between two


def big_file() -> Parts:
    directory = tempfile.TemporaryDirectory()  # an argument, so that it lives as long as the case
    (Path(directory.name) / "big.bin").write_bytes(bytes(200_000_000))
    return (lambda where: (Path(where.name) / "big.bin").read_bytes()), directory


def grouped_keys() -> Parts:
    frame = library("pandas").DataFrame({"key": anywhere(2_000_000, 1_000_000), "value": uniform(2_000_000)})
    return (lambda data: data.groupby("key", sort=False)["value"].sum()), frame


def between_cases() -> Iterator[Case]:
    """Yield what the construction puts between two regimes."""
    yield case(
        "numpy sum of a gigabyte",
        (MEMORY, COMPUTE),
        "one thread adds about as fast as memory delivers to it",
        lambda: (np.sum, ramp(GIGA)),
    )
    yield case(
        "numpy square root of half a gigabyte",
        (MEMORY, COMPUTE),
        "the divider takes about as long for a root as memory for 16 bytes",
        lambda: ((lambda data, out: np.sqrt(data, out=out)), ramp(64_000_000), np.ones(64_000_000)),
    )
    yield case(
        "numpy cumulative sum of half a gigabyte",
        (MEMORY, COMPUTE),
        "each addition waits for the one before, about as long as memory takes for 16 bytes",
        lambda: ((lambda data, out: np.cumsum(data, out=out)), ramp(64_000_000), np.ones(64_000_000)),
    )
    yield case(
        "numpy searchsorted of 150 k random keys in a gigabyte",
        (MEMORY, COMPUTE),
        "27 branches that no predictor knows, the last of which read lines that no cache holds",
        lambda: (np.searchsorted, ramp(GIGA), uniform(150_000) * GIGA),
    )
    yield case(
        "read of a file of 200 MB that the system caches",
        (OVERHEAD, MEMORY),
        "system calls, and a copy of 200 MB into fresh memory within them",
        big_file,
    )
    yield case(
        "pandas group-by of 2 M rows by 1 M random keys",
        (MEMORY, COMPUTE),
        "hashes and compares each key, in a table of tens of megabytes at random places",
        grouped_keys,
    )


def cases() -> Iterator[Case]:
    """Yield sixty operations."""
    yield from memory_cases()
    yield from compute_cases()
    yield from overhead_cases()
    yield from between_cases()
