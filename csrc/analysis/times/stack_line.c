// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/stack_line.h"

#include "base/text.h"

static rgm_string file_of(const rgm_view *view, int32_t stack) {
    return rgm_view_text(view, RGM_CELL(&view->run->stacks, file, stack, 0));
}

// The last part of a qualified name.
static rgm_string name_of(const rgm_view *view, int32_t stack) {
    rgm_string name = rgm_view_text(view, RGM_CELL(&view->run->stacks, function, stack, 0));
    uint32_t from = name.length;
    while (from && name.data[from - 1] != '.') from--;
    return (rgm_string){.data = name.data + from, .length = name.length - from};
}

int32_t rgm_stack_of_sample(const rgm_view *view, size_t sample) {
    int64_t stack = RGM_CELL(&view->run->samples, stack, sample, 0);
    return stack >= 0 && (size_t)stack < view->run->stacks.rows ? (int32_t)stack : -1;
}

// A caller stands before what it calls; anything else is of a damaged file and ends the walk.
int32_t rgm_stack_caller(const rgm_view *view, int32_t stack) {
    int32_t caller = RGM_CELL(&view->run->stacks, parent, stack, -1);
    return caller < stack ? caller : -1;
}

static bool of_the_program(const rgm_view *view, rgm_string file) { return rgm_home_has(&view->home, file); }

// Whether its innermost function is of the program. A text without a name of its own is of whoever runs it:
// of a program (-c), or of a library that makes classes from it (collections, dataclasses).
static bool is_own(const rgm_view *view, int32_t stack) {
    rgm_string file = file_of(view, stack);
    if (!of_the_program(view, file)) return false;
    if (!rgm_text_is(file, "<string>") || !rgm_text_is(name_of(view, stack), "<module>")) return true;
    int32_t caller = rgm_stack_caller(view, stack);
    return caller < 0 || of_the_program(view, file_of(view, caller));
}

bool rgm_stack_is_own(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at))
        if (is_own(view, at)) return true;
    return false;
}

bool rgm_stack_ends_in_own(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at)) {
        if (is_own(view, at)) return true;
        if (rgm_text_has(file_of(view, at), "-packages/")) return false;
    }
    return false;
}

bool rgm_stack_passes(const rgm_view *view, int32_t stack, const char *part) {
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at))
        if (rgm_text_has(file_of(view, at), part)) return true;
    return false;
}

bool rgm_stack_is_in(const rgm_view *view, int32_t stack, const char *part) {
    return stack >= 0 && rgm_text_has(file_of(view, stack), part);
}

bool rgm_stack_awaits_work(const rgm_view *view, int32_t stack) {
    rgm_string file = file_of(view, stack);
    return !of_the_program(view, file) &&
           (rgm_text_has(file, "/threading.py") || rgm_text_has(file, "/queue.py") ||
            rgm_text_has(file, "/concurrent/futures/"));
}

// uvloop's is compiled: the innermost function is asyncio's that has called it.
bool rgm_stack_is_of_loop(const rgm_view *view, int32_t stack) {
    static const char *const loops[] = {"/asyncio/", "/trio/_core/_io_", "/gevent/hub.py",
                                        "/twisted/internet/"};
    rgm_string file = file_of(view, stack);
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (rgm_text_has(file, loops[i])) return true;
    int32_t caller = rgm_stack_caller(view, stack);
    return rgm_text_has(file, "/selectors.py") && caller >= 0 &&
           rgm_text_has(file_of(view, caller), "/asyncio/");
}

bool rgm_stack_is_in_task(const rgm_view *view, int32_t stack) {
    bool within =
        rgm_stack_passes(view, stack, "/asyncio/") || rgm_stack_passes(view, stack, "/trio/_core/_run");
    return within && !rgm_stack_is_of_loop(view, stack);
}

// Whether a function is of code that was made from a text (of a data class, a proxy, a decorator), which is
// no line to look at; a program that is a text itself (-c, exec) has its module in the stack.
static bool is_generated(const rgm_view *view, int32_t stack) {
    rgm_name file = (rgm_name)RGM_CELL(&view->run->stacks, file, stack, 0);
    if (!rgm_text_begins(file_of(view, stack), "<")) return false;
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at))
        if ((rgm_name)RGM_CELL(&view->run->stacks, file, at, 0) == file &&
            rgm_text_is(name_of(view, at), "<module>") && is_own(view, at))
            return false;
    return true;
}

int32_t rgm_stack_own_line(const rgm_view *view, int32_t stack) {
    int32_t readable = -1, generated = -1;
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at)) {
        bool own = is_own(view, at) && !rgm_home_is_entry(&view->home, view->run, (size_t)at);
        if (own && !is_generated(view, at)) return at;
        if (own && generated < 0) generated = at;
        if (readable < 0 && !rgm_home_is_frozen(file_of(view, at))) readable = at;
    }
    if (generated >= 0) return generated;
    return readable >= 0 ? readable : stack;
}

bool rgm_stack_is_readable(const rgm_view *view, int32_t stack) {
    rgm_string file = file_of(view, stack);
    return of_the_program(view, file) || (file.length && !rgm_text_begins(file, "<"));
}

