# SPDX-License-Identifier: Apache-2.0
"""Codes of result tables in words for a reader of text and pages. Documents, APIs and options keep the codes."""

# By the name of the tuple in `_core`; what is not here is said by the code itself.
_WORDS: dict[str, dict[str, str]] = {
    "PATH_KINDS": {
        "host_operator": "host operators",
        "host_runtime": "runtime calls",
        "host_sync": "synchronisation",
        "host_python": "Python functions",
        "host_other": "other host code",
        "outside": "what is not recorded",
        "kernel_compute": "compute kernels",
        "kernel_communication": "communication",
        "kernel_memory": "copies and sets",
        "kernel_gap": "kernel gaps",
        "dependency_wait": "waits for streams",
        "start_delay": "late starts",
    },
    "IDLE_CAUSES": {
        "unknown": "not recorded",
        "host_sync": "host in sync",
        "after_sync": "host late after sync",
        "communication": "waits for communication",
        "memory": "waits for a copy",
        "wait_stream": "waits for a stream",
        "launch_call": "slow launch call",
        "queue": "no reason recorded",
    },
    "KERNEL_TYPES": {
        "memcpy_htod": "memcpy HtoD",
        "memcpy_dtoh": "memcpy DtoH",
        "memcpy_dtod": "memcpy DtoD",
        "memcpy_ptop": "memcpy PtoP",
    },
}


def words_of(constant: str, token: str) -> str:
    """Return a code of the tuple `_core.<constant>` in words; names in capitals stay as documents have them."""
    said = _WORDS.get(constant, {}).get(token)
    if said is not None:
        return said
    return token if token.isupper() else token.replace("_", " ")
