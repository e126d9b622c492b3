# SPDX-License-Identifier: Apache-2.0
"""Files of the kernel that stay open in a program that may close them."""

import contextlib
import os
import resource

import pytest

from regimeter.system.descriptors import FIRST_KEPT, Kept

STATM = "/proc/self/statm"


def opened(path: str) -> list[int]:
    """Return the descriptors of this process that are of the file."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the listing
            if os.readlink(f"/proc/self/fd/{number}") == os.path.realpath(path):
                found.append(int(number))
    return found


@pytest.fixture
def kept(tmp_path):
    """Return a file of five bytes that is kept, its path and its number."""
    path = tmp_path / "kept"
    path.write_text("first")
    file = Kept(str(path))
    assert file.read() == b"first"
    (number,) = opened(str(path))
    yield file, path, number
    file.close()
    assert not opened(str(path))


def test_it_is_far_from_what_the_program_opens_and_read_from_its_begin(kept):
    file, path, number = kept
    assert number >= FIRST_KEPT
    assert not os.get_inheritable(number)
    path.write_text("other, longer")
    assert file.read(5) == b"other"
    assert opened(str(path)) == [number]


def test_where_no_number_is_so_high_any_other_serves(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    file = Kept(STATM)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FIRST_KEPT, before[1]))
    try:
        assert len(file.read().split()) == 7
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    file.close()


def test_what_the_program_has_closed_is_opened_again_and_its_own_file_left_alone(kept, tmp_path):
    file, path, number = kept
    mine = os.open(tmp_path / "mine", os.O_RDWR | os.O_CREAT)
    os.write(mine, b"mine!")
    os.dup2(mine, number)
    assert file.read() == b"first"
    (again,) = opened(str(path))
    assert again != number
    os.dup2(mine, again)
    file.close()
    for left in (mine, number, again):
        assert os.pread(left, 5, 0) == b"mine!"
        os.close(left)


def test_a_file_that_is_not_there(tmp_path):
    file = Kept(str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError):
        file.read()
    file.close()
