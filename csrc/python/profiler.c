// SPDX-License-Identifier: Apache-2.0
// The C half of GPUProfiler: the session, the fast profile(), and what Python's half builds on.
#include "python/profiler.h"

#include "base/memory.h"
#include "capture/instructions.h"

// --- sites ------------------------------------------------------------------------------------------------

static site_entry *cache_slot(profiler_object *self, PyObject *operation, PyObject *device) {
    // Addresses of string literals do not change; low bits are alignment.
    size_t at = (((uintptr_t)operation >> 4) ^ ((uintptr_t)device >> 9)) * 0x9E3779B1u >> 12;
    return &self->cache[at & (SITE_CACHE - 1)];
}

static void cache_clear(profiler_object *self) {
    for (int i = 0; i < SITE_CACHE; i++) {
        Py_CLEAR(self->cache[i].operation);
        Py_CLEAR(self->cache[i].device);
        self->cache[i].site = NULL;
    }
}

static int check_device(profiler_object *self, PyObject *device) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    int number = state ? rgm_device_parse(state, device) : -1;
    if (number >= 0) Py_XSETREF(self->known_device, Py_NewRef(device));
    return number;
}

void rgm_profiler_own(profiler_object *self, rgm_own_cost what, uint64_t begin) {
    uint64_t ticks = rgm_clock_ticks() - begin, id = atomic_load(self->session_id);
    rgm_recorder *recorder = rgm_recorder_cached;
    rgm_session_own(self->session, what, ticks);
    if (recorder && id && atomic_load(&recorder->session_id) == id &&
        recorder->context == rgm_current_context())
        rgm_recorder_own(recorder, ticks);
}

// The site in the session; NULL with an exception set.
static rgm_site *session_site(profiler_object *self, PyObject *operation, rgm_device device, rgm_role role) {
    Py_ssize_t length;
    PyObject *owner;
    const char *name = rgm_text_utf8(operation, &length, &owner);
    if (!name) return NULL;
    rgm_error err; // of half a kilobyte, which a name made for one scope need not fill
    rgm_site *site = NULL;
    rgm_error_clear(&err);
    rgm_status status = rgm_session_site(self->session, name, (size_t)length, device, role, &site, &err);
    Py_XDECREF(owner);
    if (status == RGM_OK) return site;
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (state) rgm_raise(state, status, &err);
    return NULL;
}

static bool may_name(const profiler_object *self, PyObject *operation) {
    if (!PyUnicode_Check(operation))
        PyErr_Format(PyExc_TypeError, "operation must be a str, not %.100s", Py_TYPE(operation)->tp_name);
    else if (!self->session)
        PyErr_SetString(PyExc_RuntimeError, "the profiler has not been initialised");
    else
        return true;
    return false;
}

PyObject *rgm_profiler_role_scope(profiler_object *self, PyObject *args) {
    PyObject *name;
    int role;
    const char *metadata = NULL;
    Py_ssize_t length = 0;
    if (!PyArg_ParseTuple(args, "Oi|z#", &name, &role, &metadata, &length) || !may_name(self, name))
        return NULL;
    if (role <= RGM_ROLE_NONE || role >= RGM_ROLE_COUNT) {
        PyErr_Format(PyExc_ValueError, "no role has the number %d", role);
        return NULL;
    }
    rgm_site *site = session_site(self, name, RGM_DEVICE_CPU, (rgm_role)role);
    PyObject *scope = site ? rgm_scope_new(self, site) : NULL;
    if (scope && metadata)
        ((scope_object *)scope)->meta = rgm_session_metadata(self->session, metadata, (size_t)length);
    return scope;
}

static rgm_site *resolve_site(profiler_object *self, PyObject *operation, PyObject *device) {
    uint64_t begin = rgm_clock_ticks();
    if (!may_name(self, operation)) return NULL;
    int number = device ? check_device(self, device) : RGM_DEVICE_GPU;
    if (number < 0) return NULL;
    rgm_site *site = session_site(self, operation, (rgm_device)number, RGM_ROLE_NONE);
    if (!site) return NULL;
    // A name made for this call alone will not come by again under the same address.
    if (Py_REFCNT(operation) > 1) {
        site_entry *entry = cache_slot(self, operation, device);
        Py_XSETREF(entry->operation, Py_NewRef(operation));
        Py_XSETREF(entry->device, Py_XNewRef(device));
        entry->site = site;
    }
    rgm_profiler_own(self, RGM_OWN_names, begin);
    return site;
}

