# SPDX-License-Identifier: Apache-2.0
"""Programs as people write them, short, and what an expert would say of each; run as a script it records them all and
prints a line of JSON for each: its name and the rules that speak.

A rule that must speak has its premise by construction, with most of the time. One that must not speak has none: what it
would say is wrong, however long the calls took. Between the two lies what hangs on the machine.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import gc
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regimeter

# What no recording of scopes on a machine without a GPU shows: what a call costs beside its work, that its arguments
# are those of another, that there is a device to try.
UNMEASURED = {"repeated_scope", "cacheable_scope", "small_gpu_scope", "large_cpu_scope", "idle_scope"}
# Of a CPU: nothing is launched, copied or waited for.
OF_DEVICES = {
    "launch_bound",
    "host_bound",
    "device_idle",
    "pageable_copies",
    "item_sync",
    "explicit_sync",
    "top_kernel",
}
TRAINING = {"zero_grad", "single_tensor_optimizer", "attention_math", "loop_indexing", "double_precision", "casts"}


@dataclass(frozen=True)
class Program:
    """A program, how it is recorded, which rules must and must not speak, and why."""

    run: Callable[..., Any]
    recorder: str
    must: set[str]
    must_not: set[str]
    why: str


PROGRAMS: dict[str, Program] = {}


def program(recorder: str, why: str, must: Iterable[str] = (), must_not: Iterable[str] = ()) -> Any:
    """Add a program to the list; its must_not goes beside what its recorder cannot show."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        never = OF_DEVICES if recorder == "operators" else UNMEASURED
        PROGRAMS[function.__name__] = Program(function, recorder, set(must), never | set(must_not) - set(must), why)
        return function

    return add


def busy(milliseconds: float) -> None:
    """Work for some processor time, however long that takes."""
    end = time.thread_time_ns() + int(milliseconds * 1e6)
    while time.thread_time_ns() < end:
        pass


# --- scopes ---------------------------------------------------------------------------------------------------------


@program("scopes", "30 products of one size: that they are many is no fault, and nobody knows that they could be one")
def products(profile: Any) -> None:
    import numpy as np

    a = np.ones((200, 200))
    for _ in range(30):
        with profile("product"):
            a = np.clip(a @ a, 0, 1)


@program("scopes", "400 calls of microseconds with arguments of their own: nothing to cache")
def many_small_calls(profile: Any) -> None:
    for i in range(400):
        with profile("small"):
            sum(range(i))


@program(
    "scopes",
    "each array is made once and used: 16 MB are little of a machine's memory",
    must_not={"memory_heavy_scope"},
)
def arrays(profile: Any) -> None:
    import numpy as np

    for _ in range(12):
        with profile("array"):
            np.sqrt(np.arange(2_000_000, dtype="float64")).sum()


@program("scopes", "counting words is its work")
def text(profile: Any) -> None:
    words = "the quick brown fox jumps over the lazy dog " * 2000
    for _ in range(20):
        with profile("count"):
            Counter(words.split()).most_common(3)


@program("scopes", "sorting is its work")
def sorting(profile: Any) -> None:
    values = [(i * 7919) % 100_003 for i in range(20_000)]
    for _ in range(20):
        with profile("sort"):
            sorted(values)


@program("scopes", "reading and writing a small file is its work")
def files(profile: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        for _ in range(20):
            with profile("write"):
                path.write_bytes(b"x" * 500_000)
            with profile("read"):
                path.read_bytes()


@program("scopes", "threads that work at once: none is idle because of another")
def threads(profile: Any) -> None:
    def work(_: int) -> None:
        with profile("part"):
            busy(1)

    with profile("all"), concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(20)))


@program("scopes", "tasks that wait at once: their waits lie beside each other")
def tasks(profile: Any) -> None:
    async def one() -> None:
        with profile("request"):
            await asyncio.sleep(0.005)

    async def all_of_them() -> None:
        await asyncio.gather(*(one() for _ in range(50)))

    with profile("all"):
        asyncio.run(all_of_them())


@program(
    "scopes", "nine tenths lie between its scopes, so the first thing to do is to look there", must={"unrecorded_host"}
)
def outside_of_scopes(profile: Any) -> None:
    for _ in range(10):
        with profile("seen"):
            busy(0.5)
        busy(10)


@program("everything", "the same: samples of its stacks say what it does there", must_not={"unrecorded_host"})
def outside_of_scopes_with_stacks(profile: Any) -> None:
    for _ in range(10):
        with profile("seen"):
            busy(0.5)
        busy(10)


@program("everything", "it collects garbage again and again while it holds 300,000 objects", must={"gc_pause"})
def collects(profile: Any) -> None:
    held = [[number] for number in range(300_000)]
    for _ in range(10):
        with profile("work"):
            busy(5)
            gc.collect()
    del held


@program("scopes", "every tenth call does two hundred times the work", must={"variable_scope"})
def calls_that_differ(profile: Any) -> None:
    for i in range(120):
        with profile("step"):
            busy(20 if i % 10 == 0 else 0.1)


# --- operators ------------------------------------------------------------------------------------------------------


def network(layers: int, width: int) -> Any:
    import torch

    return torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(layers)))


def train(optimizer: Any, model: Any, rows: int, steps: int, *, none: bool = True) -> None:
    import torch

    x = torch.ones(rows, model[0].in_features)
    for _ in range(steps):
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=none)


