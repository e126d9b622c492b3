# SPDX-License-Identifier: Apache-2.0
"""What a page carries, read from its text as its scripts read it."""

import json
import re
from typing import Any


def page_of(html: str) -> dict[str, Any]:
    """Return the data that a page carries."""
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])


def sections_of(html: str) -> dict[str, dict[str, Any]]:
    """Return the sections that a page of a document carries, by their names."""
    return {one["id"]: one for one in page_of(html)["sections"]}
