// SPDX-License-Identifier: Apache-2.0
#include "cuda/library/library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "base/memory.h"
#include "base/tokens.h"

static pthread_mutex_t search_mutex = PTHREAD_MUTEX_INITIALIZER;
static char *search_folders;

static void before_fork(void) { pthread_mutex_lock(&search_mutex); }
static void after_fork(void) { pthread_mutex_unlock(&search_mutex); }
static const rgm_fork_hooks hooks = {before_fork, after_fork, after_fork};

const char *rgm_library_origin_text(rgm_library_origin origin) {
    static const char *const texts[] = {RGM_LIBRARY_ORIGINS(RGM_TOKEN)};
    return origin < RGM_LIBRARY_ORIGIN_COUNT ? texts[origin] : texts[RGM_LIBRARY_NONE];
}

rgm_status rgm_library_search(const char *folders, rgm_error *err) {
    char *copy = rgm_strdup(folders, strlen(folders));
    if (!copy) return rgm_error_no_memory(err);
    rgm_fork_watch(RGM_FORK_LIBRARIES, &hooks);
    pthread_mutex_lock(&search_mutex);
    rgm_free(search_folders);
    search_folders = copy;
    pthread_mutex_unlock(&search_mutex);
    return RGM_OK;
}

// --- one attempt ------------------------------------------------------------------------------------------

typedef struct {
    rgm_library *library;
    const char *soname;
    rgm_error *err;
    char reason[256]; // of the last file that was there and could not be loaded
} attempt;

static bool take(attempt *try, const char *path, int flags, rgm_library_origin origin) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
    if (!handle) {
        const char *why = dlerror();
        // Of a name without a folder the loader says only that it is not there.
        if (why && strchr(path, '/')) (void)snprintf(try->reason, sizeof try->reason, "%s", why);
        return false;
    }
    rgm_library *library = try->library;
    struct link_map *map = NULL;
    library->handle = handle;
    library->origin = origin;
    const char *found = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] ? map->l_name : path;
    (void)snprintf(library->path, sizeof library->path, "%s", found);
    (void)snprintf(library->soname, sizeof library->soname, "%s", try->soname);
    return true;
}

static bool take_below(attempt *try, const char *root, size_t length, const char *const *folders,
                       rgm_library_origin origin) {
    char path[1024];
    for (; folders && *folders; folders++) {
        int wrote = snprintf(path, sizeof path, "%.*s/%s/%s", (int)length, root, *folders, try->soname);
        if (wrote > 0 && (size_t)wrote < sizeof path && take(try, path, 0, origin)) return true;
    }
    return false;
}

static bool take_from_wheels(attempt *try, const rgm_library_spec *spec) {
    bool found = false;
    // Not held while a library is loaded, which may take its time or hang.
    pthread_mutex_lock(&search_mutex);
    char *folders = search_folders ? rgm_strdup(search_folders, strlen(search_folders)) : NULL;
    pthread_mutex_unlock(&search_mutex);
    for (const char *at = folders; at && *at && !found;) {
        const char *end = strchrnul(at, ':');
        if (end > at) found = take_below(try, at, (size_t)(end - at), spec->folders, RGM_LIBRARY_WHEEL);
        at = *end ? end + 1 : end;
    }
    rgm_free(folders);
    return found;
}

static bool take_from_toolkit(attempt *try, const rgm_library_spec *spec) {
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", "ROCM_PATH"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *root = getenv(variables[i]);
        if (root && *root && take_below(try, root, strlen(root), spec->toolkit, RGM_LIBRARY_TOOLKIT))
            return true;
    }
    return false;
}

static bool take_anywhere(attempt *try, const rgm_library_spec *spec) {
    static const char standard[] = "/usr/local/cuda";
    return take_from_wheels(try, spec) || take_from_toolkit(try, spec) ||
           take(try, try->soname, 0, RGM_LIBRARY_DEFAULT) ||
           take_below(try, standard, sizeof standard - 1, spec->toolkit, RGM_LIBRARY_TOOLKIT);
}

