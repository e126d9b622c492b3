# SPDX-License-Identifier: Apache-2.0
"""Every verb: the question that it answers, and what it does in one phrase.

What lists the verbs reads this table and imports none of their modules. A verb of its own is declared and done by the
module of its name; an analysis by ``analyse``, and its phrase is in its description (regimeter.analysis).
"""

# Everyday verbs first. Analyses that stand in no group are listed by name alone.
GROUPS = (
    ("Record a program", ("record", "monitor", "profile", "memory", "compile")),
    ("Where did time and memory go?", ("show", "report", "serve", "top", "lines", "flame", "timeline", "explain")),
    ("What limits it, and what to try next?", ("breakdown", "regime", "suggest", "critical-path", "hta")),
    ("Did it get slower?", ("compare", "ab", "baseline", "history", "diff")),
    ("This machine", ("doctor", "calibrate", "workloads", "telemetry", "selftest")),
    ("Files", ("export", "query", "recover", "schema", "completion")),
)
# In the order in which a parser of all has them.
OWN = {
    "record": "run a program and keep what its profilers record",
    "show": "print summary, bottlenecks, anomalies and cost of a run",
    "report": "write a run as one HTML file that needs no network",
    "serve": "serve runs over HTTP: their pages, an API, and comparisons",
    "top": "follow a recording that is being written: what limits it so far, where it is now",
    "export": "write a run as JSON, in a format of another tool, or a table of it as CSV, Arrow or Parquet",
    "recover": "save what is intact in a cut or damaged recording",
    "regime": "what limits a trace, a run or a program: overhead, memory or arithmetic",
    "suggest": "what to try next, what it can save, and why",
    "explain": "verdict, evidence and next steps on one page of at most 4,000 characters",
    "query": "SQL over the tables of a run or of a data set of `regimeter ranks --dataset`",
    "flame": "the flame graph of a trace: host stacks with the device work that they launched",
    "timeline": "host and device activity of a trace, and its timeline as a page",
    "hta": "analyse a trace as a whole: shares, kernels, what to try",
    "profile": "run a torch program under torch.profiler: trace, flame graph, what stands out",
    "memory": "memory of a torch program, a snapshot or a trace: peak, owners, stacks, growth",
    "compile": "what torch.compile makes of a function or module, or made of a program: breaks, recompiles, times",
    "compare": "compare two runs, operation by operation, and gate on regressions",
    "ab": "run two versions in random pairs, and compare them",
    "calibrate": "measure what this machine can reach at most, or can tell apart",
    "baseline": "save, accept, list, remove and promote baselines",
    "history": "show how an operation went over the runs, and where it changed",
    "workloads": "run the nine workloads: times, scaling, budgets, A/B, trends",
    "telemetry": "what the GPUs say now: use, memory, power, temperature, clocks, errors",
    "monitor": "record a program and serve a live page, and /metrics for Prometheus, while it runs",
    "doctor": "say what can be measured here, or verify a recording or a trace",
    "selftest": "measure what recording costs on this machine",
    "schema": "print the JSON Schema of a document, or list them",
    "completion": "print a completion script for a shell",
}
# Analyses that do more than show a table, each by the module of its name.
EXTENDED = ("counters", "ranks")
ANALYSES = "analyse"


def module_of(name: str) -> str:
    """Return the module that declares a verb."""
    return name if name in OWN or name in EXTENDED else ANALYSES
