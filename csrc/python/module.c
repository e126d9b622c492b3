// SPDX-License-Identifier: Apache-2.0
// regimeter._core: module state, functions, initialisation.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "analysis/analyses.h"
#include "analysis/communication/collective.h"
#include "analysis/counters/counter_item.h"
#include "analysis/critical/critical.h"
#include "analysis/diff/diff.h"
#include "analysis/times/kernel_types.h"
#include "base/memory.h"
#include "base/tokens.h"
#include "calibrate/device.h"
#include "calibrate/host.h"
#include "capture/heap_sampler.h"
#include "capture/host_memory.h"
#include "compare/race.h"
#include "io/export/export.h"
#include "io/journal/frame.h"
#include "io/trace/trace_fields.h"
#include "model/regimes.h"
#include "model/variables.h"
#include "python/profiler.h"
#include "python/rows.h"

rgm_module *rgm_module_of(PyObject *module) { return PyModule_GetState(module); }

rgm_module *rgm_module_of_type(PyTypeObject *type) {
    PyObject *module = PyType_GetModuleByDef(type, &rgm_module_def); // subclasses in Python find it too
    return module ? PyModule_GetState(module) : NULL;
}

// --- descriptions -----------------------------------------------------------------------------------------

static PyObject *describe_column(const void *columns, size_t i) {
    const rgm_column_desc *c = &((const rgm_column_desc *)columns)[i];
    const char *dtype = rgm_types[c->type].dtype;
    return Py_BuildValue("{ssssssssss}", "name", c->name, "type", c->type == RGM_TYPE_name ? "name" : dtype,
                         "dtype", dtype, "unit", c->unit, "doc", c->doc);
}

