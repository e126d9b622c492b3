# SPDX-License-Identifier: Apache-2.0
"""Where the words of ``regimeter`` end and those of the program that it runs begin."""

import os

PROGRAMS = (".py", ".pyw", ".pyz")
MOST_FIRST_LINE = 256  # bytes of it that the system reads
VALUED = (
    "-o",
    "--output",
    "--html",
    "--interval",
    "--sample-rate",
    "--stacks",
    "--counter-ranges",
    "--stall-period",
    "--count",
    "--layout",
    "--turns",
    "--budget",
)
# Verbs that start a program -> their options that take a value.
STARTING = {
    "record": VALUED,
    "profile": ("-o", "--output", "--disk-budget-mb"),
    "memory": ("-o", "--output", "--interval", "--memory"),
    "monitor": (
        "-o",
        "--output",
        "--port",
        "--host",
        "--name",
        "--interval",
        "--keep",
        "--disk",
        "--on",
        "--alert",
        "--baseline",
        "--webhook",
        "--otlp",
        "--budget",
    ),
}


def split_program(words: list[str]) -> tuple[list[str], list[str]]:
    """Split the command line into our words and those of the program, which are not ours to read."""
    verb = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    if words[verb : verb + 1] in (["ab"], ["calibrate"]):
        end = words.index("--", verb) if "--" in words[verb:] else len(words)
        return words[:end], words[end + 1 :]
    if verb == len(words) or words[verb] not in STARTING:
        return words, []
    valued, i = STARTING[words[verb]], verb + 1
    takes_files = words[verb] == "memory"
    while i < len(words):
        word = words[i]
        if word == "--":
            return words[:i], words[i + 1 :]
        if word == "-" or not word.startswith("-") or word[:2] in ("-m", "-c"):
            return (words[:i], words[i:]) if not takes_files or _is_program(word) else (words, [])
        i += 2 if word in valued else 1
    return words, []


def _is_program(word: str) -> bool:
    """Whether a word names a program of Python rather than a file to read; what is neither is for the reader to say.

    A program ends in .py, .pyw or .pyz, is -m or -c, a folder with a __main__.py, or a file without a suffix whose
    first line calls for Python. Any other stands after --.
    """
    if word.startswith("-") and word != "-":
        return True
    if os.path.isdir(word):
        return os.path.isfile(os.path.join(word, "__main__.py"))
    suffix = os.path.splitext(word)[1]
    if suffix or not os.path.isfile(word):
        return suffix in PROGRAMS
    with open(word, "rb") as file:
        first = file.readline(MOST_FIRST_LINE)
    return first.startswith(b"#!") and b"python" in first
