# SPDX-License-Identifier: Apache-2.0
"""What a run was measured on, as one typed object that every reader takes.

`regimeter.system.description` writes its stored form, `Environment.of` reads it: from recordings, exported JSON,
traces of torch, exports of Nsight Systems, reports of workloads, sessions of the pytest plugin, runs of the history.
What a file does not say, or says in no form that is known, is None. Nothing is guessed. Which differences matter is
the table of `regimeter.run.identity`.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..public.run import Run

NOT_STATED = "not stated"
# Members of the stored form that are objects; in a damaged or foreign file one may be anything.
SECTIONS = frozenset({
    "budget", "cost", "count", "device", "libraries", "nsys", "process_memory", "recorded_program", "ring", "skipped",
    "stacks", "structure", "trace", "units",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU that the process could use. Bytes, watts and MHz; None for what is not known.

    model: the name that its maker gives it. part: which instances of a MIG device, None for a whole one.
    clock_set_mhz, clock_default_mhz: application clocks of the multiprocessors, as set and as from the factory.
    """

    model: str | None = None
    ordinal: int | None = None
    uuid: str | None = None
    part: str | None = None
    memory_bytes: int | None = None
    capability: str | None = None
    multiprocessors: int | None = None
    power_limit_watts: float | None = None
    clock_set_mhz: float | None = None
    clock_default_mhz: float | None = None
    clock_most_mhz: float | None = None
    memory_clock_most_mhz: float | None = None
    ecc: bool | None = None

    @classmethod
    def of_driver(cls, ordinal: int, about: Mapping[str, Any]) -> "Gpu":
        """Return what the CUDA driver says of a device (`_core.device_about`)."""
        return cls(
            model=about["name"],
            ordinal=ordinal,
            uuid=about["uuid"],
            memory_bytes=about["memory_bytes"],
            capability=f"{about['capability'] // 10}.{about['capability'] % 10}",
            multiprocessors=about["multiprocessors"],
        )

    @property
    def clocks(self) -> str | None:
        """Whether somebody set the application clocks: "set to 1410 MHz", "not set", None where NVML does not tell."""
        if self.clock_set_mhz is None or self.clock_default_mhz is None:
            return None
        if self.clock_set_mhz == self.clock_default_mhz:
            return "not set"
        return f"set to {self.clock_set_mhz:g} MHz"


@dataclass(frozen=True, slots=True)
class Environment:
    """Machine, set-up and software of a run; None for what is not known; `unknown` has the reason where there is one.

    virtual: whether the processor says that a hypervisor runs it. cores: processors that the process may use (affinity
    and the quota of its control group). processors: their numbers. gpus: those that the process could use; () where
    there was none. driver: the GPU driver's version ("550.54.15"). driver_cuda: the CUDA version that the driver
    supports, cuda: that of the runtime ("12.4"). libraries: versions of what the program had loaded. units: of the
    times, where a file states others than ours. work: batch and shapes, where a file states them. measured: "times", or
    what counted instead of a clock; layout: of the memory in which it counted. runner: a name that the user gave to the
    class of machine (REGIMETER_RUNNER). gpu_share: per cent of each GPU's threads, where MPS gives the program a part.
    """

    host: str | None = None
    system: str | None = None
    kernel: str | None = None
    cpu: str | None = None
    virtual: bool | None = None
    cpu_revision: str | None = None
    cores: int | None = None
    processors: tuple[int, ...] | None = None
    caches: tuple[int, ...] | None = None
    memory_bytes: int | None = None
    python: str | None = None
    libraries: Mapping[str, str] | None = None
    blas: str | None = None
    blas_threads: int | None = None
    gpus: tuple[Gpu, ...] | None = None
    driver: str | None = None
    driver_cuda: str | None = None
    cuda: str | None = None
    runner: str | None = None
    gpu_share: str | None = None
    units: str = ""
    work: str | None = None
    measured: str = "times"
    layout: str | None = None
    unknown: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: "Environment | Mapping[str, Any]") -> "Environment":
        """Return the environment that a stored form says; one that is typed already is returned as it is."""
        return stored if isinstance(stored, Environment) else _read(stored)

    @classmethod
    def current(cls) -> "Environment":
        """Return the environment of this process, as a recording of it would say it."""
        from ..system.description import describe_machine  # 8 ms, for which no run that is read waits

        return _read(describe_machine())

    def only(self, ordinal: int) -> "Environment":
        """Return the environment with one of its GPUs, for what was measured on that device alone."""
        return replace(self, gpus=tuple(gpu for gpu in self.gpus or () if gpu.ordinal == ordinal))


