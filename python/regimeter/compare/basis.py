# SPDX-License-Identifier: Apache-2.0
"""What the blocks of samples are that a comparison compares, and which commands go on from there."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Basis:
    """one, many: what a block is called. limits: what such blocks cannot tell, '' for nothing.

    more: the command that measures more of them, with {pairs} for their number. acceptable: whether `regimeter
    baseline accept` has a say in the verdict.
    """

    one: str = "process"
    many: str = "processes"
    limits: str = ""
    more: str = "regimeter ab --base CMD --current CMD --pairs {pairs}"
    acceptable: bool = True


PROCESSES = Basis()
