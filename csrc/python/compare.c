// SPDX-License-Identifier: Apache-2.0
// Functions of the module that compare sides, look for change points, and offer the statistics behind them.
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "compare/change_points.h"
#include "compare/comparison.h"
#include "compare/distributions.h"
#include "compare/families.h"
#include "compare/prediction.h"
#include "compare/ranks.h"
#include "python/policy.h"
#include "python/rows.h"

// --- buffers ----------------------------------------------------------------------------------------------

// A contiguous buffer of items of one size; -1 with an exception.
static int take(PyObject *object, size_t size, const char *what, Py_buffer *view) {
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS) < 0) return -1;
    if ((size_t)view->len % size == 0 && (size_t)view->itemsize == size) return 0;
    PyErr_Format(PyExc_TypeError, "%s must have items of %zu bytes", what, size);
    PyBuffer_Release(view);
    view->obj = NULL;
    return -1;
}

static size_t items(const Py_buffer *view) { return (size_t)view->len / (size_t)view->itemsize; }

typedef struct {
    Py_buffer launches, samples, values, totals;
} side_buffers;

static void side_release(side_buffers *side) {
    Py_buffer *all[] = {&side->launches, &side->samples, &side->values, &side->totals};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->obj) PyBuffer_Release(all[i]);
}

static int check_bounds(const side_buffers *side, size_t operations) {
    const uint32_t *launches = side->launches.buf;
    const uint64_t *samples = side->samples.buf;
    if (items(&side->launches) != operations + 1 || !items(&side->samples)) goto wrong;
    size_t n_launches = items(&side->samples) - 1;
    if (launches[0] != 0 || launches[operations] != n_launches || samples[0] != 0 ||
        samples[n_launches] != items(&side->values))
        goto wrong;
    for (size_t i = 0; i < operations; i++)
        if (launches[i] > launches[i + 1]) goto wrong;
    for (size_t i = 0; i < n_launches; i++)
        if (samples[i] > samples[i + 1]) goto wrong;
    return 0;
wrong:
    PyErr_SetString(PyExc_ValueError, "bounds of launches and samples do not fit each other");
    return -1;
}

// (launches, samples, values, totals or None)
static int take_side(PyObject *given, size_t operations, side_buffers *out, rgm_side *side) {
    PyObject *launches, *samples, *values, *totals;
    if (!PyArg_ParseTuple(given, "OOOO", &launches, &samples, &values, &totals)) return -1;
    if (take(launches, 4, "launches", &out->launches) < 0 || take(samples, 8, "samples", &out->samples) < 0 ||
        take(values, 8, "values", &out->values) < 0)
        return -1;
    if (totals != Py_None && take(totals, 8, "totals", &out->totals) < 0) return -1;
    if (check_bounds(out, operations) < 0) return -1;
    if (out->totals.obj && items(&out->totals) != operations) {
        PyErr_SetString(PyExc_ValueError, "totals have one value an operation");
        return -1;
    }
    *side = (rgm_side){out->launches.buf, out->samples.buf, out->values.buf,
                       out->totals.obj ? out->totals.buf : NULL};
    return 0;
}

static const char *const fdr_names[] = {"none", "bh", "by"};
static const char unknown_fdr[] = "unknown correction %R; valid are: none, bh, by";

// --- compare ----------------------------------------------------------------------------------------------

static int read_policy(PyObject *given, rgm_compare_policy *policy) {
    if (rgm_compare_policy_read(given, policy) < 0) return -1;
    const double parts[] = {policy->alpha, policy->interval, policy->power, policy->shared_noise};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i] > 0 && parts[i] < 1) continue;
        PyErr_SetString(PyExc_ValueError, "alpha, interval, power and shared_noise lie between 0 and 1");
        return -1;
    }
    return 0;
}

static PyObject *facts_dict(const rgm_comparison_facts *f) {
    return Py_BuildValue("{sdsdsdsOsdsdsLsdsd}", "common_mode", f->common_mode, "common_low", f->common_low,
                         "common_high", f->common_high, "common_removed",
                         f->common_removed ? Py_True : Py_False, "detectable_median", f->detectable_median,
                         "detectable_worst", f->detectable_worst, "worst",
                         f->worst == UINT32_MAX ? -1LL : (long long)f->worst, "prior_df", f->prior_df,
                         "prior_variance", f->prior_variance);
}