def stored_form(text: str) -> dict[str, Any]:
    """Return what a file says of where it was recorded; nothing is kept of a section that is no object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {name: part for name, part in value.items() if name not in SECTIONS or isinstance(part, dict)}


def environments_of(run: "Run") -> list[Environment]:
    """Return the environments of the files that a run was made of: one, or one for each rank."""
    table = run.table("files")
    texts = [run.string(number) for number in table.environment.tolist()] if len(table) else []
    stored = [stored_form(text) for text in texts if text]
    return [Environment.of(one) for one in stored if one] or [Environment.of(run.environment)]


# --- reading ----------------------------------------------------------------------------------------------------


def _read(stored: Mapping[str, Any]) -> Environment:
    trace, system = _mapping(stored.get("trace")), _mapping(_mapping(stored.get("nsys")).get("system"))
    gpus, why = _gpus(stored, trace)
    section = _mapping(stored.get("gpus"))
    return Environment(
        host=_text(stored.get("host")) or _text(system.get("Hostname")),
        system=_text(stored.get("platform")) or _text(system.get("OsDescription")),
        kernel=_text(stored.get("kernel")),
        cpu=_text(stored.get("cpu")) or _named(system.get("CpuDescription")),
        virtual=stored["virtual"] if isinstance(stored.get("virtual"), bool) else None,
        cpu_revision=_text(stored.get("cpu_revision")),
        cores=_whole(stored.get("cores")),
        processors=_numbers(stored.get("processors")),
        caches=_numbers(stored.get("caches")),
        memory_bytes=_whole(stored.get("memory_bytes")),
        python=_text(stored.get("python")),
        libraries=_libraries(stored, trace),
        blas=_text(stored.get("blas")),
        blas_threads=_whole(stored.get("blas_threads")),
        gpus=gpus,
        driver=_text(section.get("driver")) or _named(system.get("NvDriverVersion")),
        driver_cuda=cuda_version(trace.get("cuda_driver_version")) or cuda_version(system.get("CudaDriverVersion")),
        cuda=_text(stored.get("cuda")) or cuda_version(trace.get("cuda_runtime_version")),
        runner=_text(stored.get("runner")),
        gpu_share=_text(stored.get("gpu_share")),
        units=", ".join(f"{name} = {unit}" for name, unit in sorted(_mapping(stored.get("units")).items())),
        work=_work(stored, trace),
        measured=_measured(_mapping(stored.get("count"))),
        layout=_text(_mapping(stored.get("count")).get("layout")),
        unknown={"gpu": why} if gpus is None and why else {},
    )


def _measured(count: Mapping[str, Any]) -> str:
    if not count or count.get("reason"):
        return "times"
    heap = ", steady heap" if count.get("steady_heap") else ""
    return f"{count.get('metric')} by {count.get('tool')}{heap}"


def _gpus(stored: Mapping[str, Any], trace: Mapping[str, Any]) -> tuple[tuple[Gpu, ...] | None, str]:
    """Return the GPUs of a recording or, where it has none, of a trace; or None and why."""
    section = stored.get("gpus")
    listed = section.get("devices") if isinstance(section, Mapping) else section
    if isinstance(listed, list):
        return _rows(listed, _of_nvml)
    listed = trace.get("deviceProperties")
    if isinstance(listed, list):
        # A trace of the host alone lists no device, which does not say that there was none.
        found, why = _rows(listed, _of_properties)
        return (found or None), why or "the trace lists no device"
    return None, _text(_mapping(section).get("reason")) or ""


def _rows(listed: Iterable[Any], read: Any) -> tuple[tuple[Gpu, ...] | None, str]:
    found = tuple(read(_mapping(row)) for row in listed)
    if any(gpu.model is None for gpu in found):
        return None, "a device has no name"
    return found, ""


def _of_nvml(row: Mapping[str, Any]) -> Gpu:
    ecc = _number(row.get("ecc_mode"))
    return Gpu(
        model=_text(row.get("name")),
        ordinal=_whole(row.get("ordinal")),
        uuid=_text(row.get("uuid")),
        part=f"{row.get('gpu_instance')}/{row.get('compute_instance')}" if row.get("part") is True else None,
        memory_bytes=_whole(row.get("memory_bytes")),
        power_limit_watts=_number(row.get("power_limit_watts")),
        clock_set_mhz=_number(row.get("clock_application_sm_mhz")),
        clock_default_mhz=_number(row.get("clock_application_default_sm_mhz")),
        clock_most_mhz=_number(row.get("clock_sm_max_mhz")),
        memory_clock_most_mhz=_number(row.get("clock_memory_max_mhz")),
        ecc=None if ecc is None else ecc != 0,
    )


def _of_properties(row: Mapping[str, Any]) -> Gpu:
    """Read a row of deviceProperties, which Kineto writes and our reader of Nsight's exports makes alike."""
    major, minor = _whole(row.get("computeMajor")), _whole(row.get("computeMinor"))
    return Gpu(
        model=_text(row.get("name")),
        ordinal=_whole(row.get("id")),
        memory_bytes=_whole(row.get("totalGlobalMem")),
        capability=None if major is None or minor is None else f"{major}.{minor}",
        multiprocessors=_whole(row.get("numSms")),
    )


