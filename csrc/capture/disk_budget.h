// SPDX-License-Identifier: Apache-2.0
// Room on the disk that the files of one recording may take together: RUN, and beside it RUN.2, RUN.PID and
// whatever else is called RUN.something, in all processes. Room is counted before it is written to. What is
// in the files is taken out by who watches them (python/regimeter/monitor/ring.py), so a file without room
// waits for that.
#ifndef RGM_CAPTURE_DISK_BUDGET_H
#define RGM_CAPTURE_DISK_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

// Stands in the folder while one of its recordings asks, so that one at a time does.
#define RGM_DISK_BUDGET_LOCK ".regimeter-room"

// Asks the file system for room from an offset on; 0, or the reason why there is none, as errno has it:
// EDQUOT where the files would take more than `limit_bytes` together, 0 for no limit, or where others ask all
// the time. Waits for some milliseconds at most.
int rgm_disk_budget_reserve(int64_t limit_bytes, int fd, int64_t offset, int64_t length);

#endif
