# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply to every leaf of tuples, lists and dictionaries."""
    if isinstance(tree, list | tuple):
        return type(tree)(tree_map(function, value) for value in tree)
    if isinstance(tree, dict):
        return {key: tree_map(function, value) for key, value in tree.items()}
    return function(tree)
