# SPDX-License-Identifier: Apache-2.0
"""``python tests/gpu/evidence --out DIR``; see ``--help``."""

import sys
from pathlib import Path

# Run as a folder, Python would look for modules in here first, where `memory` or `graphs` may mean something else.
HERE = Path(__file__).resolve().parent
if sys.path and Path(sys.path[0] or ".").resolve() == HERE:
    sys.path[0] = str(HERE.parent)

from evidence.runner import main  # noqa: E402

sys.exit(main())
