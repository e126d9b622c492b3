// SPDX-License-Identifier: Apache-2.0
#include "cuda/compile/nvrtc.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "workloads/kernels.h"

// Loads a double anew; `numbers` are set through its environment variable, as in another process.
static void use(const char *file, const char *numbers) {
    rgm_nvrtc_forget();
    (void)setenv("REGIMETER_LIBNVRTC", file, 1);
    (void)setenv("FAKE_NVRTC", numbers, 1);
}

static void fake_set(const char *file, const char *name, long long value) {
    void *handle = dlopen(file, RTLD_NOW);
    void (*set)(const char *, long long) = NULL;
    if (handle) *(void **)&set = dlsym(handle, "fake_nvrtc_set");
    CHECK(set != NULL);
    if (set) set(name, value);
    if (handle) (void)dlclose(handle);
}

static long long fake_get(const char *file, const char *name) {
    void *handle = dlopen(file, RTLD_NOW);
    long long (*get)(const char *) = NULL;
    if (handle) *(void **)&get = dlsym(handle, "fake_nvrtc_get");
    CHECK(get != NULL);
    long long value = get ? get(name) : -1;
    if (handle) (void)dlclose(handle);
    return value;
}

static const char fake[] = FAKES "/libfake_nvrtc.so";
static const char old[] = FAKES "/libfake_nvrtc_old.so";

static const rgm_compilation good = {.name = "a.cu", .source = "kernel", .arch = "sm_90"};

TEST(the_library_can_be_switched_off) {
    rgm_error err;
    const rgm_nvrtc *nvrtc;
    use("off", "");
    CHECK_EQ_I64(rgm_nvrtc_get(&nvrtc, &err), RGM_UNAVAILABLE);
    CHECK_STR_EQ(err.message, "NVRTC: switched off by REGIMETER_LIBNVRTC=off");
    rgm_bytes image = {0};
    CHECK_EQ_I64(rgm_nvrtc_compile(&good, &image, NULL, &err), RGM_UNAVAILABLE);
    CHECK_EQ_U64(image.length, 0);
}

TEST(a_file_that_is_no_library_has_a_reason) {
    rgm_error err;
    const rgm_nvrtc *nvrtc;
    use("/proc/self/cmdline", "");
    CHECK_EQ_I64(rgm_nvrtc_get(&nvrtc, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "names a file that cannot be loaded") != NULL);
}