rgm_site *rgm_profiler_site(profiler_object *self, PyObject *operation, PyObject *device) {
    if (RGM_LIKELY(!(self->special & SPECIAL_COUNTS))) return resolve_site(self, operation, device);
    rgm_instructions_pause();
    rgm_site *site = resolve_site(self, operation, device);
    rgm_instructions_resume();
    return site;
}

static inline rgm_site *find_site(profiler_object *self, PyObject *operation, PyObject *device) {
    site_entry *entry = cache_slot(self, operation, device);
    if (RGM_LIKELY(entry->operation == operation && entry->device == device)) return entry->site;
    return rgm_profiler_site(self, operation, device);
}

void rgm_profiler_note_changed(profiler_object *self, int64_t values) {
    if (RGM_UNLIKELY(values)) rgm_session_note(self->session, RGM_ANOMALY_CHANGED_METADATA, values);
}

uint32_t rgm_profiler_metadata(profiler_object *self, PyObject *const *values, PyObject *names) {
    rgm_bytes_reset(&self->scratch);
    rgm_profiler_note_changed(self, rgm_metadata_write(&self->scratch, values, names));
    if (self->scratch.failed) {
        rgm_session_note(self->session, RGM_ANOMALY_DROPPED_METADATA, 1);
        return 0;
    }
    return rgm_session_metadata(self->session, (const char *)self->scratch.data, self->scratch.length);
}

// --- threads ----------------------------------------------------------------------------------------------

// threading's name of the calling thread, without creating a dummy entry for a foreign one.
static PyObject *thread_name(void) {
    PyObject *word = PyUnicode_FromString("threading");
    PyObject *threading = word ? PyImport_GetModule(word) : NULL;
    PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    PyObject *key = active ? PyLong_FromUnsignedLong(PyThread_get_thread_ident()) : NULL;
    PyObject *thread = key && PyDict_Check(active) ? PyDict_GetItemWithError(active, key) : NULL; // borrowed
    PyObject *name = thread ? PyObject_GetAttrString(thread, "name") : NULL;
    Py_XDECREF(word);
    Py_XDECREF(threading);
    Py_XDECREF(active);
    Py_XDECREF(key);
    PyErr_Clear();
    return name;
}

rgm_recorder *rgm_profiler_recorder_slow(profiler_object *self, uint64_t id) {
    uint64_t begin = rgm_clock_ticks();
    rgm_recorder *recorder = rgm_recorder_find(self->session, id);
    if (!recorder || recorder->named) return recorder;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    recorder->named = true;
    // A thread without a context gets one now; later it would look like a change of task.
    Py_XDECREF(PyContext_CopyCurrent());
    PyObject *name = thread_name();
    Py_ssize_t length;
    PyObject *owner = NULL;
    const char *text = name && PyUnicode_Check(name) ? rgm_text_utf8(name, &length, &owner) : NULL;
    if (text) rgm_session_name_thread(self->session, text, (size_t)length);
    Py_XDECREF(owner);
    Py_XDECREF(name);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    rgm_session_own(self->session, RGM_OWN_threads, rgm_clock_ticks() - begin);
    return rgm_recorder_find(self->session, id);
}

// --- profile() --------------------------------------------------------------------------------------------

PyDoc_STRVAR(
    profile_doc,
    "profile($self, operation, device='gpu', **metadata)\n--\n\n"
    "Context manager (and decorator) that records a block under the name `operation`.\n\n"
    "device: what the user declares: 'gpu', 'cpu', 'cuda' or 'rocm'; ValueError for another.\n"
    "stream: the stream that the block works in, a handle or an object of torch, CuPy or Numba; by\n"
    "default the current one. metadata: kept as JSON; values of unknown types are kept as the name of\n"
    "their type.\n"
    "TypeError when operation is not a str. Exceptions of the block pass through untouched.");

typedef struct {
    PyObject *operation;
    PyObject *device;
    PyObject **values; // metadata by keyword position, NULL for the keywords above
    PyObject *few[64]; // where they stand unless they are more
    bool metadata;
    bool stream_given;
    uint64_t stream;
} profile_args;

static void release_args(profile_args *parsed) {
    if (parsed->values != parsed->few) PyMem_Free(parsed->values);
}

static bool is_word(PyObject *name, PyObject *word) {
    return name == word || PyUnicode_Compare(name, word) == 0;
}

