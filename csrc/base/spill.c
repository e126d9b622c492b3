// SPDX-License-Identifier: Apache-2.0
// One range of addresses, mapped onto one file that has holes where nothing was written. A block has a room
// in it, a power of two of bytes; rooms of blocks that are to lie in memory are covered by pages without a
// file.
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fork.h"

enum { FIRST_ORDER = 16, ORDERS = 48, PATH_BYTES = 4096 };
_Static_assert(1 << FIRST_ORDER == RGM_SPILL_LEAST, "the smallest room");

#define MOST_ADDRESSES (SIZE_MAX < (UINT64_C(1) << 42) ? SIZE_MAX / 8 + 1 : (size_t)(UINT64_C(1) << 42))
#define LEAST_ADDRESSES ((size_t)1 << 30)
#define TMPFS 0x01021994
#define RAMFS 0x858458f6

// Stands before each block.
typedef struct {
    _Alignas(16) size_t bytes; // with this head
    uint8_t order;             // of its room
    bool in_file, column;
} head;

// Rooms that are free again, by their places in the range.
typedef struct {
    size_t *places;
    size_t count, capacity;
} stack;

rgm_spill_range rgm_spill_addresses;

static struct {
    pthread_mutex_t mutex;
    int file;
    char folder[PATH_BYTES];
    size_t next; // the place behind the last room
    stack free_rooms[ORDERS];
    rgm_spill_use use;
    int refused;  // the error number, 0: no block was
    bool shared;  // a child may look at what is in the file
    bool inherit; // this is such a child
} spill = {.mutex = PTHREAD_MUTEX_INITIALIZER, .file = -1};

static char *at(size_t place) { return (char *)atomic_load(&rgm_spill_addresses.base) + place; }
static size_t place_of(const head *h) { return (size_t)((const char *)h - at(0)); }
static size_t room_of(unsigned order) { return (size_t)1 << order; }

// --- begin ------------------------------------------------------------------------------------------------

static void before_fork(void) { pthread_mutex_lock(&spill.mutex); }
static void after_fork(void) {
    spill.shared = true;
    pthread_mutex_unlock(&spill.mutex);
}
static void in_child(void) {
    spill.inherit = true;
    pthread_mutex_unlock(&spill.mutex);
}
static const rgm_fork_hooks hooks = {before_fork, after_fork, in_child};

static rgm_status check_folder(const char *folder, rgm_error *err) {
    struct statfs system;
    if (statfs(folder, &system) != 0) return rgm_error_os(err, RGM_IO, errno, "spill folder %s", folder);
    if ((uint32_t)system.f_type == TMPFS || (uint32_t)system.f_type == RAMFS)
        return rgm_error_set(
            err, RGM_UNAVAILABLE,
            "spill folder %s: its files lie in memory themselves; name a folder on a disk by "
            "REGIMETER_SPILL",
            folder);
    return RGM_OK;
}

static rgm_status make_file(const char *folder, int *file, rgm_error *err) {
    char path[PATH_BYTES];
    if ((size_t)snprintf(path, sizeof path, "%s/regimeter-spill-XXXXXX", folder) >= sizeof path)
        return rgm_error_os(err, RGM_IO, ENAMETOOLONG, "spill folder %s", folder);
    *file = mkostemp(path, O_CLOEXEC);
    if (*file < 0) return rgm_error_os(err, RGM_IO, errno, "spill folder %s", folder);
    (void)unlink(path);
    int failed = posix_fallocate(*file, 0, RGM_SPILL_LEAST);
    if (failed == ENOSPC || failed == EDQUOT || failed == EFBIG)
        return rgm_error_os(err, RGM_IO, failed, "spill folder %s", folder);
    if (failed || fallocate(*file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, RGM_SPILL_LEAST) != 0)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "spill folder %s: its file system cannot reserve space and give it back; name "
                             "another folder by REGIMETER_SPILL",
                             folder);
    return RGM_OK;
}

