// SPDX-License-Identifier: Apache-2.0
#include "cuda/compile/cubin_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/hash.h"
#include "base/memory.h"

enum {
    NAME_DIGITS = 32,
    STALE_SECONDS = 3600,
    FOLDER_ROOM = sizeof((rgm_cubin_cache *)0)->folder,
    PATH_ROOM = FOLDER_ROOM + 64
};
static const char magic[8] = "RGMCUB1\n";
static const char suffix[] = ".cubin";
static const char aside[] = ".tmp-"; // begins the name of a file that is being written

typedef struct {
    char magic[8];
    uint32_t crc; // of everything after this member
    uint32_t zero;
    uint64_t key_bytes;
    uint64_t image_bytes;
} entry_head;

#ifdef RGM_FAULTS
void (*rgm_cubin_cache_before_rename)(const char *path);
#endif

// --- the folder -------------------------------------------------------------------------------------------

static void unusable(rgm_cubin_cache *cache, const char *what, int os_errno) {
    cache->usable = false;
    // A long path loses its end, not the reason.
    (void)snprintf(cache->reason, sizeof cache->reason, "%s%s%s: %.160s", what, os_errno ? ": " : "",
                   os_errno ? strerror(os_errno) : "", cache->folder);
}

static bool choose(rgm_cubin_cache *cache, const char *folder) {
    const char *root = getenv("REGIMETER_CACHE"), *below = "/cubin";
    if (folder) {
        root = folder;
        below = "";
    } else if (root && strcmp(root, "off") == 0) {
        (void)snprintf(cache->reason, sizeof cache->reason, "switched off by REGIMETER_CACHE=off");
        return false;
    }
    if (!root || !*root) {
        root = getenv("XDG_CACHE_HOME");
        below = "/regimeter/cubin";
        if (root && *root != '/') root = NULL; // the specification of these variables asks to ignore it
    }
    if (!root) {
        root = getenv("HOME");
        below = "/.cache/regimeter/cubin";
    }
    if (!root || !*root) {
        (void)snprintf(cache->reason, sizeof cache->reason,
                       "no HOME and no REGIMETER_CACHE in the environment");
        return false;
    }
    int wrote = snprintf(cache->folder, sizeof cache->folder, "%s%s", root, below);
    if (wrote > 0 && (size_t)wrote < sizeof cache->folder) return true;
    (void)snprintf(cache->reason, sizeof cache->reason, "the path of the cache is too long");
    return false;
}

static bool make_folder(const char *folder) {
    char path[FOLDER_ROOM];
    (void)snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
        *at = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

void rgm_cubin_cache_open(rgm_cubin_cache *cache, const char *folder, int64_t most_bytes) {
    struct stat found;
    *cache = (rgm_cubin_cache){.most_bytes = most_bytes};
    if (!choose(cache, folder)) return;
    if (!make_folder(cache->folder) || stat(cache->folder, &found) != 0) {
        unusable(cache, "cannot make the folder", errno);
    } else if (!S_ISDIR(found.st_mode)) {
        unusable(cache, "not a folder", 0);
    } else if (found.st_uid != geteuid() || (found.st_mode & S_IWOTH)) {
        // Whoever can write an entry decides what runs on the device.
        unusable(cache, "another user may write to the folder", 0);
    } else if (access(cache->folder, W_OK | X_OK) != 0) {
        unusable(cache, "cannot write to the folder", errno);
    } else {
        cache->usable = true;
    }
}

void rgm_cubin_cache_path(const rgm_cubin_cache *cache, const rgm_bytes *key, char *path, size_t room) {
    uint64_t first = rgm_hash_bytes(key->data, key->length);
    // A second, independent fold: the sum enters each word's neighbourhood, not only the end.
    uint64_t second = rgm_hash_mix(rgm_crc32c(0, key->data, key->length), rgm_hash_u64(first));
    (void)snprintf(path, room, "%s/%016llx%016llx%s", cache->folder, (unsigned long long)first,
                   (unsigned long long)second, suffix);
}

// --- entries ----------------------------------------------------------------------------------------------

static bool read_all(int file, void *to, size_t bytes) {
    for (size_t at = 0; at < bytes;) {
        ssize_t got = read(file, (char *)to + at, bytes - at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += (size_t)got;
    }
    return true;
}

static bool write_all(int file, const void *from, size_t bytes) {
    for (size_t at = 0; at < bytes;) {
        ssize_t put = write(file, (const char *)from + at, bytes - at);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        at += (size_t)put;
    }
    return true;
}

static uint32_t sum_of(const entry_head *head, const void *key, const void *image) {
    uint32_t crc = rgm_crc32c(0, &head->zero, sizeof *head - offsetof(entry_head, zero));
    crc = rgm_crc32c(crc, key, head->key_bytes);
    return rgm_crc32c(crc, image, head->image_bytes);
}

static bool read_entry(int file, const rgm_bytes *key, rgm_bytes *image) {
    entry_head head;
    struct stat found;
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid()) return false;
    if (!read_all(file, &head, sizeof head) || memcmp(head.magic, magic, sizeof magic) != 0) return false;
    uint64_t rest = (uint64_t)found.st_size - sizeof head;
    if (head.key_bytes != key->length || head.key_bytes > rest || head.image_bytes != rest - head.key_bytes ||
        !head.image_bytes)
        return false;
    uint8_t *stored = rgm_malloc(head.key_bytes + head.image_bytes);
    if (!stored) return false;
    bool sound = read_all(file, stored, head.key_bytes + head.image_bytes) &&
                 head.crc == sum_of(&head, stored, stored + head.key_bytes) &&
                 memcmp(stored, key->data, key->length) == 0;
    if (sound) rgm_bytes_append(image, stored + head.key_bytes, head.image_bytes);
    rgm_free(stored);
    return sound && !image->failed;
}

bool rgm_cubin_cache_find(const rgm_cubin_cache *cache, const rgm_bytes *key, rgm_bytes *image) {
    char path[PATH_ROOM];
    if (!cache->usable || key->failed) return false;
    rgm_cubin_cache_path(cache, key, path, sizeof path);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return false;
    bool found = read_entry(file, key, image);
    if (found) (void)futimens(file, NULL); // used now: what was not used goes first
    (void)close(file);
    return found;
}

static int open_aside(const rgm_cubin_cache *cache, char *path, size_t room) {
    static _Atomic(unsigned) counter;
    int file = -1;
    for (int tries = 0; tries < 16 && file < 0; tries++) {
        (void)snprintf(path, room, "%s/%s%ld-%u", cache->folder, aside, (long)getpid(),
                       atomic_fetch_add(&counter, 1));
        file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0 && errno != EEXIST) break;
    }
    return file;
}

