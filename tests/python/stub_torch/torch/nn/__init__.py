# SPDX-License-Identifier: Apache-2.0
"""Names that code asks whether an object is one of."""

from types import ModuleType
from typing import Any

from .. import tensors

functional = ModuleType("torch.nn.functional")
functional.scaled_dot_product_attention = lambda *args: tensors.operation("scaled_dot_product_attention", *args)


class Parameter(tensors.Tensor):
    pass


class Module:
    def __call__(self, *args: Any) -> Any:
        return self.forward(*args)

    def parameters(self) -> list[Any]:
        return [value for value in vars(self).values() if isinstance(value, tensors.Tensor)]

    def buffers(self) -> list[Any]:
        return []

    def modules(self) -> list[Any]:
        return [self]

    def to(self, *args: Any) -> "Module":
        return self


class _Layer(Module):
    """One kernel a call; a layer with weights has one parameter."""

    weights = True

    def __init__(self, *sizes: int, **options: Any) -> None:
        if self.weights:
            self.weight = Parameter((max([1, *sizes]),), tensors.float32, tensors.device("cuda"))

    def forward(self, *inputs: Any) -> Any:
        return tensors.operation(f"layer_{type(self).__name__.lower()}", *inputs)


Conv2d, BatchNorm2d, Linear = (type(name, (_Layer,), {}) for name in ("Conv2d", "BatchNorm2d", "Linear"))
ReLU, AdaptiveAvgPool2d, Flatten, CrossEntropyLoss = (
    type(name, (_Layer,), {"weights": False}) for name in ("ReLU", "AdaptiveAvgPool2d", "Flatten", "CrossEntropyLoss")
)


class Sequential(Module):
    def __init__(self, *layers: Module) -> None:
        self.layers = layers

    def parameters(self) -> list[Any]:
        return [value for layer in self.layers for value in layer.parameters()]

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x
