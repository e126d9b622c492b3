# SPDX-License-Identifier: Apache-2.0
"""``python -m regimeter.server [OPTIONS] [PATH ...]``: the command ``regimeter serve``."""

import sys

from ..cli import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
