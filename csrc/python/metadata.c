// SPDX-License-Identifier: Apache-2.0
// Keyword arguments -> JSON text, at the time of the call: no reference to a value is kept, and no code of
// the program runs (a tensor's repr would wait for its device).
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "python/state.h"

enum { MAX_DEPTH = 4, MAX_ITEMS = 64, MAX_TEXT = 512, MAX_TOTAL = 16384 };

typedef struct {
    rgm_bytes *out;
    int64_t changed; // values that are not what the program gave: cut, or a text in place of a number
} writer;

static void write_value(writer *to, PyObject *value, int depth);

static void write_string(writer *to, const char *text, Py_ssize_t length) {
    static const char hex[] = "0123456789abcdef";
    bool cut = length > MAX_TEXT;
    if (cut) {
        length = MAX_TEXT;
        while (length && ((unsigned char)text[length] & 0xC0u) == 0x80u) length--; // not inside a character
    }
    rgm_bytes_append(to->out, "\"", 1);
    Py_ssize_t plain = 0; // where what needs no escape begins
    for (Py_ssize_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        rgm_bytes_append(to->out, text + plain, (size_t)(i - plain));
        plain = i + 1;
        if (c >= 0x20) {
            char pair[2] = {'\\', (char)c};
            rgm_bytes_append(to->out, pair, 2);
        } else {
            char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            rgm_bytes_append(to->out, escape, 6);
        }
    }
    rgm_bytes_append(to->out, text + plain, (size_t)(length - plain));
    if (cut) rgm_bytes_text(to->out, "...");
    to->changed += cut;
    rgm_bytes_append(to->out, "\"", 1);
}

const char *rgm_text_utf8(PyObject *text, Py_ssize_t *length, PyObject **owner) {
    *owner = NULL;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, length);
    if (utf8 || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return utf8;
    PyErr_Clear();
    *owner = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    if (!*owner) return NULL;
    *length = PyBytes_GET_SIZE(*owner);
    return PyBytes_AS_STRING(*owner);
}

static void write_text(writer *to, PyObject *text) {
    Py_ssize_t length;
    PyObject *owner;
    const char *utf8 = rgm_text_utf8(text, &length, &owner);
    if (utf8) {
        write_string(to, utf8, length);
    } else {
        PyErr_Clear();
        rgm_bytes_text(to->out, "\"...\"");
        to->changed++;
    }
    Py_XDECREF(owner);
}

static void write_type(writer *to, PyObject *value) {
    const char *name = Py_TYPE(value)->tp_name;
    rgm_bytes_text(to->out, "\"<");
    // A heap type's name may hold anything.
    for (const char *at = name; *at && at - name < 100; at++)
        if (*at != '"' && *at != '\\' && (unsigned char)*at >= 0x20) rgm_bytes_append(to->out, at, 1);
    rgm_bytes_text(to->out, ">\"");
}

static void write_int(writer *to, PyObject *value) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || (number == -1 && PyErr_Occurred())) {
        PyErr_Clear();
        rgm_bytes_text(to->out, "\"<large integer>\"");
        to->changed++;
        return;
    }
    char digits[24];
    char *at = digits + sizeof digits;
    unsigned long long left = number < 0 ? 0ULL - (unsigned long long)number : (unsigned long long)number;
    do *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0) *--at = '-';
    rgm_bytes_append(to->out, at, (size_t)(digits + sizeof digits - at));
}

