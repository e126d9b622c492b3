// SPDX-License-Identifier: Apache-2.0
// A heap for programs whose instructions are counted: what a call of malloc costs does not depend on what was
// asked for and given back before. The C library's own searches lists whose lengths are the history of the
// program, so an operation that did not change counts otherwise once another one did.
//
// Each size class has a list of blocks that were given back, last in, first out; where it is empty, a block
// is cut from a chunk. Blocks begin at lines of the cache, so that loops over vectors have the same first and
// last steps wherever a block lies. What is larger than MOST is a mapping of its own.
//
// Lists belong to threads: there is no lock, and nothing to do about forks. What a thread leaves is not used
// again.
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORTED __attribute__((visibility("default")))
#define OWN_TO_THREAD static __thread __attribute__((tls_model("initial-exec")))

enum {
    LINE = 64,
    FINE = 1024,         // up to here a class for each line, then four for each doubling
    MOST = 128 * 1024,   // the C library's threshold for mappings of their own
    CHUNK = 1024 * 1024, // chunks begin at multiples of this, so a block finds the head of its chunk
    PAGE = 4096,         // of the system, and the head of a chunk
    FINE_CLASSES = FINE / LINE,
    CLASSES = FINE_CLASSES + 4 * 7, // 1 KiB to 128 KiB are seven doublings
};

// The head of a chunk. size: of each block. mapped: bytes from begin, 0 for a chunk that is cut into blocks.
typedef struct {
    size_t size;
    uint32_t class;
    size_t mapped;
    char *begin;
} chunk;

typedef struct block {
    struct block *next;
} block;

OWN_TO_THREAD block *given[CLASSES];
OWN_TO_THREAD char
    *uncut[CLASSES]; // where the next block is cut, NULL or at the chunk's end where there is none

static uint32_t class_of(size_t bytes) {
    size_t last = bytes > 0 ? bytes - 1 : 0;
    if (last < FINE) return (uint32_t)(last / LINE);
    uint32_t doubling = 63 - (uint32_t)__builtin_clzll(last);
    return FINE_CLASSES + (doubling - 10) * 4 + ((uint32_t)(last >> (doubling - 2)) & 3);
}

static size_t size_of(uint32_t class) {
    if (class < FINE_CLASSES) return (size_t)(class + 1) * LINE;
    uint32_t doubling = 10 + (class - FINE_CLASSES) / 4, quarter = (class - FINE_CLASSES) % 4;
    return ((size_t)1 << doubling) + ((size_t)(quarter + 1) << (doubling - 2));
}

// A block that begins a multiple of CHUNK has its head in the page before it: see `map_block`.
static chunk *chunk_of(const void *of) {
    uintptr_t at = (uintptr_t)of;
    return (chunk *)(at % CHUNK ? at - at % CHUNK : at - PAGE);
}

// --- mappings
// -----------------------------------------------------------------------------------------------

// Address space whose byte `offset` lies at a multiple of `alignment`; NULL and ENOMEM where there is none.
static char *map(size_t bytes, size_t alignment, size_t offset) {
    size_t more;
    if (__builtin_add_overflow(bytes, alignment, &more)) {
        errno = ENOMEM;
        return NULL;
    }
    char *begin =
        mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) return NULL;
    size_t before = (alignment - ((uintptr_t)begin + offset) % alignment) % alignment;
    if (before > 0) munmap(begin, before);
    munmap(begin + before + bytes, alignment - before);
    return begin + before;
}

static bool pages_of(size_t bytes, size_t *out) {
    size_t more;
    if (__builtin_add_overflow(bytes, (size_t)(PAGE - 1), &more) || more > PTRDIFF_MAX) {
        errno = ENOMEM;
        return false;
    }
    *out = more / PAGE * PAGE;
    return true;
}

// A block of its own, zeroed, at a multiple of alignment.
static void *map_block(size_t bytes, size_t alignment) {
    size_t pages;
    if (!pages_of(bytes, &pages)) return NULL;
    // Up to CHUNK / 2 the block lies within the first CHUNK of its mapping, and beyond at a multiple of
    // CHUNK.
    bool wide = alignment > CHUNK / 2;
    size_t head = !wide && alignment > PAGE ? alignment : PAGE;
    char *begin = map(head + pages, wide ? alignment : CHUNK, wide ? head : 0);
    if (begin == NULL) return NULL;
    char *found = begin + head;
    *chunk_of(found) = (chunk){.size = pages, .mapped = head + pages, .begin = begin};
    return found;
}

