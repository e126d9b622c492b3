# SPDX-License-Identifier: Apache-2.0
"""2 m n k of a product, as torch's registry has it."""

from typing import Any

from .. import tensors


def _product(a: Any, b: Any, *args: Any, out_val: Any = None, **keywords: Any) -> int:
    return 2 * int(out_val.numel()) * int(a.shape[-1])


flop_registry = {tensors.operator(name).overloadpacket: _product for name in tensors.PRODUCTS}