// --- processes that are handed their work ------------------------------------------------------------------

static bool has_any(rgm_string file, const char *const *parts) {
    for (; *parts; parts++)
        if (rgm_text_has(file, *parts)) return true;
    return false;
}

// multiprocessing, torch's, the two copies of it that others are built on (datasets and pathos, celery), and
// loky, on which joblib is.
static bool of_multiprocessing(rgm_string file) {
    static const char *const packages[] = {"/multiprocessing/", "/multiprocess/", "/billiard/", "/loky/",
                                           NULL};
    return has_any(file, packages);
}

// What starts processes and hands them their work.
static bool of_processes(rgm_string file) {
    return of_multiprocessing(file) || rgm_text_has(file, "/concurrent/futures/process.py");
}

static bool of_joblib(rgm_string file) { return rgm_text_has(file, "/joblib/parallel.py"); }

// What of a fork lies below is of the one that forked.
static bool hands_out_work(rgm_string file) {
    return of_processes(file) || of_joblib(file) || rgm_text_has(file, "/torch/utils/data/_utils/worker.py");
}

static bool passes_on(rgm_string file) {
    static const char *const files[] = {"/connection.py", "/queues.py", "/reduction", "/synchronize.py",
                                        NULL};
    return of_multiprocessing(file) && has_any(file, files);
}

// joblib looks for its processes, or threads.
static bool polls(rgm_string file) { return of_processes(file) || of_joblib(file); }

bool rgm_stack_awaits_processes(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at))
        if (of_processes(file_of(view, at))) return true;
    return false;
}

int32_t rgm_stack_line_of_work(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at)) {
        rgm_string file = file_of(view, at);
        if (is_own(view, at)) return at;
        if (hands_out_work(file)) return at == stack ? -1 : stack;
    }
    return stack;
}

// Whether a function that no line of the program is within is in such a file.
static bool ends_in(const rgm_view *view, int32_t stack, bool (*is)(rgm_string file)) {
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at)) {
        rgm_string file = file_of(view, at);
        if (is_own(view, at)) return false;
        if (is(file)) return true;
    }
    return false;
}

bool rgm_stack_passes_on(const rgm_view *view, int32_t stack) { return ends_in(view, stack, passes_on); }

bool rgm_stack_polls_processes(const rgm_view *view, int32_t stack) { return ends_in(view, stack, polls); }

bool rgm_stack_sends(const rgm_view *view, int32_t stack) {
    return stack >= 0 && passes_on(file_of(view, stack)) && rgm_text_is(name_of(view, stack), "_send");
}

// --- servers, imports, items -------------------------------------------------------------------------------

bool rgm_stack_is_of_server(const rgm_view *view, int32_t stack) {
    rgm_string file = file_of(view, stack);
    int32_t caller = rgm_stack_caller(view, stack);
    return (rgm_text_has(file, "/socket.py") && rgm_text_is(name_of(view, stack), "accept")) ||
           (rgm_text_has(file, "/selectors.py") && caller >= 0 &&
            rgm_text_has(file_of(view, caller), "/socketserver.py")) ||
           rgm_text_has(file, "/waitress/wasyncore.py") || rgm_text_has(file, "/gunicorn/workers/");
}

// A loader also compiles for who asks it to (py_compile), which imports nothing.
bool rgm_stack_imports(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at)) {
        rgm_string file = file_of(view, at), name = name_of(view, at);
        if (rgm_text_begins(file, "<frozen importlib._bootstrap") &&
            (rgm_text_is(name, "_find_and_load") || rgm_text_is(name, "exec_module")))
            return true;
        if (is_own(view, at)) return false;
    }
    return false;
}

// JAX goes through a function to compile it; those without "units" run it as it stands.
static bool traces(rgm_string file, rgm_string name) {
    return rgm_text_has(file, "/jax/_src/interpreters/partial_eval.py") &&
           rgm_text_has(name, "trace_to_jaxpr") && !rgm_text_has(name, "nounits");
}

bool rgm_stack_compiles(const rgm_view *view, int32_t stack) {
    static const char *const compilers[] = {"/numba/core/compiler",
                                            "/numba/cuda/compiler",
                                            "/jax/_src/compiler.py",
                                            "/jax/_src/interpreters/mlir.py",
                                            "/torch/_dynamo/convert_frame.py",
                                            "/torch/_inductor/compile_fx.py",
                                            "/triton/compiler/",
                                            "/cupy/cuda/compiler.py",
                                            NULL};
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at)) {
        rgm_string file = file_of(view, at);
        if (has_any(file, compilers) || traces(file, name_of(view, at))) return true;
    }
    return false;
}

bool rgm_stack_iterates(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at)) {
        rgm_string name = name_of(view, at);
        if (rgm_text_is(name, "__next__") || rgm_text_is(name, "__iter__")) return true;
        bool item = rgm_text_is(name, "__getitem__") || rgm_text_is(name, "__getitems__");
        if ((item || rgm_text_has(name, "collate")) && is_own(view, at)) return true;
    }
    return false;
}
