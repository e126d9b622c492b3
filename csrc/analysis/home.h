// SPDX-License-Identifier: Apache-2.0
// Which files are of the recorded program itself: those that are neither the interpreter's nor installed. Of
// a program that is itself installed (python -m PACKAGE, a script in bin/ that calls a package) its package,
// too.
#ifndef RGM_ANALYSIS_HOME_H
#define RGM_ANALYSIS_HOME_H

#include "model/run.h"

enum { RGM_HOME_FOLDERS = 8 };

typedef struct {
    size_t n_folders; // that the recording says packages were installed into
    rgm_string folders[RGM_HOME_FOLDERS];
    rgm_string package;  // the begin of its files' paths, empty where the program is not installed
    rgm_string launcher; // the script that only calls the package, empty where there is none
    rgm_string entry;    // __main__.py of an installed package that was run by its name, else empty
} rgm_home;

// From the stacks and the environment of the run, which must outlive it.
rgm_home rgm_home_of(const rgm_run *run);
bool rgm_home_has(const rgm_home *home, rgm_string file);
// Whether a stack ends at the entry's call of all the rest, which tells nothing of where time goes.
bool rgm_home_is_entry(const rgm_home *home, const rgm_run *run, size_t stack);
// Whether a file is part of the interpreter without a source that could be read.
bool rgm_home_is_frozen(rgm_string file);

#endif
