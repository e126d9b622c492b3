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
