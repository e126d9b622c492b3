// SPDX-License-Identifier: Apache-2.0
// A recording session: recorders, call sites, the pool of blocks, the drainer thread, the sampling thread
// and, with a path, the journal.
//
// Threads: begin and end of scopes by any thread; everything else here by any thread too, under the
// session's own locks. Fork: the child's copy starts empty, with new ids and, with a path, its own file
// PATH.PID; the parent is unaffected. Lifetime: free after the last user has let go; stop first.
#ifndef RGM_CAPTURE_SESSION_H
#define RGM_CAPTURE_SESSION_H

#include "base/queue.h"
#include "base/strings.h"
#include "capture/governor.h"
#include "capture/options.h"
#include "capture/own_cost.h"
#include "capture/recorder.h"
#include "capture/stack_source.h"
#include "model/run.h"

typedef struct rgm_journal rgm_journal;

enum { RGM_SITE_DISABLED = 1, RGM_SITE_SAMPLED = 2 };

// Stable address for the life of the session.
typedef struct {
    uint32_t id;
    uint32_t name; // string id
    uint8_t device;
    uint8_t role; // rgm_role
    _Atomic(uint8_t) backend;
    _Atomic(uint8_t) flags;
    _Atomic(uint32_t) threshold; // a 32-bit random number below it is recorded
    _Atomic(uint64_t) skipped;   // calls left out by sampling
    uint32_t probes;             // for the Python layer: calls until the next look at the backend
    uint32_t calls;
} rgm_site;

typedef struct {
    uint64_t scopes;  // records written so far, in the file and in memory
    uint64_t dropped; // no room in the memory budget
    uint64_t lost;    // ended after the session had stopped or forked
    uint64_t sampled_out;
    uint64_t rows[RGM_LOG_COUNT]; // of each log: samples, device rows
    uint64_t blocks;              // 64 KiB blocks allocated
    uint64_t hot_blocks;          // of those, by a recording thread because the pool was empty
    uint64_t sites;
    uint64_t strings;
    uint64_t text_bytes;
    int64_t service_cpu_ns; // of the drainer and the samplers
    int64_t own_ns[RGM_OWN_COUNT];
    uint32_t one_in[RGM_GOVERNED_COUNT]; // taken now, of what the budget governs
    bool journal_active;
    bool stopped;
} rgm_session_stats;

// `path` NULL records in memory; a relative one is in the folder of this moment for good. A file that cannot
// be written is not an error: the session records in memory and rgm_session_warning tells why. A file that
// another session is writing is RGM_BUSY; one that is not ours, RGM_INVALID.
rgm_status rgm_session_new(rgm_session **session, const rgm_session_options *options, const char *path,
                           rgm_error *err) RGM_NODISCARD;
// Ends recording: collects what is open, closes the journal, joins the threads. May be called again.
void rgm_session_stop(rgm_session *session);
void rgm_session_free(rgm_session *session);

uint64_t rgm_session_id(const rgm_session *session);
// Address of the id, for callers that cannot afford a call; it changes at stop (to 0) and in a forked child.
const _Atomic(uint64_t) *rgm_session_id_ref(const rgm_session *session);
rgm_status rgm_session_site(rgm_session *session, const char *name, size_t length, rgm_device device,
                            rgm_role role, rgm_site **site, rgm_error *err) RGM_NODISCARD;
// Calls back for every site known so far.
void rgm_session_each_site(rgm_session *session, void (*visit)(rgm_site *site, const char *name, void *arg),
                           void *arg);
void rgm_session_site_backend(rgm_session *session, rgm_site *site, rgm_backend backend);
// Interns a metadata text; 0 (and a count) when there is no room.
uint32_t rgm_session_metadata(rgm_session *session, const char *json, size_t length);
// The text of a string id of the session: a name or a metadata text.
rgm_string rgm_session_text(const rgm_session *session, uint32_t id);
rgm_status rgm_session_environment(rgm_session *session, const char *json, size_t length,
                                   rgm_error *err) RGM_NODISCARD;
// Gives the calling thread a name in the recording.
void rgm_session_name_thread(rgm_session *session, const char *name, size_t length);
void rgm_session_note(rgm_session *session, rgm_anomaly code, int64_t count);
// Adds to what recording has cost.
void rgm_session_own(rgm_session *session, rgm_own_cost what, uint64_t ticks);
// Whether the budget lets the scope that begins now read memory.
bool rgm_session_reads_memory(const rgm_session *session, const rgm_recorder *recorder);
// Keeps rows of one of the logs; what finds no room is counted, and false returned.
bool rgm_session_rows(rgm_session *session, rgm_log log, const void *rows, size_t count);

// Moves everything recorded so far to the journal, if there is one.
rgm_status rgm_session_flush(rgm_session *session, rgm_error *err) RGM_NODISCARD;
// Forgets everything recorded so far.
void rgm_session_reset(rgm_session *session);
// Snapshots lack scopes with a role from now on; the file has them.
void rgm_session_leave_out_roles(rgm_session *session, bool leave);
// What has been recorded so far, as a Run that the caller owns. Open scopes are in it once stopped.
rgm_status rgm_session_snapshot(rgm_session *session, rgm_run **run, rgm_error *err) RGM_NODISCARD;
void rgm_session_get_stats(rgm_session *session, rgm_session_stats *stats);
// Path of the file being written, "" for none. Valid until the session is freed or forks.
const char *rgm_session_path(const rgm_session *session);
// Takes the pending warning, if any, into the buffer.
bool rgm_session_take_warning(rgm_session *session, char *text, size_t room);
// Called by a session, on whatever thread, when something went wrong that the user should hear of now: the
// file cannot be written any more. The call must not take long, and nothing of the session.
void rgm_session_on_alarm(void (*call)(void));
// Length of an interval of ticks in nanoseconds, by the session's time base. Waits for no file.
int64_t rgm_session_elapsed_ns(rgm_session *session, uint64_t start, uint64_t ticks);
// Adds a folder of a control group whose limit may hold the process back; false when there is no room for it.
// Before the first scope.
bool rgm_session_control_group(rgm_session *session, const char *folder);
// Sets the memory sampler's interval; 0 stops it.
void rgm_session_sampling(rgm_session *session, int64_t interval_ns);
// Who knows the stacks of this process's threads; they are sampled from the first scope on, where the options
// ask for it. Before the first scope.
void rgm_session_stacks(rgm_session *session, const rgm_stack_source *source);
// Why they are not sampled any more, "" where they are or nobody asked for it.
const char *rgm_session_stacks_refused(rgm_session *session);
// Has a session's threads call this in passing: the drainer, which may be held up by it, and the one that
// samples, which may not. Once, before the first scope; the argument outlives the session.
typedef void (*rgm_session_look)(void *arg, bool may_wait);
void rgm_session_on_pass(rgm_session *session, rgm_session_look look, void *arg);
// In a forked child whose parent's stacks were sampled: sample the child's, without waiting for a scope.
void rgm_session_resume(rgm_session *session);
// Allocates and touches blocks ahead of time.
void rgm_session_warm(rgm_session *session, size_t scopes);

// For the recorder: blocks, threads.
rgm_block *rgm_session_take_block(rgm_session *session);
rgm_recorder *rgm_session_adopt_thread(rgm_session *session);

#endif
