// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/stack_line.h"

#include "base/text.h"

static rgm_string file_of(const rgm_view *view, int32_t stack) {
    return rgm_view_text(view, RGM_CELL(&view->run->stacks, file, stack, 0));
}

// A caller stands before what it calls; anything else is of a damaged file and ends the walk.
static int32_t caller_of(const rgm_view *view, int32_t stack) {
    int32_t caller = RGM_CELL(&view->run->stacks, parent, stack, -1);
    return caller < stack ? caller : -1;
}

static bool of_the_program(rgm_string file) {
    return file.length && !rgm_text_has(file, "site-packages/") && !rgm_text_has(file, "dist-packages/") &&
           !rgm_text_has(file, "/lib/python") && !rgm_text_begins(file, "<frozen");
}

bool rgm_stack_is_own(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = caller_of(view, at))
        if (of_the_program(file_of(view, at))) return true;
    return false;
}

bool rgm_stack_passes(const rgm_view *view, int32_t stack, const char *part) {
    for (int32_t at = stack; at >= 0; at = caller_of(view, at))
        if (rgm_text_has(file_of(view, at), part)) return true;
    return false;
}

bool rgm_stack_awaits_work(const rgm_view *view, int32_t stack) {
    rgm_string file = file_of(view, stack);
    return !of_the_program(file) && (rgm_text_has(file, "/threading.py") || rgm_text_has(file, "/queue.py") ||
                                     rgm_text_has(file, "/concurrent/futures/"));
}

// uvloop's is compiled: the innermost function is asyncio's that has called it.
bool rgm_stack_is_of_loop(const rgm_view *view, int32_t stack) {
    rgm_string file = file_of(view, stack);
    if (rgm_text_has(file, "/asyncio/") || rgm_text_has(file, "/trio/_core/_io_")) return true;
    int32_t caller = caller_of(view, stack);
    return rgm_text_has(file, "/selectors.py") && caller >= 0 &&
           rgm_text_has(file_of(view, caller), "/asyncio/");
}

int32_t rgm_stack_own_line(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = caller_of(view, at))
        if (of_the_program(file_of(view, at))) return at;
    return stack;
}

// Where processes are started and handed their work, and what of a fork lies below is of the one that forked.
static bool hands_out_work(rgm_string file) {
    return rgm_text_has(file, "/multiprocessing/") || rgm_text_has(file, "/concurrent/futures/process.py") ||
           rgm_text_has(file, "/torch/utils/data/_utils/worker.py");
}

int32_t rgm_stack_line_of_work(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = caller_of(view, at)) {
        rgm_string file = file_of(view, at);
        if (of_the_program(file)) return at;
        if (hands_out_work(file)) return at == stack ? -1 : stack;
    }
    return stack;
}

bool rgm_stack_imports(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = caller_of(view, at)) {
        rgm_string file = file_of(view, at);
        if (rgm_text_begins(file, "<frozen importlib._bootstrap>")) return true;
        if (of_the_program(file)) return false;
    }
    return false;
}

// The last part of a qualified name.
static rgm_string name_of(const rgm_view *view, int32_t stack) {
    rgm_string name = rgm_view_text(view, RGM_CELL(&view->run->stacks, function, stack, 0));
    uint32_t from = name.length;
    while (from && name.data[from - 1] != '.') from--;
    return (rgm_string){.data = name.data + from, .length = name.length - from};
}

bool rgm_stack_iterates(const rgm_view *view, int32_t stack) {
    for (int32_t at = stack; at >= 0; at = caller_of(view, at)) {
        rgm_string name = name_of(view, at);
        if (rgm_text_is(name, "__next__") || rgm_text_is(name, "__iter__")) return true;
        bool item = rgm_text_is(name, "__getitem__") || rgm_text_is(name, "__getitems__");
        if ((item || rgm_text_has(name, "collate")) && of_the_program(file_of(view, at))) return true;
    }
    return false;
}
