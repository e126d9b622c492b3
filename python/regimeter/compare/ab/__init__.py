# SPDX-License-Identifier: Apache-2.0
"""The experiment behind `regimeter ab`: pairs of processes, blocks in one process, and when there are enough."""
