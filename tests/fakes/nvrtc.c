// SPDX-License-Identifier: Apache-2.0
// NVRTC that compiles nothing: its image tells what it was made of. A source with "#error" does not compile.
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <unistd.h>

#include "cuda/compile/nvrtc.h"
#include "fake.h"

// X(number, initial).
#define NUMBERS(X)                                                                                           \
    X(major, 13)                                                                                             \
    X(minor, 0)                                                                                              \
    X(lowest, 75) /* architectures that it lists: lowest, 80, 90, highest */                                 \
    X(highest, 100)                                                                                          \
    X(result, 0)         /* what every compilation answers */                                                \
    X(warn, 0)           /* 1: the log begins with a warning */                                              \
    X(no_image, 0)       /* 1: compiles, then hands out nothing */                                           \
    X(needs_builtins, 0) /* 1: fails with 7 unless the builtins are in the process */                        \
    X(slow_ms, 0)                                                                                            \
    X(compilations, 0)                                                                                       \
    X(at_once, 0) /* most compilations that ran at the same time */                                          \
    X(running, 0)                                                                                            \
    X(live, 0) /* programs that were not destroyed */
FAKE_NUMBERS(nvrtc, "FAKE_NVRTC", NUMBERS)

struct rgm_nvrtc_program_s {
    char *text, *name, *header;
    char arch[32];
    char image[256], log[512];
};

#define EXPORT FAKE_EXPORT rgm_nvrtc_result

EXPORT nvrtcVersion(int *major, int *minor) {
    *major = (int)FAKE_VALUE(major);
    *minor = (int)FAKE_VALUE(minor);
    return RGM_NVRTC_SUCCESS;
}

FAKE_EXPORT const char *nvrtcGetErrorString(rgm_nvrtc_result result) {
    return result == RGM_NVRTC_BUILTIN_OPERATION_FAILURE ? "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"
                                                         : "NVRTC_ERROR_OF_THE_FAKE";
}

EXPORT nvrtcCreateProgram(rgm_nvrtc_program *program, const char *source, const char *name, int n_headers,
                          const char *const *headers, const char *const *header_names) {
    *program = calloc(1, sizeof **program);
    if (!*program) return RGM_NVRTC_OUT_OF_MEMORY;
    (*program)->text = strdup(source);
    (*program)->name = strdup(name);
    (*program)->header = strdup(n_headers ? headers[0] : "");
    FAKE_VALUE(live)++;
    return RGM_NVRTC_SUCCESS;
}

EXPORT nvrtcDestroyProgram(rgm_nvrtc_program *program) {
    free((*program)->text);
    free((*program)->name);
    free((*program)->header);
    free(*program);
    *program = NULL;
    FAKE_VALUE(live)--;
    return RGM_NVRTC_SUCCESS;
}

static int is_builtins(struct dl_phdr_info *info, size_t size, void *found) {
    if (strstr(info->dlpi_name, "libnvrtc-builtins")) *(bool *)found = true;
    return 0;
}

static void log_line(rgm_nvrtc_program program, const char *text) {
    size_t used = strlen(program->log);
    (void)snprintf(program->log + used, sizeof program->log - used, "%s%s\n", program->name, text);
}

EXPORT nvrtcCompileProgram(rgm_nvrtc_program program, int n_options, const char *const *options) {
    bool builtins = false;
    long long running = ++FAKE_VALUE(running);
    if (running > FAKE_VALUE(at_once)) FAKE_VALUE(at_once) = running;
    FAKE_VALUE(compilations)++;
    if (FAKE_VALUE(slow_ms)) (void)usleep((useconds_t)FAKE_VALUE(slow_ms) * 1000);
    FAKE_VALUE(running)--;
    for (int i = 0; i < n_options; i++) (void)sscanf(options[i], "--gpu-architecture=%31s", program->arch);
    (void)dl_iterate_phdr(is_builtins, &builtins);
    if (FAKE_VALUE(needs_builtins) && !builtins) return RGM_NVRTC_BUILTIN_OPERATION_FAILURE;
    if (FAKE_VALUE(warn))
        log_line(program, "(1): warning #177-D: variable \"x\" was declared but never referenced");
    if (strstr(program->text, "#error")) {
        log_line(program, "(3): error: the source says so");
        log_line(program, "(4): error: and again");
        return RGM_NVRTC_COMPILATION;
    }
    return (int)FAKE_VALUE(result);
}

EXPORT nvrtcGetProgramLogSize(rgm_nvrtc_program program, size_t *bytes) {
    *bytes = strlen(program->log) + 1;
    return RGM_NVRTC_SUCCESS;
}

EXPORT nvrtcGetProgramLog(rgm_nvrtc_program program, char *text) {
    memcpy(text, program->log, strlen(program->log) + 1);
    return RGM_NVRTC_SUCCESS;
}

static void make_image(rgm_nvrtc_program program, const char *begin) {
    unsigned sum = 5381;
    for (const char *at = program->text; *at; at++) sum = sum * 33 + (unsigned char)*at;
    for (const char *at = program->header; *at; at++) sum = sum * 33 + (unsigned char)*at;
    (void)snprintf(program->image, sizeof program->image, "%s %s for %s, sum %u", begin, program->name,
                   program->arch, sum);
}

EXPORT nvrtcGetPTXSize(rgm_nvrtc_program program, size_t *bytes) {
    make_image(program, "// PTX of");
    *bytes = FAKE_VALUE(no_image) ? 0 : strlen(program->image) + 1;
    return RGM_NVRTC_SUCCESS;
}

EXPORT nvrtcGetPTX(rgm_nvrtc_program program, char *text) {
    memcpy(text, program->image, strlen(program->image) + 1);
    return RGM_NVRTC_SUCCESS;
}

// What version 11.1 brought; nvrtc_old.c is a version without it.
#ifndef FAKE_NVRTC_OLD

EXPORT nvrtcGetCUBINSize(rgm_nvrtc_program program, size_t *bytes) {
    make_image(program, "\177ELF of");
    *bytes = FAKE_VALUE(no_image) ? 0 : strlen(program->image) + 1;
    return RGM_NVRTC_SUCCESS;
}

EXPORT nvrtcGetCUBIN(rgm_nvrtc_program program, char *image) { return nvrtcGetPTX(program, image); }

EXPORT nvrtcGetNumSupportedArchs(int *count) {
    *count = 4;
    return RGM_NVRTC_SUCCESS;
}

EXPORT nvrtcGetSupportedArchs(int *numbers) {
    numbers[0] = (int)FAKE_VALUE(lowest);
    numbers[1] = 80;
    numbers[2] = 90;
    numbers[3] = (int)FAKE_VALUE(highest);
    return RGM_NVRTC_SUCCESS;
}

#endif
