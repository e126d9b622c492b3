# SPDX-License-Identifier: Apache-2.0
"""More usual operations by a writer who knew neither the rules nor the other cases; labels by construction."""

import asyncio
import bz2
import csv
import datetime
import decimal
import hashlib
import io
import json
import operator
import queue
import random
import re
import socket
import sqlite3
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .case import COMPUTE, MEMORY, OVERHEAD, Case, Parts, library, of_parts, ramp

NAMES = ("order", "client", "invoice", "total", "street", "number", "paid", "open", "north", "south", "april", "july")


def case(name: str, labels: str | tuple[str, ...], reason: str, make: Callable[[], Parts]) -> Case:
    """Return a case of this set."""
    return of_parts(f"third {name}", labels, reason, make)


def uniform(*shape: int, dtype: Any = np.float64, seed: int = 31) -> Any:
    """Return random numbers from 0 to 1."""
    return np.random.default_rng(seed).random(shape, dtype=dtype)


def anywhere(count: int, most: int, dtype: Any = np.int64) -> Any:
    """Return random indices below most."""
    return np.random.default_rng(32).integers(0, most, count, dtype=dtype)


def floats(count: int) -> Any:
    """Return a torch tensor of count float32, each of which was written."""
    return library("torch").from_numpy(ramp(count, np.float32))


def tensor(*shape: int) -> Any:
    """Return a torch tensor of random float32."""
    return library("torch").from_numpy(uniform(*shape, dtype=np.float32))


def words(count: int) -> list[str]:
    """Return random words."""
    return random.Random(33).choices(NAMES, k=count)


# Memory


def random_take() -> Parts:
    count = 4_000_000
    return (
        (lambda table, places, out: np.take(table, places, out=out, mode="clip")),
        ramp(100_000_000),
        anywhere(count, 100_000_000),
        np.ones(count),
    )


def random_put() -> Parts:
    def put(table: Any, places: Any, values: Any) -> None:
        table[places] = values

    return put, ramp(100_000_000), anywhere(4_000_000, 100_000_000), np.ones(4_000_000)


def random_rows() -> Parts:
    torch = library("torch")
    return (
        (lambda table, places, out: torch.index_select(table, 0, places, out=out)),
        floats(192_000_000).reshape(-1, 64),
        torch.from_numpy(anywhere(400_000, 3_000_000)),
        tensor(400_000, 64),
    )


def torch_addition() -> Parts:
    torch = library("torch")
    count = 75_000_000
    return (lambda one, two, out: torch.add(one, two, out=out)), floats(count), floats(count), floats(count)


def turned() -> Parts:
    side = 8_000
    table = ramp(side * side, np.float32).reshape(side, side)
    return (lambda data, out: np.copyto(out, data.T)), table, np.ones((side, side), dtype=np.float32)


def matrix_by_vector() -> Parts:
    side = 14_000
    matrix = np.full((side, side), 0.5, dtype=np.float32)
    return (
        (lambda one, two, out: np.dot(one, two, out=out)),
        matrix,
        np.ones(side, dtype=np.float32),
        np.ones(side, dtype=np.float32),
    )


def both_true() -> Parts:
    count = 300_000_000
    return (
        (lambda one, two, out: np.logical_and(one, two, out=out)),
        np.ones(count, dtype=bool),
        np.ones(count, dtype=bool),
        np.ones(count, dtype=bool),
    )


def polars_sum() -> Parts:
    series = library("polars").Series("amount", ramp(60_000_000))
    return (lambda data: data.sum()), series


def pandas_copy() -> Parts:
    frame = library("pandas").DataFrame(ramp(55_000_000).reshape(-1, 10))
    return (lambda data: data.copy()), frame


def pandas_addition() -> Parts:
    pandas = library("pandas")
    return operator.add, pandas.Series(ramp(40_000_000)), pandas.Series(ramp(40_000_000))


def scattered_list() -> Parts:
    count = 5_000_000
    ordered = ramp(count).tolist()
    places = np.random.default_rng(34).permutation(count).tolist()
    return sum, list(map(ordered.__getitem__, places))