// Moves a mapped block to a mapping of another size without copying it; NULL where that is not possible.
static void *remap_block(chunk *of, size_t bytes) {
    size_t pages;
    if ((char *)of != of->begin || of->mapped - of->size != PAGE || !pages_of(bytes, &pages)) return NULL;
    char *begin = map(PAGE + pages, CHUNK, 0);
    if (begin == NULL) return NULL;
    size_t mapped = of->mapped;
    if (mremap(of, mapped, PAGE + pages, MREMAP_MAYMOVE | MREMAP_FIXED, begin) == MAP_FAILED) {
        munmap(begin, PAGE + pages);
        return NULL;
    }
    *(chunk *)begin = (chunk){.size = pages, .mapped = PAGE + pages, .begin = begin};
    return begin + PAGE;
}

// --- blocks
// -------------------------------------------------------------------------------------------------

static void *cut(uint32_t class) {
    size_t size = size_of(class);
    char *at = uncut[class];
    if (at == NULL || CHUNK - (uintptr_t)at % CHUNK < size || (uintptr_t)at % CHUNK == 0) {
        char *begin = map(CHUNK, CHUNK, 0);
        if (begin == NULL) return NULL;
        *(chunk *)begin = (chunk){.size = size, .class = class, .begin = begin};
        at = begin + PAGE;
    }
    uncut[class] = at + size;
    return at;
}

static void *take(size_t bytes) {
    if (bytes > MOST) return map_block(bytes, LINE);
    uint32_t class = class_of(bytes);
    block *first = given[class];
    if (first == NULL) return cut(class);
    given[class] = first->next;
    return first;
}

static void give(void *back) {
    chunk *of = chunk_of(back);
    if (of->mapped > 0) {
        int before = errno;
        munmap(of->begin, of->mapped);
        errno = before;
        return;
    }
    block *first = back;
    first->next = given[of->class];
    given[of->class] = first;
}

static void *take_aligned(size_t alignment, size_t bytes) {
    return alignment <= LINE ? take(bytes) : map_block(bytes, alignment);
}

// --- what stands before the C library's
// ---------------------------------------------------------------------

// A program that has this name in it runs on this heap.
EXPORTED const int rgm_steady_heap = 1;

EXPORTED void *malloc(size_t bytes) { return take(bytes); }

EXPORTED void free(void *back) {
    if (back != NULL) give(back);
}

EXPORTED void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *found = take(bytes);
    if (found != NULL && bytes <= MOST) memset(found, 0, bytes); // a mapping is zero
    return found;
}

EXPORTED void *realloc(void *of, size_t bytes) {
    if (of == NULL) return take(bytes);
    if (bytes == 0) {
        give(of);
        return NULL;
    }
    chunk *head = chunk_of(of);
    size_t had = head->size;
    bool mapped = head->mapped > 0;
    if (mapped ? bytes > MOST && bytes <= had && bytes > had / 2
               : bytes <= MOST && class_of(bytes) == head->class)
        return of;
    void *found = mapped && bytes > MOST ? remap_block(head, bytes) : NULL;
    if (found != NULL) return found;
    found = take(bytes);
    if (found == NULL) return NULL;
    memcpy(found, of, had < bytes ? had : bytes);
    give(of);
    return found;
}

EXPORTED void *reallocarray(void *of, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(of, bytes);
}

EXPORTED void *memalign(size_t alignment, size_t bytes) {
    if (alignment == 0 || alignment & (alignment - 1)) {
        errno = EINVAL;
        return NULL;
    }
    return take_aligned(alignment, bytes);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

EXPORTED int posix_memalign(void **out, size_t alignment, size_t bytes) {
    if (alignment < sizeof(void *) || alignment & (alignment - 1)) return EINVAL;
    int before = errno;
    void *found = take_aligned(alignment, bytes);
    errno = before;
    if (found == NULL) return ENOMEM;
    *out = found;
    return 0;
}

EXPORTED void *valloc(size_t bytes) { return take_aligned(PAGE, bytes); }

EXPORTED void *pvalloc(size_t bytes) {
    size_t pages;
    return pages_of(bytes, &pages) ? take_aligned(PAGE, pages) : NULL;
}

EXPORTED size_t malloc_usable_size(void *of) { return of == NULL ? 0 : chunk_of(of)->size; }
