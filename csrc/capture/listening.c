// SPDX-License-Identifier: Apache-2.0
#include "capture/listening.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/thread.h"

enum { SOCKETS = 64, LOOPS = 64, WATCHED = 1 << 15 }; // bytes of what the kernel tells of a loop

typedef union {
    sa_family_t family;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
} endpoint;

typedef struct {
    int sockets[SOCKETS], loops[LOOPS]; // descriptors: that listen; epoll sets
    endpoint listens[SOCKETS];          // at
    endpoint asked[SOCKETS];            // what other sockets are connected to, on this machine
    size_t n_sockets, n_loops, n_asked;
} descriptors;

// Past the thread sanitizer, which takes a look at descriptors of other threads for a race. One that is
// closed or becomes another meanwhile is told wrong at most once a second.
static bool listens(int fd) {
    int told = 0;
    socklen_t size = sizeof told;
    return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &told, &size) == 0 && told;
}

static bool end_of(int fd, long call, endpoint *out) {
    socklen_t size = sizeof *out;
    memset(out, 0, sizeof *out);
    return syscall(call, fd, out, &size) == 0;
}

static in_port_t port_of(const endpoint *e) {
    return e->family == AF_INET ? e->v4.sin_port : e->family == AF_INET6 ? e->v6.sin6_port : 0;
}

// Who is connected to an address that is its own as well is connected to this machine.
static bool is_here(const endpoint *own, const endpoint *other) {
    if (other->family == AF_UNIX) return other->local.sun_path[0] != '\0';
    if (own->family != other->family) return false;
    if (own->family == AF_INET) return own->v4.sin_addr.s_addr == other->v4.sin_addr.s_addr;
    return own->family == AF_INET6 && memcmp(&own->v6.sin6_addr, &other->v6.sin6_addr, 16) == 0;
}

static bool is_same(const endpoint *a, const endpoint *b) {
    if (a->family == AF_UNIX || b->family == AF_UNIX)
        return a->family == b->family &&
               strncmp(a->local.sun_path, b->local.sun_path, sizeof a->local.sun_path) == 0;
    return port_of(a) && port_of(a) == port_of(b);
}

static void take_socket(descriptors *all, int fd) {
    endpoint own, other;
    if (listens(fd)) {
        if (all->n_sockets == SOCKETS) return;
        (void)end_of(fd, SYS_getsockname, &all->listens[all->n_sockets]);
        all->sockets[all->n_sockets++] = fd;
    } else if (all->n_asked < SOCKETS && end_of(fd, SYS_getpeername, &other) &&
               end_of(fd, SYS_getsockname, &own) && is_here(&own, &other)) {
        all->asked[all->n_asked++] = other;
    }
}

static bool asks_itself(const descriptors *all) {
    for (size_t i = 0; i < all->n_asked; i++)
        for (size_t j = 0; j < all->n_sockets; j++)
            if (is_same(&all->asked[i], &all->listens[j])) return true;
    return false;
}

static bool begins(const char *text, ssize_t length, const char *with) {
    return length >= (ssize_t)strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static void take(descriptors *all, int fd) {
    char path[40], target[40];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, target, sizeof target);
    if (begins(target, length, "socket:")) {
        take_socket(all, fd);
    } else if (all->n_loops < LOOPS && begins(target, length, "anon_inode:[eventpoll]"))
        all->loops[all->n_loops++] = fd;
}

static void find(descriptors *all) {
    rgm_kept_file folder;
    _Alignas(struct dirent64) char text[4096];
    int left = RGM_LISTENING_DESCRIPTORS;
    if (!rgm_kept_open(&folder, "/proc/self/fd", O_RDONLY | O_DIRECTORY, 0)) return;
    for (long got; left > 0 && (got = syscall(SYS_getdents64, folder.number - 1, text, sizeof text)) > 0;) {
        const struct dirent64 *entry;
        for (char *at = text; at < text + got && left > 0; at += entry->d_reclen, left--) {
            entry = (const struct dirent64 *)at;
            char *end;
            long fd = strtol(entry->d_name, &end, 10);
            if (end != entry->d_name && !*end && fd != folder.number - 1) take(all, (int)fd);
        }
    }
    rgm_kept_close(&folder);
}

static bool is_listening(const descriptors *all, const char *line) {
    int fd = -1;
    if (sscanf(line, "tfd: %d", &fd) != 1) return false; // NOLINT(cert-err34-c): the kernel's own number
    for (size_t i = 0; i < all->n_sockets; i++)
        if (all->sockets[i] == fd) return true;
    return false;
}

// Of an epoll set the kernel lists what it watches, a line `tfd: N ...` each.
static bool watches(int loop, const descriptors *all) {
    char path[48], text[WATCHED];
    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", loop);
    if (!rgm_descriptor_text(path, text, sizeof text)) return false;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (is_listening(all, line)) return true;
    return false;
}

unsigned rgm_listening_look(rgm_listening *state) {
    unsigned before = atomic_load(&state->found), found = 0;
    if (before == (RGM_LISTENING_LOOP | RGM_LISTENING_TO_ITSELF) || rgm_clock_monotonic_ns() < state->due_ns)
        return 0;
    int64_t begin_ns = rgm_thread_cpu_ns(); // what others take of the processors is no cost of the look
    descriptors all;
    all.n_sockets = all.n_loops = all.n_asked = 0;
    find(&all);
    if (asks_itself(&all)) found |= RGM_LISTENING_TO_ITSELF;
    for (size_t i = 0; all.n_sockets && i < all.n_loops && !(before & RGM_LISTENING_LOOP); i++)
        if (watches(all.loops[i], &all)) found |= RGM_LISTENING_LOOP;
    atomic_store(&state->found, before | found);
    int64_t rest = (rgm_thread_cpu_ns() - begin_ns) * RGM_LISTENING_SHARE;
    state->due_ns =
        rgm_clock_monotonic_ns() + (rest > RGM_LISTENING_EVERY_NS ? rest : RGM_LISTENING_EVERY_NS);
    return found & ~before;
}

void rgm_listening_reset(rgm_listening *state) {
    state->due_ns = 0;
    atomic_store(&state->found, 0);
}