def sparse_product() -> Parts:
    rows, columns, a_row = 1_000_000, 80_000_000, 8
    matrix = library("scipy.sparse").csr_matrix(
        (np.ones(rows * a_row), anywhere(rows * a_row, columns, np.int32), ramp(rows + 1, np.int32) * a_row),
        shape=(rows, columns),
    )
    return operator.matmul, matrix, ramp(columns)


def view_assignment() -> Parts:
    def assign(target: memoryview, source: bytes) -> None:
        target[:] = source

    return assign, memoryview(bytearray(b"t") * 450_000_000), b"s" * 450_000_000


def memory_cases() -> Iterator[Case]:
    yield case(
        "numpy take of 4 M random elements of 800 MB",
        MEMORY,
        "nearly every element lies in a line of its own that no cache holds, and nothing is computed",
        random_take,
    )
    yield case(
        "numpy assignment to 4 M random places of 800 MB",
        MEMORY,
        "each store fetches and later writes back a line that no cache holds",
        random_put,
    )
    yield case(
        "torch index_select of 400 k random rows of a table of 768 MB",
        MEMORY,
        "copies rows of 256 bytes that no cache holds, and computes nothing",
        random_rows,
    )
    yield case(
        "torch addition of two tensors of 300 MB",
        MEMORY,
        "one addition for 12 bytes of traffic, far beyond all caches",
        torch_addition,
    )
    yield case(
        "numpy addition of one to 800 MB of integers in place",
        MEMORY,
        "one addition for 16 bytes of traffic, far beyond all caches",
        lambda: ((lambda data: np.add(data, 1, out=data)), ramp(100_000_000, np.int64)),
    )
    yield case(
        "numpy full of 400 MB",
        MEMORY,
        "first touch: each page is new, cleared and then filled, and nothing is computed",
        lambda: (np.full, 50_000_000, 1.5),
    )
    yield case(
        "bytes copy of a bytearray of 450 MB",
        MEMORY,
        "a plain copy beyond all caches, into pages that are touched for the first time",
        lambda: (bytes, bytearray(b"a") * 450_000_000),
    )
    yield case(
        "memoryview assignment of 450 MB",
        MEMORY,
        "one plain copy between two buffers beyond all caches",
        view_assignment,
    )
    yield case(
        "bytes comparison of two equal objects of 450 MB",
        MEMORY,
        "reads two buffers beyond all caches to their ends, many bytes an instruction",
        lambda: (operator.eq, b"e" * 450_000_000, b"e" * 450_000_000),
    )
    yield case(
        "bytes find of a byte that 900 MB lack",
        MEMORY,
        "reads a buffer beyond all caches to its end with the vector loop of memchr",
        lambda: ((lambda data: data.find(b"\n")), b"f" * 900_000_000),
    )
    yield case(
        "numpy transposed copy of 256 MB",
        MEMORY,
        "one side is walked across lines, so whole lines move for 4 bytes, and nothing is computed",
        turned,
    )
    yield case(
        "numpy matrix of 784 MB by a vector",
        MEMORY,
        "each element of the matrix is read from memory once, for two operations that run in vectors",
        matrix_by_vector,
    )
    yield case(
        "numpy logical and of two masks of 300 MB",
        MEMORY,
        "three streams beyond all caches with a fraction of an instruction for a byte",
        both_true,
    )
    yield case(
        "numpy maximum of 800 MB of int32",
        MEMORY,
        "one comparison for 4 bytes, in vectors, of data beyond all caches",
        lambda: (np.max, ramp(200_000_000, np.int32)),
    )
    yield case(
        "polars sum of a series of 480 MB",
        MEMORY,
        "one addition for 8 bytes, in vectors, of data beyond all caches",
        polars_sum,
    )
    yield case(
        "pandas copy of a frame of 440 MB",
        MEMORY,
        "a plain copy beyond all caches, into pages that are touched for the first time",
        pandas_copy,
    )
    yield case(
        "pandas addition of two series of 320 MB",
        MEMORY,
        "one addition for 24 bytes of traffic beyond all caches, into new pages",
        pandas_addition,
    )
    yield case(
        "sum of a list of 5 M floats in random places",
        MEMORY,
        "a loop in C that follows a pointer to a random line of 160 MB for each addition",
        scattered_list,
    )
    yield case(
        "scipy sparse matrix of random columns by a vector of 640 MB",
        MEMORY,
        "each of 8 M multiplications reads a random line of the vector that no cache holds",
        sparse_product,
    )


