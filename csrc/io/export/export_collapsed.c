// SPDX-License-Identifier: Apache-2.0
// Folded stacks: one line a stack, frames joined by ';', then a space and the nanoseconds.
#include "base/memory.h"
#include "base/utf8.h"
#include "io/export/export.h"
#include "io/export/stacks.h"
#include "io/json/json_write.h"

// The format has no escapes: ';' separates frames and a line end ends the stack, so these become ':' and ' '.
static void put_frame(rgm_output *out, const char *data, size_t length) {
    const unsigned char *at = (const unsigned char *)data, *end = at + length;
    if (!length) RGM_OUTPUT_LITERAL(out, "(no name)");
    while (at < end) {
        size_t good = rgm_utf8_length(at, end);
        if (good > 1)
            rgm_output_append(out, at, good);
        else if (good)
            rgm_output_byte(out, (char)(*at == ';' ? ':' : *at < 0x20 || *at == 0x7F ? ' ' : *at));
        else
            RGM_OUTPUT_LITERAL(out, "\xEF\xBF\xBD");
        at += good ? good : 1;
    }
}

static void put_stack(rgm_output *out, const rgm_folded *s, int32_t leaf) {
    int32_t path[RGM_STACK_DEPTH + 1];
    size_t depth = 0;
    for (int32_t node = leaf; node >= 0; node = s->nodes[node].parent) path[depth++] = node;
    char root[2 * RGM_TRACK_NAME_ROOM];
    put_frame(out, root, rgm_stack_root(s, &s->nodes[path[--depth]], root, sizeof root));
    while (depth) {
        rgm_string name = rgm_run_text(s->tracks->run, s->nodes[path[--depth]].frame);
        rgm_output_byte(out, ';');
        put_frame(out, name.data, name.length);
    }
}

rgm_status rgm_export_collapsed(const rgm_run *run, const char *option, rgm_output *out, rgm_error *err) {
    bool device = option && strcmp(option, "device") == 0;
    if (option && !device && strcmp(option, "host") != 0)
        return rgm_error_set(err, RGM_INVALID, "stacks are of 'host' or 'device' time, not '%s'", option);
    RGM_RELEASED(rgm_tracks_release) rgm_tracks tracks = {0};
    RGM_RELEASED(rgm_stacks_release) rgm_folded stacks = {0};
    RGM_TRY(rgm_tracks_init(&tracks, run, err));
    RGM_TRY(rgm_stacks_init(&stacks, &tracks, err));
    for (size_t i = 0; i < stacks.count; i++) {
        int64_t value = device ? stacks.nodes[i].device_ns : stacks.nodes[i].host_ns;
        if (value <= 0) continue;
        put_stack(out, &stacks, (int32_t)i);
        rgm_output_byte(out, ' ');
        rgm_write_i64(out, value);
        rgm_output_byte(out, '\n');
    }
    return RGM_OK;
}
