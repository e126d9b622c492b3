// SPDX-License-Identifier: Apache-2.0
#include "capture/instructions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"

// Numbers of requests: those of Valgrind itself, and those of the tool whose letters are C and T.
enum {
    RUNNING_ON_VALGRIND = 0x1001,
    MONITOR_COMMAND = 0x1202,
    TOOL = 'C' << 24 | 'T' << 16,
    TOGGLE_COLLECT = TOOL + 2,
    START_INSTRUMENTATION = TOOL + 4,
};

// A log beyond this is emptied. Callgrind goes on where it was, so what was before is a hole.
enum { LOG_ROOM = 1 << 24, LINE_ROOM = 96 };

static struct {
    rgm_kept_file log;
    pid_t process;
    off_t at; // what is before has been read
} source;

// Rotations of a register by 128 bits in all, then an exchange of a register with itself, is what Valgrind
// looks for; it takes the address of the arguments from rax and leaves the answer in rdx.
static uintptr_t ask(uintptr_t request, uintptr_t argument, uintptr_t unanswered) {
#ifdef __x86_64__
    volatile uintptr_t arguments[6] = {request, argument};
    uintptr_t answer = unanswered;
    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(arguments)
                     : "cc", "memory");
    return answer;
#else
    return unanswered;
#endif
}

// --- what Callgrind tells of itself -----------------------------------------------------------------------

// Reads the answer line by line: "current-tid: 2", then "events-2: 123456" among those of all threads.
typedef struct {
    char line[LINE_ROOM];
    size_t length;
    char wanted[LINE_ROOM]; // how the line with the count begins, "" before the thread is known
    uint64_t count;
} answer;

static const char *after(const char *line, const char *start) {
    size_t length = strlen(start);
    return length && strncmp(line, start, length) == 0 ? line + length : NULL;
}

static void take_line(answer *found) {
    found->line[found->length] = '\0';
    found->length = 0;
    const char *thread = after(found->line, "current-tid: ");
    const char *count = after(found->line, found->wanted);
    if (thread && strlen(thread) < 8) {
        (void)snprintf(found->wanted, sizeof found->wanted, "events-%.8s: ", thread);
    } else if (count) {
        found->count = strtoull(count, NULL, 10);
    }
}

static void take(answer *found, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n')
            take_line(found);
        else if (found->length < sizeof found->line - 1)
            found->line[found->length++] = text[i];
    }
}

// Everything up to the end is the answer to the last command, or of no interest.
static uint64_t read_answer(void) {
    char text[4096];
    answer found = {.count = RGM_INSTRUCTIONS_UNKNOWN};
    int log = rgm_kept_descriptor(&source.log);
    for (ssize_t length; (length = pread(log, text, sizeof text, source.at)) > 0; source.at += length)
        take(&found, text, (size_t)length);
    if (source.at > LOG_ROOM && ftruncate(log, 0) < 0) return found.count; // a larger log is no harm
    return found.count;
}

// --- the source -------------------------------------------------------------------------------------------

bool rgm_instructions_counting(void) { return source.log.number && source.process == getpid(); }

void rgm_instructions_pause(void) {
    if (rgm_instructions_counting()) ask(TOGGLE_COLLECT, 0, 0);
}

void rgm_instructions_resume(void) { rgm_instructions_pause(); }

uint64_t rgm_instructions_read(void) {
    static const char command[] = "status internal";
    if (!rgm_instructions_counting() || ask(MONITOR_COMMAND, (uintptr_t)command, 1))
        return RGM_INSTRUCTIONS_UNKNOWN;
    return read_answer();
}

rgm_status rgm_instructions_open(const char *log, rgm_error *err) {
    if (rgm_instructions_counting()) return RGM_OK;
    if (source.log.number) return rgm_error_set(err, RGM_UNAVAILABLE, "a forked process is not counted");
    if (!ask(RUNNING_ON_VALGRIND, 0, 0))
        return rgm_error_set(err, RGM_UNAVAILABLE, "the program does not run under Valgrind's Callgrind");
    if (!rgm_kept_open(&source.log, log, O_RDWR, 0))
        return rgm_error_os(err, RGM_UNAVAILABLE, errno, "cannot read Callgrind's log %s", log);
    off_t end = lseek(rgm_kept_descriptor(&source.log), 0, SEEK_END);
    source.at = end > 0 ? end : 0;
    source.process = getpid();
    ask(START_INSTRUMENTATION, 0, 0);
    rgm_instructions_pause();
    uint64_t first = rgm_instructions_read();
    rgm_instructions_resume();
    if (first != RGM_INSTRUCTIONS_UNKNOWN) return RGM_OK;
    rgm_kept_close(&source.log);
    return rgm_error_set(err, RGM_UNAVAILABLE,
                         "Valgrind runs the program with another tool than Callgrind, or its messages do not "
                         "go to %s",
                         log);
}
