// SPDX-License-Identifier: Apache-2.0
// File descriptors in a process that belongs to somebody else. Where a program was started with closed
// standard streams, the next open gives 0, 1 or 2, and whatever anybody prints then goes into that file. And
// a program may close what it did not open, as a daemon closes all there is: then its own next file has the
// number.
#ifndef RGM_BASE_DESCRIPTOR_H
#define RGM_BASE_DESCRIPTOR_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// open(2) with O_CLOEXEC, never below 3; -1 and errno on failure.
int rgm_descriptor_open(const char *path, int flags, mode_t mode);

// A file that stays open while the program runs. Zero is none.
typedef struct {
    int number; // plus 1
    dev_t device;
    ino_t inode;
} rgm_kept_file;

// Under a number that is far from those the program is given, where its limit allows one; false and errno on
// failure.
bool rgm_kept_open(rgm_kept_file *file, const char *path, int flags, mode_t mode);
// Its descriptor, to be asked for before each use; -1 where it is none, or not this file's any more.
int rgm_kept_descriptor(const rgm_kept_file *file);
// Whether two are of one file.
bool rgm_kept_same(const rgm_kept_file *a, const rgm_kept_file *b);
// What the program has put in its place stays open. None after.
void rgm_kept_close(rgm_kept_file *file);

// The first room - 1 bytes of a file of the system as a text; false where it is empty or cannot be read.
// While that is written the file has a number of those above: a low one, closed at the end, could be the
// program's by then.
bool rgm_descriptor_text(const char *path, char *text, size_t room);

#endif
