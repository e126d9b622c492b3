// SPDX-License-Identifier: Apache-2.0
// Values of a snapshot's pickle: words of the format, names of the run, numbers, and as JSON what the format
// does not know.
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "io/json/json_write.h"
#include "io/snapshot/snapshot_reading.h"

// Settings and annotations are some kilobytes. What else the format does not know is dropped beyond this.
enum { JSON_BYTES = 16 << 20, JSON_COST = 320 };

rgm_status rgm_snapshot_room(void **rows, size_t size, size_t count, size_t *room, rgm_error *err) {
    if (count < *room) return RGM_OK;
    size_t wanted = *room ? *room * 2 : 64;
    void *grown = rgm_block_realloc(*rows, wanted * size);
    if (!grown) return rgm_error_no_memory(err);
    *rows = grown;
    *room = wanted;
    return RGM_OK;
}

rgm_status rgm_snapshot_refuse(const rgm_pickle *pickle, const char *why, rgm_error *err) {
    int64_t offset = rgm_pickle_offset(pickle);
    return rgm_error_at(err, RGM_FORMAT, offset, "no memory snapshot: at byte %lld %s", (long long)offset,
                        why);
}

rgm_shape rgm_snapshot_shape(rgm_pickle *pickle, rgm_pickle_value value) {
    return value.kind == RGM_PICKLE_CONTAINER ? (rgm_shape)rgm_pickle_object_of(pickle, value)->shape
                                              : RGM_SHAPE_EMPTY;
}

// --- texts ------------------------------------------------------------------------------------------------

static rgm_status text_room(rgm_snapshot_reading *r, uint32_t text, rgm_error *err) {
    if (text < r->text_room) return RGM_OK;
    size_t wanted = r->text_room ? r->text_room : 1024;
    while (wanted <= text) wanted *= 2;
    uint8_t *words = rgm_block_realloc(r->words, wanted);
    if (!words) return rgm_error_no_memory(err);
    r->words = words;
    rgm_name *ids = rgm_block_realloc(r->ids, wanted * sizeof *ids);
    if (!ids) return rgm_error_no_memory(err);
    r->ids = ids;
    memset(words + r->text_room, 0, wanted - r->text_room);
    memset(ids + r->text_room, 0, (wanted - r->text_room) * sizeof *ids);
    r->text_room = wanted;
    return RGM_OK;
}

static rgm_word find_word(rgm_string text) {
    static const char *const words[] = {"",
#define WORD_TEXT(name, text) text,
                                        RGM_SNAPSHOT_WORDS(WORD_TEXT)
#undef WORD_TEXT
    };
    for (size_t i = 1; i < RGM_WORD_COUNT; i++)
        if (strlen(words[i]) == text.length && memcmp(words[i], text.data, text.length) == 0)
            return (rgm_word)i;
    return RGM_WORD_UNKNOWN;
}

rgm_status rgm_snapshot_word(rgm_snapshot_reading *r, rgm_pickle *pickle, rgm_pickle_value value,
                             rgm_word *word, rgm_error *err) {
    *word = RGM_WORD_UNKNOWN;
    if (value.kind != RGM_PICKLE_TEXT) return RGM_OK;
    RGM_TRY(text_room(r, value.text, err));
    if (!r->words[value.text])
        r->words[value.text] = (uint8_t)(find_word(rgm_pickle_text(pickle, value.text)) + 1);
    *word = (rgm_word)(r->words[value.text] - 1);
    return RGM_OK;
}

rgm_status rgm_snapshot_name(rgm_snapshot_reading *r, rgm_pickle *pickle, rgm_pickle_value value,
                             rgm_name *name, rgm_error *err) {
    *name = 0;
    if (value.kind != RGM_PICKLE_TEXT) return RGM_OK;
    RGM_TRY(text_room(r, value.text, err));
    if (!r->ids[value.text]) {
        rgm_string text = rgm_pickle_text(pickle, value.text);
        RGM_TRY(rgm_strings_intern(&r->run->strings, text.data, text.length, &r->ids[value.text], err));
    }
    *name = r->ids[value.text];
    return RGM_OK;
}

int64_t rgm_snapshot_number(const rgm_pickle_value *value, int64_t missing) {
    if (!value) return missing;
    switch (value->kind) {
    case RGM_PICKLE_BOOL:
    case RGM_PICKLE_INT: return value->number;
    case RGM_PICKLE_FLOAT: return fabs(value->real) < 9e18 ? (int64_t)value->real : missing;
    default: return missing;
    }
}

bool rgm_snapshot_is(const rgm_pickle *pickle, const rgm_pickle_value *value, const char *text) {
    if (!value || value->kind != RGM_PICKLE_TEXT) return false;
    rgm_string found = rgm_pickle_text(pickle, value->text);
    return found.length == strlen(text) && memcmp(found.data, text, found.length) == 0;
}

// --- JSON -------------------------------------------------------------------------------------------------

rgm_status rgm_snapshot_keep(void *context, const void *data, size_t length, rgm_error *err) {
    rgm_bytes *bytes = context;
    rgm_bytes_append(bytes, data, length);
    return bytes->failed ? rgm_error_no_memory(err) : RGM_OK;
}

static void write_container(rgm_snapshot_reading *r, rgm_json *json, const rgm_pickle_object *object) {
    bool is_dict = object->type == RGM_PICKLE_DICT;
    rgm_json_open(json, is_dict ? '{' : '[');
    if (object->shape == RGM_SHAPE_JSON) {
        const rgm_bytes *inner = &r->jsons[object->payload];
        rgm_json_raw(json, inner->data, inner->length);
    } else if (object->shape == RGM_SHAPE_PAIR) {
        rgm_json_i64(json, r->pairs[object->payload].first);
        rgm_json_i64(json, r->pairs[object->payload].second);
    }
    rgm_json_close(json, is_dict ? '}' : ']');
}