# Compute


def transform() -> Parts:
    fft = library("scipy.fft").fft
    data = uniform(65_536) + 1j * uniform(65_536, seed=35)
    return (lambda samples: fft(samples, norm="ortho", overwrite_x=True)), data


def bessel() -> Parts:
    special = library("scipy.special")
    return (lambda order, data, out: special.jv(order, data, out=out)), 2.5, uniform(10_000) * 40, np.ones(10_000)


def distances() -> Parts:
    function = library("scipy.spatial.distance").cdist
    return (
        (lambda one, two, out: function(one, two, out=out)),
        uniform(300, 64),
        uniform(300, 64, seed=36),
        np.ones((300, 300)),
    )


def recursive_filter() -> Parts:
    signal = library("scipy.signal")
    numerator, denominator = signal.butter(10, 0.3)
    return signal.lfilter, numerator, denominator, uniform(16_000)


def convolution() -> Parts:
    torch = library("torch")
    return torch.nn.functional.conv2d, tensor(1, 128, 32, 32), tensor(64, 128, 3, 3)


def log_gamma() -> Parts:
    torch = library("torch")
    return (lambda data, out: torch.lgamma(data, out=out)), tensor(100_000) * 20 + 1, tensor(100_000)


def normal_numbers() -> Parts:
    generator = np.random.default_rng(37)
    return (lambda out: generator.standard_normal(out=out)), np.ones(60_000)


def modular_power() -> Parts:
    chosen = random.Random(38)
    base, exponent, modulus = (chosen.getrandbits(2048) | 1 << 2047 | 1 for _ in range(3))
    return pow, base, exponent, modulus


def logarithm() -> Parts:
    context = decimal.Context(prec=2_000)
    return (lambda value: value.ln(context)), decimal.Decimal(7) / 3


def missing_pattern() -> Parts:
    return re.compile(r"[a-z]+-[a-z]+@").search, " ".join(words(15_000))


def number_text() -> Parts:
    return json.loads, json.dumps(uniform(10_000).tolist())


