# SPDX-License-Identifier: Apache-2.0
"""Where the words of ``regimeter`` end and those of the program that it runs begin."""

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
            return (words, []) if takes_files and _holds_recording(word) else (words[:i], words[i:])
        i += 2 if word in valued else 1
    return words, []


def _holds_recording(word: str) -> bool:
    # Only `memory` takes files, too; every other verb would begin 15 ms later.
    from .files import holds_recording

    return holds_recording(word)