@program(
    "operators",
    "64 small parameters, one after another; gradients are set to none",
    must={"single_tensor_optimizer"},
    must_not={"zero_grad", "attention_math", "loop_indexing", "double_precision"},
)
def adam_by_tensor() -> None:
    import torch

    model = network(32, 16)
    train(torch.optim.Adam(model.parameters(), foreach=False), model, 4, 6)


@program("operators", "the same with a fused optimizer", must_not=TRAINING)
def adam_fused() -> None:
    import torch

    model = network(32, 16)
    train(torch.optim.Adam(model.parameters(), fused=True), model, 4, 6)


@program(
    "operators", "gradients are zeroed and added to; with one row that costs what the products do", must={"zero_grad"}
)
def zeroed_gradients() -> None:
    import torch

    model = network(4, 768)
    # As many steps as hide one in which others had the processor.
    train(torch.optim.SGD(model.parameters(), lr=0.0, foreach=True), model, 1, 32, none=False)


@program("operators", "convolutions of a batch in inference mode are its work", must_not=TRAINING)
def inference() -> None:
    import torch

    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, bias=False), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3, bias=False)
    )
    with torch.inference_mode():
        for _ in range(3):
            model(torch.ones(4, 3, 64, 64))


@program("operators", "scores, softmax and product by hand", must={"attention_math"})
def attention_by_hand() -> None:
    import torch

    q = torch.ones(8, 256, 32)
    for _ in range(5):
        torch.bmm(torch.softmax(torch.bmm(q, q.transpose(1, 2)), -1), q)


@program("operators", "the fused operator", must_not={"attention_math"})
def attention_fused() -> None:
    import torch

    q = torch.ones(1, 8, 256, 32)
    for _ in range(5):
        torch.nn.functional.scaled_dot_product_attention(q, q, q)


@program("operators", "rows are taken one by one", must={"loop_indexing"})
def rows_one_by_one() -> None:
    import torch

    x = torch.ones(400, 16)
    total = torch.zeros(16)
    for i in range(400):
        total += x[i]


@program("operators", "the same as one sum", must_not={"loop_indexing"})
def rows_at_once() -> None:
    import torch

    for _ in range(20):
        torch.ones(400, 16).sum(0)


@program("operators", "a tensor of Python floats through NumPy is double", must={"double_precision"})
def doubles() -> None:
    import numpy as np
    import torch

    x = torch.from_numpy(np.ones((300, 300)))
    for _ in range(8):
        x = torch.tanh(x @ x)


@program("operators", "to half and back around each addition", must={"casts"}, must_not={"double_precision"})
def there_and_back() -> None:
    import torch

    x = torch.ones(400, 400)
    for _ in range(10):
        x = x.to(torch.bfloat16).to(torch.float32) + 1


@program(
    "operators", "each transposed matrix is copied before it is used", must={"contiguous_copies"}, must_not={"casts"}
)
def transposed_copies() -> None:
    import torch

    x = torch.ones(1000, 1000)
    for _ in range(6):
        x.t().contiguous().sum()


@program("operators", "six elementwise operators over one large array in a row", must={"pointwise_chain"})
def pointwise() -> None:
    import torch

    x = torch.ones(1_000_000)
    for _ in range(4):
        (((x * 2 + 1).tanh() * x).exp() - 1).sum()


def batches(workers: int) -> None:
    import torch

    class Slow(torch.utils.data.Dataset):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 24

        def __getitem__(self, i: int) -> Any:
            busy(1)
            return torch.full((8,), float(i))

    fork = "fork" if workers else None  # the class is this call's own
    for _ in torch.utils.data.DataLoader(Slow(), batch_size=4, num_workers=workers, multiprocessing_context=fork):
        pass


@program("operators", "the loader decodes in the training thread", must={"loader_without_workers"})
def loader_alone() -> None:
    batches(0)


@program("operators", "the loader has a worker", must_not={"loader_without_workers"})
def loader_with_worker() -> None:
    batches(1)


# --- recording ------------------------------------------------------------------------------------------------------


def recorded(one: Program) -> regimeter.Run:
    """Return the run of a program, after a first turn that is not recorded."""
    if one.recorder != "operators":
        one.run(lambda _name: contextlib.nullcontext())
        everything = {"stacks": 100, "structure": True} if one.recorder == "everything" else {}
        with regimeter.GPUProfiler(**everything) as profiler:
            one.run(functools.partial(profiler.profile, device="cpu"))
        return profiler.run()  # with the last reading of what its threads waited for
    from torch.profiler import ProfilerActivity, profile

    if not one.run.__name__.startswith("loader"):
        one.run()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as traced:
        one.run()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        traced.export_chrome_trace(str(path))
        return regimeter.load(path)


def main(recorders: list[str]) -> None:
    """Record the programs of these recorders and print what is said."""
    if "operators" in recorders:
        import torch

        torch.set_num_threads(1)
    for name, one in PROGRAMS.items():
        if one.recorder in recorders:
            optimizer = regimeter.ProfilerOptimizer(recorded(one))
            said = [s.rule for s in optimizer.get_suggestions()], [s.rule for s in optimizer.get_merged_suggestions()]
            print(json.dumps([name, *said]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
