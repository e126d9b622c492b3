# SPDX-License-Identifier: Apache-2.0
"""``python -m regimeter.suite VERB``: the commands of the suite, which are verbs of ``regimeter``."""

import sys

from ..cli import main

if __name__ == "__main__":
    sys.exit(main())
