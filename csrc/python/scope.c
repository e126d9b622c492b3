// SPDX-License-Identifier: Apache-2.0
// `with profiler.profile("name"):`. The object is its own __enter__ and __exit__: both are descriptors that
// return the scope itself, so no bound method is made, and the number of arguments of the call that follows
// tells what is meant (0: enter, 3: exit, 1: decorate). Scopes come from a free list of the profiler.
#include <string.h>

#include "capture/host_memory.h"
#include "capture/instructions.h"
#include "capture/turns.h"
#include "capture/witness.h"
#include "python/profiler.h"

// --- slow parts -------------------------------------------------------------------------------------------

// splitmix64, one sequence per recorder: the same seed gives the same choice of scopes per thread.
static uint32_t next_random(rgm_recorder *recorder) {
    uint64_t z = (recorder->random += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

// UINT32_MAX stands for a rate of 1, at which nothing is left out.
static bool falls_out(rgm_recorder *recorder, uint32_t threshold) {
    return threshold != UINT32_MAX && next_random(recorder) >= threshold;
}

// Decides whether the scope is left out. The global rate is applied to scopes without a parent, so that
// trees are recorded whole; a rate of the operation itself applies wherever it stands.
static bool left_out(scope_object *scope, rgm_recorder *recorder) {
    rgm_track *track = recorder->track;
    bool bottom = !atomic_load(&track->top);
    bool out = track->suppressed > 0 || (bottom && track->around && track->around->suppressed > 0);
    bool root = bottom && rgm_frame_outer(track->outer, track->outer_seq) == RGM_RECORD_NO_PARENT;
    if (!out && atomic_load(&scope->site->flags) & RGM_SITE_SAMPLED)
        out = falls_out(recorder, atomic_load(&scope->site->threshold));
    else if (!out && root)
        out = falls_out(recorder, scope->profiler->root_threshold);
    if (!out) return false;
    track->suppressed++;
    scope->muted = track;
    atomic_fetch_add_explicit(&scope->site->skipped, 1, memory_order_relaxed);
    return true;
}

static void unmute(scope_object *scope) {
    rgm_track *track = scope->muted;
    scope->muted = NULL;
    if (!track->suppressed || --track->suppressed)
        return; // none is left where the track is another one's now
    if (atomic_load(&track->top) || track == track->recorder->track) return;
    rgm_recorder_retire_track(track->recorder, track);
}

static int current_instruction(PyFrameObject *frame) { return frame ? PyFrame_GetLasti(frame) : -1; }

// Looks at what the block used. On calls 1, 2, 4 ... 64 of a site, after its end has been timed.
static void probe_backend(scope_object *scope) {
    rgm_site *site = scope->site;
    PyObject *probe = scope->profiler->backend_probe;
    site->probes = ++site->calls < 7 ? 1u << site->calls : 0;
    PyFrameObject *frame = PyEval_GetFrame(); // borrowed
    if (!probe || (!frame && !scope->function)) return;
    uint64_t begin = rgm_clock_ticks();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *found = PyObject_CallFunction(probe, "OOii", scope->function ? Py_None : (PyObject *)frame,
                                            scope->function ? scope->function : Py_None, scope->probe_from,
                                            current_instruction(frame));
    long backend = found ? PyLong_AsLong(found) : -1;
    if (backend > (long)atomic_load(&site->backend) && backend < RGM_BACKEND_COUNT)
        rgm_session_site_backend(scope->profiler->session, site, (rgm_backend)backend);
    if (PyErr_Occurred()) rgm_scope_internal_failure(scope);
    Py_XDECREF(found);
    PyErr_Restore(type, value, traceback);
    rgm_profiler_own(scope->profiler, RGM_OWN_looks, begin);
}

// Takes back what was begun for a scope that cannot be recorded.
static void forget_begin(scope_object *scope) {
    rgm_scope_device_abandon(scope);
    if (scope->profiler->special & SPECIAL_RANGES) rgm_scope_range_end(scope);
    Py_CLEAR(scope->token);
    scope->resident = -1;
}

// --- one scope object, entered again before it was left ---------------------------------------------------

static bool is_open(const scope_object *scope) { return scope->frame || scope->muted || scope->busy; }

// Each entry is a block of its own: it is recorded by a scope object of its own, kept by the one that the
// program holds.
static scope_object *enter_again(scope_object *scope) {
    scope_object *more = (scope_object *)rgm_scope_new(scope->profiler, scope->site);
    if (!more) {
        rgm_scope_internal_failure(scope);
        scope->uncounted++;
        return NULL;
    }
    more->meta = scope->meta;
    more->function = Py_XNewRef(scope->function);
    more->stream = scope->stream;
    more->stream_given = scope->stream_given;
    if (!rgm_scope_enter(more)) { // counted where it failed
        scope->uncounted++;
        Py_DECREF(more);
        return NULL;
    }
    more->again = scope->again;
    scope->again = more;
    return more;
}

// The entry that the calling thread, or task, is in: the last of its own, else the last of its thread, else
// the last of all. Where none is open it is the object itself.
static scope_object *current(scope_object *scope) {
    if (RGM_LIKELY(!scope->again)) return scope;
    rgm_recorder *here = rgm_profiler_recorder(scope->profiler);
    const rgm_track *track = here && rgm_context_enter(here) ? here->track : NULL;
    scope_object *best = NULL;
    int rank = -1;
    for (scope_object *at = scope->again;; at = at->again ? at->again : scope) {
        const rgm_track *its = at->frame ? at->frame->track : at->muted;
        int fits = !its ? -1 : its == track ? 2 : its->recorder == here ? 1 : 0;
        if (fits > rank) {
            rank = fits;
            best = at;
        }
        if (at == scope) return best ? best : scope;
    }
}

// The entry that ends; NULL where that one was not recorded.
static scope_object *ending(scope_object *scope) {
    if (!scope->uncounted) return current(scope);
    scope->uncounted--; // blocks are left in the opposite order, as far as is known
    return NULL;
}

static void forget_entry(scope_object *scope, scope_object *left) {
    scope->start = left->start;
    scope->ticks = left->ticks;
    for (scope_object **link = &scope->again; *link; link = &(*link)->again) {
        if (*link != left) continue;
        *link = left->again;
        left->again = NULL;
        break;
    }
    Py_DECREF(left);
}

// --- hot parts --------------------------------------------------------------------------------------------

scope_object *rgm_scope_enter(scope_object *scope) {
    profiler_object *profiler = scope->profiler;
    // The first scope of a thread asks for its name, and other threads may run meanwhile: what is open is
    // looked at after that.
    rgm_recorder *recorder = rgm_profiler_recorder(profiler);
    bool here = recorder && rgm_context_enter(recorder);
    if (RGM_UNLIKELY(is_open(scope))) return enter_again(scope);
    if (RGM_UNLIKELY(!here)) return NULL;
    if (RGM_UNLIKELY(scope->site->probes == 1) && !scope->function)
        scope->probe_from = current_instruction(PyEval_GetFrame());
    if (RGM_UNLIKELY(profiler->special)) {
        if (profiler->special & SPECIAL_DISABLED && scope->site->role) return NULL;
        if (profiler->special & SPECIAL_SAMPLING && left_out(scope, recorder)) return scope;
        rgm_scope_measures_begin(scope, recorder);
    }
    scope->frame = rgm_scope_begin(recorder, recorder->context, scope->site->id, scope->meta, &scope->seq);
    if (RGM_LIKELY(scope->frame != NULL)) return scope;
    forget_begin(scope);
    return NULL;
}

// What was not recorded of the recorder's scopes.
static uint64_t missed(rgm_recorder *recorder) {
    return atomic_load_explicit(&recorder->dropped, memory_order_relaxed) +
           atomic_load_explicit(&recorder->lost, memory_order_relaxed);
}

// Whether more than its time belongs to the scope.
static inline bool has_more(const scope_object *scope) {
    return scope->slot || scope->token || scope->resident >= 0 ||
           scope->profiler->special & (SPECIAL_RANGES | SPECIAL_COUNTS);
}

static void leave(scope_object *scope, bool failed, uint64_t now) {
    rgm_frame *frame = scope->frame;
    if (RGM_UNLIKELY(!frame)) {
        if (scope->muted) unmute(scope);
        return;
    }
    scope->frame = NULL;
    rgm_recorder *recorder = rgm_profiler_recorder(scope->profiler);
    if (RGM_UNLIKELY(!recorder)) {
        rgm_session_note(scope->profiler->session, RGM_ANOMALY_LOST_SCOPES, 1);
        forget_begin(scope);
        return;
    }
    bool more = has_more(scope);
    uint64_t before = RGM_UNLIKELY(more) ? missed(recorder) : 0;
    scope->start = atomic_load_explicit(&frame->start, memory_order_relaxed);
    scope->ticks = rgm_scope_end(recorder, frame, scope->seq, now, failed ? RGM_RECORD_FAILED : 0u);
    if (RGM_UNLIKELY(more)) rgm_scope_measures_end(scope, recorder, missed(recorder) == before);
    if (RGM_UNLIKELY(scope->site->probes) && --scope->site->probes == 0) probe_backend(scope);
    rgm_recorder_witness(recorder, now);
    rgm_recorder_turns(recorder, now);
}

void rgm_scope_leave(scope_object *scope, bool failed) {
    uint64_t now = rgm_clock_ticks();
    scope_object *left = RGM_LIKELY(!scope->again && !scope->uncounted) ? scope : ending(scope);
    if (RGM_UNLIKELY(!left)) return;
    leave(left, failed, now);
    if (RGM_UNLIKELY(left != scope)) forget_entry(scope, left);
}

static bool is_failure(PyObject *type) {
    // A generator that is closed early has not failed.
    return type != Py_None && !(PyType_Check(type) &&
                                PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)PyExc_GeneratorExit));
}