static PyObject *run_comparison(rgm_module *state, const rgm_comparison_input *input,
                                const rgm_compare_policy *policy) {
    rgm_comparison *table = rgm_calloc(1, sizeof *table);
    if (!table) return PyErr_NoMemory();
    rgm_comparison_facts facts;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    RGM_UNLOCKED(status = rgm_compare(input, policy, table, &facts, &err));
    PyObject *wrapped = rgm_table_result(state, Py_None, &rgm_comparison_desc, table, status, &err);
    PyObject *known = wrapped ? facts_dict(&facts) : NULL;
    PyObject *result = known ? PyTuple_Pack(2, wrapped, known) : NULL;
    Py_XDECREF(wrapped);
    Py_XDECREF(known);
    return result;
}

static PyObject *core_compare(PyObject *module, PyObject *args) {
    static const char *const decisions[] = {"catch", "estimate", "prove"};
    PyObject *baseline, *current, *policy_dict, *fdr, *decision, *floors, *metrics, *result = NULL;
    Py_ssize_t operations;
    int paired;
    if (!PyArg_ParseTuple(args, "nOOpO!UUOO", &operations, &baseline, &current, &paired, &PyDict_Type,
                          &policy_dict, &fdr, &decision, &floors, &metrics))
        return NULL;
    rgm_compare_policy policy = RGM_COMPARE_POLICY_DEFAULTS;
    if (operations < 0 || read_policy(policy_dict, &policy) < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a negative number of operations");
        return NULL;
    }
    Py_ssize_t method = rgm_name_find(fdr, fdr_names, 3), mode = rgm_name_find(decision, decisions, 3);
    if (method < 0 || mode < 0)
        return PyErr_Format(PyExc_ValueError,
                            method < 0 ? unknown_fdr
                                       : "unknown decision %R; valid are: catch, estimate, prove",
                            method < 0 ? fdr : decision);
    side_buffers sides[2] = {0};
    Py_buffer floor_view = {0}, metric_view = {0};
    rgm_comparison_input input = {.operations = (size_t)operations,
                                  .paired = paired,
                                  .fdr = (rgm_fdr)method,
                                  .decision = (rgm_decision)mode};
    if (take_side(baseline, input.operations, &sides[0], &input.sides[0]) < 0 ||
        take_side(current, input.operations, &sides[1], &input.sides[1]) < 0)
        goto done;
    if (floors != Py_None) {
        if (take(floors, 8, "floors", &floor_view) < 0) goto done;
        if (items(&floor_view) != input.operations) {
            PyErr_SetString(PyExc_ValueError, "floors have one value an operation");
            goto done;
        }
        input.run_floors = floor_view.buf;
    }
    if (metrics != Py_None) {
        if (take(metrics, 1, "metrics", &metric_view) < 0) goto done;
        if (items(&metric_view) != input.operations) {
            PyErr_SetString(PyExc_ValueError, "metrics have one value an operation");
            goto done;
        }
        input.metrics = metric_view.buf;
    }
    result = run_comparison(rgm_module_of(module), &input, &policy);
done:
    side_release(&sides[0]);
    side_release(&sides[1]);
    if (floor_view.obj) PyBuffer_Release(&floor_view);
    if (metric_view.obj) PyBuffer_Release(&metric_view);
    return result;
}

// --- change points ----------------------------------------------------------------------------------------

static PyObject *change_point(const void *points, size_t i) {
    const rgm_change_point *point = &((const rgm_change_point *)points)[i];
    return Py_BuildValue("(nddd)", (Py_ssize_t)point->at, point->p, point->before, point->after);
}

