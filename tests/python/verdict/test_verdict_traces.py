# SPDX-License-Identifier: Apache-2.0
"""Verdicts of traces that other profilers have written."""

import re

import numpy as np
import pytest
from traces import load_trace
from verdicts import verdict

from regimeter import _core
from regimeter.cli import make_parser
from regimeter.cli.completion import read_verbs
from regimeter.suggest import causes
from regimeter.suggest.causes import Words
from regimeter.suggest.words import subject


@pytest.mark.parametrize("name", ["a100_nccl_2024.json.gz", "mi250_rocm62.json.gz"])
def test_the_kernel_that_has_most_of_the_computing_computes(name: str) -> None:
    """A collective was named, and a copy."""
    run = load_trace(name)
    [device] = [one for one in verdict(run).causes if one.cause == "device"]
    kernels = run.analyse("kernel_times")
    times = np.where(kernels.activity == _core.ACTIVITIES.index("compute"), kernels.total_ns, 0)
    assert device.place == subject(run.string(int(kernels.name[int(times.argmax())])))
    assert device.place_share == pytest.approx(times.max() / times.sum())


def test_pinned_memory_is_not_advised_where_it_is_used() -> None:
    found = verdict(load_trace("a100_memcpy_2023.json"))
    assert found.cause == "device_copies"
    assert "pinned" not in found.next
    assert "regimeter memcpy RUN" in found.next


def test_one_long_call_that_launches_is_no_reason_to_launch_less() -> None:
    """`hipLaunchKernel` of 6.55 ms: "launch less: CUDA graphs", with high confidence."""
    found = verdict(load_trace("mi250_rocm62.json.gz"))
    assert (found.cause, found.causes[0].place) == ("device_idle", "hipLaunchKernel")
    assert "Leave the first iterations out" in found.next
    assert found.shares["launches"] < 0.05


def test_advice_names_verbs_that_there_are() -> None:
    texts = [value for value in vars(causes).values() if isinstance(value, Words)] + list(causes.CAUSES.values())
    named = {verb for words in texts for verb in re.findall(r"regimeter ([a-z-]+) (?:RUN|PROGRAM)", words.next)}
    assert {"kernels", "memcpy", "record"} <= named
    assert named <= {verb.name for verb in read_verbs(make_parser().verbs)}
