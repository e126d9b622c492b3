// SPDX-License-Identifier: Apache-2.0
// Tables and columns as Python sees them: a column offers its memory by the buffer protocol, a table makes
// NumPy arrays of columns on demand (without a copy) and an Arrow stream of itself. NumPy is imported when
// the first column is asked for, never before.
#include <string.h>

#include "base/memory.h"
#include "model/table.h"
#include "python/rows.h"

typedef struct {
    PyObject_HEAD
    PyObject *run; // keeps names, and for a run's own tables the memory, alive
    const rgm_table_desc *desc;
    const rgm_table *table;
    rgm_shown **shown; // of the run, or &own
    rgm_shown *own;
} table_object;

typedef struct {
    PyObject_HEAD
    PyObject *table;
    size_t column;
    Py_ssize_t shape, stride; // of the buffers handed out; a table does not change its length
} column_object;

static const rgm_column_desc *desc_of(const column_object *self) {
    return &((table_object *)self->table)->desc->columns[self->column];
}

// --- columns without memory -------------------------------------------------------------------------------

// A run is shared with readers that hold no lock and take a column without memory for one that says nothing,
// so what is looked at is made beside it.
struct rgm_shown {
    const rgm_table_desc *desc;
    size_t column;
    void *cells;
    rgm_shown *next;
};

static const void *shown_cells(rgm_shown **shown, const rgm_table_desc *desc, size_t column, size_t rows) {
    for (const rgm_shown *at = *shown; at; at = at->next)
        if (at->desc == desc && at->column == column) return at->cells;
    rgm_shown *made = rgm_malloc(sizeof *made);
    void *cells = made ? rgm_table_defaults(desc, column, rows) : NULL;
    if (!cells) {
        rgm_free(made);
        return PyErr_NoMemory();
    }
    *made = (rgm_shown){desc, column, cells, *shown};
    *shown = made;
    return cells;
}

void rgm_shown_free(rgm_shown *shown) {
    while (shown) {
        rgm_shown *next = shown->next;
        rgm_block_free(shown->cells);
        rgm_free(shown);
        shown = next;
    }
}

// --- column -----------------------------------------------------------------------------------------------

static const void *cells_of(const column_object *self) {
    const table_object *table = (const table_object *)self->table;
    const void *cells = rgm_table_column(table->desc, table->table, self->column);
    return cells ? cells : shown_cells(table->shown, table->desc, self->column, table->table->rows);
}

static int column_buffer(column_object *self, Py_buffer *view, int flags) {
    static const char *const formats[] = {
        [RGM_TYPE_i64] = "q", [RGM_TYPE_u32] = "I", [RGM_TYPE_i32] = "i",  [RGM_TYPE_i16] = "h",
        [RGM_TYPE_u8] = "B",  [RGM_TYPE_f64] = "d", [RGM_TYPE_name] = "I",
    };
    table_object *table = (table_object *)self->table;
    const rgm_column_desc *desc = desc_of(self);
    size_t size = rgm_types[desc->type].size;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "columns are read-only");
        return -1;
    }
    const void *data = cells_of(self);
    if (!data) return -1;
    if (PyBuffer_FillInfo(view, (PyObject *)self, (void *)data, (Py_ssize_t)(table->table->rows * size), 1,
                          flags) < 0)
        return -1;
    view->itemsize = (Py_ssize_t)size;
    if (flags & PyBUF_FORMAT) view->format = (char *)formats[desc->type];
    self->shape = (Py_ssize_t)table->table->rows;
    self->stride = (Py_ssize_t)size;
    if (view->shape) view->shape = &self->shape;
    if (view->strides) view->strides = &self->stride;
    return 0;
}

static void column_dealloc(column_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->table);
    PyObject_Free(self);
    Py_DECREF(type);
}

static Py_ssize_t column_length(column_object *self) {
    return (Py_ssize_t)((table_object *)self->table)->table->rows;
}

static PyObject *column_name(column_object *self, void *unused) {
    return PyUnicode_FromString(desc_of(self)->name);
}
static PyObject *column_unit(column_object *self, void *unused) {
    return PyUnicode_FromString(desc_of(self)->unit);
}
static PyObject *column_dtype(column_object *self, void *unused) {
    return PyUnicode_FromString(rgm_types[desc_of(self)->type].dtype);
}

