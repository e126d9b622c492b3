# SPDX-License-Identifier: Apache-2.0
"""The programs that are traced: a decode loop of small kernels, a training step, and a plain loop of two kernels."""

from collections.abc import Callable
from typing import Any

Profile = Callable[[str], Any] | None
LAYERS = 16
WIDTH = 1024


def plain(torch: Any) -> Callable[[int], None]:
    """Return a loop of a matrix product, an elementwise kernel and a sum of vectors that memory limits.

    The clock of the multiprocessors wanders with the power that a product draws; that of the memory does not.
    """
    large = torch.ones(1 << 26, device="cuda")
    result = torch.empty_like(large)
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
    b = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)

    def work(times: int) -> None:
        for _ in range(times):
            c = a @ b
            c.relu_()
            torch.add(large, large, out=result)
        torch.cuda.synchronize()

    return work


def products(torch: Any) -> Callable[[Profile], None]:
    """Return a step that the device limits: eight large matrix products, each a scope with a profiler."""
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
    out = torch.empty_like(a)

    def step(profile: Profile) -> None:
        for _ in range(8):
            if profile is None:
                torch.mm(a, a, out=out)
            else:
                with profile("product"):
                    torch.mm(a, a, out=out)

    return step


def decode(torch: Any) -> Callable[[Profile], None]:
    """Return a step as a language model's decoding makes it at batch 1: many kernels of a few microseconds.

    A layer has a norm, three projections, an attention over 128 cached keys, a gated MLP and two additions, some 20
    kernels; with a profiler each layer is a scope.
    """
    kind = {"device": "cuda", "dtype": torch.float16}
    weights = [[torch.randn(WIDTH, WIDTH, **kind) * 0.01 for _ in range(7)] for _ in range(LAYERS)]
    keys, values = torch.randn(128, WIDTH, **kind), torch.randn(128, WIDTH, **kind)
    start = torch.randn(1, WIDTH, **kind)

    def layer(x: Any, w: list[Any]) -> Any:
        h = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        q, k, v = h @ w[0], h @ w[1], h @ w[2]
        weight = torch.softmax(((q + k) @ keys.t()) * 0.03, -1)
        x = x + (weight @ values + v) @ w[3]
        h = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return x + (torch.sigmoid(h @ w[4]) * (h @ w[5])) @ w[6]

    def step(profile: Profile) -> None:
        x = start
        if profile is None:  # not a null context: the bare loop has no scope at all
            for w in weights:
                x = layer(x, w)
        else:
            for w in weights:
                with profile("layer"):
                    x = layer(x, w)

    return step


def training(torch: Any) -> Callable[[Profile], None]:
    """Return a training step of a small convolutional network with Adam; with a profiler four scopes a step."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.BatchNorm2d(128), nn.ReLU(),
        nn.Conv2d(128, 128, 3, stride=2, padding=1), nn.BatchNorm2d(128), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 100),
    ).to("cuda")  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4)
    images = torch.randn(64, 3, 64, 64, device="cuda")
    labels = torch.randint(0, 100, (64,), device="cuda")
    loss_of = nn.CrossEntropyLoss()

    def step(profile: Profile) -> None:
        if profile is None:
            optimiser.zero_grad(set_to_none=True)
            loss_of(model(images), labels).backward()
            optimiser.step()
            return
        with profile("step"):
            optimiser.zero_grad(set_to_none=True)
            with profile("forward"):
                loss = loss_of(model(images), labels)
            with profile("backward"):
                loss.backward()
            with profile("optimiser"):
                optimiser.step()

    return step
