# SPDX-License-Identifier: Apache-2.0
"""A NumPy workload with scopes in threads and in asyncio tasks: spectra of noisy signals.

regimeter record demo/numpy_work.py
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

import regimeter

SIGNALS, SAMPLES, WORKERS = 24, 1 << 17, 2
Signal = NDArray[np.float64]

profiler = regimeter.get_profiler()


@profiler.profile_function(operation="make_signal", device="cpu")
def make_signal(number: int) -> Signal:
    """Return one signal: two tones and noise, the same for the same number."""
    random = np.random.default_rng(number)
    time_s = np.arange(SAMPLES) / SAMPLES
    tones = np.sin(2 * np.pi * 440 * time_s) + 0.5 * np.sin(2 * np.pi * (600 + 10 * number) * time_s)
    noisy: Signal = tones + random.normal(scale=0.3, size=SAMPLES)
    return noisy


@profiler.profile_function(operation="analyse", device="cpu")
def analyse(number: int) -> float:
    """Return the strongest frequency of a signal."""
    signal = make_signal(number)
    with profiler.profile("window", device="cpu"):
        signal = signal * np.hanning(len(signal))
    with profiler.profile("fft", device="cpu", samples=len(signal)):
        spectrum = np.abs(np.fft.rfft(signal))
    with profiler.profile("peak", device="cpu"):
        return float(np.argmax(spectrum))


@profiler.profile_function(operation="fetch", device="cpu")
async def fetch(number: int) -> int:
    """Stand for a request over a network: waits, and works on the answer."""
    with profiler.profile("wait", device="cpu"):
        await asyncio.sleep(0.01 + 0.002 * (number % 5))
    with profiler.profile("parse", device="cpu"):
        return int(np.frombuffer(bytes(range(256)) * 400, dtype=np.uint8).sum()) % (number + 2)


async def fetch_all() -> int:
    """Run the fetches at the same time."""
    with profiler.profile("fetch_all", device="cpu", requests=SIGNALS):
        return sum(await asyncio.gather(*(fetch(number) for number in range(SIGNALS))))


def main() -> None:
    """Analyse signals in threads, then fetch in tasks, then solve a system of equations."""
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="worker")
    with profiler.profile("analyse_all", device="cpu", workers=WORKERS), pool:
        peaks = list(pool.map(analyse, range(SIGNALS)))
    fetched = asyncio.run(fetch_all())
    with profiler.profile("solve", device="cpu", size=600):
        matrix = np.random.default_rng(0).normal(size=(600, 600))
        residual = float(np.abs(matrix @ np.linalg.solve(matrix, np.ones(600)) - 1).max())
    print(f"strongest tone {np.median(peaks):.0f} Hz, fetched {fetched}, residual {residual:.1e}")


if __name__ == "__main__":
    main()