// As many addresses as file system, limits and machine give.
static rgm_status map_file(const char *folder, int file, rgm_error *err) {
    struct rlimit limit;
    size_t bytes = MOST_ADDRESSES;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0) // going beyond it would end the process
        while (bytes > limit.rlim_cur && bytes > LEAST_ADDRESSES) bytes /= 2;
    for (; bytes >= LEAST_ADDRESSES; bytes /= 2) {
        if (ftruncate(file, (off_t)bytes) != 0) continue;
        void *range = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
        if (range == MAP_FAILED) continue;
        atomic_store(&rgm_spill_addresses.base, (uintptr_t)range);
        atomic_store(&rgm_spill_addresses.bytes, bytes);
        return RGM_OK;
    }
    return rgm_error_os(err, RGM_IO, errno, "spill folder %s: no file of %zu bytes can be mapped", folder,
                        LEAST_ADDRESSES);
}

static rgm_status begin(const char *folder, rgm_error *err) {
    int file = -1;
    rgm_status status = RGM_OK;
    size_t length = strlen(folder);
    if (length >= sizeof spill.folder)
        return rgm_error_os(err, RGM_IO, ENAMETOOLONG, "spill folder %s", folder);
    RGM_TRY(check_folder(folder, err));
    RGM_GOTO(make_file(folder, &file, err));
    RGM_GOTO(map_file(folder, file, err));
    memcpy(spill.folder, folder, length + 1);
    spill.file = file;
    file = -1;
    rgm_fork_watch(RGM_FORK_SPILL, &hooks);
done:
    if (file >= 0) close(file);
    return status;
}

rgm_status rgm_spill_begin(const char *folder, size_t budget, rgm_error *err) {
    rgm_status status = RGM_OK;
    pthread_mutex_lock(&spill.mutex);
    if (spill.file < 0) status = begin(folder, err);
    if (status == RGM_OK) {
        spill.use.on = true;
        spill.use.budget = budget;
    }
    pthread_mutex_unlock(&spill.mutex);
    return status;
}

// --- rooms ------------------------------------------------------------------------------------------------

static unsigned order_of(size_t bytes) {
    unsigned order = FIRST_ORDER;
    while (room_of(order) < bytes) order++;
    return order;
}

static bool find_room(unsigned order, size_t *place) {
    stack *rooms = &spill.free_rooms[order];
    if (rooms->count) {
        *place = rooms->places[--rooms->count];
        return true;
    }
    if (room_of(order) > atomic_load(&rgm_spill_addresses.bytes) - spill.next) return false;
    *place = spill.next;
    spill.next += room_of(order);
    return true;
}

// A room that cannot be noted is not used again.
static void note_free(unsigned order, size_t place) {
    stack *rooms = &spill.free_rooms[order];
    if (rooms->count == rooms->capacity) {
        size_t capacity = rooms->capacity ? 2 * rooms->capacity : 16;
        size_t *places = realloc(rooms->places, capacity * sizeof *places);
        if (!places) return;
        rooms->places = places;
        rooms->capacity = capacity;
    }
    rooms->places[rooms->count++] = place;
}

static bool fits_memory(size_t more, bool column) {
    size_t most = column ? spill.use.budget / 2 : spill.use.budget;
    return spill.inherit || (more <= most && spill.use.in_memory <= most - more);
}

static int cover(size_t place, unsigned order, bool in_file) {
    int flags = in_file ? MAP_SHARED | MAP_NORESERVE | MAP_FIXED
                        : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    void *pages = mmap(at(place), room_of(order), PROT_READ | PROT_WRITE, flags, in_file ? spill.file : -1,
                       in_file ? (off_t)place : 0);
    return pages == MAP_FAILED ? errno : 0;
}

static int reserve(size_t place, size_t bytes) {
    int failed;
    do failed = posix_fallocate(spill.file, (off_t)place, (off_t)bytes);
    while (failed == EINTR);
    return failed;
}

static void count(bool in_file, size_t before, size_t after) {
    uint64_t *used = in_file ? &spill.use.in_file : &spill.use.in_memory;
    *used += after - before;
    if (spill.use.in_file > spill.use.most_in_file) spill.use.most_in_file = spill.use.in_file;
}