static PyObject *column_list(column_object *self, PyObject *unused) {
    PyObject *view = PyMemoryView_FromObject((PyObject *)self);
    PyObject *list = view ? PyObject_CallMethod(view, "tolist", NULL) : NULL;
    Py_XDECREF(view);
    return list;
}

static PyMethodDef column_methods[] = {
    {"tolist", (PyCFunction)column_list, METH_NOARGS,
     "tolist($self, /)\n--\n\nThe values as a list, without NumPy."},
    {NULL},
};
static PyGetSetDef column_getset[] = {
    {"name", (getter)column_name, NULL, "Column name."},
    {"unit", (getter)column_unit, NULL, "Unit of the values, '' for none."},
    {"dtype", (getter)column_dtype, NULL, "NumPy type name."},
    {NULL},
};
PyDoc_STRVAR(column_doc, "One column of a table: read-only memory by the buffer protocol.");
static PyType_Slot column_slots[] = {
    {Py_tp_doc, (void *)column_doc},
    {Py_tp_dealloc, column_dealloc},
    {Py_bf_getbuffer, column_buffer},
    {Py_sq_length, column_length},
    {Py_tp_getset, column_getset},
    {Py_tp_methods, column_methods},
    {0, NULL},
};
static PyType_Spec column_spec = {
    .name = "regimeter._core.Column",
    .basicsize = sizeof(column_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = column_slots,
};

// --- table ------------------------------------------------------------------------------------------------

PyObject *rgm_table_wrap(rgm_module *state, PyObject *run, const rgm_table_desc *desc, const void *table,
                         rgm_shown **shown) {
    table_object *self = PyObject_New(table_object, state->table_type);
    if (!self) return NULL;
    self->run = Py_NewRef(run);
    self->desc = desc;
    self->table = table;
    self->own = NULL;
    self->shown = shown ? shown : &self->own;
    return (PyObject *)self;
}

PyObject *rgm_table_result(rgm_module *state, PyObject *run, const rgm_table_desc *desc, void *table,
                           rgm_status status, const rgm_error *err) {
    PyObject *made =
        status == RGM_OK ? rgm_table_wrap(state, run, desc, table, NULL) : rgm_raise(state, status, err);
    if (!made && table) {
        rgm_table_release(desc, table);
        rgm_free(table);
    }
    return made;
}

static void table_dealloc(table_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (self->shown == &self->own) {
        rgm_table_release(self->desc, (rgm_table *)self->table);
        rgm_free((rgm_table *)self->table);
        rgm_shown_free(self->own);
    }
    Py_XDECREF(self->run);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *column_new(table_object *self, size_t column) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    column_object *made = state ? PyObject_New(column_object, state->column_type) : NULL;
    if (!made) return NULL;
    made->table = Py_NewRef(self);
    made->column = column;
    return (PyObject *)made;
}

// numpy.frombuffer refuses an empty buffer only in old versions; numpy.empty serves both.
static PyObject *column_array(table_object *self, size_t column) {
    const char *dtype = rgm_types[self->desc->columns[column].type].dtype;
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return NULL;
    PyObject *result = NULL;
    if (self->table->rows) {
        PyObject *made = column_new(self, column);
        if (made) result = PyObject_CallMethod(numpy, "frombuffer", "Os", made, dtype);
        Py_XDECREF(made);
    } else {
        result = PyObject_CallMethod(numpy, "empty", "is", 0, dtype);
    }
    Py_DECREF(numpy);
    return result;
}

static PyObject *table_getattro(table_object *self, PyObject *name) {
    const char *text = PyUnicode_AsUTF8(name);
    size_t column;
    if (!text) return NULL;
    if (rgm_table_find(self->desc, text, &column)) return column_array(self, column);
    return PyObject_GenericGetAttr((PyObject *)self, name);
}

static PyObject *table_column(table_object *self, PyObject *name) {
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    size_t column;
    if (text && rgm_table_find(self->desc, text, &column)) return column_new(self, column);
    if (!PyErr_Occurred()) PyErr_Format(PyExc_KeyError, "%s has no column %R", self->desc->name, name);
    return NULL;
}

static PyObject *number_of(rgm_type type, const void *cells, size_t row) {
    switch (type) {
    case RGM_TYPE_i64: return PyLong_FromLongLong(((const rgm_i64 *)cells)[row]);
    case RGM_TYPE_i32: return PyLong_FromLong(((const rgm_i32 *)cells)[row]);
    case RGM_TYPE_i16: return PyLong_FromLong(((const rgm_i16 *)cells)[row]);
    case RGM_TYPE_u8: return PyLong_FromLong(((const rgm_u8 *)cells)[row]);
    case RGM_TYPE_f64: return PyFloat_FromDouble(((const rgm_f64 *)cells)[row]);
    default: return PyLong_FromUnsignedLong(((const rgm_u32 *)cells)[row]);
    }
}

static PyObject *number_in(const table_object *self, size_t column, size_t row) {
    const rgm_column_desc *desc = &self->desc->columns[column];
    const void *cells = rgm_table_column(self->desc, self->table, column);
    if (cells) return number_of(desc->type, cells, row);
    return desc->type == RGM_TYPE_f64 ? PyFloat_FromDouble(desc->missing) : PyLong_FromDouble(desc->missing);
}

static PyObject *table_row(table_object *self, PyObject *given) {
    Py_ssize_t row = PyNumber_AsSsize_t(given, PyExc_IndexError);
    if (row == -1 && PyErr_Occurred()) return NULL;
    if (row < 0 || (size_t)row >= self->table->rows)
        return PyErr_Format(PyExc_IndexError, "%s has no row %zd", self->desc->name, row);
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < self->desc->n_columns; i++)
        if (rgm_dict_put(dict, self->desc->columns[i].name, number_in(self, i, (size_t)row)) < 0)
            Py_CLEAR(dict);
    return dict;
}

