// SPDX-License-Identifier: Apache-2.0
// Samples that found the driving thread ready and without a processor: how many of them others have caused.
#ifndef RGM_SUGGEST_VERDICT_DISPLACED_H
#define RGM_SUGGEST_VERDICT_DISPLACED_H

#include "suggest/verdict_facts.h"

// Finds out who has the processors where the program lacks one: `crowded` and `alone` of the facts.
void rgm_verdict_look_at_others(rgm_verdict_facts *facts);

// A new state for each sample of the run (an rgm_sample_state): who takes a sample needs a processor for it,
// and where that is the program's it finds the thread ready though nobody else has held it up. Such samples
// are no more than the part of the time that the kernel counted as waiting; those beyond it, of the stacks
// that were found running above all, get the state in which their stack was so most often. Where the kernel
// does not count, all stay as they are. Of the other threads it counts nothing: theirs are all taken for such
// samples where processors stood idle, so that nobody but the sampler can have held them up for long. *out:
// [samples], freed by the caller.
rgm_status rgm_verdict_states(const rgm_verdict_facts *facts, uint8_t **out, rgm_error *err) RGM_NODISCARD;

// Whether a sample is of the driving thread, in the window.
bool rgm_verdict_is_driving(const rgm_verdict_facts *facts, size_t sample);

#endif
