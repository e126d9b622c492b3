// SPDX-License-Identifier: Apache-2.0
#include "capture/journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "capture/disk_budget.h"
#include "io/journal/frame.h"

enum {
    LAST_BYTES = 16 << 10,     // for the frames that say what is missing, and that the recording was closed
    PROMISE_BYTES = 512 << 10, // asked for at once
};

// Whether the path still names the open file: another session may have put its own in place meanwhile.
static bool still_named(const char *path, int fd) {
    struct stat named, opened;
    return stat(path, &named) == 0 && fstat(fd, &opened) == 0 && named.st_ino == opened.st_ino &&
           named.st_dev == opened.st_dev;
}

static rgm_status open_locked(const char *path, int *fd, rgm_error *err) {
    *fd = rgm_descriptor_open(path, O_RDWR | O_CREAT, 0666);
    if (*fd < 0) return rgm_error_os(err, RGM_IO, errno, "cannot write %s", path);
    bool locked = flock(*fd, LOCK_EX | LOCK_NB) == 0;
    if (locked && still_named(path, *fd)) return RGM_OK;
    int reason = locked ? EWOULDBLOCK : errno;
    close(*fd);
    *fd = -1;
    if (reason == EWOULDBLOCK)
        return rgm_error_set(err, RGM_BUSY,
                             "%s is being written by another session; give this one its own file", path);
    return rgm_error_os(err, RGM_IO, reason, "cannot lock %s", path);
}

static rgm_status keep_unfinished(const char *path, char *kept, size_t room, rgm_error *err) {
    for (int n = 1; n < 1000; n++) {
        struct stat info;
        if ((size_t)snprintf(kept, room, "%s.unfinished-%d", path, n) >= room)
            return rgm_error_os(err, RGM_IO, ENAMETOOLONG, "cannot rename %s", path);
        if (lstat(kept, &info) == 0) continue;
        if (rename(path, kept) == 0) return RGM_OK;
        return rgm_error_os(err, RGM_IO, errno, "cannot rename %s", path);
    }
    return rgm_error_set(err, RGM_INVALID,
                         "%s has a thousand unfinished recordings beside it; move them away", path);
}

// Decides what happens to a file that is already there; *again asks for it to be opened once more.
static rgm_status take_over(const char *path, int fd, char *kept, size_t room, bool *again, rgm_error *err) {
    struct stat info;
    *again = false;
    if (fstat(fd, &info) != 0) return rgm_error_os(err, RGM_IO, errno, "cannot read %s", path);
    if (!S_ISREG(info.st_mode)) return rgm_error_set(err, RGM_INVALID, "%s is not a regular file", path);
    if (info.st_size == 0) return RGM_OK;
    bool ours;
    bool finished = rgm_frame_is_finished(fd, &ours);
    if (!ours)
        return rgm_error_set(err, RGM_INVALID,
                             "%s exists and is not a regimeter recording; choose another file or remove it",
                             path);
    if (!finished) {
        *again = true;
        return keep_unfinished(path, kept, room, err);
    }
    // Replaced, not emptied: a session that has stopped may still be reading it.
    if (unlink(path) != 0) return rgm_error_os(err, RGM_IO, errno, "cannot replace %s", path);
    *again = true;
    return RGM_OK;
}

// Different for two files that are made at the same time, by one process or by several.
static uint32_t new_file_id(int fd) {
    struct {
        int64_t monotonic_ns, pid;
        uint64_t ticks, inode;
    } seed = {rgm_clock_monotonic_ns(), getpid(), rgm_clock_ticks(), 0};
    struct stat info;
    if (fstat(fd, &info) == 0) seed.inode = (uint64_t)info.st_ino;
    return rgm_crc32c(0, &seed, sizeof seed) | 1u;
}

static bool is_full(int reason) { return reason == ENOSPC || reason == EDQUOT || reason == EFBIG; }

// Asks for room for `bytes` and, after them, for the last frames; 0, or the reason why there is none.
static int keep_room(rgm_journal *journal, int64_t bytes) {
    int64_t end = journal->length + bytes + LAST_BYTES;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (uint64_t)end > limit.rlim_cur)
        return EFBIG;
    int64_t more = PROMISE_BYTES;
    while (end > journal->promised) {
        int64_t from = journal->promised > journal->length ? journal->promised : journal->length;
        int reason = rgm_disk_budget_reserve(journal->disk_limit, journal->fd, from, end + more - from);
        if (!reason)
            journal->promised = end + more;
        else if (is_full(reason) && more)
            more = 0;
        else if (is_full(reason)) {
            journal->crowded = reason == EDQUOT && journal->disk_limit;
            return reason;
        } else if (reason != EINTR)
            journal->promised = INT64_MAX; // this file system promises nothing
    }
    return 0;
}

