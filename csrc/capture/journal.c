// SPDX-License-Identifier: Apache-2.0
#include "capture/journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "io/frame.h"

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

rgm_status rgm_journal_open(rgm_journal *journal, const char *path, char *kept, size_t kept_room,
                            rgm_error *err) {
    *journal = (rgm_journal){.fd = -1};
    kept[0] = '\0';
    rgm_bytes head = {0};
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
    rgm_frame_write_head(&head, RGM_FILE_JOURNAL);
    if (!journal->path || head.failed) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    status = rgm_journal_append(journal, &head, err);
done:
    rgm_bytes_release(&head);
    if (status != RGM_OK) rgm_journal_close(journal);
    return status;
}

rgm_status rgm_journal_append(rgm_journal *journal, const rgm_bytes *frames, rgm_error *err) {
    size_t done = 0;
    while (done < frames->length) {
        ssize_t wrote =
            pwrite(journal->fd, frames->data + done, frames->length - done, journal->length + (int64_t)done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            int reason = wrote < 0 ? errno : ENOSPC;
            // What stands before this write stays readable.
            if (ftruncate(journal->fd, journal->length) != 0) reason = reason ? reason : errno;
            return rgm_error_os(err, RGM_IO, reason, "cannot write %s", journal->path);
        }
        done += (size_t)wrote;
    }
    journal->length += (int64_t)frames->length;
    return RGM_OK;
}

void rgm_journal_release_lock(rgm_journal *journal) {
    if (journal->fd >= 0) (void)flock(journal->fd, LOCK_UN);
}

void rgm_journal_own_path(const rgm_journal *journal, char *path, size_t room) {
    (void)snprintf(path, room, "/proc/self/fd/%d", journal->fd);
}

void rgm_journal_close(rgm_journal *journal) {
    if (journal->fd >= 0) close(journal->fd);
    journal->fd = -1;
    rgm_free(journal->path);
    journal->path = NULL;
}
