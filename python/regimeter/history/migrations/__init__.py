# SPDX-License-Identifier: Apache-2.0
"""Alembic's scripts: how a database comes from one schema to the next."""