// Somebody else has emptied or shortened the file: what is in it now is not ours to write over.
static bool was_cut(const rgm_journal *journal) {
    struct stat info;
    return fstat(journal->fd, &info) == 0 && info.st_size < journal->length;
}

static rgm_status write_all(rgm_journal *journal, const rgm_bytes *bytes, bool last, rgm_error *err) {
    if (was_cut(journal))
        return rgm_error_set(err, RGM_IO, "%s was cut or written over by another program", journal->path);
    journal->crowded = false;
    int reason = last ? 0 : keep_room(journal, (int64_t)bytes->length);
    for (size_t done = 0; !reason && done < bytes->length;) {
        ssize_t wrote =
            pwrite(journal->fd, bytes->data + done, bytes->length - done, journal->length + (int64_t)done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            reason = wrote < 0 ? errno : ENOSPC;
            // What stands before this write stays readable.
            (void)ftruncate(journal->fd, journal->length);
            journal->promised = journal->promised == INT64_MAX ? INT64_MAX : 0; // it went with the rest
            break;
        }
        done += (size_t)wrote;
    }
    if (reason) return rgm_error_os(err, RGM_IO, reason, "cannot write %s", journal->path);
    journal->length += (int64_t)bytes->length;
    return RGM_OK;
}

static rgm_status write_head(rgm_journal *journal, rgm_error *err) {
    rgm_bytes head = {0};
    rgm_frame_write_head(&head, RGM_FILE_JOURNAL, journal->series.file);
    rgm_status status = head.failed ? rgm_error_no_memory(err) : write_all(journal, &head, false, err);
    rgm_bytes_release(&head);
    return status;
}

rgm_status rgm_journal_open(rgm_journal *journal, const char *path, int64_t disk_limit, char *kept,
                            size_t kept_room, rgm_error *err) {
    *journal = (rgm_journal){.fd = -1};
    kept[0] = '\0';
    rgm_status status = RGM_OK;
    bool again = true;
    for (int attempt = 0; again && attempt < 3; attempt++) {
        rgm_journal_close(journal);
        RGM_GOTO(open_locked(path, &journal->fd, err));
        RGM_GOTO(take_over(path, journal->fd, kept, kept_room, &again, err));
    }
    if (again) { // what is open now has another name, or none: it is not ours to write
        status = rgm_error_set(err, RGM_BUSY, "%s: other programs keep putting files in its place", path);
        goto done;
    }
    journal->path = rgm_strdup(path, strlen(path));
    if (!journal->path) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    journal->series.file = new_file_id(journal->fd);
    journal->disk_limit = disk_limit;
    rgm_error reason;
    rgm_error_clear(&reason);
    status = write_head(journal, &reason);
    if (status == RGM_IO && is_full(reason.os_errno)) status = RGM_OK;
    if (status != RGM_OK && err) *err = reason;
done:
    if (status != RGM_OK) rgm_journal_close(journal);
    return status;
}

rgm_status rgm_journal_append(rgm_journal *journal, rgm_bytes *frames, bool last, rgm_error *err) {
    if (!journal->length) RGM_TRY(write_head(journal, err));
    rgm_frame_series series = journal->series;
    rgm_frame_number(frames, &series);
    RGM_TRY(write_all(journal, frames, last, err));
    journal->series = series;
    return RGM_OK;
}

void rgm_journal_finish(rgm_journal *journal) {
    if (journal->fd < 0) return;
    struct stat info;
    if (fstat(journal->fd, &info) == 0 && info.st_size == journal->length)
        (void)ftruncate(journal->fd, journal->length);
    (void)flock(journal->fd, LOCK_UN);
}

void rgm_journal_own_path(const rgm_journal *journal, char *path, size_t room) {
    (void)snprintf(path, room, "/proc/self/fd/%d", journal->fd);
}

void rgm_journal_close(rgm_journal *journal) {
    if (journal->fd >= 0) close(journal->fd);
    journal->fd = -1;
    rgm_free(journal->path);
    *journal = (rgm_journal){.fd = -1};
}