static PyObject *decorate(scope_object *scope, PyObject *function) {
    PyObject *operation = PyObject_GetAttrString((PyObject *)scope, "operation");
    PyObject *device = operation ? PyObject_GetAttrString((PyObject *)scope, "device") : NULL;
    PyObject *result = device ? PyObject_CallMethod((PyObject *)scope->profiler, "_decorate", "OOO", function,
                                                    operation, device)
                              : NULL;
    Py_XDECREF(operation);
    Py_XDECREF(device);
    return result;
}

static PyObject *scope_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    scope_object *scope = (scope_object *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (RGM_LIKELY(count == 3 && !names)) {
        rgm_scope_leave(scope, RGM_UNLIKELY(args[0] != Py_None) && is_failure(args[0]));
        Py_RETURN_NONE;
    }
    if (RGM_LIKELY(count == 0 && !names)) {
        rgm_scope_enter(scope);
        return Py_NewRef(self);
    }
    if (count == 1 && !names && PyCallable_Check(args[0])) return decorate(scope, args[0]);
    PyErr_SetString(PyExc_TypeError, "a scope is used as `with profiler.profile(name):` or as a decorator");
    return NULL;
}

// A function of its own keeps what counts instructions out of the way of all other scopes.
static PyObject *counted_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    scope_object *scope = (scope_object *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (count == 3 && !names) {
        rgm_scope_count_leave(scope, args[0] != Py_None && is_failure(args[0]));
        Py_RETURN_NONE;
    }
    if (count != 0 || names) return scope_call(self, args, flags, names);
    rgm_scope_count_enter(scope);
    return Py_NewRef(self);
}

