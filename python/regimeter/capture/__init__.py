# SPDX-License-Identifier: Apache-2.0
"""Recording a live program: what it is told, which backends and devices it has, and what its parts are."""
