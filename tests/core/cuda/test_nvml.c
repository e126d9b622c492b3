// SPDX-License-Identifier: Apache-2.0
// NVML: loading, the devices, which of them CUDA means, and what each call gives.

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/library/driver.h"
#include "cuda/nvml/telemetry_read.h"
#include "faults.h"
#include "scripted_nvml.h"

// Our own declarations against NVIDIA's, where those are installed.
#if defined(__has_include)
#if __has_include(<nvml.h>)
#include <nvml.h>
#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, a, theirs, b)                                                                       \
    _Static_assert(offsetof(ours, a) == offsetof(theirs, b), #theirs "." #b)
SAME_SIZE(rgm_nvml_utilization, nvmlUtilization_t);
SAME_SIZE(rgm_nvml_memory, nvmlMemory_t);
SAME_PLACE(rgm_nvml_memory, free, nvmlMemory_t, free);
SAME_PLACE(rgm_nvml_memory, used, nvmlMemory_t, used);
SAME_SIZE(rgm_nvml_memory_v2, nvmlMemory_v2_t);
SAME_PLACE(rgm_nvml_memory_v2, reserved, nvmlMemory_v2_t, reserved);
SAME_PLACE(rgm_nvml_memory_v2, used, nvmlMemory_v2_t, used);
_Static_assert((sizeof(rgm_nvml_memory_v2) | 2u << 24) == nvmlMemory_v2, "version of the structure");
SAME_SIZE(rgm_nvml_pci, nvmlPciInfo_t);
SAME_PLACE(rgm_nvml_pci, bus_id, nvmlPciInfo_t, busId);
SAME_SIZE(rgm_nvml_field, nvmlFieldValue_t);
SAME_PLACE(rgm_nvml_field, scope, nvmlFieldValue_t, scopeId);
SAME_PLACE(rgm_nvml_field, type, nvmlFieldValue_t, valueType);
SAME_PLACE(rgm_nvml_field, result, nvmlFieldValue_t, nvmlReturn);
SAME_PLACE(rgm_nvml_field, value, nvmlFieldValue_t, value);
_Static_assert(NVML_DEVICE_UUID_V2_BUFFER_SIZE == RGM_NVML_UUID_ROOM, "room");
_Static_assert(NVML_DEVICE_NAME_V2_BUFFER_SIZE == RGM_NVML_NAME_ROOM, "room");
_Static_assert((int)NVML_VALUE_TYPE_SIGNED_LONG_LONG == (int)RGM_NVML_VALUE_I64, "types of values");
_Static_assert((int)NVML_VALUE_TYPE_SIGNED_INT == (int)RGM_NVML_VALUE_I32, "types of values");
_Static_assert((int)NVML_CLOCK_SM == (int)RGM_NVML_CLOCK_SM, "clocks");
_Static_assert((int)NVML_CLOCK_MEM == (int)RGM_NVML_CLOCK_MEMORY, "clocks");
_Static_assert((int)NVML_PCIE_UTIL_RX_BYTES == (int)RGM_NVML_PCIE_RECEIVE, "directions");
#define SAME_FIELD(name, number) _Static_assert(NVML_FI_DEV_##name == (number), #name);
RGM_NVML_FIELDS(SAME_FIELD)
_Static_assert((int)NVML_ERROR_GPU_IS_LOST == (int)RGM_NVML_GPU_IS_LOST, "results");
_Static_assert((int)NVML_ERROR_ARGUMENT_VERSION_MISMATCH == (int)RGM_NVML_ARGUMENT_VERSION_MISMATCH,
               "results");
_Static_assert((int)NVML_ERROR_INVALID_STATE == (int)RGM_NVML_INVALID_STATE, "results");
_Static_assert(nvmlClocksEventReasonSwPowerCap == RGM_CLOCK_REASON_SW_POWER_CAP, "reasons");
_Static_assert(nvmlClocksEventReasonSwThermalSlowdown == RGM_CLOCK_REASON_SW_THERMAL, "reasons");
_Static_assert(nvmlClocksThrottleReasonHwPowerBrakeSlowdown == RGM_CLOCK_REASON_HW_POWER_BRAKE, "reasons");
_Static_assert(nvmlClocksEventReasonDisplayClockSetting == RGM_CLOCK_REASON_DISPLAY_CLOCKS, "reasons");
#endif
#endif

static const rgm_nvml *nvml;
static rgm_nvml_list list;

static bool read_list(void) {
    rgm_error err;
    rgm_nvml_list_release(&list);
    if (rgm_nvml_get(&nvml, &err) != RGM_OK || rgm_nvml_list_read(&list, nvml, &err) != RGM_OK) {
        HARNESS_FAIL("%s", err.message);
        return false;
    }
    return true;
}

static void done(void) {
    rgm_nvml_list_release(&list);
    script_end();
}

TEST(an_absent_library_says_what_brings_it) {
    rgm_error err;
    setenv("REGIMETER_LIBNVML", "off", 1);
    rgm_nvml_forget();
    CHECK_EQ_I64(rgm_nvml_get(&nvml, &err), RGM_UNAVAILABLE);
    CHECK_STR_EQ(err.message, "NVML: switched off by REGIMETER_LIBNVML=off");
    CHECK(!nvml);
}

TEST(a_failing_initialisation_is_a_reason_and_is_tried_again) {
    rgm_error err;
    REQUIRE(script_begin("libfake_nvml.so", "fail_call=1,fail_result=9"));
    CHECK_EQ_I64(rgm_nvml_get(&nvml, &err), RGM_UNAVAILABLE);
    CHECK_STR_EQ(err.message,
                 "NVML: nvmlInit_v2 failed with DRIVER_NOT_LOADED: the kernel driver is not loaded");
    script_set("fail_call", 0);
    CHECK_OK(rgm_nvml_get(&nvml, &err));
    CHECK_OK(rgm_nvml_get(&nvml, &err));
    CHECK_EQ_I64(script_get("inits"), 2);
    done();
}

TEST(every_result_has_a_name_and_a_meaning) {
#define NAMED(name, value, text)                                                                             \
    CHECK_STR_EQ(rgm_nvml_name(value), #name);                                                               \
    CHECK_STR_EQ(rgm_nvml_text(value), text);
    RGM_NVML_RESULTS(NAMED)
    CHECK_STR_EQ(rgm_nvml_name(12345), "an unknown result");
    CHECK(strlen(rgm_nvml_text(12345)) > 0);
}

TEST(devices_have_names_and_places) {
    REQUIRE(script_begin("libfake_nvml.so", "devices=2"));
    REQUIRE(read_list());
    CHECK_EQ_U64(list.count, 2);
    CHECK_STR_EQ(list.gpus[1].uuid, "GPU-10000001-0a0b-0c0d-0e0f-101112131415");
    CHECK_STR_EQ(list.gpus[1].name, "Scripted GPU");
    CHECK_STR_EQ(list.gpus[1].bus, "00000000:02:00.0");
    CHECK_EQ_I64(list.gpus[1].mig_mode, 0);
    CHECK_EQ_I64(list.gpus[1].ordinal, 1);
    CHECK_EQ_I64(list.gpus[1].mapping, RGM_MAPPING_ASSUMED);
    done();
}

TEST(a_device_that_cannot_be_opened_stays_with_its_reason) {
    REQUIRE(script_begin("libfake_nvml.so", "devices=2,fail_call=3,fail_result=4,fail_device=0"));
    CHECK_EQ_I64(script_function("device_by_index"), 3);
    REQUIRE(read_list());
    CHECK_EQ_U64(list.count, 2);
    CHECK(!list.gpus[0].handle);
    CHECK_EQ_I64(list.gpus[0].result, RGM_NVML_NO_PERMISSION);
    CHECK(list.gpus[1].handle != NULL);
    done();
}

TEST(parts_of_a_device_follow_it) {
    REQUIRE(script_begin("libfake_nvml.so", "devices=2,mig=1"));
    REQUIRE(read_list());
    REQUIRE(list.count == 4);
    CHECK(!list.gpus[0].mig && list.gpus[0].mig_mode == 1);
    CHECK(list.gpus[1].mig && list.gpus[2].mig && !list.gpus[3].mig);
    CHECK(list.gpus[2].whole == list.gpus[0].handle);
    CHECK_STR_EQ(list.gpus[2].uuid, "MIG-20000000-0001-5c5c-8888-a0a1a2a3a4a5");
    CHECK_EQ_I64(list.gpus[2].gpu_instance, 8);
    // A process sees one part, and no other device beside it.
    CHECK_EQ_U64(list.visible, 1);
    CHECK_EQ_I64(list.gpus[1].ordinal, 0);
    CHECK_EQ_I64(list.gpus[1].mapping, RGM_MAPPING_ASSUMED);
    CHECK_EQ_I64(list.gpus[3].ordinal, -1);
    done();
}

// Four devices, of which the last is in two parts; `expected` is the row of the list of each ordinal.
static void check_visible(const char *visible, const char *expected) {
    char found[32] = "";
    rgm_nvml_list_map(&list, visible, NULL);
    for (size_t i = 0; i < list.visible; i++) {
        const rgm_nvml_gpu *gpu = rgm_nvml_list_find(&list, (int)i);
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%td", i ? " " : "",
                 gpu ? gpu - list.gpus : (ptrdiff_t)-1);
    }
    if (strcmp(found, expected) != 0)
        HARNESS_FAIL("CUDA_VISIBLE_DEVICES=%s gives \"%s\", expected \"%s\"", visible ? visible : "(unset)",
                     found, expected);
}

TEST(visible_devices_are_read_as_cuda_reads_them) {
    REQUIRE(script_begin("libfake_nvml.so", "devices=3"));
    REQUIRE(read_list());
    static const char *const cases[][2] = {
        {"0,1,2", "0 1 2"},
        {"2,0", "2 0"},
        {"", ""},
        {"-1", ""},
        {"1,-1,2", "1"},
        {"1,7,2", "1"},
        {"1,1", ""},
        {"0,1,0", ""},
        {" 1, 2", "1 2"},
        {"1gpu,2", "1 2"},
        {"x,1", ""},
        {",1", ""},
        {"0,,1", "0"},
        {"99999999999999999999,1", ""},
        {"GPU-10000002", "2"},
        {"GPU-10000001-0a0b,GPU-10000000", "1 0"},
        {"GPU-1000000", ""}, // several begin so
        {"GPU-", ""},
        {"GPU-10000001,GPU-77,GPU-10000000", "1"},
        {"GPU-10000001,GPU-10000001-0a0b-0c0d-0e0f-101112131415", ""},
        {"GPU-10000001,0", "1"},
        {"0,GPU-10000001", "0"},
        {"gpu-10000001", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_visible(cases[i][0], cases[i][1]);
    check_visible(NULL, "0 1 2");
    done();
}

TEST(visible_parts) {
    REQUIRE(script_begin("libfake_nvml.so", "devices=4,mig=8"));
    REQUIRE(read_list());
    static const char *const cases[][2] = {
        {"MIG-20000003-0001", "5"},
        {"MIG-20000003-0000", "4"},
        {"MIG-20000003-0001,MIG-20000003-0000", "5"}, // one part at most
        {"MIG-20000003", ""},                         // two begin so
        {"3", "4"},
        {"0,3", "4"}, // no whole device beside a part
        {"GPU-10000003", "4"},
        {"0,1", "0 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_visible(cases[i][0], cases[i][1]);
    rgm_nvml_list_map(&list, "MIG-20000003-0001", NULL);
    CHECK_EQ_I64(list.gpus[5].mapping, RGM_MAPPING_UUID);
    rgm_nvml_list_map(&list, "GPU-10000003", NULL);
    CHECK_EQ_I64(list.gpus[4].mapping, RGM_MAPPING_ASSUMED);
    done();
}

TEST(how_sure_the_order_is) {
    REQUIRE(script_begin("libfake_nvml.so", "devices=2,mixed=1"));
    REQUIRE(read_list());
    CHECK_EQ_I64(list.gpus[0].mapping, RGM_MAPPING_ASSUMED);
    rgm_nvml_list_map(&list, NULL, "PCI_BUS_ID");
    CHECK_EQ_I64(list.gpus[0].mapping, RGM_MAPPING_BUS_ORDER);
    rgm_nvml_list_map(&list, "GPU-10000001", "PCI_BUS_ID");
    CHECK_EQ_I64(list.gpus[1].mapping, RGM_MAPPING_UUID);
    CHECK_EQ_I64(list.gpus[0].mapping, RGM_MAPPING_NONE);
    script_set("devices", 1);
    REQUIRE(read_list());
    CHECK_EQ_I64(list.gpus[0].mapping, RGM_MAPPING_ONLY);
    done();
}

TEST(a_driver_in_use_says_which_device_an_ordinal_is) {
    REQUIRE(script_begin("libfake_nvml.so", "devices=3"));
    setenv("REGIMETER_LIBCUDA", FAKES "/libfake_nvml.so", 1);
    rgm_driver_forget();
    REQUIRE(read_list());
    CHECK_EQ_I64(list.gpus[0].mapping, RGM_MAPPING_ASSUMED); // loaded, not used: it is not asked
    script_set("cuda_ready", 1);
    REQUIRE(read_list());
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_I64(list.gpus[i].ordinal, 2 - i);
        CHECK_EQ_I64(list.gpus[i].mapping, RGM_MAPPING_DRIVER);
    }
    script_set("cuda_devices", 1); // the process sees one of them
    REQUIRE(read_list());
    CHECK_EQ_U64(list.visible, 1);
    CHECK_EQ_I64(list.gpus[2].ordinal, 0);
    CHECK_EQ_I64(list.gpus[0].ordinal, -1);
    rgm_driver_forget();
    setenv("REGIMETER_LIBCUDA", "off", 1);
    done();
}

static double value_of(rgm_telemetry_metric metric, rgm_nvml_result *result) {
    rgm_telemetry_reading reading;
    const rgm_telemetry_metric_desc *desc = &rgm_telemetry_metrics[metric];
    rgm_telemetry_read(&reading, nvml, desc->call, &list.gpus[0]);
    *result = reading.result[desc->slot];
    return reading.value[desc->slot];
}

static void check_value(rgm_telemetry_metric metric, double expected) {
    rgm_nvml_result result;
    double value = value_of(metric, &result);
    if (result != RGM_NVML_SUCCESS || fabs(value - expected) > 1e-9 * fabs(expected))
        HARNESS_FAIL("%s is %.17g (%s), expected %.17g", rgm_telemetry_metrics[metric].name, value,
                     rgm_nvml_name(result), expected);
}

static void check_absent(rgm_telemetry_metric metric, rgm_nvml_result expected) {
    rgm_nvml_result result;
    (void)value_of(metric, &result);
    if (result != expected)
        HARNESS_FAIL("%s gives %s, expected %s", rgm_telemetry_metrics[metric].name, rgm_nvml_name(result),
                     rgm_nvml_name(expected));
}

TEST(values_are_in_the_units_of_the_list) {
    REQUIRE(script_begin("libfake_nvml.so", "clock_ns=1230000000"));
    REQUIRE(read_list());
    const double gib = 1073741824.0;
    check_value(RGM_TELEMETRY_GPU_UTILIZATION, 123 % 101);
    check_value(RGM_TELEMETRY_MEMORY_UTILIZATION, 7);
    check_value(RGM_TELEMETRY_MEMORY_USED, 10 * gib);
    check_value(RGM_TELEMETRY_MEMORY_FREE, 69 * gib);
    check_value(RGM_TELEMETRY_MEMORY_TOTAL, 80 * gib);
    check_value(RGM_TELEMETRY_MEMORY_RESERVED, gib);
    check_value(RGM_TELEMETRY_POWER_INSTANT, 323);
    check_value(RGM_TELEMETRY_POWER_AVERAGE, 350);
    check_value(RGM_TELEMETRY_POWER, 345.678);
    check_value(RGM_TELEMETRY_ENERGY, 1220 * 0.4);
    check_value(RGM_TELEMETRY_TEMPERATURE, 55);
    check_value(RGM_TELEMETRY_TEMPERATURE_MEMORY, 61);
    check_value(RGM_TELEMETRY_CLOCK_SM, 1980);
    check_value(RGM_TELEMETRY_CLOCK_MEMORY, 2619);
    check_value(RGM_TELEMETRY_REASONS, RGM_CLOCK_REASON_SW_POWER_CAP);
    check_value(RGM_TELEMETRY_PCIE_TRANSMIT, 1230000);
    check_value(RGM_TELEMETRY_NVLINK_TRANSMIT, 1024.0 * 8589934592.0);
    check_value(RGM_TELEMETRY_NVLINK_RECEIVE, 12 * 1024);
    check_value(RGM_TELEMETRY_PSTATE, 0);
    check_value(RGM_TELEMETRY_POWER_LIMIT, 700);
    check_value(RGM_TELEMETRY_ENCODER, 3);
    check_value(RGM_TELEMETRY_DECODER, 4);
    check_value(RGM_TELEMETRY_ECC_CORRECTED, 2);
    check_value(RGM_TELEMETRY_ECC_UNCORRECTED, 0);
    check_value(RGM_TELEMETRY_PCIE_REPLAYS, 0);
    check_value(RGM_TELEMETRY_PCIE_TRANSMIT_RATE, 1.5e6);
    check_value(RGM_TELEMETRY_PCIE_RECEIVE_RATE, 2.5e6);
    check_value(RGM_TELEMETRY_PROCESSES, 3);
    check_absent(RGM_TELEMETRY_FAN, RGM_NVML_NOT_SUPPORTED);
    char text[160];
    rgm_telemetry_reason(text, sizeof text, RGM_TELEMETRY_FAN, RGM_NVML_NOT_SUPPORTED);
    CHECK_STR_EQ(text, "nvmlDeviceGetFanSpeed answers NOT_SUPPORTED: this device does not offer it");
    done();
}

TEST(an_older_driver_gives_what_it_has) {
    REQUIRE(script_begin("libfake_nvml_old.so", NULL));
    REQUIRE(read_list());
    CHECK_EQ_U64(list.count, 1);
    CHECK_EQ_I64(list.gpus[0].mig_mode, -1);
    check_value(RGM_TELEMETRY_MEMORY_USED, 11 * 1073741824.0);
    check_absent(RGM_TELEMETRY_MEMORY_RESERVED, RGM_NVML_FUNCTION_NOT_FOUND);
    check_absent(RGM_TELEMETRY_POWER_INSTANT, RGM_NVML_FUNCTION_NOT_FOUND);
    check_absent(RGM_TELEMETRY_PROCESSES, RGM_NVML_FUNCTION_NOT_FOUND);
    check_value(RGM_TELEMETRY_POWER, 345.678);
    check_value(RGM_TELEMETRY_REASONS, 4); // under its older name
    done();
}

// Every function of the double, every result: a value is never taken from a call that failed.
TEST(a_failed_call_gives_its_result_and_no_value) {
    static const int results[] = {
#define RESULT(name, value, text) value,
        RGM_NVML_RESULTS(RESULT)
#undef RESULT
    };
    static const struct {
        const char *function;
        rgm_telemetry_metric metric;
    } functions[] = {{"utilization", RGM_TELEMETRY_GPU_UTILIZATION},
                     {"fields", RGM_TELEMETRY_POWER_INSTANT},
                     {"power", RGM_TELEMETRY_POWER},
                     {"energy", RGM_TELEMETRY_ENERGY},
                     {"temperature", RGM_TELEMETRY_TEMPERATURE},
                     {"clock", RGM_TELEMETRY_CLOCK_SM},
                     {"event_reasons", RGM_TELEMETRY_REASONS},
                     {"pstate", RGM_TELEMETRY_PSTATE},
                     {"power_limit", RGM_TELEMETRY_POWER_LIMIT},
                     {"codec", RGM_TELEMETRY_ENCODER},
                     {"ecc", RGM_TELEMETRY_ECC_CORRECTED},
                     {"pcie_replays", RGM_TELEMETRY_PCIE_REPLAYS},
                     {"pcie_rate", RGM_TELEMETRY_PCIE_TRANSMIT_RATE}};
    REQUIRE(script_begin("libfake_nvml.so", NULL));
    REQUIRE(read_list());
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        script_set("fail_call", script_function(functions[f].function));
        for (size_t i = 1; i < sizeof results / sizeof *results; i++) {
            script_set("fail_result", results[i]);
            check_absent(functions[f].metric, results[i]);
        }
    }
    // The newer question for memory is followed by the older one.
    script_set("fail_call", script_function("memory_v2"));
    script_set("fail_result", RGM_NVML_NOT_SUPPORTED);
    check_value(RGM_TELEMETRY_MEMORY_USED, 11 * 1073741824.0);
    check_absent(RGM_TELEMETRY_MEMORY_RESERVED, RGM_NVML_NOT_SUPPORTED);
    done();
}

TEST(failures_while_the_devices_are_read) {
    static const char *const functions[] = {"device_count", "device_by_index", "device_uuid",
                                            "device_name",  "device_pci",      "mig_mode"};
    REQUIRE(script_begin("libfake_nvml.so", "devices=2"));
    REQUIRE(read_list());
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        script_set("fail_call", script_function(functions[f]));
        script_set("fail_result", RGM_NVML_UNKNOWN);
        rgm_error err;
        rgm_nvml_list_release(&list);
        rgm_status status = rgm_nvml_list_read(&list, nvml, &err);
        CHECK_EQ_I64(status, f == 0 ? RGM_UNAVAILABLE : RGM_OK);
        CHECK_EQ_U64(list.count, f == 0 ? 0 : 2);
    }
    script_set("fail_call", 0);
    EACH_FAULT("a list") {
        rgm_nvml_list other;
        if (FAULTY(rgm_nvml_list_read(&other, nvml, NULL)) == RGM_OK) rgm_nvml_list_release(&other);
    }
    done();
}

TEST(a_forked_child_initialises_anew) {
    REQUIRE(script_begin("libfake_nvml.so", NULL));
    REQUIRE(read_list());
    pid_t child = fork();
    if (child == 0) {
        bool good = rgm_nvml_get(&nvml, NULL) == RGM_OK && script_get("inits") == 2;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    CHECK_EQ_I64(script_get("inits"), 1);
    done();
}