// The general case of the arguments: positional device, keywords in any order, metadata.
static int parse_args(profiler_object *self, PyObject *const *args, Py_ssize_t count, PyObject *names,
                      profile_args *out) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
    out->values = out->few;
    if (!state) return -1;
    if (count > 2) {
        PyErr_Format(PyExc_TypeError, "profile() takes an operation and a device by position; got %zd values",
                     count);
        return -1;
    }
    if ((size_t)keywords > sizeof out->few / sizeof *out->few) {
        PyObject **more = PyMem_New(PyObject *, (size_t)keywords);
        if (!more) {
            PyErr_NoMemory();
            return -1;
        }
        out->values = more;
    }
    out->operation = count > 0 ? args[0] : NULL;
    out->device = count > 1 ? args[1] : NULL;
    out->metadata = out->stream_given = false;
    for (Py_ssize_t i = 0; i < keywords; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[count + i];
        PyObject **known = is_word(name, state->word_device)      ? &out->device
                           : is_word(name, state->word_operation) ? &out->operation
                                                                  : NULL;
        bool stream =
            !known && is_word(name, state->word_stream) && rgm_profiler_stream(self, value, &out->stream);
        out->values[i] = known || stream ? NULL : value;
        out->metadata |= !known && !stream;
        out->stream_given |= stream;
        if (known && *known) {
            PyErr_Format(PyExc_TypeError, "profile() got two values for %R", name);
            return -1;
        }
        if (known) *known = value;
    }
    if (out->operation) return 0;
    PyErr_SetString(PyExc_TypeError, "profile() needs an operation");
    return -1;
}

// Disabled: the arguments are still checked, so that a mistake does not wait for the day of profiling.
static PyObject *idle(profiler_object *self, PyObject *operation, PyObject *device) {
    if (RGM_UNLIKELY(!PyUnicode_Check(operation))) {
        PyErr_Format(PyExc_TypeError, "operation must be a str, not %.100s", Py_TYPE(operation)->tp_name);
        return NULL;
    }
    if (RGM_UNLIKELY(device && device != self->known_device) && check_device(self, device) < 0) return NULL;
    return Py_NewRef(self->idle);
}

static PyObject *scope_of(profiler_object *self, rgm_site *site) {
    if (RGM_UNLIKELY(!site)) return NULL;
    if (RGM_UNLIKELY(atomic_load_explicit(&site->flags, memory_order_relaxed) & RGM_SITE_DISABLED))
        return Py_NewRef(self->idle);
    return rgm_scope_new(self, site);
}

PyObject *rgm_profiler_scope(profiler_object *self, PyObject *operation, PyObject *device) {
    return scope_of(self, find_site(self, operation, device));
}

static PyObject *profiler_profile(profiler_object *self, PyObject *const *args, Py_ssize_t count,
                                  PyObject *names) {
    if (RGM_LIKELY(count == 1)) {
        if (!names) {
            if (!self->enabled) return idle(self, args[0], NULL);
            return scope_of(self, find_site(self, args[0], NULL));
        }
        // `device=` alone: keyword names of a call site are interned, so the address decides;
        // a name made at run time takes the general way.
        if (PyTuple_GET_SIZE(names) == 1 && PyTuple_GET_ITEM(names, 0) == self->word_device) {
            if (!self->enabled) return idle(self, args[0], args[1]);
            return scope_of(self, find_site(self, args[0], args[1]));
        }
    }
    profile_args parsed;
    PyObject *scope = NULL;
    if (parse_args(self, args, count, names, &parsed) < 0) goto done;
    if (!self->enabled)
        scope = idle(self, parsed.operation, parsed.device);
    else
        scope = scope_of(self, find_site(self, parsed.operation, parsed.device));
    if (scope && parsed.metadata && scope != self->idle)
        ((scope_object *)scope)->meta = rgm_profiler_metadata(self, parsed.values, names);
    if (scope && parsed.stream_given && scope != self->idle) {
        ((scope_object *)scope)->stream = parsed.stream;
        ((scope_object *)scope)->stream_given = true;
    }
done:
    release_args(&parsed);
    return scope;
}

static PyObject *profiler_init_subclass(PyObject *type, PyObject *args, PyObject *kwargs);

static PyMethodDef init_subclass_method = {
    "__init_subclass__", (PyCFunction)(void (*)(void))profiler_init_subclass,
    METH_VARARGS | METH_KEYWORDS | METH_CLASS, "Gives the subclass a fast profile()."};
