// SPDX-License-Identifier: Apache-2.0
// A table as an Arrow C stream (the C data and stream interfaces of the Arrow format, whose three structs are
// declared here as its specification prints them). Columns are shared, not copied: every array holds a
// reference to the Python table. Names are dictionary-encoded text.
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "python/state.h"

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

typedef struct {
    PyObject *owner;
    const rgm_run *run;
    const rgm_table_desc *desc;
    const rgm_table *table;
    bool done;
} stream_state;

// --- schema: one block of memory per schema, so that release is one free ----------------------------------

typedef struct {
    struct ArrowSchema *children[64];
    struct ArrowSchema child[64];
    struct ArrowSchema text;
} schema_block;

static void release_nothing(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_schema(struct ArrowSchema *schema) {
    rgm_free(schema->private_data);
    schema->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    const rgm_table_desc *desc = ((stream_state *)stream->private_data)->desc;
    schema_block *block = rgm_calloc(1, sizeof *block);
    if (!block || desc->n_columns > 64) {
        rgm_free(block);
        return ENOMEM;
    }
    block->text = (struct ArrowSchema){.format = "u", .release = release_nothing};
    for (size_t i = 0; i < desc->n_columns; i++) {
        const rgm_column_desc *column = &desc->columns[i];
        block->children[i] = &block->child[i];
        block->child[i] = (struct ArrowSchema){
            .format = rgm_types[column->type].arrow, .name = column->name, .release = release_nothing};
        if (column->type == RGM_TYPE_name) block->child[i].dictionary = &block->text;
    }
    *out = (struct ArrowSchema){.format = "+s",
                                .n_children = (int64_t)desc->n_columns,
                                .children = block->children,
                                .release = release_schema,
                                .private_data = block};
    return 0;
}

// --- arrays -----------------------------------------------------------------------------------------------

// A consumer may move a child out and release it on its own, so each array holds what it needs itself.
typedef struct {
    PyObject *owner; // NULL where nothing of Python is shared
    void *memory;    // offsets and text of a dictionary
    void *defaults;  // cells of a column that the table has no memory for
    struct ArrowArray *dictionary;
    struct ArrowArray **children;
    int64_t n_children;
    const void *buffers[3];
} array_private;

static void release_array(struct ArrowArray *array) {
    array_private *private = array->private_data;
    for (int64_t i = 0; i < private->n_children; i++) {
        if (private->children[i]->release) private->children[i]->release(private->children[i]);
        rgm_free(private->children[i]);
    }
    if (private->dictionary) {
        if (private->dictionary->release) private->dictionary->release(private->dictionary);
        rgm_free(private->dictionary);
    }
    if (private->owner) { // consumers release from threads of their own
        PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF(private->owner);
        PyGILState_Release(gil);
    }
    rgm_free(private->children);
    rgm_free(private->memory);
    rgm_block_free(private->defaults);
    rgm_free(private);
    array->release = NULL;
}

static array_private *array_init(struct ArrowArray *array, int64_t length, int64_t n_buffers) {
    array_private *private = rgm_calloc(1, sizeof *private);
    *array = (struct ArrowArray){.length = length,
                                 .n_buffers = n_buffers,
                                 .buffers = private ? private->buffers : NULL,
                                 .release = private ? release_array : NULL,
                                 .private_data = private};
    return private;
}

static int text_array(const rgm_run *run, struct ArrowArray *out) {
    uint32_t count = rgm_strings_count(&run->strings);
    size_t bytes = 0;
    for (uint32_t id = 0; id < count; id++) bytes += rgm_strings_view(&run->strings, id).length;
    if (bytes > INT32_MAX) return EOVERFLOW;
    array_private *private = array_init(out, count, 3);
    if (!private) return ENOMEM;
    int32_t *offsets = private->memory = rgm_malloc(((size_t)count + 1) * sizeof *offsets + bytes);
    if (!offsets) return ENOMEM;
    char *text = (char *)(offsets + count + 1);
    offsets[0] = 0;
    for (uint32_t id = 0; id < count; id++) {
        rgm_string string = rgm_strings_view(&run->strings, id);
        memcpy(text + offsets[id], string.data, string.length);
        offsets[id + 1] = offsets[id] + (int32_t)string.length;
    }
    private->buffers[1] = offsets;
    private->buffers[2] = text;
    return 0;
}

static int column_array(const stream_state *s, size_t column, struct ArrowArray *out) {
    array_private *private = array_init(out, (int64_t)s->table->rows, 2);
    if (!private) return ENOMEM;
    private->buffers[1] = rgm_table_column(s->desc, s->table, column);
    // Consumers come here without the interpreter's lock, and the run is shared.
    if (!private->buffers[1])
    private->buffers[1] = private->defaults = rgm_table_defaults(s->desc, column, s->table->rows);
    if (!private->buffers[1]) return ENOMEM;
    PyGILState_STATE gil = PyGILState_Ensure();
    private->owner = Py_NewRef(s->owner);
    PyGILState_Release(gil);
    if (s->desc->columns[column].type != RGM_TYPE_name) return 0;
    private->dictionary = rgm_calloc(1, sizeof *private->dictionary);
    if (!private->dictionary) return ENOMEM;
    out->dictionary = private->dictionary;
    return text_array(s->run, private->dictionary);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    stream_state *s = stream->private_data;
    *out = (struct ArrowArray){0}; // a released array ends the stream
    if (s->done) return 0;
    s->done = true;
    size_t columns = s->desc->n_columns;
    array_private *private = array_init(out, (int64_t)s->table->rows, 1);
    int failed = private ? 0 : ENOMEM;
    if (!failed && !(private->children = rgm_calloc(columns, sizeof *private->children))) failed = ENOMEM;
    for (size_t i = 0; !failed && i < columns; i++) {
        private->children[i] = rgm_calloc(1, sizeof **private->children);
        if (!private->children[i]) {
            failed = ENOMEM;
            break;
        }
        private->n_children++;
        failed = column_array(s, i, private->children[i]);
    }
    if (failed && out->release) out->release(out);
    if (failed) return failed;
    out->children = private->children;
    out->n_children = private->n_children;
    return 0;
}

static const char *last_error(struct ArrowArrayStream *stream) {
    (void)stream;
    return "out of memory while a regimeter table was exported";
}

static void release_stream(struct ArrowArrayStream *stream) {
    stream_state *s = stream->private_data;
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF(s->owner);
    PyGILState_Release(gil);
    rgm_free(s);
    stream->release = NULL;
}

static void capsule_dealloc(PyObject *capsule) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream && stream->release) stream->release(stream);
    rgm_free(stream);
}

PyObject *rgm_arrow_stream(PyObject *owner, const rgm_run *run, const rgm_table_desc *desc,
                           const void *table) {
    struct ArrowArrayStream *stream = rgm_calloc(1, sizeof *stream);
    stream_state *s = rgm_calloc(1, sizeof *s);
    if (!stream || !s) {
        rgm_free(stream);
        rgm_free(s);
        return PyErr_NoMemory();
    }
    *s = (stream_state){Py_NewRef(owner), run, desc, table, false};
    *stream = (struct ArrowArrayStream){get_schema, get_next, last_error, release_stream, s};
    PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", capsule_dealloc);
    if (!capsule) {
        release_stream(stream);
        rgm_free(stream);
    }
    return capsule;
}
