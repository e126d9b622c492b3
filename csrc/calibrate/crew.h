// SPDX-License-Identifier: Apache-2.0
// Threads that do the same work at the same time: they begin together, and the time is that from the first
// begin to the last end. Work of a crew never waits, so a member whose processor time is less than its time
// was taken off its processor by somebody else.
//
// Threads: one crew belongs to one thread, which sleeps while the crew runs.
#ifndef RGM_CALIBRATE_CREW_H
#define RGM_CALIBRATE_CREW_H

#include <stdint.h>

#include "base/status.h"

enum { RGM_CREW_MOST = 1024 };

typedef struct rgm_crew rgm_crew;
typedef void (*rgm_crew_work)(void *arg, unsigned member);

// Where there are as many members as processors that the process may use, each gets one for itself.
rgm_status rgm_crew_start(rgm_crew **crew, unsigned members, rgm_error *err) RGM_NODISCARD;
typedef struct {
    int64_t wall_ns;
    int64_t own_ns; // without what others took of the member that lost most
    double stolen;  // that part of the wall time
} rgm_crew_time;

rgm_crew_time rgm_crew_run(rgm_crew *crew, rgm_crew_work work, void *arg);
unsigned rgm_crew_members(const rgm_crew *crew);
void rgm_crew_end(rgm_crew *crew);

#endif