static PyObject *describe_tables(const rgm_table_desc *const *tables, size_t count) {
    PyObject *dict = PyDict_New();
    for (size_t t = 0; dict && t < count; t++) {
        PyObject *columns = rgm_list_of(tables[t]->n_columns, describe_column, tables[t]->columns);
        if (rgm_dict_put(dict, tables[t]->name,
                         Py_BuildValue("{sssN}", "doc", tables[t]->doc, "columns", columns)) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *core_schema(PyObject *module, PyObject *unused) {
    return Py_BuildValue("{sNsN}", "run", describe_tables(rgm_run_tables, rgm_run_tables_count), "results",
                         describe_tables(rgm_result_tables, rgm_result_tables_count));
}

static PyObject *core_analyses(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < rgm_analyses_count; i++)
        if (rgm_dict_put(
                dict, rgm_analyses[i].name,
                Py_BuildValue("{ssss}", "table", rgm_analyses[i].desc->name, "doc", rgm_analyses[i].doc)) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *core_options(PyObject *module, PyObject *unused) {
    typedef struct {
        const char *name;
        int64_t initial;
        const char *unit, *doc;
    } option;
    static const option rows[] = {
#define OPTION_ROW(type, name, initial, unit, doc) {#name, initial, unit, doc},
        RGM_SESSION_OPTIONS(OPTION_ROW)
#undef OPTION_ROW
    };
    static const rgm_member members[] = {RGM_MEMBER_AS(option, initial, "default"), RGM_MEMBER(option, unit),
                                         RGM_MEMBER(option, doc)};
    return RGM_ROWS_DICT(rows, sizeof rows / sizeof rows[0], members);
}

// --- small services ---------------------------------------------------------------------------------------

static PyObject *core_memory(PyObject *module, PyObject *unused) {
    int64_t in_use, held;
    bool known = rgm_memory_malloc(&in_use, &held);
    return Py_BuildValue("{sLsLsLsO}", "resident", (long long)rgm_memory_resident(), "malloc_in_use",
                         (long long)in_use, "malloc_held", (long long)held, "malloc_known",
                         known ? Py_True : Py_False);
}

static PyObject *core_clock(PyObject *module, PyObject *unused) {
    rgm_clock_init();
    return PyUnicode_FromString(rgm_clock_name());
}

static PyObject *core_allocations(PyObject *module, PyObject *unused) {
    return PyLong_FromUnsignedLongLong(rgm_memory_calls());
}

// The child of `regimeter record` must not outlive it.
static PyObject *core_die_with_parent(PyObject *module, PyObject *signal_number) {
    long number = PyLong_AsLong(signal_number);
    if (number == -1 && PyErr_Occurred()) return NULL;
    if (prctl(PR_SET_PDEATHSIG, number) != 0) return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static int signals_of(PyObject *numbers, sigset_t *signals) {
    sigemptyset(signals);
    PyObject *iterator = PyObject_GetIter(numbers), *item;
    while (iterator && (item = PyIter_Next(iterator))) {
        long number = PyLong_AsLong(item);
        Py_DECREF(item);
        if (PyErr_Occurred()) break;
        if (number < 1 || number > INT_MAX || sigaddset(signals, (int)number) != 0)
            PyErr_Format(PyExc_ValueError, "%ld is no signal", number);
        if (PyErr_Occurred()) break;
    }
    Py_XDECREF(iterator);
    return PyErr_Occurred() ? -1 : 0;
}

// As signal.sigtimedwait, which returns what happens to lie in memory where the process was stopped meanwhile
// and went on after the time was over (seen with CPython 3.11).
static PyObject *core_next_signal(PyObject *module, PyObject *args) {
    PyObject *numbers;
    double seconds;
    sigset_t signals;
    if (!PyArg_ParseTuple(args, "Od", &numbers, &seconds) || signals_of(numbers, &signals) < 0) return NULL;
    if (!(seconds >= 0 && seconds < 1e9))
        return PyErr_Format(PyExc_ValueError, "a time to wait lies between 0 and 1e9 seconds");
    int64_t left_ns = (int64_t)(seconds * 1e9), end_ns = rgm_clock_monotonic_ns() + left_ns;
    siginfo_t told;
    int number, failure;
    do {
        struct timespec time = {left_ns / 1000000000, left_ns % 1000000000};
        Py_BEGIN_ALLOW_THREADS;
        number = sigtimedwait(&signals, &told, &time);
        failure = errno;
        Py_END_ALLOW_THREADS;
        if (number < 0 && failure == EINTR && PyErr_CheckSignals() < 0) return NULL;
        left_ns = end_ns - rgm_clock_monotonic_ns();
    } while (number < 0 && failure == EINTR && left_ns > 0);
    if (number >= 0) return Py_BuildValue("(iii)", number, told.si_code, (int)told.si_pid);
    if (failure == EAGAIN || failure == EINTR) Py_RETURN_NONE;
    errno = failure;
    return PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *pair_of(const void *rows, size_t i) {
    const char *const(*pairs)[2] = rows;
    return Py_BuildValue("(ss)", pairs[i][0], pairs[i][1]);
}

// What the importer of traces knows and does not keep: (keys, reason).
static PyObject *core_not_kept(PyObject *module, PyObject *unused) {
#define NOT_KEPT(keys, reason) {keys, reason},
    static const char *const rows[][2] = {RGM_EVENT_KEYS_NOT_KEPT(NOT_KEPT) RGM_ARGUMENTS_NOT_KEPT(NOT_KEPT)};
#undef NOT_KEPT
    return rgm_tuple_of(sizeof rows / sizeof rows[0], pair_of, rows);
}

static PyObject *core_heap_reason(PyObject *module, PyObject *unused) {
    return PyUnicode_FromString(rgm_heap_reason());
}

// One frame of a journal, numbered: for who shortens a recording that is being written.
static PyObject *core_frame(PyObject *module, PyObject *args) {
    unsigned type, file, number;
    Py_buffer payload;
    if (!PyArg_ParseTuple(args, "Iy*II", &type, &payload, &file, &number)) return NULL;
    rgm_bytes out = {0};
    size_t mark = rgm_frame_begin(&out, (rgm_frame_type)type);
    rgm_bytes_append(&out, payload.buf, (size_t)payload.len);
    rgm_frame_end(&out, mark);
    rgm_frame_number(&out, &(rgm_frame_series){.file = file, .next = number});
    PyObject *frame = out.failed ? PyErr_NoMemory()
                                 : PyBytes_FromStringAndSize((const char *)out.data, (Py_ssize_t)out.length);
    rgm_bytes_release(&out);
    PyBuffer_Release(&payload);
    return frame;
}

static PyObject *core_punch_hole(PyObject *module, PyObject *args) {
    int fd, failed;
    long long offset, length;
    if (!PyArg_ParseTuple(args, "iLL", &fd, &offset, &length)) return NULL;
    RGM_UNLOCKED(failed = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length));
    if (failed) return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyMethodDef core_methods[] = {
    {"not_kept", core_not_kept, METH_NOARGS,
     "not_kept($module)\n--\n\nKeys of trace events that have no place in the model, | between them, and "
     "why."},
    {"schema", core_schema, METH_NOARGS, "schema($module)\n--\n\nTables and columns of the data model."},
    {"analyses", core_analyses, METH_NOARGS,
     "analyses($module)\n--\n\nAnalyses of a trace, with the table that each returns."},
    {"options", core_options, METH_NOARGS, "options($module)\n--\n\nOptions of a recording session."},
    {"heap_reason", core_heap_reason, METH_NOARGS,
     "heap_reason($module)\n--\n\nWhy allocations of this process cannot be watched, '' where they can."},
    {"host_memory", core_memory, METH_NOARGS,
     "host_memory($module)\n--\n\nMemory of this process in bytes, -1 where unknown."},
    {"clock_name", core_clock, METH_NOARGS,
     "clock_name($module)\n--\n\nThe clock that scopes are timed with."},
    {"allocations", core_allocations, METH_NOARGS,
     "allocations($module)\n--\n\nHeap allocations of the core so far."},
    {"die_with_parent", core_die_with_parent, METH_O,
     "die_with_parent($module, signal, /)\n--\n\nAsks for the signal at the parent's end."},
    {"next_signal", core_next_signal, METH_VARARGS,
     "next_signal($module, signals, seconds, /)\n--\n\nThe next of these signals, which are blocked, as its "
     "number, code and sender; None for none in that time."},
    {"frame", core_frame, METH_VARARGS,
     "frame($module, type, payload, file, number, /)\n--\n\nThe bytes of one block of a recording."},
    {"punch_hole", core_punch_hole, METH_VARARGS,
     "punch_hole($module, fd, offset, length, /)\n--\n\nGives the room of a part of a file back; it reads as "
     "zeros."},
    {NULL},
};

// --- initialisation ---------------------------------------------------------------------------------------

#define RULE_TYPE(name, token, type, effort, tier, reference) #type,
#define RULE_EFFORT(name, token, type, effort, tier, reference) #effort,
#define RULE_REFERENCE(name, token, type, effort, tier, reference) #reference,
#define QUANTITY_UNIT(name, token, unit, doc) unit,
#define NAMES(constant, LIST, MEMBER)                                                                        \
    {constant, (const char *const[]){LIST(MEMBER)},                                                          \
     sizeof((const char *const[]){LIST(MEMBER)}) / sizeof(char *)}

static const struct {
    const char *constant;
    const char *const *names;
    size_t count;
} all_names[] = {
    NAMES("SPAN_KINDS", RGM_SPAN_KINDS, RGM_TOKEN),
    NAMES("ROLES", RGM_ROLES, RGM_TOKEN),
    NAMES("DEVICES", RGM_DEVICES, RGM_TOKEN),
    NAMES("BACKENDS", RGM_BACKENDS, RGM_TOKEN),
    NAMES("ENVIRONMENT_VARIABLES", RGM_ENVIRONMENT_VARIABLES, RGM_TOKEN),
    NAMES("MEMORY_ACTIONS", RGM_MEMORY_ACTIONS, RGM_TOKEN),
    NAMES("SEGMENT_KINDS", RGM_SEGMENT_KINDS, RGM_TOKEN),
    NAMES("SHORTAGES", RGM_SHORTAGES, RGM_TOKEN),
    NAMES("MACHINE_SIGNS", RGM_MACHINE_SIGNS, RGM_TOKEN),
    NAMES("BLOCK_STATES", RGM_BLOCK_STATES, RGM_TOKEN),
    NAMES("MEMORY_SOURCES", RGM_MEMORY_SOURCES, RGM_TOKEN),
    NAMES("FLOW_KINDS", RGM_FLOW_KINDS, RGM_TOKEN),
    NAMES("FLOW_PHASES", RGM_FLOW_PHASES, RGM_TOKEN),
    NAMES("INTERVAL_STATES", RGM_INTERVAL_STATES, RGM_TOKEN),
    NAMES("SAMPLE_STATES", RGM_SAMPLE_STATES, RGM_TOKEN),
    NAMES("OCCUPANCY_LIMITS", RGM_OCCUPANCY_LIMITS, RGM_TOKEN),
    NAMES("SCOPE_SOURCES", RGM_SCOPE_SOURCES, RGM_TOKEN),
    NAMES("ACTIVITIES", RGM_ACTIVITIES, RGM_TOKEN),
    NAMES("PATH_KINDS", RGM_PATH_KINDS, RGM_TOKEN),
    NAMES("PATH_REASONS", RGM_PATH_REASONS, RGM_TOKEN),
    NAMES("PATH_SIDES", RGM_PATH_SIDES, RGM_TOKEN),
    NAMES("CHANGES", RGM_CHANGES, RGM_TOKEN),
    NAMES("KERNEL_TYPES", RGM_KERNEL_TYPES, RGM_TOKEN),
    NAMES("STEP_STATES", RGM_STEP_STATES, RGM_TOKEN),
    NAMES("FLOP_SOURCES", RGM_FLOP_SOURCES, RGM_TOKEN),
    NAMES("IDLE_CAUSES", RGM_IDLE_CAUSES, RGM_TOKEN),
    NAMES("COPY_DIRECTIONS", RGM_COPY_DIRECTIONS, RGM_TOKEN),
    NAMES("COPY_MEMORIES", RGM_COPY_MEMORIES, RGM_TOKEN),
    NAMES("SYNC_CLASSES", RGM_SYNC_CLASSES, RGM_TOKEN),
    NAMES("COUNTER_SOURCES", RGM_COUNTER_SOURCES, RGM_TOKEN),
    NAMES("PIPES", RGM_PIPES, RGM_TOKEN),
    NAMES("LIMITS", RGM_LIMITS, RGM_TOKEN),
    NAMES("HOST_PARTS", RGM_HOST_PARTS, RGM_TOKEN),
    NAMES("DEVICE_PARTS", RGM_DEVICE_PARTS, RGM_TOKEN),
    NAMES("CEILINGS", RGM_CEILINGS, RGM_TOKEN),
    NAMES("REGIMES", RGM_REGIMES, RGM_TOKEN),
    NAMES("REGIME_DETAILS", RGM_REGIME_DETAILS, RGM_TOKEN),
    NAMES("WORK_SOURCES", RGM_WORK_SOURCES, RGM_TOKEN),
    NAMES("REGIME_REASONS", RGM_REGIME_REASONS, RGM_TOKEN),
    NAMES("LIBRARIES", RGM_LIBRARIES, RGM_TOKEN),
    NAMES("COLLECTIVES", RGM_COLLECTIVE_KINDS, RGM_TOKEN),
    NAMES("COLLECTIVE_SOURCES", RGM_COLLECTIVE_SOURCES, RGM_TOKEN),
    NAMES("EXPORT_FORMATS", RGM_EXPORTS, RGM_TOKEN),
    NAMES("FLAME_ROLES", RGM_FLAME_ROLES, RGM_TOKEN),
    NAMES("TIERS", RGM_TIERS, RGM_TOKEN),
    NAMES("VERDICTS", RGM_VERDICTS, RGM_TOKEN),
    NAMES("VERDICT_REASONS", RGM_VERDICT_REASONS, RGM_TOKEN),
    NAMES("RACE_OUTCOMES", RGM_RACE_OUTCOMES, RGM_TOKEN),
    NAMES("SUGGESTION_TYPES", RGM_SUGGESTION_TYPES, RGM_TOKEN),
    NAMES("PRIORITIES", RGM_PRIORITIES, RGM_TOKEN),
    NAMES("DEGREES", RGM_DEGREES, RGM_TOKEN),
    NAMES("SUGGESTION_RULES", RGM_SUGGESTION_RULES, RGM_TOKEN),
    NAMES("SUGGESTION_RULE_TYPES", RGM_SUGGESTION_RULES, RULE_TYPE),
    NAMES("SUGGESTION_RULE_EFFORTS", RGM_SUGGESTION_RULES, RULE_EFFORT),
    NAMES("SUGGESTION_RULE_REFERENCES", RGM_SUGGESTION_RULES, RULE_REFERENCE),
    NAMES("LIMIT_CAUSES", RGM_LIMIT_CAUSES, RGM_TOKEN),
    NAMES("QUANTITIES", RGM_QUANTITIES, RGM_TOKEN),
    NAMES("QUANTITY_UNITS", RGM_QUANTITIES, QUANTITY_UNIT),
    NAMES("ANOMALY_CODES", RGM_ANOMALY_CODES, RGM_TOKEN),
};

static PyObject *interned(const void *names, size_t i) {
    return PyUnicode_InternFromString(((const char *const *)names)[i]);
}

static int add_constants(PyObject *module, rgm_module *state) {
    for (size_t i = 0; i < sizeof all_names / sizeof all_names[0]; i++) {
        PyObject *names = rgm_tuple_of(all_names[i].count, interned, all_names[i].names);
        int failed = PyModule_AddObjectRef(module, all_names[i].constant, names);
        Py_XDECREF(names);
        if (failed) return -1;
    }
    state->device_names = PyObject_GetAttrString(module, "DEVICES");
    if (!state->device_names) return -1;
#define FLAG_CONSTANT(name, bit, token, text)                                                                \
    if (PyModule_AddIntConstant(module, "FLAG_" #name, 1 << (bit)) < 0) return -1;
    RGM_SPAN_FLAGS(FLAG_CONSTANT)
#undef FLAG_CONSTANT
    return PyModule_AddStringConstant(module, "__version__", RGM_VERSION_STRING);
}

// On the main thread, some moments after a session's alarm.
static int show_warnings(void *unused) {
    (void)unused;
    PyObject *name = PyUnicode_FromString("regimeter.capture.lifetime");
    PyObject *profiler = name ? PyImport_GetModule(name) : NULL;
    PyObject *done = profiler ? PyObject_CallMethod(profiler, "show_warnings", NULL) : NULL;
    if (PyErr_Occurred()) PyErr_WriteUnraisable(NULL);
    Py_XDECREF(done);
    Py_XDECREF(profiler);
    Py_XDECREF(name);
    return 0;
}

// From the thread that writes: it holds no GIL, and does not wait for it.
static void alarm_from_session(void) { (void)Py_AddPendingCall(show_warnings, NULL); }

static int core_exec(PyObject *module) {
    // Python 3.12 and later refuse some of the others themselves; in the rest threads outlive what they
    // belong to.
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError,
                        "regimeter records in the main interpreter of a process only, and this is a "
                        "subinterpreter: import it in the main one, or start a process");
        return -1;
    }
    rgm_session_on_alarm(alarm_from_session);
    rgm_module *state = rgm_module_of(module);
    state->word_device = PyUnicode_InternFromString("device");
    state->word_operation = PyUnicode_InternFromString("operation");
    state->word_stream = PyUnicode_InternFromString("stream");
    state->word_begin = PyUnicode_InternFromString("begin");
    state->word_end = PyUnicode_InternFromString("end");
    state->word_runtime_ms = PyUnicode_InternFromString("runtime_ms");
    state->word_memory = PyUnicode_InternFromString("memory");
    if (!state->word_device || !state->word_operation || !state->word_stream || !state->word_begin ||
        !state->word_end || !state->word_runtime_ms || !state->word_memory)
        return -1;
    if (rgm_context_init() < 0) return -1;
    if (rgm_errors_init(module, state) < 0 || add_constants(module, state) < 0) return -1;
    if (rgm_awaitable_type_init(module, state) < 0 || rgm_scope_types_init(module, state) < 0 ||
        rgm_profiler_type_init(module, state) < 0)
        return -1;
    if (rgm_function_type_init(module, state) < 0 || rgm_table_types_init(module, state) < 0) return -1;
    if (rgm_feed_type_init(module, state) < 0 || rgm_policy_init(module) < 0 ||
        rgm_compare_init(module) < 0 || rgm_spill_init(module) < 0)
        return -1;
    if (rgm_buffer_pool_types_init(module, state) < 0 || rgm_monitor_type_init(module, state) < 0) return -1;
    if (rgm_race_type_init(module, state) < 0 || rgm_telemetry_init(module) < 0) return -1;
    if (rgm_libraries_init(module) < 0) return -1;
    if (rgm_counters_init(module) < 0 || rgm_counter_measure_init(module) < 0) return -1;
    if (rgm_kernels_init(module) < 0 || rgm_workload_run_init(module) < 0) return -1;
    if (rgm_calibrate_init(module) < 0 || rgm_classify_init(module) < 0) return -1;
    if (rgm_light_call_init(module) < 0 || rgm_counting_init(module) < 0) return -1;
    if (rgm_pace_init(module) < 0 || rgm_touched_init(module) < 0 || rgm_turns_init(module) < 0) return -1;
    return rgm_run_type_init(module, state);
}

#define EACH_REFERENCE(X)                                                                                    \
    X(error)                                                                                                 \
    X(format_error)                                                                                          \
    X(busy_error)                                                                                            \
    X(unavailable_error)                                                                                     \
    X(profiler_type)                                                                                         \
    X(scope_type)                                                                                            \
    X(idle_scope_type)                                                                                       \
    X(enter_exit_type)                                                                                       \
    X(awaitable_type)                                                                                        \
    X(function_type)                                                                                         \
    X(run_type)                                                                                              \
    X(table_type)                                                                                            \
    X(column_type)                                                                                           \
    X(feed_type)                                                                                             \
    X(buffer_pool_type)                                                                                      \
    X(pool_buffer_type)                                                                                      \
    X(monitor_type)                                                                                          \
    X(race_type)                                                                                             \
    X(idle)                                                                                                  \
    X(device_names)                                                                                          \
    X(word_device)                                                                                           \
    X(word_operation)                                                                                        \
    X(word_stream)                                                                                           \
    X(word_begin)                                                                                            \
    X(word_end)                                                                                              \
    X(word_runtime_ms)                                                                                       \
    X(word_memory)

static int core_traverse(PyObject *module, visitproc visit, void *arg) {
    rgm_module *state = rgm_module_of(module);
#define VISIT(member) Py_VISIT(state->member);
    EACH_REFERENCE(VISIT)
    return 0;
}

static int core_clear(PyObject *module) {
    rgm_module *state = rgm_module_of(module);
#define CLEAR(member) Py_CLEAR(state->member);
    EACH_REFERENCE(CLEAR)
    return 0;
}

static void core_free(void *module) { (void)core_clear(module); }

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, core_exec},
#if PY_VERSION_HEX >= 0x030C0000
    // The recorder of a thread is found through one thread-local variable per process.
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

PyDoc_STRVAR(core_doc, "The C core of regimeter.");
struct PyModuleDef rgm_module_def = {
    PyModuleDef_HEAD_INIT,        .m_name = "regimeter._core", .m_doc = core_doc,
    .m_size = sizeof(rgm_module), .m_methods = core_methods,   .m_slots = core_slots,
    .m_traverse = core_traverse,  .m_clear = core_clear,       .m_free = core_free,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&rgm_module_def); }