static Py_ssize_t table_length(table_object *self) { return (Py_ssize_t)self->table->rows; }

static PyObject *name_of(const void *columns, size_t i) {
    return PyUnicode_FromString(((const rgm_column_desc *)columns)[i].name);
}

static PyObject *table_columns(table_object *self, void *unused) {
    return rgm_tuple_of(self->desc->n_columns, name_of, self->desc->columns);
}

static PyObject *table_name(table_object *self, void *unused) {
    return PyUnicode_FromString(self->desc->name);
}
static PyObject *table_run(table_object *self, void *unused) { return Py_NewRef(self->run); }

static PyObject *table_dir(table_object *self, PyObject *unused) {
    PyObject *base = PyObject_CallMethod((PyObject *)&PyBaseObject_Type, "__dir__", "O", self);
    PyObject *list = base ? PySequence_List(base) : NULL;
    PyObject *columns = list ? table_columns(self, NULL) : NULL;
    PyObject *all = columns ? PySequence_InPlaceConcat(list, columns) : NULL;
    Py_XDECREF(base);
    Py_XDECREF(list);
    Py_XDECREF(columns);
    return all;
}

static PyObject *table_repr(table_object *self) {
    return PyUnicode_FromFormat("<regimeter table %s: %zd rows>", self->desc->name, table_length(self));
}

static PyObject *field_of(const void *columns, size_t i) {
    const rgm_column_desc *column = &((const rgm_column_desc *)columns)[i];
    return Py_BuildValue("(ss)", column->name, rgm_types[column->type].dtype);
}

// The row type: a list of (name, dtype) pairs made into a NumPy structured dtype.
static PyObject *table_dtype(table_object *self, void *unused) {
    PyObject *fields = rgm_list_of(self->desc->n_columns, field_of, self->desc->columns);
    PyObject *numpy = fields ? PyImport_ImportModule("numpy") : NULL;
    PyObject *dtype = numpy ? PyObject_CallMethod(numpy, "dtype", "O", fields) : NULL;
    Py_XDECREF(fields);
    Py_XDECREF(numpy);
    return dtype;
}