static void write_value(rgm_snapshot_reading *r, rgm_pickle *pickle, rgm_json *json, rgm_pickle_value value) {
    switch (value.kind) {
    case RGM_PICKLE_INT: rgm_json_i64(json, value.number); return;
    case RGM_PICKLE_FLOAT: rgm_json_f64(json, value.real); return;
    case RGM_PICKLE_TEXT: rgm_json_string(json, rgm_pickle_text(pickle, value.text)); return;
    case RGM_PICKLE_BOOL: rgm_json_raw(json, value.number ? "true" : "false", value.number ? 4 : 5); return;
    case RGM_PICKLE_CONTAINER: {
        const rgm_pickle_object *object = rgm_pickle_object_of(pickle, value);
        bool known = object->shape == RGM_SHAPE_EMPTY || object->shape == RGM_SHAPE_PAIR ||
                     (object->shape == RGM_SHAPE_JSON && object->payload != RGM_JSON_DROPPED);
        if (known) {
            write_container(r, json, object);
            return;
        }
        break;
    }
    default: break;
    }
    rgm_json_raw(json, "null", 4);
}

static void write_key(rgm_pickle *pickle, rgm_json *json, rgm_pickle_value key) {
    if (key.kind == RGM_PICKLE_TEXT) {
        rgm_json_string(json, rgm_pickle_text(pickle, key.text));
    } else {
        rgm_json_separate(json);
        rgm_output_byte(json->out, '"');
        rgm_write_i64(json->out, rgm_snapshot_number(&key, 0));
        rgm_output_byte(json->out, '"');
    }
    rgm_output_byte(json->out, ':');
    json->comma = false;
}

static rgm_status begin_json(rgm_snapshot_reading *r, rgm_pickle_object *object, rgm_error *err) {
    object->shape = RGM_SHAPE_JSON;
    object->payload = RGM_JSON_DROPPED;
    if (r->json_bytes + JSON_COST > JSON_BYTES) return RGM_OK;
    RGM_TRY(rgm_snapshot_room((void **)&r->jsons, sizeof *r->jsons, r->n_jsons, &r->json_room, err));
    r->jsons[r->n_jsons] = (rgm_bytes){0};
    r->json_bytes += JSON_COST;
    object->payload = (uint32_t)r->n_jsons++;
    return RGM_OK;
}

rgm_status rgm_snapshot_fill_json(rgm_snapshot_reading *r, rgm_pickle *pickle, rgm_pickle_object *object,
                                  const rgm_pickle_value *values, size_t count, rgm_error *err) {
    if (object->shape == RGM_SHAPE_EMPTY) RGM_TRY(begin_json(r, object, err));
    if (object->shape != RGM_SHAPE_JSON)
        return rgm_snapshot_refuse(pickle, "something is added to what was complete", err);
    if (object->payload == RGM_JSON_DROPPED) return RGM_OK;
    rgm_bytes *bytes = &r->jsons[object->payload];
    size_t before = bytes->length;
    rgm_json json = {.out = &r->out, .comma = before > 0};
    r->out.context = bytes;
    r->out.err = err;
    for (size_t i = 0; i < count; i++) {
        // Text that holds what is in it once more for each level grows with depth: the budget ends that.
        if (r->json_bytes + (bytes->length - before) + r->out.length > JSON_BYTES) break;
        if (object->type == RGM_PICKLE_DICT) write_key(pickle, &json, values[i++]);
        write_value(r, pickle, &json, values[i]);
    }
    RGM_TRY(rgm_output_finish(&r->out));
    r->json_bytes += bytes->length - before;
    if (r->json_bytes > JSON_BYTES) {
        rgm_bytes_release(bytes);
        object->payload = RGM_JSON_DROPPED;
    }
    return RGM_OK;
}

static uint32_t text_key(const rgm_pickle_value *value) {
    return value && value->kind == RGM_PICKLE_TEXT ? value->text + 1 : 0;
}

rgm_status rgm_snapshot_note(rgm_snapshot_reading *r, rgm_pickle *pickle, const rgm_pickle_value *context,
                             const rgm_pickle_value *metadata, rgm_name *note, rgm_error *err) {
    uint32_t context_key = text_key(context), metadata_key = text_key(metadata);
    bool plain = (!context || context_key) && (!metadata || metadata_key);
    *note = 0;
    if (!context && !metadata) return RGM_OK;
    if (plain && r->last_note.note && r->last_note.context == context_key &&
        r->last_note.metadata == metadata_key) {
        *note = r->last_note.note;
        return RGM_OK;
    }
    rgm_bytes text = {0};
    rgm_json json = {.out = &r->out};
    r->out.context = &text;
    r->out.err = err;
    rgm_json_open(&json, '{');
    if (context) {
        RGM_JSON_KEY(&json, "compile_context");
        write_value(r, pickle, &json, *context);
    }
    if (metadata) {
        RGM_JSON_KEY(&json, "user_metadata");
        write_value(r, pickle, &json, *metadata);
    }
    rgm_json_close(&json, '}');
    rgm_status status = rgm_output_finish(&r->out);
    if (status == RGM_OK)
        status = rgm_strings_intern(&r->run->strings, (const char *)text.data, text.length, note, err);
    rgm_bytes_release(&text);
    if (status == RGM_OK && plain) {
        r->last_note.context = context_key;
        r->last_note.metadata = metadata_key;
        r->last_note.note = *note;
    }
    return status;
}
