# SPDX-License-Identifier: Apache-2.0
"""NumPy, imported when something of it is first asked for: it takes longer to import than all else that a command needs
to print its help."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Later:
        def __getattr__(self, name: str) -> Any:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)  # asked for once
            return value

    np = _Later()

__all__ = ["np"]