PyDoc_STRVAR(array_doc,
             "__array__($self, dtype=None, copy=None)\n--\n\n"
             "The table as a structured array of rows. A copy; the columns themselves are not copied.");

static PyObject *table_array(table_object *self, PyObject *args, PyObject *kwargs) {
    static char *words[] = {"dtype", "copy", NULL};
    PyObject *asked = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", words, &asked, &copy)) return NULL;
    if (copy == Py_False) {
        PyErr_SetString(PyExc_ValueError, "a table is stored by columns; rows can only be had as a copy");
        return NULL;
    }
    PyObject *dtype = table_dtype(self, NULL);
    PyObject *numpy = dtype ? PyImport_ImportModule("numpy") : NULL;
    PyObject *rows = numpy ? PyObject_CallMethod(numpy, "empty", "nO", table_length(self), dtype) : NULL;
    for (size_t i = 0; rows && i < self->desc->n_columns; i++) {
        PyObject *name = PyUnicode_FromString(self->desc->columns[i].name);
        PyObject *values = name ? column_array(self, i) : NULL;
        if (!values || PyObject_SetItem(rows, name, values) < 0) Py_CLEAR(rows);
        Py_XDECREF(name);
        Py_XDECREF(values);
    }
    if (rows && asked != Py_None) Py_SETREF(rows, PyObject_CallMethod(rows, "astype", "O", asked));
    Py_XDECREF(dtype);
    Py_XDECREF(numpy);
    return rows;
}

PyDoc_STRVAR(stream_doc,
             "__arrow_c_stream__($self, requested_schema=None)\n--\n\n"
             "The table as an Arrow C stream of one batch; names become dictionary-encoded text.");

static PyObject *table_stream(table_object *self, PyObject *args, PyObject *kwargs) {
    static char *words[] = {"requested_schema", NULL};
    PyObject *requested = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", words, &requested)) return NULL;
    return rgm_arrow_stream((PyObject *)self, self->run == Py_None ? NULL : rgm_run_of(self->run), self->desc,
                            self->table);
}

static PyMethodDef table_methods[] = {
    {"column", (PyCFunction)table_column, METH_O,
     "column($self, name, /)\n--\n\nThe column as a buffer; KeyError if absent."},
    {"row", (PyCFunction)table_row, METH_O,
     "row($self, number, /)\n--\n\nA row as a dictionary of numbers, without NumPy; IndexError if absent."},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))table_stream, METH_VARARGS | METH_KEYWORDS,
     stream_doc},
    {"__array__", (PyCFunction)(void (*)(void))table_array, METH_VARARGS | METH_KEYWORDS, array_doc},
    {"__dir__", (PyCFunction)table_dir, METH_NOARGS, NULL},
    {NULL},
};
static PyGetSetDef table_getset[] = {
    {"columns", (getter)table_columns, NULL, "Column names in order."},
    {"dtype", (getter)table_dtype, NULL, "NumPy structured dtype of a row."},
    {"table_name", (getter)table_name, NULL, "Name of the table."},
    {"run", (getter)table_run, NULL, "The run it belongs to."},
    {NULL},
};
PyDoc_STRVAR(table_doc,
             "A columnar table: each column is an attribute, a read-only NumPy array without a copy.");
static PyType_Slot table_slots[] = {
    {Py_tp_doc, (void *)table_doc},   {Py_tp_dealloc, table_dealloc},
    {Py_tp_getattro, table_getattro}, {Py_sq_length, table_length},
    {Py_tp_methods, table_methods},   {Py_tp_getset, table_getset},
    {Py_tp_repr, table_repr},         {0, NULL},
};
static PyType_Spec table_spec = {
    .name = "regimeter._core.Table",
    .basicsize = sizeof(table_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = table_slots,
};

int rgm_table_types_init(PyObject *module, rgm_module *state) {
    state->table_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &table_spec, NULL);
    state->column_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &column_spec, NULL);
    if (!state->table_type || !state->column_type) return -1;
    return PyModule_AddType(module, state->table_type) < 0 || PyModule_AddType(module, state->column_type) < 0
               ? -1
               : 0;
}
