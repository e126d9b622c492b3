# SPDX-License-Identifier: Apache-2.0
"""Cause: file. A scrubber reads the extents of a disk image past the page cache and looks only at the few header bytes of each."""

import contextlib
import mmap
import os
import struct
import tempfile
import time
import zlib

EXTENT = 16 << 20
HEADER = struct.Struct("<4sIQ")


def make_image(path, extents=4):
    body = os.urandom(1 << 20)
    with open(path, "wb") as image:
        for number in range(extents):
            head = HEADER.pack(b"XTNT", zlib.crc32(struct.pack("<Q", number)), number)
            image.write(head + body[HEADER.size :])
            for _ in range(EXTENT // len(body) - 1):
                image.write(body)
        os.fsync(image.fileno())


class Scrubber:
    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        self.count = os.fstat(self.fd).st_size // EXTENT
        self.buffer = mmap.mmap(-1, EXTENT)  # direct reads want aligned memory

    def check(self, number):
        if os.preadv(self.fd, [self.buffer], number * EXTENT) != EXTENT:
            return False
        magic, crc, stored = HEADER.unpack_from(self.buffer)
        return magic == b"XTNT" and stored == number and crc == zlib.crc32(struct.pack("<Q", stored))

    def close(self):
        self.buffer.close()
        os.close(self.fd)


def patrol(scrubber, seconds):
    good = bad = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if scrubber.check((good + bad) % scrubber.count):
            good += 1
        else:
            bad += 1
    return good, bad


if __name__ == "__main__":
    # /var/tmp is on a disk also where /tmp is kept in memory, which has no direct reads
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        make_image(os.path.join(folder, "disk.img"))
        with contextlib.closing(Scrubber(os.path.join(folder, "disk.img"))) as scrubber:
            print("%d extents good, %d bad" % patrol(scrubber, 5.0))
