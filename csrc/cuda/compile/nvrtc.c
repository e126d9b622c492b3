// SPDX-License-Identifier: Apache-2.0
#include "cuda/compile/nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", NULL};
static const char *const wheels[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", NULL};
static const char *const toolkit[] = {"lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", NULL};

const rgm_library_spec rgm_nvrtc_spec = {
    .title = "NVRTC",
    .variable = "REGIMETER_LIBNVRTC",
    .sonames = sonames,
    .folders = wheels,
    .toolkit = toolkit,
    .remedy = "install NVIDIA's run-time compiler: pip install nvidia-cuda-nvrtc",
};

static const rgm_symbol symbols[] = {
#define SYMBOL(capability, result, member, symbol, parameters)                                               \
    {symbol, offsetof(rgm_nvrtc, member), RGM_NVRTC_CAN_##capability},
    RGM_NVRTC_SYMBOLS(SYMBOL)
#undef SYMBOL
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rgm_nvrtc table;
static _Atomic(bool) ready;

// The builtins are looked for by soname at the first compilation; loaded before, they are found.
static void load_builtins(rgm_nvrtc *nvrtc) {
    char name[64];
    (void)snprintf(name, sizeof name, "libnvrtc-builtins.so.%d.%d", nvrtc->major, nvrtc->minor);
    nvrtc->builtins = rgm_library_beside(&nvrtc->library, name);
}

static rgm_status open_library(rgm_error *err) {
    rgm_status status = rgm_library_open(&table.library, &rgm_nvrtc_spec, RGM_LIBRARY_ANYWHERE, symbols,
                                         sizeof symbols / sizeof *symbols, &table, err);
    if (status != RGM_OK) return status;
    status = rgm_library_needs(&table.library, &rgm_nvrtc_spec, RGM_NVRTC_CAN_COMPILE, err);
    if (status == RGM_OK && table.version(&table.major, &table.minor) != RGM_NVRTC_SUCCESS)
        status =
            rgm_error_set(err, RGM_UNAVAILABLE, "NVRTC: %s does not tell its version", table.library.path);
    if (status != RGM_OK) {
        rgm_library_close(&table.library);
        return status;
    }
    load_builtins(&table);
    return RGM_OK;
}

rgm_status rgm_nvrtc_get(const rgm_nvrtc **nvrtc, rgm_error *err) {
    rgm_status status = RGM_OK;
    *nvrtc = NULL;
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        pthread_mutex_lock(&mutex);
        if (!atomic_load(&ready)) {
            status = open_library(err);
            if (status == RGM_OK) atomic_store_explicit(&ready, true, memory_order_release);
        }
        pthread_mutex_unlock(&mutex);
    }
    if (status == RGM_OK) *nvrtc = &table;
    return status;
}

void rgm_nvrtc_forget(void) {
    pthread_mutex_lock(&mutex);
    if (atomic_exchange(&ready, false)) {
        if (table.builtins) dlclose(table.builtins);
        rgm_library_close(&table.library);
        table = (rgm_nvrtc){0};
    }
    pthread_mutex_unlock(&mutex);
}

// --- architectures ----------------------------------------------------------------------------------------

int rgm_arch_number(const char *arch) {
    const char *digits = arch;
    if (strncmp(arch, "sm_", 3) == 0) digits += 3;
    if (strncmp(arch, "compute_", 8) == 0) digits += 8;
    if (digits == arch) return -1;
    int number = 0, n = 0;
    for (; digits[n] >= '0' && digits[n] <= '9' && n < 4; n++) number = number * 10 + (digits[n] - '0');
    // "a" and "f" ask for features of one architecture or one family.
    const char *rest = digits + n + (digits[n] == 'a' || digits[n] == 'f');
    return n < 2 || n > 3 || *rest ? -1 : number;
}

// True when unknown too: an old version that cannot list them says so when it compiles.
static bool knows(const rgm_nvrtc *nvrtc, int number, int *highest_below) {
    int count = 0, numbers[256];
    *highest_below = 0;
    if (nvrtc->library.missing & (1u << RGM_NVRTC_CAN_TARGETS)) return true;
    if (nvrtc->n_targets(&count) != RGM_NVRTC_SUCCESS || count < 1 ||
        (size_t)count > sizeof numbers / sizeof *numbers || nvrtc->targets(numbers) != RGM_NVRTC_SUCCESS)
        return true;
    for (int i = 0; i < count; i++) {
        if (numbers[i] == number) return true;
        if (numbers[i] < number && numbers[i] > *highest_below) *highest_below = numbers[i];
    }
    return false;
}

rgm_status rgm_nvrtc_target(int number, char *arch, size_t room, rgm_error *err) {
    const rgm_nvrtc *nvrtc;
    int below;
    RGM_TRY(rgm_nvrtc_get(&nvrtc, err));
    bool known = knows(nvrtc, number, &below);
    if (!known && !below)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "NVRTC %d.%d compiles for no architecture up to %d.%d; install an older one",
                             nvrtc->major, nvrtc->minor, number / 10, number % 10);
    bool machine_code = known && !(nvrtc->library.missing & (1u << RGM_NVRTC_CAN_CUBIN));
    (void)snprintf(arch, room, "%s_%d", machine_code ? "sm" : "compute", known ? number : below);
    return RGM_OK;
}

// --- compiling --------------------------------------------------------------------------------------------

enum { MAX_OPTIONS = 16 };

static rgm_status check(const rgm_compilation *what, const rgm_nvrtc *nvrtc, rgm_error *err) {
    int number = rgm_arch_number(what->arch), below;
    if (number < 0)
        return rgm_error_set(
            err, RGM_INVALID,
            "\"%.32s\" is no architecture; \"sm_90\" asks for machine code, \"compute_90\" for "
            "PTX",
            what->arch);
    if (what->arch[0] == 's')
        RGM_TRY(rgm_library_needs(&nvrtc->library, &rgm_nvrtc_spec, RGM_NVRTC_CAN_CUBIN, err));
    if (!knows(nvrtc, number, &below))
        return rgm_error_set(err, RGM_UNAVAILABLE, "NVRTC %d.%d cannot compile for %s", nvrtc->major,
                             nvrtc->minor, what->arch);
    return RGM_OK;
}

static void read_log(const rgm_nvrtc *nvrtc, rgm_nvrtc_program program, rgm_bytes *log) {
    size_t bytes = 0;
    if (nvrtc->log_size(program, &bytes) != RGM_NVRTC_SUCCESS || bytes < 2) return;
    size_t before = log->length;
    char *text = (char *)rgm_bytes_grow(log, bytes);
    if (!text) return;
    if (nvrtc->log(program, text) != RGM_NVRTC_SUCCESS)
        log->length = before;
    else
        log->length--; // the final zero byte
}

// The first line that says "error", because a log begins with warnings; else its beginning.
static int important(const rgm_bytes *log, const char **from) {
    const char *text = (const char *)log->data, *error = memmem(text, log->length, "error", 5);
    const char *begin = error ? memrchr(text, '\n', (size_t)(error - text)) : text;
    *from = begin ? begin + (begin != text || *begin == '\n') : text;
    size_t length = log->length - (size_t)(*from - text);
    while (length && (*from)[length - 1] == '\n') length--;
    return length > 400 ? 400 : (int)length;
}

static rgm_status failure(const rgm_nvrtc *nvrtc, const rgm_compilation *what, rgm_nvrtc_result result,
                          const rgm_bytes *log, rgm_error *err) {
    const char *from = "";
    int length = log->length ? important(log, &from) : 0;
    if (result == RGM_NVRTC_OUT_OF_MEMORY) return rgm_error_no_memory(err);
    rgm_status status =
        result == RGM_NVRTC_COMPILATION || result == RGM_NVRTC_INVALID_OPTION ? RGM_INVALID : RGM_UNAVAILABLE;
    if (length)
        return rgm_error_set(err, status, "%s does not compile for %s: %.*s", what->name, what->arch, length,
                             from);
    return rgm_error_set(err, status, "%s does not compile for %s: NVRTC %d.%d says %s", what->name,
                         what->arch, nvrtc->major, nvrtc->minor, nvrtc->result_text(result));
}

static rgm_status take_image(const rgm_nvrtc *nvrtc, rgm_nvrtc_program program, const rgm_compilation *what,
                             rgm_bytes *image, rgm_error *err) {
    bool machine_code = what->arch[0] == 's';
    size_t bytes = 0, before = image->length;
    rgm_nvrtc_result result =
        machine_code ? nvrtc->cubin_size(program, &bytes) : nvrtc->ptx_size(program, &bytes);
    if (result != RGM_NVRTC_SUCCESS || bytes < 2)
        return rgm_error_set(err, RGM_UNAVAILABLE, "NVRTC %d.%d made no %s of %s", nvrtc->major, nvrtc->minor,
                             machine_code ? "machine code" : "PTX", what->name);
    char *to = (char *)rgm_bytes_grow(image, bytes);
    if (!to) return rgm_error_no_memory(err);
    result = machine_code ? nvrtc->cubin(program, to) : nvrtc->ptx(program, to);
    if (result == RGM_NVRTC_SUCCESS) return RGM_OK;
    image->length = before;
    return rgm_error_set(err, RGM_UNAVAILABLE, "NVRTC %d.%d does not hand out the image of %s: %s",
                         nvrtc->major, nvrtc->minor, what->name, nvrtc->result_text(result));
}

rgm_status rgm_nvrtc_compile(const rgm_compilation *what, rgm_bytes *image, rgm_bytes *log, rgm_error *err) {
    const rgm_nvrtc *nvrtc;
    rgm_nvrtc_program program = NULL;
    rgm_bytes own_log = {0};
    const char *options[MAX_OPTIONS + 1];
    char arch[64];
    int n = 0;
    RGM_TRY(rgm_nvrtc_get(&nvrtc, err));
    RGM_TRY(check(what, nvrtc, err));
    (void)snprintf(arch, sizeof arch, "--gpu-architecture=%s", what->arch);
    options[n++] = arch;
    for (const char *const *option = what->options; option && *option; option++) {
        if (n > MAX_OPTIONS)
            return rgm_error_set(err, RGM_INVALID, "more than %d options of a compilation", MAX_OPTIONS);
        options[n++] = *option;
    }
    rgm_nvrtc_result result = nvrtc->program_create(&program, what->source, what->name, what->header ? 1 : 0,
                                                    &what->header, &what->header_name);
    if (result == RGM_NVRTC_SUCCESS) result = nvrtc->program_compile(program, n, options);
    if (program) read_log(nvrtc, program, &own_log);
    rgm_status status = result == RGM_NVRTC_SUCCESS ? take_image(nvrtc, program, what, image, err)
                                                    : failure(nvrtc, what, result, &own_log, err);
    if (log) rgm_bytes_append(log, own_log.data, own_log.length);
    if (program) (void)nvrtc->program_destroy(&program);
    rgm_bytes_release(&own_log);
    return status;
}

// Lengths before texts, so that no two lists of texts give the same bytes.
static void key_text(rgm_bytes *key, const char *text) {
    rgm_bytes_u64(key, text ? strlen(text) : UINT64_MAX);
    if (text) rgm_bytes_text(key, text);
}

rgm_status rgm_nvrtc_key(const rgm_compilation *what, rgm_bytes *key, rgm_error *err) {
    const rgm_nvrtc *nvrtc;
    struct stat file = {0};
    RGM_TRY(rgm_nvrtc_get(&nvrtc, err));
    // Releases of one version differ in their code generator, not in the version that they report.
    if (stat(nvrtc->library.path, &file) != 0) file.st_size = 0;
    rgm_bytes_u64(key, (uint64_t)nvrtc->major << 32 | (uint64_t)nvrtc->minor);
    rgm_bytes_u64(key, (uint64_t)file.st_size);
    key_text(key, what->arch);
    for (const char *const *option = what->options; option && *option; option++) key_text(key, *option);
    key_text(key, NULL);
    key_text(key, what->name);
    key_text(key, what->source);
    key_text(key, what->header_name);
    key_text(key, what->header);
    return key->failed ? rgm_error_no_memory(err) : RGM_OK;
}