static void write_float(writer *to, double number) {
    if (!isfinite(number)) {
        rgm_bytes_text(to->out, isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        to->changed++;
        return;
    }
    char *text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (text)
        rgm_bytes_text(to->out, text);
    else
        PyErr_Clear();
    if (!text) rgm_bytes_text(to->out, "null");
    PyMem_Free(text);
}

static void write_sequence(writer *to, PyObject *items, int depth) {
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    rgm_bytes_append(to->out, "[", 1);
    for (Py_ssize_t i = 0; i < count && i < MAX_ITEMS; i++) {
        if (i) rgm_bytes_append(to->out, ",", 1);
        write_value(to, PySequence_Fast_GET_ITEM(items, i), depth + 1);
    }
    if (count > MAX_ITEMS) rgm_bytes_text(to->out, ",\"...\"");
    to->changed += count > MAX_ITEMS;
    rgm_bytes_append(to->out, "]", 1);
}

static void write_dict(writer *to, PyObject *items, int depth) {
    PyObject *key, *value;
    Py_ssize_t at = 0, written = 0;
    rgm_bytes_append(to->out, "{", 1);
    while (written < MAX_ITEMS && PyDict_Next(items, &at, &key, &value)) {
        if (!PyUnicode_Check(key)) continue;
        if (written++) rgm_bytes_append(to->out, ",", 1);
        write_text(to, key);
        rgm_bytes_append(to->out, ":", 1);
        write_value(to, value, depth + 1);
    }
    to->changed += PyDict_GET_SIZE(items) > MAX_ITEMS;
    rgm_bytes_append(to->out, "}", 1);
}

// Types whose str() is cheap and touches no device.
static bool plain_text(const char *type) {
    static const char *const names[] = {"torch.dtype", "torch.device", "torch.layout"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(type, names[i]) == 0) return true;
    return false;
}

// A scalar of NumPy as a Python number: borrowed code of NumPy's, none of the program's.
static PyObject *numpy_number(PyObject *value, const char *type) {
    const PyNumberMethods *number = Py_TYPE(value)->tp_as_number;
    if (strncmp(type, "numpy.", 6) != 0 || strcmp(type, "numpy.ndarray") == 0 || !number) return NULL;
    if (strncmp(type, "numpy.bool", 10) == 0) {
        int truth = PyObject_IsTrue(value);
        return truth < 0 ? NULL : PyBool_FromLong(truth);
    }
    if (strncmp(type, "numpy.float", 11) == 0) return PyNumber_Float(value);
    return number->nb_index ? PyNumber_Index(value) : NULL;
}

static void write_other(writer *to, PyObject *value) {
    const char *type = Py_TYPE(value)->tp_name;
    // A class of the program can call itself what it likes; these types come from C.
    bool fixed = !PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE);
    PyObject *plain = fixed ? numpy_number(value, type) : NULL;
    if (plain) {
        if (PyBool_Check(plain))
            rgm_bytes_text(to->out, plain == Py_True ? "true" : "false");
        else if (PyFloat_Check(plain))
            write_float(to, PyFloat_AS_DOUBLE(plain));
        else
            write_int(to, plain);
    } else if (fixed && plain_text(type)) {
        plain = PyObject_Str(value);
        if (plain) write_text(to, plain);
    }
    PyErr_Clear();
    if (!plain) write_type(to, value);
    Py_XDECREF(plain);
}

static void write_value(writer *to, PyObject *value, int depth) {
    if (to->out->length > MAX_TOTAL) {
        rgm_bytes_text(to->out, "\"...\"");
        to->changed++;
    } else if (value == Py_None)
        rgm_bytes_text(to->out, "null");
    else if (PyBool_Check(value))
        rgm_bytes_text(to->out, value == Py_True ? "true" : "false");
    else if (PyLong_Check(value))
        write_int(to, value);
    else if (PyFloat_Check(value))
        write_float(to, PyFloat_AS_DOUBLE(value));
    else if (PyUnicode_Check(value))
        write_text(to, value);
    else if (depth < MAX_DEPTH && (PyTuple_Check(value) || PyList_Check(value)))
        write_sequence(to, value, depth);
    else if (depth < MAX_DEPTH && PyDict_Check(value))
        write_dict(to, value, depth);
    else if (PyTuple_Check(value) || PyList_Check(value) || PyDict_Check(value)) {
        write_type(to, value);
        to->changed++;
    } else
        write_other(to, value);
}

int64_t rgm_metadata_write(rgm_bytes *out, PyObject *const *values, PyObject *names) {
    writer to = {.out = out};
    rgm_bytes_append(out, "{", 1);
    bool first = true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        if (!values[i]) continue; // a keyword that is no metadata
        if (!first) rgm_bytes_append(out, ",", 1);
        first = false;
        write_text(&to, PyTuple_GET_ITEM(names, i));
        rgm_bytes_append(out, ":", 1);
        write_value(&to, values[i], 0);
    }
    rgm_bytes_append(out, "}", 1);
    return to.changed;
}