TEST(architectures_have_numbers) {
    static const struct {
        const char *arch;
        int number;
    } rows[] = {{"sm_75", 75},   {"compute_75", 75}, {"sm_90a", 90}, {"compute_100f", 100}, {"sm_103a", 103},
                {"sm_", -1},     {"90", -1},         {"sm_9", -1},   {"sm_90b", -1},        {"sm_90aa", -1},
                {"sm_1000", -1}, {"", -1},           {"gfx942", -1}, {"sm_90 ", -1},        {"compute_", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_EQ_I64(rgm_arch_number(rows[i].arch), rows[i].number);
}

TEST(machine_code_and_ptx_are_told_apart) {
    rgm_error err;
    rgm_bytes image = {0};
    rgm_compilation what = good;
    use(fake, "");
    CHECK_OK(rgm_nvrtc_compile(&what, &image, NULL, &err));
    CHECK(image.length > 4 && memcmp(image.data, "\177ELF", 4) == 0);
    size_t before = image.length;
    what.arch = "compute_90";
    CHECK_OK(rgm_nvrtc_compile(&what, &image, NULL, &err));
    CHECK(image.length > before && memcmp(image.data + before, "// PTX", 6) == 0);
    CHECK_EQ_I64(image.data[image.length - 1], 0); // the driver takes PTX as text
    CHECK_EQ_I64(fake_get(fake, "live"), 0);
    rgm_bytes_release(&image);
}

TEST(an_error_quotes_the_first_error_and_keeps_the_log) {
    rgm_error err;
    rgm_bytes image = {0}, log = {0};
    rgm_compilation what = good;
    use(fake, "warn=1");
    what.source = "#error";
    CHECK_EQ_I64(rgm_nvrtc_compile(&what, &image, &log, &err), RGM_INVALID);
    CHECK_STR_EQ(err.message, "a.cu does not compile for sm_90: a.cu(3): error: the source says so\n"
                              "a.cu(4): error: and again");
    rgm_bytes_append(&log, "", 1);
    CHECK(strstr((char *)log.data, "warning #177-D") != NULL);
    CHECK_EQ_U64(image.length, 0);
    CHECK_EQ_I64(fake_get(fake, "live"), 0);
    rgm_bytes_release(&log);
    rgm_bytes_release(&image);
}

TEST(a_warning_is_no_error) {
    rgm_error err;
    rgm_bytes image = {0}, log = {0};
    use(fake, "warn=1");
    CHECK_OK(rgm_nvrtc_compile(&good, &image, &log, &err));
    CHECK(log.length > 0 && image.length > 0);
    rgm_bytes_release(&log);
    rgm_bytes_release(&image);
}

TEST(results_become_statuses) {
    static const struct {
        int result;
        rgm_status status;
    } rows[] = {
        {1, RGM_NO_MEMORY}, {5, RGM_INVALID}, {6, RGM_INVALID}, {7, RGM_UNAVAILABLE}, {11, RGM_UNAVAILABLE}};
    rgm_bytes image = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char numbers[32];
        rgm_error err;
        (void)snprintf(numbers, sizeof numbers, "result=%d", rows[i].result);
        use(fake, numbers);
        CHECK_EQ_I64(rgm_nvrtc_compile(&good, &image, NULL, &err), rows[i].status);
        CHECK_EQ_U64(image.length, 0);
        CHECK_EQ_I64(fake_get(fake, "live"), 0);
    }
    rgm_bytes_release(&image);
}

TEST(an_image_that_is_not_handed_out_is_not_there) {
    rgm_error err;
    rgm_bytes image = {0};
    use(fake, "no_image=1");
    CHECK_EQ_I64(rgm_nvrtc_compile(&good, &image, NULL, &err), RGM_UNAVAILABLE);
    CHECK_EQ_U64(image.length, 0);
    rgm_bytes_release(&image);
}

TEST(an_unknown_architecture_is_refused_before_compiling) {
    rgm_error err;
    rgm_bytes image = {0};
    rgm_compilation what = good;
    use(fake, "highest=90");
    what.arch = "sm_120";
    CHECK_EQ_I64(rgm_nvrtc_compile(&what, &image, NULL, &err), RGM_UNAVAILABLE);
    CHECK_STR_EQ(err.message, "NVRTC 13.0 cannot compile for sm_120");
    what.arch = "gfx942";
    CHECK_EQ_I64(rgm_nvrtc_compile(&what, &image, NULL, &err), RGM_INVALID);
    CHECK_EQ_I64(fake_get(fake, "compilations"), 0);
    rgm_bytes_release(&image);
}

TEST(a_device_newer_than_the_compiler_gets_ptx) {
    rgm_error err;
    char arch[16];
    use(fake, "");
    CHECK_OK(rgm_nvrtc_target(90, arch, sizeof arch, &err));
    CHECK_STR_EQ(arch, "sm_90");
    CHECK_OK(rgm_nvrtc_target(120, arch, sizeof arch, &err));
    CHECK_STR_EQ(arch, "compute_100");
    CHECK_OK(rgm_nvrtc_target(86, arch, sizeof arch, &err));
    CHECK_STR_EQ(arch, "compute_80");
    CHECK_EQ_I64(rgm_nvrtc_target(70, arch, sizeof arch, &err), RGM_UNAVAILABLE); // CUDA 13 dropped it
}

TEST(an_old_version_makes_ptx_only) {
    rgm_error err;
    rgm_bytes image = {0};
    rgm_compilation what = good;
    char arch[16];
    use(old, "major=11");
    CHECK_EQ_I64(rgm_nvrtc_compile(&what, &image, NULL, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "has no nvrtcGetCUBIN") != NULL);
    what.arch = "compute_70"; // it cannot list what it knows, so it is asked
    CHECK_OK(rgm_nvrtc_compile(&what, &image, NULL, &err));
    CHECK_OK(rgm_nvrtc_target(80, arch, sizeof arch, &err));
    CHECK_STR_EQ(arch, "compute_80");
    rgm_bytes_release(&image);
}

static void copy_file(const char *from, const char *to) {
    char block[65536];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    for (ssize_t got; (got = read(in, block, sizeof block)) > 0;)
        CHECK_EQ_I64(write(out, block, (size_t)got), got);
    (void)close(in);
    (void)close(out);
}

TEST(the_builtins_beside_the_compiler_are_loaded_first) {
    rgm_error err;
    rgm_bytes image = {0};
    char folder[] = "/tmp/regimeter-nvrtc-XXXXXX", compiler[128], builtins[128];
    REQUIRE(mkdtemp(folder) != NULL);
    (void)snprintf(compiler, sizeof compiler, "%s/libnvrtc.so.13", folder);
    (void)snprintf(builtins, sizeof builtins, "%s/libnvrtc-builtins.so.13.0", folder);
    copy_file(fake, compiler);
    use(compiler, "needs_builtins=1");
    CHECK_EQ_I64(rgm_nvrtc_compile(&good, &image, NULL, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "BUILTIN_OPERATION_FAILURE") != NULL);
    copy_file(old, builtins);
    use(compiler, "needs_builtins=1");
    CHECK_OK(rgm_nvrtc_compile(&good, &image, NULL, &err));
    rgm_nvrtc_forget();
    rgm_bytes_release(&image);
    (void)unlink(compiler);
    (void)unlink(builtins);
    (void)rmdir(folder);
}

static void *compile_one(void *arg) {
    rgm_error err;
    rgm_bytes image = {0};
    rgm_status status = rgm_nvrtc_compile(&good, &image, NULL, &err);
    rgm_bytes_release(&image);
    *(rgm_status *)arg = status;
    return NULL;
}

TEST(threads_compile_at_the_same_time) {
    pthread_t threads[4];
    rgm_status statuses[4];
    const rgm_nvrtc *nvrtc;
    rgm_error err;
    use(fake, "");
    REQUIRE(rgm_nvrtc_get(&nvrtc, &err) == RGM_OK);
    fake_set(fake, "slow_ms", 200);
    for (int i = 0; i < 4; i++) (void)pthread_create(&threads[i], NULL, compile_one, &statuses[i]);
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
        CHECK_OK(statuses[i]);
    }
    CHECK(fake_get(fake, "at_once") > 1); // no lock of ours is held while it compiles
    CHECK_EQ_I64(fake_get(fake, "live"), 0);
}