static scope_object *scope_allocate(profiler_object *self) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    scope_object *scope = state ? PyObject_New(scope_object, state->scope_type) : NULL;
    if (!scope) return NULL;
    scope->vectorcall = self->special & SPECIAL_COUNTS ? counted_call : scope_call;
    scope->frame = NULL;
    scope->muted = NULL;
    scope->again = NULL;
    scope->uncounted = 0;
    scope->probe_from = -1;
    scope->resident = -1;
    scope->count_begin = RGM_INSTRUCTIONS_UNKNOWN;
    scope->token = NULL;
    scope->function = NULL;
    scope->slot = NULL;
    scope->stream_given = false;
    scope->busy = false;
    return scope;
}

PyObject *rgm_scope_new(profiler_object *self, rgm_site *site) {
    scope_object *scope = self->free_scopes;
    if (RGM_LIKELY(scope != NULL)) {
        // It kept its reference to the type, and everything but what follows is at rest.
        self->free_scopes = scope->next_free;
        self->free_count--;
        Py_SET_REFCNT((PyObject *)scope, 1);
    } else {
        scope = scope_allocate(self);
        if (!scope) return NULL;
    }
    scope->profiler = (profiler_object *)Py_NewRef(self);
    scope->site = site;
    scope->meta = 0;
    scope->ticks = 0;
    return (PyObject *)scope;
}