def _libraries(stored: Mapping[str, Any], trace: Mapping[str, Any]) -> dict[str, str] | None:
    listed = stored.get("libraries")
    if isinstance(listed, Mapping):
        return {str(name): str(version) for name, version in listed.items()}
    torch = _text(trace.get("pytorch_version"))
    return {"torch": torch} if torch else None


WORK = ("batch_size", "batch", "shape", "shapes", "dtype")


def _work(stored: Mapping[str, Any], trace: Mapping[str, Any]) -> str | None:
    """Return what was worked on, where the file says so, as text."""
    metadata = _mapping(stored.get("metadata"))
    named = {key: metadata.get(key, stored.get(key)) for key in WORK}
    known = [f"{key} {value}" for key, value in named.items() if value not in (None, "", [], {})]
    task = _mapping(_mapping(trace.get("metadata")).get("current_task")).get("shape")
    return ", ".join(known) or (f"shape {task}" if task not in (None, "", [], {}) else None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _named(value: Any) -> str | None:
    """Return a text of Nsight Systems, which writes `unknown` for what it does not know."""
    return None if value == "unknown" else _text(value)


def _number(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) and abs(number) < 2**63 else None


def _numbers(value: Any) -> tuple[int, ...] | None:
    found = [_whole(one) for one in value] if isinstance(value, list | tuple) else []
    return tuple(one for one in found if one is not None) if found and None not in found else None


def cuda_version(value: Any) -> str | None:
    """Return a version of CUDA's own counting, 12040, as people write it: "12.4"."""
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else _whole(value)
    return f"{number // 1000}.{number % 1000 // 10}" if number is not None and number >= 1000 else None


def drawn_bytes(told: Mapping[str, Any]) -> int | None:
    """Return of how many bytes one was drawn where a recording watched allocations (`record --memory`), else None."""
    found = told.get("allocations")
    return (_whole(found.get("bytes")) or None) if isinstance(found, dict) and not found.get("reason") else None
