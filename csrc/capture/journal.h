// SPDX-License-Identifier: Apache-2.0
// The append-only file of a session. Every append is one write of whole frames, so a process that is killed
// leaves a file that ends at a frame boundary or in the middle of the last write, never a torn older block.
// After a failed write the file is cut back to its last good length, and the same may be tried again later.
//
// A program may close the file, as a daemon closes all that is open. It is opened again then by its name,
// where that still is this file's; nothing is ever written to what the program has opened under the number.
//
// Some room behind the end is asked of the file system ahead (where it can promise that), so that on a full
// disk there is room for the last frames, which say what is missing. Where there is none even for them (the
// program has lowered its limit on file sizes), the file's head says that a write has failed.
#ifndef RGM_CAPTURE_JOURNAL_H
#define RGM_CAPTURE_JOURNAL_H

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/status.h"
#include "io/journal/frame.h"

typedef struct rgm_journal {
    rgm_kept_file file;
    char *path;
    int64_t length;
    int64_t promised;   // end of the room that the file system keeps for us
    int64_t disk_limit; // bytes that this file and those beside it may take, 0 for any (disk_budget.h)
    bool crowded;       // the last append found no room within that
    bool lacking;       // the file's head says that a write has found no room
    rgm_frame_series series;
} rgm_journal;

// Locks the file for this session. An unfinished recording in its place is first renamed to
// PATH.unfinished-N, a finished one is replaced, and a file of another kind is refused. A disk that has no
// room for the head is no failure: the head comes with the first frames that find room. *kept receives the
// new name of an unfinished recording, or "".
rgm_status rgm_journal_open(rgm_journal *journal, const char *path, int64_t disk_limit, char *kept,
                            size_t kept_room, rgm_error *err) RGM_NODISCARD;
// After the END frame: gives back the room that was promised and not used. From here on another session may
// take the name; this one keeps its file for reading. Not for a forked child, whose length may be out of
// date.
void rgm_journal_finish(rgm_journal *journal);
// A path under which this process reaches the journal's file whatever its name has become; false where the
// program has closed it, and it is not under its name.
bool rgm_journal_own_path(rgm_journal *journal, char *path, size_t room);
// Numbers the frames and writes them. last: the room kept for the last frames may be used.
rgm_status rgm_journal_append(rgm_journal *journal, rgm_bytes *frames, bool last,
                              rgm_error *err) RGM_NODISCARD;
void rgm_journal_close(rgm_journal *journal);

#endif