// A block that nobody can leave any more. It must not stay on the stack as the parent of all that follows, so
// it is recorded as open, with a lower bound of its duration.
static void abandon(scope_object *scope) {
    uint64_t id = atomic_load(scope->profiler->session_id);
    rgm_recorder *recorder = rgm_recorder_cached;
    if (recorder && id && atomic_load(&recorder->session_id) == id)
        rgm_scope_end(recorder, scope->frame, scope->seq, rgm_clock_ticks(), RGM_RECORD_OPEN);
    scope->frame = NULL;
}

static void scope_dealloc(PyObject *self) {
    scope_object *scope = (scope_object *)self;
    profiler_object *profiler = scope->profiler;
    while (RGM_UNLIKELY(scope->again != NULL)) {
        scope_object *more = scope->again;
        scope->again = more->again;
        more->again = NULL;
        Py_DECREF(more);
    }
    if (RGM_UNLIKELY(scope->muted)) unmute(scope);
    if (RGM_UNLIKELY(scope->token)) Py_CLEAR(scope->token);
    if (RGM_UNLIKELY(scope->function)) Py_CLEAR(scope->function);
    if (RGM_UNLIKELY(scope->frame != NULL)) abandon(scope);
    if (RGM_UNLIKELY(scope->slot != NULL)) rgm_scope_device_abandon(scope);
    if (RGM_UNLIKELY(profiler->special & SPECIAL_RANGES)) rgm_scope_range_end(scope);
    scope->stream_given = false;
    scope->uncounted = 0;
    scope->resident = -1;
    if (RGM_LIKELY(profiler->free_count < FREE_SCOPES)) {
        scope->next_free = profiler->free_scopes;
        profiler->free_scopes = scope;
        profiler->free_count++;
    } else {
        PyTypeObject *type = Py_TYPE(self);
        PyObject_Free(self);
        Py_DECREF(type);
    }
    Py_DECREF(profiler);
}

void rgm_scope_free_all(profiler_object *self) {
    while (self->free_scopes) {
        scope_object *scope = self->free_scopes;
        PyTypeObject *type = Py_TYPE(scope);
        self->free_scopes = scope->next_free;
        PyObject_Free(scope);
        Py_DECREF(type);
    }
    self->free_count = 0;
}

// --- the rest of the object -------------------------------------------------------------------------------

static PyObject *scope_annotate(scope_object *entered, PyObject *const *args, Py_ssize_t count,
                                PyObject *names) {
    if (count) {
        PyErr_SetString(PyExc_TypeError, "annotate() takes keyword arguments only");
        return NULL;
    }
    scope_object *self = current(entered);
    if (!names || !self->frame) Py_RETURN_NONE;
    rgm_bytes *out = &self->profiler->scratch;
    rgm_bytes_reset(out);
    rgm_string before = rgm_session_text(self->profiler->session, self->meta);
    if (before.length > 2) { // {...} and {...} become one object
        rgm_bytes_append(out, before.data, before.length - 1);
        rgm_bytes_append(out, ",", 1);
        size_t mark = out->length;
        rgm_profiler_note_changed(self->profiler, rgm_metadata_write(out, args, names));
        if (!out->failed) {
            memmove(out->data + mark, out->data + mark + 1, out->length - mark - 1);
            out->length--;
        }
    } else {
        rgm_profiler_note_changed(self->profiler, rgm_metadata_write(out, args, names));
    }
    if (!out->failed) {
        uint32_t meta = rgm_session_metadata(self->profiler->session, (const char *)out->data, out->length);
        if (meta) self->meta = meta; // without room for more, what is there stays
        atomic_store_explicit(&self->frame->meta, self->meta, memory_order_relaxed);
    }
    Py_RETURN_NONE;
}

