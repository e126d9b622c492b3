# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with a history. Each error has the exit code of the command."""

from .. import _core


class HistoryError(_core.Error):
    """The database cannot be used as it is, or does not hold what was asked for."""

    exit_code = 2


class NoBaselineError(HistoryError):
    """There is no run of the name, branch, tag or commit to compare with."""

    exit_code = 5