typedef struct {
    struct timespec used;
    int64_t bytes;
    char name[NAME_DIGITS + sizeof suffix];
} old_entry;

static int by_age(const void *a, const void *b) {
    const old_entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_entry(const char *name) {
    return strlen(name) == NAME_DIGITS + sizeof suffix - 1 && strcmp(name + NAME_DIGITS, suffix) == 0;
}

static void list_entries(DIR *folder, int place, rgm_bytes *list, int64_t *total) {
    time_t now = time(NULL);
    for (const struct dirent *at; (at = readdir(folder));) {
        struct stat found;
        bool entry = is_entry(at->d_name), temporary = strncmp(at->d_name, aside, sizeof aside - 1) == 0;
        if ((!entry && !temporary) || fstatat(place, at->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (temporary) { // left by a process that died; a living one needs no hour
            if (now - found.st_mtime > STALE_SECONDS) (void)unlinkat(place, at->d_name, 0);
            continue;
        }
        old_entry row = {.used = found.st_mtim, .bytes = found.st_size};
        memcpy(row.name, at->d_name, sizeof row.name);
        rgm_bytes_append(list, &row, sizeof row);
        *total += row.bytes;
    }
}

// Other processes may do the same at the same time: one of them then finds the file gone.
static void evict(const rgm_cubin_cache *cache) {
    rgm_bytes list = {0};
    int64_t total = 0;
    DIR *folder = opendir(cache->folder);
    if (!folder) return;
    int place = dirfd(folder);
    if (place >= 0) list_entries(folder, place, &list, &total);
    if (total > cache->most_bytes && !list.failed && list.data) {
        old_entry *rows = (old_entry *)(void *)list.data;
        size_t count = list.length / sizeof *rows;
        qsort(rows, count, sizeof *rows, by_age);
        for (size_t i = 0; i < count && total > cache->most_bytes; i++) {
            (void)unlinkat(place, rows[i].name, 0);
            total -= rows[i].bytes;
        }
    }
    (void)closedir(folder);
    rgm_bytes_release(&list);
}

bool rgm_cubin_cache_store(rgm_cubin_cache *cache, const rgm_bytes *key, const rgm_bytes *image) {
    char path[PATH_ROOM], temporary[PATH_ROOM];
    entry_head head = {.key_bytes = key->length, .image_bytes = image->length};
    if (!cache->usable || key->failed || image->failed || !image->length) return false;
    if ((int64_t)(sizeof head + key->length + image->length) > cache->most_bytes) {
        (void)snprintf(cache->reason, sizeof cache->reason, "the entry alone is larger than the cache");
        return false;
    }
    memcpy(head.magic, magic, sizeof magic);
    head.crc = sum_of(&head, key->data, image->data);
    rgm_cubin_cache_path(cache, key, path, sizeof path);
    int file = open_aside(cache, temporary, sizeof temporary);
    if (file < 0) {
        unusable(cache, "cannot write to the folder", errno);
        return false;
    }
    bool wrote = write_all(file, &head, sizeof head) && write_all(file, key->data, key->length) &&
                 write_all(file, image->data, image->length);
    int os_errno = errno;
    if (close(file) != 0 && wrote) {
        wrote = false;
        os_errno = errno;
    }
#ifdef RGM_FAULTS
    if (rgm_cubin_cache_before_rename) rgm_cubin_cache_before_rename(temporary);
#endif
    if (wrote && rename(temporary, path) != 0) {
        wrote = false;
        os_errno = errno;
    }
    if (!wrote) {
        (void)unlink(temporary);
        unusable(cache, "cannot write an entry", os_errno);
        return false;
    }
    evict(cache);
    return true;
}

rgm_status rgm_cubin_get(rgm_cubin_cache *cache, const rgm_compilation *what, rgm_bytes *image,
                         rgm_error *err) {
    rgm_bytes key = {0};
    rgm_status status = rgm_nvrtc_key(what, &key, err);
    if (status == RGM_OK && !(cache && rgm_cubin_cache_find(cache, &key, image))) {
        size_t before = image->length;
        status = rgm_nvrtc_compile(what, image, NULL, err);
        if (status == RGM_OK && cache) {
            rgm_bytes made = {.data = image->data + before, .length = image->length - before};
            (void)rgm_cubin_cache_store(cache, &key, &made);
        }
    }
    rgm_bytes_release(&key);
    return status;
}
