# SPDX-License-Identifier: Apache-2.0
"""The structure of a program that uses torch, found without a change to it (docs/structure.md).

Steps, waits for batches, modules forward and backward, optimizers, waits for the device, checkpoints, compilations and
collections of garbage become scopes with a role, one of ``_core.ROLES``, in the column `category` of `spans`.
Nothing is imported for it: what belongs to torch is put in place when the program has imported torch.
"""