static rgm_status find(rgm_library *library, const rgm_library_spec *spec, rgm_library_reach reach,
                       rgm_error *err) {
    attempt try = {.library = library, .err = err};
    const char *given = spec->variable ? getenv(spec->variable) : NULL;
    if (given && strcmp(given, "off") == 0)
        return rgm_error_set(err, RGM_UNAVAILABLE, "%s: switched off by %s=off", spec->title, spec->variable);
    if (given && *given) {
        try.soname = given;
        if (take(&try, given, 0, RGM_LIBRARY_ENVIRONMENT)) return RGM_OK;
        return rgm_error_set(err, RGM_UNAVAILABLE, "%s: %s names a file that cannot be loaded: %s",
                             spec->title, spec->variable, try.reason[0] ? try.reason : given);
    }
    // A copy that is in use wins over any other, whatever its version.
    for (const char *const *name = spec->sonames; *name; name++) {
        try.soname = *name;
        if (take(&try, *name, RTLD_NOLOAD, RGM_LIBRARY_LOADED)) return RGM_OK;
    }
    if (reach == RGM_LIBRARY_IF_LOADED)
        return rgm_error_set(err, RGM_UNAVAILABLE, "%s: the program has not loaded %s", spec->title,
                             spec->sonames[0]);
    for (const char *const *name = spec->sonames; *name; name++) {
        try.soname = *name;
        if (take_anywhere(&try, spec)) return RGM_OK;
    }
    if (try.reason[0] && !strstr(try.reason, "No such file"))
        return rgm_error_set(err, RGM_UNAVAILABLE, "%s: %s; %s", spec->title, try.reason, spec->remedy);
    return rgm_error_set(err, RGM_UNAVAILABLE, "%s: %s was not found; %s", spec->title, spec->sonames[0],
                         spec->remedy);
}

rgm_status rgm_library_open(rgm_library *library, const rgm_library_spec *spec, rgm_library_reach reach,
                            const rgm_symbol *symbols, size_t count, void *table, rgm_error *err) {
    *library = (rgm_library){0};
    RGM_TRY(find(library, spec, reach, err));
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library->handle, symbols[i].name);
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
        if (address) continue;
        if (!(library->missing & (1u << symbols[i].capability)))
            library->absent[symbols[i].capability] = symbols[i].name;
        library->missing |= 1u << symbols[i].capability;
    }
    return RGM_OK;
}

// --- is it there ------------------------------------------------------------------------------------------

typedef struct {
    const rgm_library_spec *spec;
    const char *given; // by its variable, NULL for nothing
    uint64_t *seen;
    bool found;
} search;

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg) {
    search *s = arg;
    (void)size;
    if (*s->seen == info->dlpi_adds) return 1;
    if (!info->dlpi_name) return 0;
    const char *base = base_of(info->dlpi_name);
    if (s->given) s->found = strcmp(base, base_of(s->given)) == 0;
    for (const char *const *name = s->spec->sonames; !s->given && !s->found && *name; name++)
        s->found = strcmp(base, *name) == 0;
    return s->found;
}

static int look_at_count(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    *(uint64_t *)arg = info->dlpi_adds;
    return 1;
}

bool rgm_library_is_loaded(const rgm_library_spec *spec, uint64_t *seen) {
    uint64_t added = 0;
    const char *given = spec->variable ? getenv(spec->variable) : NULL;
    if (given && strcmp(given, "off") == 0) return false;
    search s = {.spec = spec, .given = given && *given ? given : NULL, .seen = seen};
    // Before the list is read: what is added meanwhile is looked at next time.
    (void)dl_iterate_phdr(look_at_count, &added);
    (void)dl_iterate_phdr(look_at_object, &s);
    *seen = added;
    return s.found;
}

void rgm_library_close(rgm_library *library) {
    if (library->handle) dlclose(library->handle);
    *library = (rgm_library){0};
}

rgm_status rgm_library_needs(const rgm_library *library, const rgm_library_spec *spec, uint32_t capability,
                             rgm_error *err) {
    if (!(library->missing & (1u << capability))) return RGM_OK;
    return rgm_error_set(err, RGM_UNAVAILABLE, "%s: %s has no %s; a newer version is needed", spec->title,
                         library->path, library->absent[capability]);
}

void *rgm_library_beside(const rgm_library *library, const char *name) {
    char path[sizeof library->path + 64];
    const char *slash = strrchr(library->path, '/');
    if (!slash) return NULL;
    int wrote = snprintf(path, sizeof path, "%.*s/%s", (int)(slash - library->path), library->path, name);
    return wrote > 0 && (size_t)wrote < sizeof path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}
