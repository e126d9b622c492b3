// SPDX-License-Identifier: Apache-2.0
// What a session does with devices: it is the sink of the device layer. The only place where recording and
// the device layer meet.
#ifndef RGM_CAPTURE_DEVICE_H
#define RGM_CAPTURE_DEVICE_H

#include "capture/session.h"
#include "cuda/sink.h"

// Valid while the session is; what arrives after it has stopped is ignored.
rgm_device_sink rgm_session_sink(rgm_session *session);

#endif
