# SPDX-License-Identifier: Apache-2.0
"""Cause: file. Every record is forced to the disk."""

import os
import tempfile

folder = tempfile.mkdtemp()
path = os.path.join(folder, "records")
with open(path, "wb") as file:
    for index in range(700):
        file.write(index.to_bytes(8, "little") * 500)
        file.flush()
        os.fsync(file.fileno())
os.remove(path)
os.rmdir(folder)
