# SPDX-License-Identifier: Apache-2.0
from . import _python_dispatch as _python_dispatch
from . import _pytree as _pytree
from . import data as data
from . import flop_counter as flop_counter
