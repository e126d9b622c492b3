// SPDX-License-Identifier: Apache-2.0
#include "cuda/compile/cubin_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

static char folder[64];

static void new_folder(rgm_cubin_cache *cache, int64_t most_bytes) {
    (void)snprintf(folder, sizeof folder, "/tmp/regimeter-cache-XXXXXX");
    if (!mkdtemp(folder)) abort();
    rgm_cubin_cache_open(cache, folder, most_bytes);
}

// Entries and temporary files, counted; removed too when asked for.
static void count_files(int *entries, int *others, bool remove) {
    DIR *list = opendir(folder);
    *entries = *others = 0;
    for (const struct dirent *at; list && (at = readdir(list));) {
        if (strcmp(at->d_name, ".") == 0 || strcmp(at->d_name, "..") == 0) continue;
        *(strstr(at->d_name, ".cubin") ? entries : others) += 1;
        if (remove) (void)unlinkat(dirfd(list), at->d_name, 0);
    }
    if (list) (void)closedir(list);
    if (remove) (void)rmdir(folder);
}

static void remove_folder(void) {
    int entries, others;
    count_files(&entries, &others, true);
}

static rgm_bytes text(const char *from) {
    rgm_bytes bytes = {0};
    rgm_bytes_text(&bytes, from);
    return bytes;
}

static bool has(const rgm_cubin_cache *cache, const char *key_text, const char *image_text) {
    rgm_bytes key = text(key_text), image = {0};
    bool found = rgm_cubin_cache_find(cache, &key, &image);
    if (found && image_text)
        CHECK(image.length == strlen(image_text) && memcmp(image.data, image_text, image.length) == 0);
    if (!found) CHECK_EQ_U64(image.length, 0);
    rgm_bytes_release(&key);
    rgm_bytes_release(&image);
    return found;
}

static bool put(rgm_cubin_cache *cache, const char *key_text, const char *image_text) {
    rgm_bytes key = text(key_text), image = text(image_text);
    bool stored = rgm_cubin_cache_store(cache, &key, &image);
    rgm_bytes_release(&key);
    rgm_bytes_release(&image);
    return stored;
}

static void path_of(const rgm_cubin_cache *cache, const char *key_text, char *path, size_t room) {
    rgm_bytes key = text(key_text);
    rgm_cubin_cache_path(cache, &key, path, room);
    rgm_bytes_release(&key);
}

TEST(what_was_stored_is_found_by_another) {
    rgm_cubin_cache cache, another;
    new_folder(&cache, 1 << 20);
    CHECK(!has(&cache, "key", NULL));
    CHECK(put(&cache, "key", "image"));
    rgm_cubin_cache_open(&another, folder, 1 << 20);
    CHECK(has(&another, "key", "image"));
    CHECK(!has(&another, "kez", NULL));
    CHECK(put(&another, "key", "a newer image"));
    CHECK(has(&cache, "key", "a newer image"));
    remove_folder();
}

TEST(an_entry_of_another_key_in_the_same_place_is_not_taken) {
    rgm_cubin_cache cache;
    char first[1200], second[1200];
    new_folder(&cache, 1 << 20);
    CHECK(put(&cache, "key one", "image one"));
    path_of(&cache, "key one", first, sizeof first);
    path_of(&cache, "key two", second, sizeof second);
    CHECK(strcmp(first, second) != 0);
    REQUIRE(rename(first, second) == 0); // as if both had the same hash
    CHECK(!has(&cache, "key two", NULL));
    CHECK(put(&cache, "key two", "image two"));
    CHECK(has(&cache, "key two", "image two"));
    remove_folder();
}

static void change(const char *path, off_t at, off_t length) {
    int file = open(path, O_RDWR);
    char byte;
    if (length >= 0) {
        CHECK(ftruncate(file, length) == 0);
    } else if (pread(file, &byte, 1, at) == 1) {
        byte = (char)(byte ^ 0x10);
        CHECK(pwrite(file, &byte, 1, at) == 1);
    }
    (void)close(file);
}

