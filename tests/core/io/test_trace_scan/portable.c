// SPDX-License-Identifier: Apache-2.0
#define SCAN_VARIANT scan_portable
#include "variant.h"
