# SPDX-License-Identifier: Apache-2.0
"""Renderings of a Run: text, JSON, HTML. No statistic is computed here."""