TEST(a_key_tells_everything_apart) {
    static const char *const fast[] = {"--use_fast_math", NULL}, *const other[] = {"--use_fast", "_math",
                                                                                   NULL};
    rgm_compilation variants[8];
    rgm_bytes keys[8] = {{0}};
    rgm_error err;
    use(fake, "");
    for (size_t i = 0; i < 8; i++) variants[i] = good;
    variants[1].arch = "compute_90";
    variants[2].source = "kernel ";
    variants[3].options = fast;
    variants[4].options = other;
    variants[5].header = "kernel";
    variants[5].header_name = "h";
    variants[6].name = "b.cu";
    for (size_t i = 0; i < 8; i++) {
        if (i == 7) use(fake, "minor=1");
        CHECK_OK(rgm_nvrtc_key(&variants[i], &keys[i], &err));
        for (size_t j = 0; j < i; j++)
            CHECK(keys[i].length != keys[j].length ||
                  memcmp(keys[i].data, keys[j].data, keys[i].length) != 0);
    }
    for (size_t i = 0; i < 8; i++) rgm_bytes_release(&keys[i]);
}

TEST(every_embedded_file_is_listed_and_the_other_way_round) {
    CHECK_EQ_U64(rgm_kernel_sources_count, rgm_kernel_files_count);
    for (size_t i = 0; i < rgm_kernel_files_count; i++) {
        rgm_bytes image = {0};
        rgm_error err;
        use(fake, "");
        if (rgm_kernel_files[i].lowest <= 90)
            CHECK_OK(rgm_kernel_compile(rgm_kernel_files[i].name, "sm_90", NULL, &image, &err));
        rgm_bytes_release(&image);
    }
    for (size_t i = 0; i < rgm_kernel_sources_count; i++)
        CHECK(strstr(rgm_kernel_sources[i].text, "RGM_KERNEL") != NULL);
}
