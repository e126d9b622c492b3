// SPDX-License-Identifier: Apache-2.0
// Whether a thread that sleeps polls: looks now and then whether others have done their work.
#ifndef RGM_SUGGEST_VERDICT_POLLS_H
#define RGM_SUGGEST_VERDICT_POLLS_H

#include "suggest/verdict_facts.h"

// A sample of the driving thread finds it polling; a process of the run works meanwhile.
enum { RGM_POLLS = 1, RGM_POLLS_PROCESSES = 2 };

// These bits for each sample; the second tells something where the first is set. *out: [samples], freed by
// the caller. `states` of the facts are there.
rgm_status rgm_verdict_find_polls(const rgm_verdict_facts *facts, uint8_t **out,
                                  rgm_error *err) RGM_NODISCARD;

#endif
