// SPDX-License-Identifier: Apache-2.0
// The classifier of regimes, for what is not a run.
#include "analysis/regimes/classify.h"

#include <math.h>
#include <string.h>

#include "base/tokens.h"
#include "python/fields.h"
#include "python/policy.h"
#include "python/rows.h"

static const char *const ceilings[] = {RGM_CEILINGS(RGM_TOKEN)};
static const char *const regimes[] = {RGM_REGIMES(RGM_TOKEN)};
static const char *const details[] = {RGM_REGIME_DETAILS(RGM_TOKEN)};
static const char *const reasons[] = {RGM_REGIME_REASONS(RGM_TOKEN)};

// --- arguments --------------------------------------------------------------------------------------------

// None leaves the value as it is: unknown.
static int take_number(PyObject *given, const char *name, double *value) {
    if (!given || given == Py_None) return 0;
    double number = PyFloat_AsDouble(given);
    if (number == -1.0 && PyErr_Occurred()) return -1;
    if (number < 0 || isinf(number)) {
        PyErr_Format(PyExc_ValueError, "%s must be a finite number of at least 0, or None", name);
        return -1;
    }
    *value = number;
    return 0;
}

int rgm_ceilings_take(PyObject *given, const char *name, rgm_ceilings *out) {
    Py_buffer view;
    if (PyObject_GetBuffer(given, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return -1;
    int fits = view.len == (Py_ssize_t)sizeof *out && view.format && strcmp(view.format, "d") == 0;
    if (fits) memcpy(out, view.buf, sizeof *out);
    PyBuffer_Release(&view);
    if (fits) return 0;
    PyErr_Format(PyExc_ValueError,
                 "%s must be float64 of shape (%d, 2): value and spread of each of CEILINGS", name,
                 RGM_CEILING_COUNT);
    return -1;
}

static int take_operations(PyObject *given, rgm_work *work) {
    static const rgm_field rows[] = {
#define PIPE_ROW(name, token, doc)                                                                           \
    {token, offsetof(rgm_work, operations) + RGM_PIPE_##name * sizeof(double), 0, "", ""},
        RGM_PIPES(PIPE_ROW)
#undef PIPE_ROW
    };
    static const rgm_fields fields = {rows,
                                      RGM_PIPE_COUNT,
                                      RGM_FIELD_OR_UNKNOWN,
                                      &PyExc_ValueError,
                                      "no pipe is called %R; valid are those of PIPES",
                                      "%R must be a finite number of at least 0, or None"};
    if (!given || given == Py_None) return 0;
    if (!PyDict_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "operations must be a dict of pipe and number");
        return -1;
    }
    for (int p = 0; p < RGM_PIPE_COUNT; p++) work->operations[p] = 0;
    return rgm_fields_read(given, &fields, work);
}

static int take_limit(PyObject *name, PyObject *value, rgm_work *work) {
    static const char *const names[] = {RGM_LIMITS(RGM_TOKEN)};
    double share, spread;
    Py_ssize_t found = rgm_name_find(name, names, RGM_LIMIT_COUNT);
    if (found < 0) {
        PyErr_Format(PyExc_ValueError, "no limit is called %R; valid are those of LIMITS", name);
        return -1;
    }
    if (!PyTuple_Check(value) || !PyArg_ParseTuple(value, "dd", &share, &spread)) {
        PyErr_Format(PyExc_TypeError, "limit %R must be (part of the time, spread)", name);
        return -1;
    }
    if (!(share >= 0 && spread >= 0) || isinf(share) || isinf(spread)) {
        PyErr_Format(PyExc_ValueError, "limit %R must have finite numbers of at least 0", name);
        return -1;
    }
    work->limit_share[found] = share;
    work->limit_spread[found] = spread;
    return 0;
}

// {name: (part of the time, its spread)}
static int take_limits(PyObject *given, rgm_work *work) {
    if (!given || given == Py_None) return 0;
    if (!PyDict_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "limits must be a dict of limit and (part of the time, spread)");
        return -1;
    }
    PyObject *name, *value, *own = PyDict_Copy(given); // numbers may run code that changes it
    Py_ssize_t at = 0;
    int result = own ? 0 : -1;
    while (result == 0 && PyDict_Next(own, &at, &name, &value)) result = take_limit(name, value, work);
    Py_XDECREF(own);
    return result;
}

static int take_caches(PyObject *given, rgm_work *work) {
    if (!given || given == Py_None) return 0;
    PyObject *items =
        rgm_sequence_items(given, "caches must be a sequence of the sizes of up to three levels");
    if (!items) return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    int result = count <= RGM_CACHE_LEVELS ? 0 : -1;
    if (result < 0) PyErr_SetString(PyExc_ValueError, "caches has at most three levels");
    for (Py_ssize_t i = 0; result == 0 && i < count; i++)
        result = take_number(PyTuple_GET_ITEM(items, i), "caches", &work->cache_bytes[i]);
    Py_DECREF(items);
    return result;
}

static int take_dispatch(PyObject *given, rgm_work *work) {
    static const char *const names[] = {"python", "numpy", "torch"};
    static const rgm_ceiling_id ids[] = {RGM_CEILING_DISPATCH_PYTHON, RGM_CEILING_DISPATCH_NUMPY,
                                         RGM_CEILING_DISPATCH_TORCH};
    if (!given || given == Py_None) return 0;
    Py_ssize_t found = rgm_name_find(given, names, sizeof names / sizeof names[0]);
    if (found < 0) {
        PyErr_Format(PyExc_ValueError, "unknown dispatch %R; valid are: python, numpy, torch", given);
        return -1;
    }
    work->dispatch = ids[found];
    return 0;
}

// X(keyword, member)
#define NUMBERS(X)                                                                                           \
    X(time_ns, time_ns)                                                                                      \
    X(time_spread, time_spread)                                                                              \
    X(operations_spread, operations_spread)                                                                  \
    X(bytes, bytes)                                                                                          \
    X(bytes_spread, bytes_spread)                                                                            \
    X(compute_share, compute_share)                                                                          \
    X(memory_share, memory_share)                                                                            \
    X(l2_bytes, l2_bytes)                                                                                    \
    X(l2_spread, l2_spread)                                                                                  \
    X(accesses, accesses)                                                                                    \
    X(calls, calls)                                                                                          \
    X(floor_ns, floor_ns)                                                                                    \
    X(floor_spread, floor_spread)                                                                            \
    X(blocks, blocks)                                                                                        \
    X(multiprocessors, multiprocessors)                                                                      \
    X(threads, threads)                                                                                      \
    X(machine_threads, machine_threads)                                                                      \
    X(cpu_ns, cpu_ns)                                                                                        \
    X(working_set, working_set)

// --- result -----------------------------------------------------------------------------------------------

// X(member)
#define FIGURES(X)                                                                                           \
    X(overhead_probability)                                                                                  \
    X(memory_probability)                                                                                    \
    X(compute_probability)                                                                                   \
    X(error_probability)                                                                                     \
    X(sol_compute)                                                                                           \
    X(sol_memory)                                                                                            \
    X(latency_share)                                                                                         \
    X(floor_share)                                                                                           \
    X(wait_share)                                                                                            \
    X(limit_share)                                                                                           \
    X(intensity)                                                                                             \
    X(ridge)                                                                                                 \
    X(model_ns)                                                                                              \
    X(model_low_ns)                                                                                          \
    X(model_high_ns)                                                                                         \
    X(confidence)

static PyObject *verdict_dict(const rgm_regime_verdict *v) {
#define FIGURE(member) RGM_MEMBER_OR_NONE(rgm_regime_verdict, member),
    static const rgm_member figures[] = {FIGURES(FIGURE)};
#undef FIGURE
    const char *roof = v->memory_roof < RGM_CEILING_COUNT ? ceilings[v->memory_roof] : NULL;
    PyObject *dict =
        Py_BuildValue("{ssssssssszsO}", "regime", regimes[v->regime], "leans_to", regimes[v->leans_to],
                      "detail", details[v->detail], "reason", reasons[v->reason], "memory_roof", roof,
                      "floor_assumed", v->floor_assumed ? Py_True : Py_False);
    if (dict && rgm_members_put(dict, v, figures, sizeof figures / sizeof *figures) < 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *core_classify(PyObject *module, PyObject *args, PyObject *kwargs) {
#define NUMBER_NAME(keyword, member) #keyword,
#define NUMBER_FORMAT(keyword, member) "O"
#define NUMBER_OBJECT(keyword, member) *keyword##_given = NULL,
#define NUMBER_PLACE(keyword, member) , &keyword##_given
    static char *names[] = {"ceilings",   "single", "host",
                            "operations", "caches", "dispatch",
                            "limits",     "policy", NUMBERS(NUMBER_NAME) NULL};
    PyObject *all = Py_None, *single = Py_None, *operations = NULL, *caches = NULL, *dispatch = NULL;
    PyObject *limits = NULL;
    PyObject NUMBERS(NUMBER_OBJECT) *policy_given = NULL;
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    rgm_ceilings machine, one;
    rgm_work work = rgm_work_none;
    int host = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOpOOOOO!" NUMBERS(NUMBER_FORMAT), names, &all, &single,
                                     &host, &operations, &caches, &dispatch, &limits, &PyDict_Type,
                                     &policy_given NUMBERS(NUMBER_PLACE)))
        return NULL;
    const struct {
        PyObject *given;
        const char *name;
        double *value;
    } numbers[] = {
#define NUMBER_ROW(keyword, member) {keyword##_given, #keyword, &work.member},
        NUMBERS(NUMBER_ROW)
#undef NUMBER_ROW
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (take_number(numbers[i].given, numbers[i].name, numbers[i].value) < 0) return NULL;
    if (all != Py_None && rgm_ceilings_take(all, "ceilings", &machine) < 0) return NULL;
    if (single != Py_None && rgm_ceilings_take(single, "single", &one) < 0) return NULL;
    if (take_operations(operations, &work) < 0 || take_caches(caches, &work) < 0 ||
        take_dispatch(dispatch, &work) < 0 || take_limits(limits, &work) < 0)
        return NULL;
    if (policy_given && rgm_policy_read(policy_given, &policy) < 0) return NULL;
    work.host = host;
    work.ceilings = all != Py_None ? &machine : NULL;
    work.single = single != Py_None ? &one : NULL;
    rgm_regime_verdict verdict = rgm_classify(&work, &policy);
    return verdict_dict(&verdict);
}

#define TEXT_ROW(name, token, text) {token, text},
static PyObject *texts_of(const char *const (*rows)[2], size_t count) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < count; i++)
        if (rgm_dict_put(dict, rows[i][0], PyUnicode_FromString(rows[i][1])) < 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *core_regime_texts(PyObject *module, PyObject *unused) {
    static const char *const labels[][2] = {RGM_REGIMES(TEXT_ROW)};
    static const char *const beside[][2] = {RGM_REGIME_DETAILS(TEXT_ROW)};
    static const char *const why[][2] = {RGM_REGIME_REASONS(TEXT_ROW)};
    return Py_BuildValue("{sNsNsN}", "regimes", texts_of(labels, RGM_REGIME_COUNT), "details",
                         texts_of(beside, RGM_DETAIL_COUNT), "reasons", texts_of(why, RGM_REASON_COUNT));
}

// --- module -----------------------------------------------------------------------------------------------

static PyMethodDef functions[] = {
    {"classify", (PyCFunction)(void (*)(void))core_classify, METH_VARARGS | METH_KEYWORDS,
     "classify($module, /, **work)\n--\n\nWhat limits work of known time, against ceilings."},
    {"regime_texts", core_regime_texts, METH_NOARGS,
     "regime_texts($module)\n--\n\nWhat regimes, details and reasons mean, by token."},
    {NULL},
};

int rgm_classify_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
