// SPDX-License-Identifier: Apache-2.0
#include "analysis/home.h"

#include <string.h>

#include "base/text.h"

static rgm_string text_of(const rgm_run *run, rgm_name name) { return rgm_strings_view(&run->strings, name); }

static rgm_string file_of(const rgm_run *run, size_t stack) {
    return text_of(run, RGM_CELL(&run->stacks, file, stack, 0));
}

bool rgm_home_is_frozen(rgm_string file) { return rgm_text_begins(file, "<frozen"); }

static bool same(rgm_string a, rgm_string b) {
    return a.length == b.length && (!a.length || memcmp(a.data, b.data, a.length) == 0);
}

static bool begins_with(rgm_string text, rgm_string head) {
    return head.length && text.length >= head.length && memcmp(text.data, head.data, head.length) == 0;
}

// Where the text goes on after the last `part`, 0 where it is not there.
static uint32_t after_last(rgm_string text, const char *part) {
    uint32_t length = (uint32_t)strlen(part);
    for (uint32_t at = text.length >= length ? text.length - length + 1 : 0; at-- > 0;)
        if (memcmp(text.data + at, part, length) == 0) return at + length;
    return 0;
}

static uint32_t after_slash(rgm_string text, uint32_t from) {
    while (from < text.length && text.data[from] != '/') from++;
    return from < text.length ? from + 1 : from;
}

// The folders of packages that have names of their own (pip install --target), as the recorder lists them: of
// a list of texts in JSON those that are written without an escape.
static void find_folders(const char *environment, rgm_home *home) {
    static const char key[] = "\"package_folders\":", spaces[] = " \t\r\n";
    const char *at = environment ? strstr(environment, key) : NULL;
    if (!at) return;
    at += sizeof key - 1;
    at += strspn(at, spaces);
    if (*at != '[') return;
    for (at++; home->n_folders < RGM_HOME_FOLDERS; at++) {
        at += strspn(at, spaces);
        if (*at++ != '"') return;
        size_t length = strcspn(at, "\"\\");
        if (at[length] != '"' || !length) return;
        home->folders[home->n_folders++] = (rgm_string){.data = at, .length = (uint32_t)length};
        at += length + 1;
        at += strspn(at, spaces);
        if (*at != ',') return;
    }
}

// Where in a path the installed packages begin, 0 where it is of none.
static uint32_t installed_at(const rgm_home *home, rgm_string file) {
    for (size_t i = 0; i < home->n_folders; i++) {
        rgm_string folder = home->folders[i];
        if (file.length > folder.length && begins_with(file, folder) && file.data[folder.length] == '/')
            return folder.length + 1;
    }
    uint32_t at = after_last(file, "site-packages/");
    if (!at) at = after_last(file, "dist-packages/");
    if (at) return at;
    at = after_last(file, "/lib/python");
    return at ? after_slash(file, at) : 0;
}

// Frames of the recorder itself, wherever its package lies: hooks stand between the program and what it
// calls.
static bool is_ours(rgm_string file) {
    return rgm_text_has(file, "/regimeter/capture/") || rgm_text_has(file, "/regimeter/profiler.py") ||
           rgm_text_has(file, "/regimeter/cli/");
}

static rgm_string package_of(const rgm_home *home, rgm_string file) {
    return (rgm_string){.data = file.data, .length = after_slash(file, installed_at(home, file))};
}

static bool is_launcher(rgm_string file) {
    uint32_t folder = after_last(file, "/bin/");
    return folder && after_slash(file, folder) == file.length;
}

static bool is_runpy(rgm_string file) {
    return rgm_text_is(file, "<frozen runpy>") || rgm_text_has(file, "/runpy.py");
}

static bool is_module(const rgm_run *run, size_t stack) {
    return rgm_text_is(text_of(run, RGM_CELL(&run->stacks, function, stack, 0)), "<module>");
}

// Whether it is what the interpreter began with; it begins with modules of its own, too.
static bool is_main(const rgm_run *run, size_t stack) {
    if (!is_module(run, stack)) return false;
    if (rgm_home_is_frozen(file_of(run, stack))) return false;
    int64_t at = (int64_t)stack, caller = RGM_CELL(&run->stacks, parent, stack, -1);
    while (caller >= 0 && caller < at) {
        rgm_string file = file_of(run, (size_t)caller);
        if (!is_runpy(file)) return false;
        at = caller;
        caller = RGM_CELL(&run->stacks, parent, (size_t)at, -1);
    }
    return caller < 0;
}

rgm_home rgm_home_of(const rgm_run *run) {
    rgm_home home = {0};
    find_folders(run->environment, &home);
    for (size_t i = 0; i < run->stacks.rows; i++) {
        int64_t caller = RGM_CELL(&run->stacks, parent, i, -1);
        rgm_string file = file_of(run, i);
        if (home.launcher.length && caller >= 0 && (size_t)caller < i && installed_at(&home, file) &&
            same(file_of(run, (size_t)caller), home.launcher)) {
            home.package = package_of(&home, file);
            return home;
        }
        if (home.launcher.length || !is_main(run, i)) continue;
        if (is_launcher(file)) {
            home.launcher = file;
        } else {
            if (installed_at(&home, file)) home.package = package_of(&home, file);
            if (installed_at(&home, file) && after_last(file, "/__main__.py") == file.length)
                home.entry = file;
            return home;
        }
    }
    return home;
}

bool rgm_home_has(const rgm_home *home, rgm_string file) {
    if (begins_with(file, home->package)) return true;
    if (home->package.length && same(file, home->launcher)) return false;
    return file.length && !installed_at(home, file) && !rgm_home_is_frozen(file) && !is_ours(file);
}

bool rgm_home_is_entry(const rgm_home *home, const rgm_run *run, size_t stack) {
    return home->entry.length && is_module(run, stack) && same(file_of(run, stack), home->entry);
}