static PyObject *scope_duration(scope_object *self, void *unused) {
    if (!self->ticks) Py_RETURN_NONE;
    return PyFloat_FromDouble(
        (double)rgm_session_elapsed_ns(self->profiler->session, self->start, self->ticks) / 1e6);
}

static PyObject *scope_recording(scope_object *self, void *unused) {
    return PyBool_FromLong(current(self)->frame != NULL);
}

static PyObject *scope_operation(scope_object *self, void *unused) {
    rgm_string name = rgm_session_text(self->profiler->session, self->site->name);
    return PyUnicode_DecodeUTF8(name.data, name.length, "replace");
}

static PyObject *scope_device(scope_object *self, void *unused) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    return state ? Py_NewRef(PyTuple_GET_ITEM(state->device_names, self->site->device)) : NULL;
}

static PyObject *scope_aenter(PyObject *self, PyObject *unused) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state) return NULL;
    rgm_scope_enter_any((scope_object *)self);
    return rgm_awaitable_new(state, self);
}

static PyObject *scope_aexit(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state) return NULL;
    rgm_scope_leave_any((scope_object *)self, count > 0 && is_failure(args[0]));
    return rgm_awaitable_new(state, Py_None);
}

static PyObject *scope_forget(scope_object *scope, PyObject *unused) {
    uint64_t id = atomic_load(scope->profiler->session_id);
    rgm_recorder *recorder = rgm_profiler_recorder(scope->profiler);
    if (scope->frame && recorder && id) rgm_recorder_forget(recorder, scope->frame, scope->seq);
    if (scope->muted) {
        atomic_fetch_sub(&scope->site->skipped, 1);
        unmute(scope);
    }
    scope->frame = NULL;
    forget_begin(scope);
    Py_RETURN_NONE;
}

static PyMethodDef scope_methods[] = {
    {"__aenter__", scope_aenter, METH_NOARGS, NULL},
    {"__aexit__", (PyCFunction)(void (*)(void))scope_aexit, METH_FASTCALL, NULL},
    {"annotate", (PyCFunction)(void (*)(void))scope_annotate, METH_FASTCALL | METH_KEYWORDS,
     rgm_annotate_doc},
    {"_forget", (PyCFunction)scope_forget, METH_NOARGS, "Leaves the block without a record of it."},
    {NULL},
};
static PyGetSetDef scope_getset[] = {
    {"duration_ms", (getter)scope_duration, NULL, "Duration of the last block in milliseconds, None before."},
    {"recording", (getter)scope_recording, NULL, "Whether the block is being recorded right now."},
    {"operation", (getter)scope_operation, NULL, "Name of the operation."},
    {"device", (getter)scope_device, NULL, "Declared device."},
    {NULL},
};
static PyMemberDef scope_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(scope_object, vectorcall), READONLY},
    {NULL},
};
PyDoc_STRVAR(scope_doc, "A block to be timed; made by GPUProfiler.profile().");
static PyType_Slot scope_slots[] = {
    {Py_tp_doc, (void *)scope_doc},
    {Py_tp_dealloc, scope_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, scope_methods},
    {Py_tp_getset, scope_getset},
    {Py_tp_members, scope_members},
    {0, NULL},
};
static PyType_Spec scope_spec = {
    .name = "regimeter._core.Scope",
    .basicsize = sizeof(scope_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = scope_slots,
};

int rgm_scope_types_init(PyObject *module, rgm_module *state) {
    state->scope_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &scope_spec, NULL);
    return state->scope_type ? rgm_scope_protocol_init(module, state) : -1;
}
