# SPDX-License-Identifier: Apache-2.0
"""``python -m regimeter`` is the command ``regimeter``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
