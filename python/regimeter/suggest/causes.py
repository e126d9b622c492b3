# SPDX-License-Identifier: Apache-2.0
"""The words for each cause that can limit a program: what is the case, and what to do next.

{share} and {time} are of the cause, {of} is what they are a part of, {place} is the line or name with most of it;
{figure} is the cause's own figure (docs/verdict.md).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """sentence: what limits the program. next: what to do, without its bound."""

    sentence: str
    next: str


CAUSES: dict[str, Words] = {
    "unknown": Words(
        "Nothing in the recording tells where {share} of {of} went.",
        "Record with stacks: regimeter record PROGRAM takes 100 of them a second unless it is told not to.",
    ),
    "device": Words(
        "The device is the limit: it computes in {share} of {of}.",
        "Look at the kernels that take most of it (regimeter kernels RUN) and at their regimes (regimeter regime RUN).",
    ),
    "communication": Words(
        "The device waits for communication, or does nothing else, in {share} of {of}.",
        "Overlap it with computation: larger or earlier buckets, fewer and larger messages (regimeter communication "
        "RUN).",
    ),
    "device_copies": Words(
        "The device only copies, or waits for a copy, in {share} of {of}.",
        "Copy from pinned memory on a stream of its own, ahead of the work that needs it (regimeter memcpy RUN).",
    ),
    "launches": Words(
        "Launching holds the device up in {share} of {of}: its kernels are shorter than the calls that launch them.",
        "Launch less: CUDA graphs, torch.compile, larger batches (regimeter launches RUN).",
    ),
    "device_idle": Words(
        "The device waits for the host in {share} of {of}.",
        "Look at what the host does meanwhile{at}, and do it in another thread, earlier, or not at all.",
    ),
    "input": Words(
        "The program waits for its input in {share} of {of}.",
        "Load ahead in worker processes (DataLoader num_workers, prefetch_factor, persistent_workers), or make what "
        "runs{at} cheaper.",
    ),
    "sleep": Words(
        "The program sleeps in {share} of {of}.", "Remove the pause{at}, or wait for the event that it stands for."
    ),
    "lock": Words(
        "The program waits for another of its threads in {share} of {of}.",
        "Hold for less time what is waited for{at}, or hand the data over through a queue.",
    ),
    "interpreter_lock": Words(
        "Other threads of the program hold the interpreter's lock in {share} of {of}.",
        "Move what they compute in Python{theirs} to processes, or to code that gives the lock up (regimeter lines RUN "
        "shows every thread).",
    ),
    "processor": Words(
        "The program is ready to run, but others have the processors, in {share} of {of}.",
        "Use fewer threads and processes (torch.set_num_threads, OMP_NUM_THREADS, num_workers), or a machine with less "
        "beside it.",
    ),
    "file": Words(
        "The program waits for files in {share} of {of}.",
        "Read or write{at} less often and more at once, in another thread, or without forcing each write to the disk.",
    ),
    "network": Words(
        "The program waits for an answer through a socket or a pipe in {share} of {of}.",
        "Ask for several things{at} at once or ahead of time, or keep the answers.",
    ),
    "event_loop": Words(
        "The event loop has nothing to run in {share} of {of}: its tasks wait, for sockets, pipes or timers.",
        "Let more of them wait at once (what asyncio.gather does, or more workers), or shorten what they wait for; "
        "scopes around what they await (regimeter.profile) tell it apart.",
    ),
    "child": Words(
        "The program waits for another process in {share} of {of}.",
        "Look at what it does: recordings of forked and spawned Python processes lie beside this one, record others "
        "by themselves. Or run more of them at once{at}.",
    ),
    "pickling": Words(
        "The program's processes pickle data and pass it on to each other in {share} of {of}.",
        "Pass less between them{at}: names of files, ranges or shared memory (multiprocessing.shared_memory) instead "
        "of arrays, once (initializer=) what all of them need, and larger pieces of work at a time (chunksize=).",
    ),
    "waiting": Words(
        "The program waits in {share} of {of}; the system does not tell for what.",
        "Look at the line{at}: what it calls is what is waited for.",
    ),
    "garbage_collection": Words(
        "Python collects garbage in {share} of {of}.",
        "Take calls of gc.collect() out of the loop or make them rarer, call gc.freeze() once the program has started, "
        "or gc.disable() while it makes many objects that stay; keep fewer small objects: arrays, __slots__, or a "
        "larger gc.set_threshold().",
    ),
    "checkpoint": Words(
        "The program writes its state in {share} of {of}.",
        "Write it{at} less often, only what has changed, or in another thread from a copy.",
    ),
    "compile": Words(
        "The program compiles in {share} of {of}.",
        "Keep shapes, types and Python values of compiled functions the same, or mark what changes (torch.compile "
        "dynamic=True), or keep what was compiled (numba.njit cache=True, jax_compilation_cache_dir); "
        "TORCH_LOGS=recompiles and JAX_EXPLAIN_CACHE_MISSES=1 say why it compiles again.",
    ),
    "synchronisation": Words(
        "The host and the device wait for each other in {share} of {of}.",
        "Read results back{at} less often: .item(), .cpu() and printing a tensor wait for all work before them.",
    ),
    "copies": Words(
        "Tensors are moved between devices in {share} of {of}.",
        "Create them where they are used; move them{at} once, with pinned memory and non_blocking=True.",
    ),
    "page_faults": Words(
        "Memory is touched for the first time in {share} of {of}: {figure} pages a second.",
        "Use the same memory again{at} instead of new: arrays by out=, in-place operations or a buffer made once; what "
        "grows piece by piece as a list that is joined once (str.join, numpy.concatenate).",
    ),
    "small_work": Words(
        "The work is too small for its calls: {share} of {of} goes into modules and gradients, at {figure} a call of a "
        "module.",
        "Make each call do more: larger batches, fewer and fused operators (torch.compile), without autograd where "
        "no gradient is needed.",
    ),
    "optimizer": Words(
        "Updating the parameters takes {share} of {of}.",
        "Use the fused or foreach form of the optimizer where it has one (fused=True, foreach=True), and let it step "
        "less often.",
    ),
    "gradient_clipping": Words(
        "Clipping gradients takes {share} of {of}.",
        "Clip once a step, with foreach=True, and without reading the norm back.",
    ),
    "layer": Words(
        "One layer, {place}, takes most of what the model computes; that is {share} of {of}.",
        "Look at that layer first: its shapes, its data type and its algorithm.",
    ),
    "forward": Words(
        "The forward pass computes in {share} of {of}; no single layer has most of it.",
        "Compile it (torch.compile), use a smaller data type, or look at its largest layers.",
    ),
    "backward": Words(
        "Computing gradients takes {share} of {of}.",
        "Compile the model (torch.compile), freeze what need not be trained, or use a smaller data type.",
    ),
    "imports": Words(
        "Importing modules takes {share} of {of}.",
        "Import later what is not always needed; python -X importtime names the modules.",
    ),
    "native": Words(
        "Compiled code computes in {share} of {of}.",
        "Look at the line that calls it{at}: its sizes, data types and algorithm (profiler.profile_with_result tells "
        "its regime). Where it uses one processor, threads can run it side by side: it does not hold the "
        "interpreter's lock.",
    ),
    "python": Words(
        "Python code is the limit in {share} of {of}.",
        "Look at the line{at}: do it less often, or less in it. A loop over numbers or columns belongs into operations "
        "of NumPy, pandas or torch on whole arrays.",
    ),
    "scope": Words(
        "The scope {place} takes {share} of {of}.",
        "Mark the parts of it with scopes of their own, or record with stacks (GPUProfiler(stacks=100)).",
    ),
    "first_step": Words(
        "The first step takes {figure} times as long as the others; that is {share} of {of}.",
        "Nothing, where the program runs for long; else do what it prepares once and keep the result.",
    ),
    "uneven_steps": Words(
        "Some steps take much longer than the others, up to {figure} times; they add {share} to {of}.",
        "Look at what is different in them{at}: their input's size, a checkpoint, an evaluation, a collection.",
    ),
    "memory_growth": Words(
        "Memory grows all the time, by {figure} a second.",
        "Look for what is kept from each step{at}: tensors with their graph (use .detach() or .item()), lists, caches."
        "{by_line}",
    ),
}

# Of "scope", where stacks were looked for.
TOO_SHORT = (
    "The run is too short for samples of its stack: give it more to do, or take more of them (regimeter record "
    "--stacks 1000)."
)
NO_STACKS = "Mark the parts of it with scopes of their own. Stacks could not be sampled: {reason}."
CROWDED_OUT = "Record again on a quiet machine: whenever its stack was looked at, other programs had the processors."
EARLY = "Mark the parts of it with scopes of their own. Samples of its stack tell of less than half of it."

# Of "device_copies", where all of them come from pinned memory already, or go there.
PINNED = Words(
    CAUSES["device_copies"].sentence,
    "Copy ahead of the work that needs it, on a stream of its own, and less: a smaller data type, or data that stays "
    "on the device (regimeter memcpy RUN).",
)

# Of "device_idle", where a call that launches takes most of it.
SET_UP = Words(
    "The device waits for the host in {share} of {of}, most of that for a call of the driver that sets something up.",
    "Leave the first iterations out of what is recorded, or run some before it: a launch{at} that takes {figure} loads "
    "kernels or makes memory ready, which later ones need not.",
)

# Of "input", where the main process waits for others that make its batches.
WORKERS = Words(
    "The program waits for the worker processes of its loader in {share} of {of}.",
    "Make what a worker does{in_process} cheaper, or start more of them while processors are free; with "
    "persistent_workers they are started once.",
)

# Of "child", where its recording is part of the run.
CHILD_WORK = Words(
    "The program waits for another process in {share} of {of}.",
    "Make what it does{in_process} cheaper, or run more of them at once while processors are free.",
)

# Of "small_work", where lines of the program call it, and not modules.
SMALL_CALLS = Words(
    "The work is too small for its calls: {share} of {of} goes into operators so short that calling them is a large "
    "part of their time.",
    "Make each call do more{at}: whole arrays and tables instead of their rows or elements, larger batches, or a loop "
    "in compiled code (torch.compile, Numba, Cython).",
)

# Of "sleep", where it is a function of a library that sleeps.
PAUSES = Words(
    CAUSES["sleep"].sentence,
    "{inner} sleeps, called{at}: look for the setting of its pauses, or for what it waits for.",
)

# Of "python", where a function that the line calls has most of it.
CALLED = Words(
    CAUSES["python"].sentence,
    "The line{at} spends its time within {inner}: call that less often, give it less, or use a routine or library that "
    "is faster at it.",
)

# Causes whose innermost function only says that somebody waits.
WAITS = ("network", "event_loop", "child", "lock", "interpreter_lock", "waiting", "processor")

# Of "native", where the kernel has most of the processor time.
SYSTEM_CALLS = Words(
    "Calls of the system take most of {share} of {of}: {figure} of the processor time is the kernel's.",
    "Make fewer of them{at}: more at once (larger reads and writes, several messages a call), or what they give kept. "
    "strace -fc PROGRAM counts them.",
)

# Of "event_loop", where it listens for connections.
SERVER = Words(
    "The server waits for requests, or for what they wait for, in {share} of {of}.",
    "Record it while it is asked as much as it can take: what it does then is what limits it. Where its requests wait "
    "for others, scopes around that (regimeter.profile) tell it apart.",
)

# Of "layer", where the backward pass counts by itself: another part of it is the largest.
FORWARD_LAYER = Words(
    "One layer, {place}, takes most of the forward pass; that is {share} of {of}.",
    CAUSES["layer"].next,
)

# Of "scope", where more time lies between the scopes.
SPARSE = Words(
    "Where most of {of} went is not recorded: the largest scope, {place}, takes {share} of it.",
    "Put scopes around more of the program, or record with stacks: regimeter record PROGRAM.",
)

# Of "communication", where one rank keeps the others waiting.
LATE_RANK = Words(
    "Rank {rank} comes last in {last} of {collectives} collectives and causes {caused} of the others' waiting, "
    "{waited} of rank time.",
    "Look at what rank {rank} does before them: more work, a slower device, a later start (regimeter stragglers RUN, "
    "regimeter collective-instances RUN).",
)

# Of a trace without work of a device.
HOST_ONLY = Words(
    "No GPU work in this trace: {run} on the host. ",
    "If a GPU was used, record its work as well: torch.profiler.profile(activities=[ProfilerActivity.CPU, "
    "ProfilerActivity.CUDA]).",
)

# Of "python", where what its line does is calls: their own loop is not what takes the time.
CALLS = Words(
    "Compiled code that keeps the interpreter's lock is the limit in {share} of {of}.",
    "Look at the call{at}: give it less, or use a routine or library that is faster at it. Other threads stand still "
    "meanwhile: side by side it runs in processes only.",
)
