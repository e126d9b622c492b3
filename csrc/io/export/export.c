// SPDX-License-Identifier: Apache-2.0
#include "io/export/export.h"

const rgm_export_format rgm_export_formats[] = {
#define EXPORT_FORMAT(name, token, doc) {token, doc, rgm_export_##name},
    RGM_EXPORTS(EXPORT_FORMAT)
#undef EXPORT_FORMAT
};
const size_t rgm_export_formats_count = sizeof rgm_export_formats / sizeof rgm_export_formats[0];

rgm_status rgm_export(const rgm_run *run, const char *format, const char *option, rgm_sink_write write,
                      void *context, rgm_error *err) {
    const rgm_export_format *found = NULL;
    for (size_t i = 0; i < rgm_export_formats_count; i++)
        if (strcmp(rgm_export_formats[i].name, format) == 0) found = &rgm_export_formats[i];
    if (!found) return rgm_error_set(err, RGM_INVALID, "no export format is called '%s'", format);
    rgm_output out;
    RGM_TRY(rgm_output_init(&out, write, context, err));
    rgm_status status = found->write(run, option, &out, err);
    if (status == RGM_OK) status = rgm_output_finish(&out);
    rgm_output_release(&out);
    return status;
}
