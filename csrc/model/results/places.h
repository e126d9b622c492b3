// SPDX-License-Identifier: Apache-2.0
// Columns of a result row that belongs to a device, and to a device or one of its streams.
#ifndef RGM_MODEL_RESULTS_PLACES_H
#define RGM_MODEL_RESULTS_PLACES_H

#define RGM_ON_DEVICE(X)                                                                                     \
    X(i32, rank, "", -1, "Rank of the job, -1 when unknown.")                                                \
    X(i64, process, "", 0, "Process id that the trace gives the device.")                                    \
    X(name, process_name, "", 0, "The same where it is a text.")                                             \
    X(i16, device, "", -1, "Device ordinal.")

#define RGM_ON_STREAM(X)                                                                                     \
    RGM_ON_DEVICE(X)                                                                                         \
    X(i32, lane, "", -1, "Row of `lanes` of the stream, -1 for the whole device.")                           \
    X(i64, stream, "", -1, "Stream id, -1 for the whole device.")

#endif