def compute_cases() -> Iterator[Case]:
    yield case(
        "numpy product of two matrices of 600 x 600",
        COMPUTE,
        "600 multiplications and additions for each element, in blocks that the caches hold",
        lambda: (np.matmul, uniform(600, 600), uniform(600, 600, seed=39)),
    )
    yield case(
        "numpy singular values of 160 x 160",
        COMPUTE,
        "some n cubed operations on 200 kB, which the second cache holds",
        lambda: (np.linalg.svd, uniform(160, 160)),
    )
    yield case(
        "numpy sine of 50 k doubles",
        COMPUTE,
        "tens of operations an element, on 800 kB that the caches hold",
        lambda: ((lambda data, out: np.sin(data, out=out)), uniform(50_000) * 50, np.ones(50_000)),
    )
    yield case(
        "numpy convolution of 20 k by 400",
        COMPUTE,
        "8 M multiplications and additions on 160 kB",
        lambda: (np.convolve, uniform(20_000), uniform(400)),
    )
    yield case(
        "numpy 60 k normal numbers",
        COMPUTE,
        "generator and ziggurat: tens of operations for each number, into 480 kB",
        normal_numbers,
    )
    yield case(
        "scipy transform of 65536 complex numbers in place",
        COMPUTE,
        "5 n log n operations on 1 MB that the caches hold",
        transform,
    )
    yield case(
        "scipy Bessel function of 10 k doubles",
        COMPUTE,
        "hundreds of operations for each element, on 160 kB",
        bessel,
    )
    yield case(
        "scipy distances of 300 by 300 points in 64 dimensions",
        COMPUTE,
        "192 operations for each distance, on 300 kB of points and 720 kB of results",
        distances,
    )
    yield case(
        "scipy recursive filter of order 10 over 16 k samples",
        COMPUTE,
        "21 multiplications and additions for each sample, each sample after the one before, on 256 kB",
        recursive_filter,
    )
    yield case(
        "torch convolution of 128 to 64 channels of 32 x 32",
        COMPUTE,
        "133 million operations on 1 MB",
        convolution,
    )
    yield case(
        "torch log gamma of 100 k floats",
        COMPUTE,
        "tens to hundreds of operations for each element, on 800 kB",
        log_gamma,
    )
    yield case(
        "pbkdf2 of 10 k rounds",
        COMPUTE,
        "20 k rounds of sha256 in one call, on one block of 64 bytes",
        lambda: (hashlib.pbkdf2_hmac, "sha256", b"secret", b"salt", 10_000),
    )
    yield case(
        "zlib compression of 100 kB of words at level 9",
        COMPUTE,
        "searches long chains of matches in a window of 32 kB, in one call",
        lambda: (zlib.compress, " ".join(words(17_000)).encode(), 9),
    )
    yield case(
        "bz2 compression of 100 kB of words",
        COMPUTE,
        "sorts all rotations of a block that the second cache holds, in one call",
        lambda: (bz2.compress, " ".join(words(17_000)).encode()),
    )
    yield case(
        "power of 2048 bits to a modulus",
        COMPUTE,
        "thousands of products and divisions of 69 digits in one call, on less than 1 kB",
        modular_power,
    )
    yield case(
        "decimal logarithm to 2000 digits",
        COMPUTE,
        "long multiplications and divisions in C, in one call, on some kilobytes",
        logarithm,
    )
    yield case(
        "regular expression that 90 kB do not match",
        COMPUTE,
        "the matcher in C tries each start, runs over a word and steps back, in one call",
        missing_pattern,
    )
    yield case(
        "sorted of 30 k random floats",
        COMPUTE,
        "400 k comparisons in C that no predictor knows, on 1 MB that the caches hold",
        lambda: (sorted, uniform(30_000).tolist()),
    )
    yield case(
        "json loads of 10 k floats of 17 digits",
        COMPUTE,
        "the scanner in C turns 200 kB of decimal digits into doubles, in one call",
        number_text,
    )


# Overhead


def collatz() -> Parts:
    def longest(most: int) -> int:
        best = 0
        for start in range(1, most):
            value, steps = start, 0
            while value != 1:
                value = value // 2 if value % 2 == 0 else 3 * value + 1
                steps += 1
            best = max(best, steps)
        return best

    return longest, 500


def comprehension() -> Parts:
    return (lambda numbers: [number * 3 + 1 for number in numbers if number % 7 != 2]), list(range(20_000))


