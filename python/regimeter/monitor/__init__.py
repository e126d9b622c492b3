# SPDX-License-Identifier: Apache-2.0
"""What Prometheus is told of a program while it is recorded: `regimeter monitor` (docs/monitor.md)."""
