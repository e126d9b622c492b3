# SPDX-License-Identifier: Apache-2.0
"""What this machine and process are: processors, memory, GPU drivers, where files of the user are kept."""
