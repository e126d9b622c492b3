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
    MOST_ATTEMPTS = 10,        // at a write that the program comes between
};

// Whether the path still names the open file: another session may have put its own in place meanwhile.
static bool still_named(const char *path, const rgm_kept_file *file) {
    struct stat named;
    return stat(path, &named) == 0 && named.st_ino == file->inode && named.st_dev == file->device;
}

static rgm_status open_locked(const char *path, rgm_kept_file *file, rgm_error *err) {
    if (!rgm_kept_open(file, path, O_RDWR | O_CREAT, 0666))
        return rgm_error_os(err, RGM_IO, errno, "cannot write %s", path);
    bool locked = flock(rgm_kept_descriptor(file), LOCK_EX | LOCK_NB) == 0;
    if (locked && still_named(path, file)) return RGM_OK;
    int reason = locked ? EWOULDBLOCK : errno;
    rgm_kept_close(file);
    if (reason == EWOULDBLOCK)
        return rgm_error_set(err, RGM_BUSY,
                             "%s is being written by another session; give this one its own file", path);
    return rgm_error_os(err, RGM_IO, reason, "cannot lock %s", path);
}

// The file's descriptor, -1 where the program has taken it again meanwhile. A lock that is not had again is a
// forked child's, which has the file from us.
static rgm_status own_file(rgm_journal *journal, int *fd, rgm_error *err) {
    rgm_kept_file again;
    *fd = rgm_kept_descriptor(&journal->file);
    if (*fd >= 0) return RGM_OK;
    if (rgm_kept_open(&again, journal->path, O_RDWR, 0) && rgm_kept_same(&again, &journal->file)) {
        journal->file = again;
        *fd = rgm_kept_descriptor(&again);
        (void)flock(*fd, LOCK_EX | LOCK_NB);
        return RGM_OK;
    }
    rgm_kept_close(&again);
    return rgm_error_set(err, RGM_IO, "%s was closed by the program, and is no longer under its name",
                         journal->path);
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
static uint32_t new_file_id(const rgm_kept_file *file) {
    struct {
        int64_t monotonic_ns, pid;
        uint64_t ticks, inode;
    } seed = {rgm_clock_monotonic_ns(), getpid(), rgm_clock_ticks(), file->inode};
    return rgm_crc32c(0, &seed, sizeof seed) | 1u;
}

static bool is_full(int reason) { return reason == ENOSPC || reason == EDQUOT || reason == EFBIG; }

// Asks for room for `bytes` and, after them, for the last frames; 0, or the reason why there is none.
static int keep_room(rgm_journal *journal, int fd, int64_t bytes) {
    int64_t end = journal->length + bytes + LAST_BYTES;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (uint64_t)end > limit.rlim_cur)
        return EFBIG;
    int64_t more = PROMISE_BYTES;
    while (end > journal->promised) {
        int64_t from = journal->promised > journal->length ? journal->promised : journal->length;
        int reason = rgm_disk_budget_reserve(journal->disk_limit, fd, from, end + more - from);
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
static bool was_cut(const rgm_journal *journal, int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 && info.st_size < journal->length;
}

// Whether the program has put a file of its own under the number since it was asked for.
static bool was_taken(const rgm_journal *journal, int fd) {
    return fd < 0 || rgm_kept_descriptor(&journal->file) != fd;
}

// 0, or the reason why not all of it was written.
static int write_to(rgm_journal *journal, int fd, const rgm_bytes *bytes, bool last) {
    int reason = last ? 0 : keep_room(journal, fd, (int64_t)bytes->length);
    for (size_t done = 0; !reason && done < bytes->length;) {
        ssize_t wrote = pwrite(fd, bytes->data + done, bytes->length - done, journal->length + (int64_t)done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            reason = wrote < 0 ? errno : ENOSPC;
            // What stands before this write stays readable.
            if (!was_taken(journal, fd)) (void)ftruncate(fd, journal->length);
            journal->promised = journal->promised == INT64_MAX ? INT64_MAX : 0; // it went with the rest
            break;
        }
        done += (size_t)wrote;
    }
    return reason;
}

// Says in the head, which needs no room, that a write has found none.
static void mark_lacking(rgm_journal *journal, int fd) {
    rgm_bytes head = {0};
    if (journal->lacking || !journal->length) return;
    rgm_frame_write_head(&head, RGM_FILE_JOURNAL, journal->series.file, true);
    if (!head.failed && !was_taken(journal, fd) && pwrite(fd, head.data, head.length, 0) > 0)
        journal->lacking = true;
    rgm_bytes_release(&head);
}

// Again, where the program took the number meanwhile: what was seen and written was of another file.
static rgm_status write_all(rgm_journal *journal, const rgm_bytes *bytes, bool last, rgm_error *err) {
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        int fd;
        RGM_TRY(own_file(journal, &fd, err));
        journal->crowded = false;
        bool cut = was_cut(journal, fd);
        int reason = cut ? 0 : write_to(journal, fd, bytes, last);
        if (was_taken(journal, fd)) continue;
        if (cut)
            return rgm_error_set(err, RGM_IO, "%s was cut or written over by another program", journal->path);
        if (is_full(reason) && !journal->crowded) mark_lacking(journal, fd);
        if (reason) return rgm_error_os(err, RGM_IO, reason, "cannot write %s", journal->path);
        journal->length += (int64_t)bytes->length;
        return RGM_OK;
    }
    return rgm_error_set(err, RGM_IO, "%s: the program closes it again and again", journal->path);
}

static rgm_status write_head(rgm_journal *journal, rgm_error *err) {
    rgm_bytes head = {0};
    rgm_frame_write_head(&head, RGM_FILE_JOURNAL, journal->series.file, false);
    rgm_status status = head.failed ? rgm_error_no_memory(err) : write_all(journal, &head, false, err);
    rgm_bytes_release(&head);
    return status;
}

rgm_status rgm_journal_open(rgm_journal *journal, const char *path, int64_t disk_limit, char *kept,
                            size_t kept_room, rgm_error *err) {
    *journal = (rgm_journal){0};
    kept[0] = '\0';
    rgm_status status = RGM_OK;
    bool again = true;
    for (int attempt = 0; again && attempt < 3; attempt++) {
        rgm_journal_close(journal);
        RGM_GOTO(open_locked(path, &journal->file, err));
        RGM_GOTO(take_over(path, rgm_kept_descriptor(&journal->file), kept, kept_room, &again, err));
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
    journal->series.file = new_file_id(&journal->file);
    journal->disk_limit = disk_limit;
    rgm_error reason = RGM_ERROR_NONE;
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
    struct stat info;
    int fd;
    if (!journal->path || own_file(journal, &fd, NULL) != RGM_OK) return;
    if (fstat(fd, &info) == 0 && info.st_size == journal->length) (void)ftruncate(fd, journal->length);
    (void)flock(fd, LOCK_UN);
}

bool rgm_journal_own_path(rgm_journal *journal, char *path, size_t room) {
    int fd;
    bool has = own_file(journal, &fd, NULL) == RGM_OK && fd >= 0;
    if (has) (void)snprintf(path, room, "/proc/self/fd/%d", fd);
    return has;
}

void rgm_journal_close(rgm_journal *journal) {
    rgm_kept_close(&journal->file);
    rgm_free(journal->path);
    *journal = (rgm_journal){0};
}
