// SPDX-License-Identifier: Apache-2.0
// Variables of a process's environment that a run keeps; whatever else stands there may be a secret.
#ifndef RGM_MODEL_VARIABLES_H
#define RGM_MODEL_VARIABLES_H

// X(NAME, token)
#define RGM_ENVIRONMENT_VARIABLES(X)                                                                         \
    X(RANK, "RANK")                                                                                          \
    X(WORLD_SIZE, "WORLD_SIZE")                                                                              \
    X(MPS_SHARE, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE")                                                        \
    X(RUNNER, "REGIMETER_RUNNER")

#endif
