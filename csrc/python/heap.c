// SPDX-License-Identifier: Apache-2.0
// Small objects of Python, which its own allocator takes from blocks of a megabyte.
#include <dlfcn.h>
#include <string.h>

#include "heap/heap.h"
#include "python/state.h"

static rgm_heap_allocator as_ours(const PyMemAllocatorEx *theirs) {
    return (rgm_heap_allocator){theirs->ctx, theirs->malloc, theirs->calloc, theirs->realloc, theirs->free};
}

void rgm_heap_before_python(void) {
    static const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
    static rgm_heap_allocator
        theirs[2];    // they last: blocks of theirs are given back to the end of the process
    static bool done; // under the interpreter's lock
    rgm_heap_before_call before;
    void *found = dlsym(RTLD_DEFAULT, RGM_HEAP_BEFORE);
    memcpy(&before, &found, sizeof before);
    if (!before || done) return;
    done = true;
    for (size_t i = 0; i < 2; i++) {
        PyMemAllocatorEx allocator;
        PyMem_GetAllocator(domains[i], &allocator);
        theirs[i] = as_ours(&allocator);
        rgm_heap_allocator ours = before(&theirs[i]);
        allocator = (PyMemAllocatorEx){ours.context, ours.malloc, ours.calloc, ours.realloc, ours.free};
        PyMem_SetAllocator(domains[i], &allocator);
    }
}
