// SPDX-License-Identifier: Apache-2.0
// One call with its time, and what can be said of it in less than two microseconds: whether it is as short as
// a call without work, and whether the thread waited. The dictionaries are copies of what the caller
// prepared, because making their keys would cost more than all the rest.
#include <sys/resource.h>
#include <time.h>

#include "analysis/policy.h"
#include "base/clock.h"
#include "python/state.h"

// Order of the prepared answers.
typedef enum { LIGHT_SHORT, LIGHT_WAITED, LIGHT_UNKNOWN, LIGHT_PARTLY, LIGHT_OUTCOMES } light_outcome;

static const double ns_of_ms = 1e6;
// A thread that waits is away for longer than this; shorter calls are not asked.
static const int64_t wait_from_ns = 20000;

// Processor time, of all threads, below this part of the time is that of a wait and nothing else.
static const double no_work_share = 0.05;

static int64_t process_cpu_ns(void) {
    struct timespec now;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec
                                                              : 0;
}

// Without a voluntary switch the thread did not wait: what it lost was taken by others. Nor did it wait for
// anything but its own helpers where those worked; where they worked a little, others may have kept them
// from it.
static light_outcome judge(int64_t wall_ns, double floor_ns, const struct rusage *before,
                           int64_t cpu_before) {
    static const rgm_policy policy = RGM_POLICY_DEFAULTS;
    if ((double)wall_ns <= policy.regime_floor_factor * floor_ns) return LIGHT_SHORT;
    if (wall_ns < wait_from_ns) return LIGHT_UNKNOWN;
    struct rusage after;
    if (getrusage(RUSAGE_THREAD, &after) != 0 || after.ru_nvcsw == before->ru_nvcsw) return LIGHT_UNKNOWN;
    double share = (double)(process_cpu_ns() - cpu_before) / (double)wall_ns;
    return share < no_work_share              ? LIGHT_WAITED
           : share < policy.regime_wait_share ? LIGHT_PARTLY
                                              : LIGHT_UNKNOWN;
}

static PyObject *profile_of(const rgm_module *state, PyObject *prepared, PyObject *memory, int64_t wall_ns) {
    PyObject *profile = PyDict_Copy(prepared);
    PyObject *runtime = PyFloat_FromDouble((double)wall_ns / ns_of_ms);
    PyObject *own_memory = PyDict_Copy(memory);
    if (!profile || !runtime || !own_memory || PyDict_SetItem(profile, state->word_runtime_ms, runtime) < 0 ||
        PyDict_SetItem(profile, state->word_memory, own_memory) < 0)
        Py_CLEAR(profile);
    Py_XDECREF(runtime);
    Py_XDECREF(own_memory);
    return profile;
}

static PyObject *light_call(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    static const Py_ssize_t expected = 6;
    if (count != expected || !PyTuple_Check(args[1]) || !PyDict_Check(args[2]) || !PyTuple_Check(args[4]) ||
        PyTuple_GET_SIZE(args[4]) != LIGHT_OUTCOMES || !PyDict_Check(args[5])) {
        PyErr_SetString(
            PyExc_TypeError,
            "light_call takes a function, its tuple and dict, a floor in ns, four answers and a dict");
        return NULL;
    }
    double floor_ns = PyFloat_AsDouble(args[3]);
    if (floor_ns == -1.0 && PyErr_Occurred()) return NULL;
    struct rusage before;
    getrusage(RUSAGE_THREAD, &before);
    int64_t cpu_before = process_cpu_ns();
    int64_t begin = rgm_clock_monotonic_ns();
    PyObject *result = PyObject_Call(args[0], args[1], PyDict_GET_SIZE(args[2]) ? args[2] : NULL);
    int64_t wall_ns = rgm_clock_monotonic_ns() - begin;
    if (!result) return NULL;
    PyObject *prepared = PyTuple_GET_ITEM(args[4], judge(wall_ns, floor_ns, &before, cpu_before));
    PyObject *profile =
        PyDict_Check(prepared) ? profile_of(rgm_module_of(module), prepared, args[5], wall_ns) : NULL;
    if (!profile && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "an answer must be a dict");
    PyObject *both = profile ? PyTuple_Pack(2, result, profile) : NULL;
    Py_XDECREF(profile);
    Py_DECREF(result);
    return both;
}

static PyMethodDef functions[] = {
    {"light_call", (PyCFunction)(void (*)(void))light_call, METH_FASTCALL,
     "light_call($module, function, args, kwargs, floor_ns, answers, memory, /)\n--\n\nCall, time and "
     "judge."},
    {NULL},
};

int rgm_light_call_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