static PyObject *core_change_points(PyObject *module, PyObject *args) {
    PyObject *given;
    double alpha;
    int dependent;
    if (!PyArg_ParseTuple(args, "Odp", &given, &alpha, &dependent)) return NULL;
    Py_buffer view;
    if (take(given, 8, "values", &view) < 0) return NULL;
    rgm_change_point *points = NULL;
    size_t count = 0;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    RGM_UNLOCKED(status =
                     rgm_change_points_of(view.buf, items(&view), alpha, dependent, &points, &count, &err));
    PyBuffer_Release(&view);
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    PyObject *list = rgm_list_of(count, change_point, points);
    rgm_free(points);
    return list;
}

// --- history ----------------------------------------------------------------------------------------------

static PyObject *core_predict(PyObject *module, PyObject *args) {
    PyObject *given[2], *result = NULL;
    double alpha;
    if (!PyArg_ParseTuple(args, "OOd", &given[0], &given[1], &alpha)) return NULL;
    if (!(alpha > 0) || !(alpha < 1)) return PyErr_Format(PyExc_ValueError, "alpha lies between 0 and 1");
    Py_buffer history = {0}, values = {0};
    if (take(given[0], 8, "history", &history) < 0 || take(given[1], 8, "values", &values) < 0) goto done;
    rgm_prediction found;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status =
        rgm_predict(history.buf, items(&history), values.buf, items(&values), alpha, &found, &err);
    if (status != RGM_OK)
        result = rgm_raise(rgm_module_of(module), status, &err);
    else
        result = Py_BuildValue("{sdsdsdsdsdsdsn}", "center", found.center, "spread", found.spread, "low",
                               found.low, "high", found.high, "df", found.df, "p", found.p, "trimmed",
                               (Py_ssize_t)found.trimmed);
done:
    if (history.obj) PyBuffer_Release(&history);
    if (values.obj) PyBuffer_Release(&values);
    return result;
}

static PyObject *core_adjust(PyObject *module, PyObject *args) {
    PyObject *given, *method, *list = NULL;
    if (!PyArg_ParseTuple(args, "OU", &given, &method)) return NULL;
    Py_ssize_t which = rgm_name_find(method, fdr_names, 3);
    if (which < 0) return PyErr_Format(PyExc_ValueError, unknown_fdr, method);
    Py_buffer view;
    if (take(given, 8, "p", &view) < 0) return NULL;
    size_t count = items(&view);
    double *q = rgm_malloc((count + 1) * sizeof *q);
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status = q ? rgm_adjust(view.buf, count, (rgm_fdr)which, q, &err) : rgm_error_no_memory(&err);
    PyBuffer_Release(&view);
    if (status != RGM_OK)
        (void)rgm_raise(rgm_module_of(module), status, &err);
    else
        list = rgm_list_of(count, rgm_row_f64, q);
    rgm_free(q);
    return list;
}

// --- statistics -------------------------------------------------------------------------------------------

static PyObject *core_t_quantile(PyObject *module, PyObject *args) {
    double p, df;
    if (!PyArg_ParseTuple(args, "dd", &p, &df)) return NULL;
    return PyFloat_FromDouble(rgm_t_quantile(p, df));
}

static PyMethodDef compare_methods[] = {
    {"compare", core_compare, METH_VARARGS,
     "compare($module, operations, baseline, current, paired, policy, fdr, decision, floors, metrics, "
     "/)\n--\n\n"
     "Compares two sides; a side is (launch bounds u32, sample bounds u64, values f64, totals).\n"
     "Returns the table `comparison` and a dict of what holds for all."},
    {"change_points", core_change_points, METH_VARARGS,
     "change_points($module, values, alpha, autocorrelated, /)\n--\n\n"
     "Change points of a series of float64: (place, p, median before, median after) of each."},
    {"predict", core_predict, METH_VARARGS,
     "predict($module, history, values, alpha, /)\n--\n\n"
     "Robust prediction interval of a history of float64, and the p-value of the mean of new values."},
    {"adjust", core_adjust, METH_VARARGS,
     "adjust($module, p, method, /)\n--\n\nP-values (float64, NaN does not count) adjusted: none, bh or by."},
    {"t_quantile", core_t_quantile, METH_VARARGS,
     "t_quantile($module, p, df, /)\n--\n\nQuantile of Student's t."},
    {NULL},
};

int rgm_compare_init(PyObject *module) { return PyModule_AddFunctions(module, compare_methods); }
