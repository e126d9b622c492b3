# SPDX-License-Identifier: Apache-2.0
"""The numbers of the roles that scopes of the structure have."""

from ... import _core

DATA_WAIT = _core.ROLES.index("data_wait")
MODULE = _core.ROLES.index("module")  # an outermost one becomes `forward` when the recording is read
BACKWARD = _core.ROLES.index("backward")
OPTIMIZER = _core.ROLES.index("optimizer")
ZERO_GRAD = _core.ROLES.index("zero_grad")
GRAD_CLIP = _core.ROLES.index("grad_clip")
SYNC = _core.ROLES.index("sync")
COPY = _core.ROLES.index("copy")
CHECKPOINT = _core.ROLES.index("checkpoint")
COMPILE = _core.ROLES.index("compile")
GC = _core.ROLES.index("gc")
