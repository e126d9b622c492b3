# SPDX-License-Identifier: Apache-2.0
"""Runs over HTTP, for people and for programs: ``regimeter serve``, ``python -m regimeter.server``.

    application = make_app(Service(Shelf(["runs"]), Options()))  # ASGI

Needs the extra ``web``; nothing else of regimeter imports it but the command.
"""