def word_count() -> Parts:
    def count(found: list[str]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for word in found:
            counts[word] = counts.get(word, 0) + 1
        return counts

    return count, words(20_000)


def report_lines() -> Parts:
    def report(rows: list[tuple[int, str]]) -> str:
        return "\n".join(f"{number:>5} {name.upper()}: {number % 13}" for number, name in rows)

    return report, list(enumerate(words(5_000)))


def table_rows() -> Parts:
    text = "id,name,city\n" + "".join(f"{place},{word},x\n" for place, word in enumerate(words(3_000)))
    return (lambda source: [row["name"] for row in csv.DictReader(io.StringIO(source))]), text


def dates() -> Parts:
    day = datetime.datetime(2020, 1, 1, 8, 30)
    texts = [(day + datetime.timedelta(hours=7 * place)).strftime("%Y-%m-%d %H:%M") for place in range(500)]
    return (lambda found: [datetime.datetime.strptime(text, "%Y-%m-%d %H:%M") for text in found]), texts


def records() -> Parts:
    def unpack(data: bytes) -> int:
        total = 0
        for offset in range(0, len(data), 12):
            number, weight, flag = struct.unpack_from("<IfI", data, offset)
            if flag and weight > 0.5:
                total += number
        return total

    return unpack, b"".join(struct.pack("<IfI", place, place % 3, place % 2) for place in range(5_000))


def small_arrays() -> Parts:
    def walk(place: Any, step: Any) -> Any:
        for _ in range(1_000):
            place = place + step
        return place

    return walk, np.zeros(3), np.array([0.1, 0.2, 0.3])


def small_tensors() -> Parts:
    def walk(place: Any, turn: Any) -> Any:
        for _ in range(500):
            place = turn @ place + 1.0
        return place

    torch = library("torch")
    return walk, torch.zeros(2), torch.tensor([[0.0, -1.0], [1.0, 0.0]])


def densities() -> Parts:
    norm = library("scipy.stats").norm
    return (lambda values: [norm.pdf(value) for value in values]), [place / 50 for place in range(100)]


def commits() -> Parts:
    folder = tempfile.TemporaryDirectory()
    connection = sqlite3.connect(Path(folder.name) / "data.db", check_same_thread=False)
    connection.execute("CREATE TABLE counter (value INTEGER)")
    connection.execute("INSERT INTO counter VALUES (0)")
    connection.commit()

    def count(_: Any) -> None:
        for _ in range(10):
            with connection:
                connection.execute("UPDATE counter SET value = value + 1")

    return count, folder


def written_files() -> Parts:
    folder = tempfile.TemporaryDirectory()
    paths = [Path(folder.name) / f"note{place}.txt" for place in range(50)]

    def write(_: Any) -> None:
        for path in paths:
            path.write_text("a short note\n")

    return write, folder


def read_files() -> Parts:
    folder = tempfile.TemporaryDirectory()
    paths = [Path(folder.name) / f"note{place}.txt" for place in range(100)]
    for path in paths:
        path.write_text("a short note\n")
    return (lambda _: [path.read_text() for path in paths]), folder


def echo() -> Parts:
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    other, _ = server.accept()
    server.close()

    def answer() -> None:
        with other:
            while data := other.recv(64):
                other.sendall(data)

    threading.Thread(target=answer, daemon=True).start()

    def ask(connection: socket.socket) -> None:
        for _ in range(100):
            connection.sendall(b"ping")
            connection.recv(64)

    return ask, client


def handed_over() -> Parts:
    def hand_over(count: int) -> int:
        line: queue.Queue[int] = queue.Queue(maxsize=1)

        def produce() -> None:
            for place in range(count):
                line.put(place)

        producer = threading.Thread(target=produce)
        producer.start()
        total = sum(line.get() for _ in range(count))
        producer.join()
        return total

    return hand_over, 500


def pool_tasks() -> Parts:
    pool = ThreadPoolExecutor(max_workers=2)
    return (lambda workers, values: list(workers.map(abs, values))), pool, range(-150, 150)


def coroutines() -> Parts:
    async def one(place: int) -> int:
        await asyncio.sleep(0.01)
        return place

    async def gather() -> list[int]:
        return await asyncio.gather(*(one(place) for place in range(20)))

    return ((lambda: asyncio.run(gather())),)


def overhead_cases() -> Iterator[Case]:
    yield case(
        "Python Collatz steps of the first 500 numbers",
        OVERHEAD,
        "each step is a handful of bytecodes for one small division or product",
        collatz,
    )
    yield case(
        "Python comprehension with a condition over 20 k numbers",
        OVERHEAD,
        "some ten bytecodes an element for two tiny operations",
        comprehension,
    )
    yield case(
        "Python count of 20 k words in a dictionary",
        OVERHEAD,
        "a method call and some bytecodes a word, in a dictionary of twelve keys",
        word_count,
    )
    yield case(
        "Python join of 5 k formatted lines",
        OVERHEAD,
        "a generator step, a method call and three small formats a line",
        report_lines,
    )
    yield case(
        "csv DictReader of 3 k short rows",
        OVERHEAD,
        "the reader's __next__ is Python: properties, a zip and a dictionary for 15 characters",
        table_rows,
    )
    yield case(
        "datetime strptime of 500 texts",
        OVERHEAD,
        "the parser is Python: a lock, look-ups, a match and a chain of tests for each text",
        dates,
    )
    yield case(
        "struct unpack of 5 k records one by one",
        OVERHEAD,
        "a call and some ten bytecodes for 12 bytes",
        records,
    )
    yield case(
        "numpy 1000 additions of three numbers",
        OVERHEAD,
        "three additions a call: dispatch, checks and the new array are the time",
        small_arrays,
    )
    yield case(
        "torch 500 products and additions of two numbers",
        OVERHEAD,
        "a few operations a call: dispatch and the new tensor are the time",
        small_tensors,
    )
    yield case(
        "scipy normal density of 100 single numbers",
        OVERHEAD,
        "each call runs tens of Python lines and tiny arrays for one exponential",
        densities,
    )
    yield case(
        "sqlite 10 commits to a file",
        OVERHEAD,
        "each changes one number, and makes, writes, syncs and removes files for it",
        commits,
    )
    yield case(
        "pathlib write of 50 small files",
        OVERHEAD,
        "system calls to open, write and close, for 13 bytes each",
        written_files,
    )
    yield case(
        "pathlib read of 100 small files",
        OVERHEAD,
        "system calls to open, read and close, for 13 bytes each",
        read_files,
    )
    yield case(
        "socket 100 questions and answers on localhost",
        OVERHEAD,
        "system calls, and a wait for the other thread, for 4 bytes each",
        echo,
    )
    yield case(
        "queue of one place between two threads",
        OVERHEAD,
        "locks and waits: each thread sleeps until the other has put or taken one number",
        handed_over,
    )
    yield case(
        "thread pool map of abs over 300 numbers",
        OVERHEAD,
        "a future, a queue and locks for each call that computes nearly nothing",
        pool_tasks,
    )
    yield case(
        "asyncio gather of 20 sleeps of 10 ms",
        OVERHEAD,
        "the loop waits in the selector while nothing runs",
        coroutines,
    )
    yield case(
        "sleep of 20 ms",
        OVERHEAD,
        "the thread sleeps and the processor does nothing",
        lambda: (time.sleep, 0.02),
    )
    yield case(
        "wait of 30 ms for an event that nobody sets",
        OVERHEAD,
        "the thread waits for a lock and the processor does nothing",
        lambda: (threading.Event().wait, 0.03),
    )


# Between


def scattered_lookups() -> Parts:
    count = 3_000_000
    table = dict.fromkeys(range(count), 1)
    return (lambda known, keys: [known[key] for key in keys]), table, anywhere(200_000, count).tolist()


def record_text() -> Parts:
    rows = [{"id": place, "name": word, "paid": place % 2 == 0} for place, word in enumerate(words(3_000))]
    return json.dumps, rows


def between_cases() -> Iterator[Case]:
    yield case(
        "numpy exponential of 400 MB",
        (MEMORY, COMPUTE),
        "a vector exponential takes about as long as memory takes for its 16 bytes",
        lambda: ((lambda data, out: np.exp(data, out=out)), np.full(50_000_000, 0.7), np.ones(50_000_000)),
    )
    yield case(
        "Python look-up of 200 k random keys of 3 M",
        (OVERHEAD, MEMORY),
        "a few bytecodes a key, and lines of the table and of the key at random in more than 200 MB",
        scattered_lookups,
    )
    yield case(
        "json dumps of 3 k small records",
        (COMPUTE, OVERHEAD),
        "one call in C on cached data, of which most is many small strings that are made and joined",
        record_text,
    )


def cases() -> Iterator[Case]:
    """Yield sixty operations."""
    yield from memory_cases()
    yield from compute_cases()
    yield from overhead_cases()
    yield from between_cases()
