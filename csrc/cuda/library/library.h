// SPDX-License-Identifier: Apache-2.0
// Vendor libraries at run time: which copy is taken, what it offers, and why it cannot be used.
//
// Nothing is linked. A library is looked for in this order: the path in an environment variable; the copy
// that the process has loaded already (two copies of one library in a process do harm); the folders of pip's
// wheels; the toolkit; the loader's own path. What it offers is a table of function pointers that a list of
// symbols fills; each symbol belongs to a capability, and a missing symbol takes its capability away, never
// more. Absence is a normal state with a reason that a user can read.
//
// Threads: open, close and describe of one library are serialised by the caller.
#ifndef RGM_CUDA_LIBRARY_H
#define RGM_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// X(NAME, token): where a library was found.
#define RGM_LIBRARY_ORIGINS(X)                                                                               \
    X(NONE, "not found")                                                                                     \
    X(ENVIRONMENT, "environment variable")                                                                   \
    X(LOADED, "already in the process")                                                                      \
    X(WHEEL, "pip wheel")                                                                                    \
    X(TOOLKIT, "CUDA toolkit")                                                                               \
    X(DEFAULT, "loader's path")

#define RGM_LIBRARY_ORIGIN_ENUM(name, token) RGM_LIBRARY_##name,
typedef enum { RGM_LIBRARY_ORIGINS(RGM_LIBRARY_ORIGIN_ENUM) RGM_LIBRARY_ORIGIN_COUNT } rgm_library_origin;

// What is looked for and where. Lists end with NULL.
typedef struct {
    const char *title;          // "CUDA driver"
    const char *variable;       // environment variable with a path, or "off"
    const char *const *sonames; // newest first
    const char *const *folders; // below the folder of a wheel namespace, as "nvidia/cu13/lib"
    const char *const *toolkit; // below CUDA_HOME, as "extras/CUPTI/lib64"
    const char *remedy;         // what a user can do when it is absent
} rgm_library_spec;

typedef struct {
    const char *name;
    size_t offset;       // of the pointer in the table of functions
    uint32_t capability; // bit number
} rgm_symbol;

enum { RGM_LIBRARY_CAPABILITIES = 32 };

typedef struct {
    void *handle; // NULL: not open
    rgm_library_origin origin;
    char path[512];
    char soname[64];
    uint32_t missing;                             // bits of capabilities that cannot be used
    const char *absent[RGM_LIBRARY_CAPABILITIES]; // the first missing symbol of each
} rgm_library;

// Where an open may look. A profiler must not pull a driver into a process that does not use it.
typedef enum {
    RGM_LIBRARY_IF_LOADED, // only the environment variable's or a copy that is in the process
    RGM_LIBRARY_ANYWHERE,
} rgm_library_reach;

// Opens the library and fills the table, in which pointers of absent symbols are NULL. RGM_UNAVAILABLE with
// the reason and the remedy when it is not found; nothing is left open then.
rgm_status rgm_library_open(rgm_library *library, const rgm_library_spec *spec, rgm_library_reach reach,
                            const rgm_symbol *symbols, size_t count, void *table,
                            rgm_error *err) RGM_NODISCARD;
void rgm_library_close(rgm_library *library);
// Whether the process has the library loaded, by its names or by the file that its variable names. Asks the
// list of loaded objects, without the loader's lock, which a thread holds while it loads something; where
// nothing was loaded since the last question (`*seen`, 0 at first) that is one look at a number.
bool rgm_library_is_loaded(const rgm_library_spec *spec, uint64_t *seen);
// RGM_UNAVAILABLE, naming the missing symbol, when the capability cannot be used.
rgm_status rgm_library_needs(const rgm_library *library, const rgm_library_spec *spec, uint32_t capability,
                             rgm_error *err) RGM_NODISCARD;
// Loads a library from the folder of an open one, for the whole process, so that what the open one asks the
// loader for by name is found. NULL where there is none: then the loader looks for it in its own path.
void *rgm_library_beside(const rgm_library *library, const char *name);
// Folders that hold wheel namespaces (site-packages), joined by ':'. Replaces what was set before.
rgm_status rgm_library_search(const char *folders, rgm_error *err) RGM_NODISCARD;
const char *rgm_library_origin_text(rgm_library_origin origin);

#endif