// A room of the order for so many bytes, with its head; NULL where it is refused.
static head *take(size_t bytes, unsigned order, bool column) {
    size_t place;
    bool in_file = !fits_memory(bytes, column);
    if (order >= ORDERS || !find_room(order, &place)) {
        spill.refused = ENOMEM;
        return NULL;
    }
    int failed = in_file ? reserve(place, bytes) : cover(place, order, false);
    if (failed) {
        spill.refused = failed;
        note_free(order, place);
        return NULL;
    }
    head *h = (head *)at(place);
    *h = (head){bytes, (uint8_t)order, in_file, column};
    count(in_file, 0, bytes);
    return h;
}

// Whether the room is as new: without pages in memory or on the disk.
static bool clear(const head *h, size_t place) {
    unsigned order = h->order;
    if (!h->in_file) return cover(place, order, true) == 0;
    if (spill.inherit) return true; // the child puts memory of its own there
    if (spill.shared) return false;
    return fallocate(spill.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)place,
                     (off_t)room_of(order)) == 0;
}

static void give_back(head *h) {
    size_t place = place_of(h);
    unsigned order = h->order;
    count(h->in_file, h->bytes, 0);
    if (clear(h, place)) note_free(order, place);
}

// Whether the block can have so many bytes where it is; where not, it may still get them elsewhere, so
// nothing is refused yet. One in a file is not this process's own to change once it was forked.
static bool stretch(head *h, size_t bytes) {
    bool more = bytes > h->bytes;
    if (bytes > room_of(h->order) || (h->in_file && spill.inherit)) return false;
    if (more && !h->in_file && !fits_memory(bytes - h->bytes, h->column)) return false;
    if (more && h->in_file && reserve(place_of(h), bytes) != 0) return false;
    count(h->in_file, h->bytes, bytes);
    h->bytes = bytes;
    return true;
}

// --- blocks -----------------------------------------------------------------------------------------------

static bool with_head(size_t *bytes) {
    if (*bytes > SIZE_MAX / 4) return false;
    *bytes += sizeof(head);
    return true;
}

void *rgm_spill_take(size_t bytes, bool column) {
    if (!with_head(&bytes)) return NULL;
    pthread_mutex_lock(&spill.mutex);
    head *h = take(bytes, order_of(bytes), column);
    pthread_mutex_unlock(&spill.mutex);
    return h ? h + 1 : NULL;
}

// A block that has grown out of its room will grow again: the next one is twice as large as it needs to be.
void *rgm_spill_resize(void *block, size_t bytes) {
    head *old = (head *)block - 1, *fresh = old;
    if (!with_head(&bytes)) return NULL;
    pthread_mutex_lock(&spill.mutex);
    if (!stretch(old, bytes)) fresh = take(bytes, order_of(bytes) + 1, old->column);
    if (fresh && fresh != old) {
        size_t kept = old->bytes < bytes ? old->bytes : bytes;
        memcpy(fresh + 1, block, kept - sizeof *old);
        give_back(old);
    }
    pthread_mutex_unlock(&spill.mutex);
    return fresh ? fresh + 1 : NULL;
}

void rgm_spill_give_back(void *block) {
    pthread_mutex_lock(&spill.mutex);
    give_back((head *)block - 1);
    pthread_mutex_unlock(&spill.mutex);
}

// --- questions --------------------------------------------------------------------------------------------

rgm_spill_use rgm_spill_now(void) {
    pthread_mutex_lock(&spill.mutex);
    rgm_spill_use use = spill.use;
    pthread_mutex_unlock(&spill.mutex);
    return use;
}

bool rgm_spill_refused(rgm_error *err) {
    pthread_mutex_lock(&spill.mutex);
    int refused = spill.refused;
    spill.refused = 0;
    if (refused)
        (void)rgm_error_os(err, RGM_IO, refused,
                           "spill folder %s: no room for more (REGIMETER_SPILL names another folder)",
                           spill.folder);
    pthread_mutex_unlock(&spill.mutex);
    return refused != 0;
}
