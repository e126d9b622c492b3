// SPDX-License-Identifier: Apache-2.0
// A process is a server where an epoll set of it watches a socket that listens, and not for less.
#include "capture/listening.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"

static bool found_now(void) {
    rgm_listening state = {0};
    unsigned found = rgm_listening_look(&state);
    CHECK(found == atomic_load(&state.found));
    CHECK(!(found & RGM_LISTENING_TO_ITSELF));
    return found & RGM_LISTENING_LOOP;
}

static void watch(int loop, int fd) {
    struct epoll_event event = {.events = EPOLLIN};
    CHECK(epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == 0);
}

static int bound(bool listening) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&here, sizeof here) == 0);
    if (listening) CHECK(listen(fd, 1) == 0);
    return fd;
}

TEST(a_server_is_who_watches_a_socket_that_listens) {
    CHECK(!found_now());
    int server = bound(true), other = bound(false), loop = epoll_create1(0), ends[2];
    CHECK(loop >= 0 && pipe(ends) == 0);
    CHECK(!found_now()); // a thread may wait in accept: its stack tells
    watch(loop, other);
    watch(loop, ends[0]);
    CHECK(!found_now());
    watch(loop, server);
    CHECK(found_now());
    int all[] = {server, other, loop, ends[0], ends[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) CHECK(close(all[i]) == 0);
    CHECK(!found_now());
}

TEST(it_has_been_one_when_it_is_closed_and_is_not_looked_at_all_the_time) {
    int server = bound(true), loop = epoll_create1(0);
    rgm_listening state = {0};
    CHECK(!rgm_listening_look(&state));
    CHECK(state.due_ns > 0);
    watch(loop, server);
    CHECK(!rgm_listening_look(&state)); // not due yet
    state.due_ns = 0;
    CHECK(rgm_listening_look(&state));
    state.due_ns = 0;
    CHECK(!rgm_listening_look(&state)); // it is told once
    CHECK(close(server) == 0 && close(loop) == 0);
    CHECK(atomic_load(&state.found));
    rgm_listening_reset(&state);
    CHECK(!rgm_listening_look(&state));
    CHECK(!atomic_load(&state.found));
}

static int connected(const void *address, socklen_t size, int family) {
    int fd = socket(family, SOCK_STREAM, 0);
    CHECK(fd >= 0 && connect(fd, address, size) == 0);
    return fd;
}

static bool asks_itself(void) {
    rgm_listening state = {0};
    return rgm_listening_look(&state) & RGM_LISTENING_TO_ITSELF;
}

TEST(who_is_connected_to_a_socket_of_its_own_that_listens_is_its_own_client) {
    int server = bound(true), ends[2];
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    CHECK(getsockname(server, (struct sockaddr *)&at, &size) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(!asks_itself()); // two ends that no name leads to
    int client = connected(&at, sizeof at, AF_INET);
    CHECK(asks_itself());
    int accepted = accept(server, NULL, NULL);
    CHECK(accepted >= 0 && close(client) == 0);
    CHECK(!asks_itself()); // what is left is the end of who was asked
    client = connected(&at, sizeof at, AF_INET);
    CHECK(close(server) == 0);
    CHECK(!asks_itself()); // what listened is gone
    int all[] = {client, accepted, ends[0], ends[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) CHECK(close(all[i]) == 0);
}

TEST(a_name_in_the_file_system_is_as_good_as_a_port) {
    struct sockaddr_un here = {.sun_family = AF_UNIX};
    (void)snprintf(here.sun_path, sizeof here.sun_path, "/tmp/rgm-listening-%d", (int)getpid());
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(server, (struct sockaddr *)&here, sizeof here) == 0 && listen(server, 1) == 0);
    CHECK(!asks_itself());
    int client = connected(&here, sizeof here, AF_UNIX);
    CHECK(asks_itself());
    CHECK(close(client) == 0 && close(server) == 0 && unlink(here.sun_path) == 0);
    CHECK(!asks_itself());
}
