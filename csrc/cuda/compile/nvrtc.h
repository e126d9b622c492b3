// SPDX-License-Identifier: Apache-2.0
// CUDA source -> machine code or PTX, by NVIDIA's run-time compiler. No device and no driver is needed.
//
// The compiler finds a second library, its builtins, by soname only; rgm_nvrtc_get loads the copy beside the
// compiler first, because a wheel's folder is on nobody's path.
//
// Threads: everything here, from any thread; NVRTC compiles concurrently.
#ifndef RGM_CUDA_NVRTC_H
#define RGM_CUDA_NVRTC_H

#include "base/bytes.h"
#include "cuda/library/library.h"

typedef int rgm_nvrtc_result;
typedef struct rgm_nvrtc_program_s *rgm_nvrtc_program;

// X(NAME, value): the results that are told apart.
#define RGM_NVRTC_RESULTS(X)                                                                                 \
    X(SUCCESS, 0)                                                                                            \
    X(OUT_OF_MEMORY, 1)                                                                                      \
    X(INVALID_OPTION, 5)                                                                                     \
    X(COMPILATION, 6)                                                                                        \
    X(BUILTIN_OPERATION_FAILURE, 7)

#define RGM_NVRTC_RESULT_ENUM(name, value) RGM_NVRTC_##name = (value),
enum { RGM_NVRTC_RESULTS(RGM_NVRTC_RESULT_ENUM) };

// Capabilities: X(NAME, what it is for).
#define RGM_NVRTC_CAPABILITIES(X)                                                                            \
    X(COMPILE, "compiling to PTX")                                                                           \
    X(CUBIN, "compiling to machine code")                                                                    \
    X(TARGETS, "listing the architectures it knows")

// X(CAPABILITY, result, member, symbol, parameters).
#define RGM_NVRTC_SYMBOLS(X)                                                                                 \
    X(COMPILE, rgm_nvrtc_result, version, "nvrtcVersion", (int *major, int *minor))                          \
    X(COMPILE, const char *, result_text, "nvrtcGetErrorString", (rgm_nvrtc_result result))                  \
    X(COMPILE, rgm_nvrtc_result, program_create, "nvrtcCreateProgram",                                       \
      (rgm_nvrtc_program * program, const char *source, const char *name, int n_headers,                     \
       const char *const *headers, const char *const *header_names))                                         \
    X(COMPILE, rgm_nvrtc_result, program_destroy, "nvrtcDestroyProgram", (rgm_nvrtc_program * program))      \
    X(COMPILE, rgm_nvrtc_result, program_compile, "nvrtcCompileProgram",                                     \
      (rgm_nvrtc_program program, int n_options, const char *const *options))                                \
    X(COMPILE, rgm_nvrtc_result, log_size, "nvrtcGetProgramLogSize",                                         \
      (rgm_nvrtc_program program, size_t *bytes))                                                            \
    X(COMPILE, rgm_nvrtc_result, log, "nvrtcGetProgramLog", (rgm_nvrtc_program program, char *text))         \
    X(COMPILE, rgm_nvrtc_result, ptx_size, "nvrtcGetPTXSize", (rgm_nvrtc_program program, size_t *bytes))    \
    X(COMPILE, rgm_nvrtc_result, ptx, "nvrtcGetPTX", (rgm_nvrtc_program program, char *text))                \
    X(CUBIN, rgm_nvrtc_result, cubin_size, "nvrtcGetCUBINSize", (rgm_nvrtc_program program, size_t *bytes))  \
    X(CUBIN, rgm_nvrtc_result, cubin, "nvrtcGetCUBIN", (rgm_nvrtc_program program, char *image))             \
    X(TARGETS, rgm_nvrtc_result, n_targets, "nvrtcGetNumSupportedArchs", (int *count))                       \
    X(TARGETS, rgm_nvrtc_result, targets, "nvrtcGetSupportedArchs", (int *numbers))

#define RGM_NVRTC_CAPABILITY_ENUM(name, text) RGM_NVRTC_CAN_##name,
enum { RGM_NVRTC_CAPABILITIES(RGM_NVRTC_CAPABILITY_ENUM) RGM_NVRTC_CAPABILITY_COUNT };

#define RGM_NVRTC_MEMBER(capability, result, member, symbol, parameters) result(*member) parameters;
typedef struct {
    rgm_library library;
    void *builtins; // handle, NULL when none lies beside the compiler
    int major, minor;
    RGM_NVRTC_SYMBOLS(RGM_NVRTC_MEMBER)
} rgm_nvrtc;

extern const rgm_library_spec rgm_nvrtc_spec;

// What is to be compiled. Texts belong to the caller and are read during the call only.
typedef struct {
    const char *name; // of the source, in messages and line information
    const char *source;
    const char *header; // a header that the source includes as header_name; NULL: none
    const char *header_name;
    const char *arch;           // "sm_90": machine code, "compute_90": PTX
    const char *const *options; // further options; ends with NULL, NULL: none
} rgm_compilation;

// RGM_UNAVAILABLE with the reason when there is no compiler.
rgm_status rgm_nvrtc_get(const rgm_nvrtc **nvrtc, rgm_error *err) RGM_NODISCARD;
// Appends the image to `image`: an ELF file, or PTX with its final zero byte, so that both can be handed to
// the driver as they are. RGM_INVALID with the beginning of the compiler's log when the source or an option
// is wrong; RGM_UNAVAILABLE when this version cannot compile for `arch`. `log` (may be NULL) takes the whole
// log, warnings too.
rgm_status rgm_nvrtc_compile(const rgm_compilation *what, rgm_bytes *image, rgm_bytes *log,
                             rgm_error *err) RGM_NODISCARD;
// What the image depends on, as bytes: two compilations with the same key have the same image.
rgm_status rgm_nvrtc_key(const rgm_compilation *what, rgm_bytes *key, rgm_error *err) RGM_NODISCARD;
// Capability times ten (75, 90, 100) of "sm_90" or "compute_100a"; -1 when it is no name of an architecture.
int rgm_arch_number(const char *arch);
// The name to compile for so that a device of this number can load it: its own machine code where the
// compiler knows it, else PTX for the highest architecture below, which the driver compiles itself.
rgm_status rgm_nvrtc_target(int number, char *arch, size_t room, rgm_error *err) RGM_NODISCARD;
// Tests only: forgets the library, so that another can be loaded.
void rgm_nvrtc_forget(void);

#endif