TEST(every_damage_is_a_miss_and_is_mended) {
    rgm_cubin_cache cache;
    char path[1200];
    struct stat whole;
    new_folder(&cache, 1 << 20);
    path_of(&cache, "key", path, sizeof path);
    CHECK(put(&cache, "key", "the image of a kernel"));
    REQUIRE(stat(path, &whole) == 0);
    for (off_t at = 0; at < whole.st_size; at++) { // one bit of every byte
        change(path, at, -1);
        CHECK(!has(&cache, "key", NULL));
        change(path, at, -1);
        CHECK(has(&cache, "key", "the image of a kernel"));
    }
    for (off_t length = 0; length < whole.st_size; length++) {
        change(path, 0, length);
        CHECK(!has(&cache, "key", NULL));
        CHECK(put(&cache, "key", "the image of a kernel"));
        CHECK(has(&cache, "key", "the image of a kernel"));
    }
    change(path, 0, whole.st_size + 9);
    CHECK(!has(&cache, "key", NULL));
    remove_folder();
}

static void die(const char *path) {
    (void)path;
    (void)kill(getpid(), SIGKILL);
}

TEST(a_writer_killed_before_the_rename_leaves_no_entry) {
    rgm_cubin_cache cache;
    int status, entries, others;
    new_folder(&cache, 1 << 20);
    pid_t child = fork();
    if (child == 0) {
        rgm_cubin_cache_before_rename = die;
        _exit(put(&cache, "key", "image"));
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    count_files(&entries, &others, false);
    CHECK_EQ_I64(entries, 0);
    CHECK_EQ_I64(others, 1);
    CHECK(!has(&cache, "key", NULL));
    // What it left goes with the first store an hour later.
    DIR *list = opendir(folder);
    for (const struct dirent *at; (at = readdir(list));) {
        struct timespec old[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
        if (strncmp(at->d_name, ".tmp-", 5) == 0) CHECK(utimensat(dirfd(list), at->d_name, old, 0) == 0);
    }
    (void)closedir(list);
    CHECK(put(&cache, "key", "image"));
    count_files(&entries, &others, false);
    CHECK_EQ_I64(entries, 1);
    CHECK_EQ_I64(others, 0);
    remove_folder();
}

static void fill_text(char *to, size_t length, char with) {
    memset(to, with, length);
    to[length] = 0;
}

// Writes and reads all keys many times over; an image tells its key, whoever wrote it.
static int race(rgm_cubin_cache *cache, unsigned seed) {
    char key[16], image[4097], got_wrong = 0;
    for (unsigned i = 0; i < 400; i++) {
        unsigned which = (seed + i * 7) % 5;
        (void)snprintf(key, sizeof key, "key %u", which);
        fill_text(image, 4000 + which, (char)('a' + which));
        rgm_bytes wanted = text(key), found = {0};
        if (rgm_cubin_cache_find(cache, &wanted, &found))
            got_wrong |= found.length != 4000 + which || memcmp(found.data, image, found.length) != 0;
        rgm_bytes_release(&wanted);
        rgm_bytes_release(&found);
        if (!put(cache, key, image)) return 2;
    }
    return got_wrong;
}

TEST(processes_share_a_folder) {
    rgm_cubin_cache cache;
    pid_t children[3];
    int entries, others;
    new_folder(&cache, 12000); // two of five entries: they evict each other's all the time
    for (unsigned i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(race(&cache, i));
    }
    CHECK_EQ_I64(race(&cache, 3), 0);
    for (unsigned i = 0; i < 3; i++) {
        int status;
        REQUIRE(waitpid(children[i], &status, 0) == children[i]);
        CHECK_EQ_I64(status, 0);
    }
    CHECK(put(&cache, "last", "image"));
    count_files(&entries, &others, false);
    CHECK(entries <= 3);
    CHECK_EQ_I64(others, 0);
    remove_folder();
}

static void used_at(const rgm_cubin_cache *cache, const char *key, time_t seconds) {
    char path[1200];
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    path_of(cache, key, path, sizeof path);
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

TEST(what_was_not_used_longest_goes_first) {
    rgm_cubin_cache cache;
    char image[1001];
    time_t now = time(NULL);
    new_folder(&cache, 3400); // three entries of about 1040 bytes
    fill_text(image, 1000, 'x');
    CHECK(put(&cache, "a", image) && put(&cache, "b", image) && put(&cache, "c", image));
    used_at(&cache, "a", now - 300);
    used_at(&cache, "b", now - 200);
    used_at(&cache, "c", now - 100);
    CHECK(has(&cache, "a", image)); // used now
    CHECK(put(&cache, "d", image));
    CHECK(has(&cache, "a", image) && has(&cache, "c", image) && has(&cache, "d", image));
    CHECK(!has(&cache, "b", NULL));
    remove_folder();
}

TEST(an_entry_larger_than_the_cache_is_not_kept) {
    rgm_cubin_cache cache;
    char image[1001];
    new_folder(&cache, 500);
    fill_text(image, 1000, 'x');
    CHECK(!put(&cache, "key", image));
    CHECK_STR_EQ(cache.reason, "the entry alone is larger than the cache");
    CHECK(cache.usable);
    remove_folder();
}

TEST(no_cache_has_a_reason) {
    rgm_cubin_cache cache;
    (void)setenv("REGIMETER_CACHE", "off", 1);
    rgm_cubin_cache_open(&cache, NULL, 1 << 20);
    CHECK(!cache.usable);
    CHECK_STR_EQ(cache.reason, "switched off by REGIMETER_CACHE=off");
    CHECK(!put(&cache, "key", "image"));
    CHECK(!has(&cache, "key", NULL));
    rgm_cubin_cache_open(&cache, "/proc/version/cubin", 1 << 20);
    CHECK(!cache.usable && strstr(cache.reason, "cannot make the folder") != NULL);
    new_folder(&cache, 1 << 20);
    CHECK(chmod(folder, 0777) == 0);
    rgm_cubin_cache_open(&cache, folder, 1 << 20);
    CHECK(!cache.usable && strstr(cache.reason, "another user may write") != NULL);
    remove_folder();
    (void)unsetenv("REGIMETER_CACHE");
}

TEST(the_folder_comes_from_the_environment) {
    rgm_cubin_cache cache;
    char expected[128], home[] = "/tmp/regimeter-home-XXXXXX";
    struct stat made;
    REQUIRE(mkdtemp(home) != NULL);
    (void)setenv("HOME", home, 1);
    (void)unsetenv("REGIMETER_CACHE");
    (void)setenv("XDG_CACHE_HOME", "relative", 1); // to be ignored
    rgm_cubin_cache_open(&cache, NULL, 1 << 20);
    (void)snprintf(expected, sizeof expected, "%s/.cache/regimeter/cubin", home);
    CHECK_STR_EQ(cache.folder, expected);
    CHECK(cache.usable && stat(expected, &made) == 0 && (made.st_mode & 0777) == 0700);
    (void)snprintf(expected, sizeof expected, "%s/x/regimeter/cubin", home);
    (void)setenv("XDG_CACHE_HOME", expected, 1);
    expected[strlen(home) + 2] = 0;
    (void)setenv("XDG_CACHE_HOME", expected, 1);
    rgm_cubin_cache_open(&cache, NULL, 1 << 20);
    CHECK(cache.usable && strncmp(cache.folder, expected, strlen(expected)) == 0);
    (void)setenv("REGIMETER_CACHE", home, 1);
    rgm_cubin_cache_open(&cache, NULL, 1 << 20);
    (void)snprintf(expected, sizeof expected, "%s/cubin", home);
    CHECK_STR_EQ(cache.folder, expected);
    (void)unsetenv("REGIMETER_CACHE");
    (void)unsetenv("XDG_CACHE_HOME");
    char command[160];
    (void)snprintf(command, sizeof command, "rm -rf %s", home);
    CHECK_EQ_I64(system(command), 0);
}

TEST(a_compilation_is_done_once) {
    static const char fake[] = FAKES "/libfake_nvrtc.so";
    rgm_compilation what = {.name = "a.cu", .source = "kernel", .arch = "sm_90"};
    rgm_cubin_cache cache;
    rgm_bytes first = {0}, second = {0};
    rgm_error err;
    rgm_nvrtc_forget();
    (void)setenv("REGIMETER_LIBNVRTC", fake, 1);
    new_folder(&cache, 1 << 20);
    CHECK_OK(rgm_cubin_get(&cache, &what, &first, &err));
    (void)setenv("FAKE_NVRTC", "result=6", 1); // from here on nothing compiles
    rgm_nvrtc_forget();
    CHECK_OK(rgm_cubin_get(&cache, &what, &second, &err));
    CHECK(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
    CHECK_EQ_I64(rgm_cubin_get(NULL, &what, &second, &err), RGM_INVALID);
    what.source = "another";
    CHECK_EQ_I64(rgm_cubin_get(&cache, &what, &second, &err), RGM_INVALID);
    (void)unsetenv("FAKE_NVRTC");
    rgm_nvrtc_forget();
    rgm_bytes_release(&first);
    rgm_bytes_release(&second);
    remove_folder();
}
