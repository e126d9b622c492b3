# SPDX-License-Identifier: Apache-2.0
"""Other tools' own places for a profiler: one file each, imported by whoever uses that tool (docs/integrations.md)."""