static PyMethodDef profile_method = {"profile", (PyCFunction)(void (*)(void))profiler_profile,
                                     METH_FASTCALL | METH_KEYWORDS, profile_doc};

// Takes the descriptor over.
static int set_descriptor(PyObject *type, const char *name, PyObject *descriptor) {
    int failed = descriptor ? PyObject_SetAttrString(type, name, descriptor) : -1;
    Py_XDECREF(descriptor);
    return failed;
}

// The interpreter calls a C method without a detour only on instances of exactly the type that the method was
// made for, so every subclass that does not override profile() gets a descriptor of its own.
static PyObject *profiler_init_subclass(PyObject *type, PyObject *args, PyObject *kwargs) {
    if (PyTuple_GET_SIZE(args) || (kwargs && PyDict_GET_SIZE(kwargs))) {
        PyErr_SetString(PyExc_TypeError, "a subclass of the profiler takes no class arguments");
        return NULL;
    }
    PyObject *inherited = PyObject_GetAttrString(type, "profile");
    if (!inherited) return NULL;
    bool ours = Py_IS_TYPE(inherited, &PyMethodDescr_Type) &&
                ((PyMethodDescrObject *)inherited)->d_method->ml_meth == profile_method.ml_meth;
    Py_DECREF(inherited);
    if (!ours) Py_RETURN_NONE;
    if (set_descriptor(type, "profile", PyDescr_NewMethod((PyTypeObject *)type, &profile_method)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

// --- life -------------------------------------------------------------------------------------------------

static PyObject *profiler_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    rgm_module *state = rgm_module_of_type(type);
    if (!state) return NULL;
    profiler_object *self = (profiler_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->root_threshold = UINT32_MAX;
    self->special = SPECIAL_DISABLED; // until `enabled` is set
    self->idle = Py_NewRef(state->idle);
    self->word_device = Py_NewRef(state->word_device);
    return (PyObject *)self;
}

static int profiler_traverse(profiler_object *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->backend_probe);
    Py_VISIT(self->memory_probe);
    return rgm_profiler_streams_visit(self, visit, arg);
}

static int profiler_clear(profiler_object *self) {
    Py_CLEAR(self->backend_probe);
    Py_CLEAR(self->memory_probe);
    rgm_profiler_streams_clear(self);
    return 0;
}

static void profiler_dealloc(profiler_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->weakrefs) PyObject_ClearWeakRefs((PyObject *)self);
    profiler_clear(self);
    cache_clear(self);
    rgm_scope_free_all(self);
    Py_CLEAR(self->idle);
    Py_CLEAR(self->word_device);
    Py_CLEAR(self->known_device);
    rgm_bytes_release(&self->scratch);
    rgm_profiler_ranges_close(self);
    rgm_profiler_ranges_free(self);
    if (self->session) {
        Py_BEGIN_ALLOW_THREADS;
        rgm_profiler_sampling_close(self, NULL);
        rgm_telemetry_free(self->telemetry);
        rgm_free(self->stalls_state);
        rgm_profiler_kernels_close(self);
        rgm_profiler_device_close(self); // its last rows go to the session
        rgm_events_free(self->events);
        rgm_session_free(self->session);
        rgm_tracing_watch_free(self->kernels);
        Py_END_ALLOW_THREADS;
    }
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

PyDoc_STRVAR(profiler_doc, "The C half of GPUProfiler.");
static PyType_Slot profiler_slots[] = {
    {Py_tp_doc, (void *)profiler_doc},
    {Py_tp_new, profiler_new},
    {Py_tp_dealloc, profiler_dealloc},
    {Py_tp_traverse, profiler_traverse},
    {Py_tp_clear, profiler_clear},
    {Py_tp_methods, rgm_profiler_methods},
    {Py_tp_getset, rgm_profiler_getset},
    {Py_tp_members, rgm_profiler_members},
    {0, NULL},
};
static PyType_Spec profiler_spec = {
    .name = "regimeter._core.Profiler",
    .basicsize = sizeof(profiler_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = profiler_slots,
};

int rgm_profiler_type_init(PyObject *module, rgm_module *state) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &profiler_spec, NULL);
    state->profiler_type = type;
    if (!type || set_descriptor((PyObject *)type, "profile", PyDescr_NewMethod(type, &profile_method)) < 0)
        return -1;
    PyObject *init = PyDescr_NewClassMethod(type, &init_subclass_method);
    if (set_descriptor((PyObject *)type, "__init_subclass__", init) < 0) return -1;
    return PyModule_AddType(module, type);
}
