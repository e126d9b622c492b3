// SPDX-License-Identifier: Apache-2.0
#include "capture/governor.h"

#include <math.h>

void rgm_governor_start(rgm_governor *governor, double share) {
    *governor = (rgm_governor){.share = share};
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++) governor->one_in[i] = 1;
}

// What the window has cost; false where the counts have begun anew.
static bool spent_since(const rgm_governor *governor, const rgm_governor_cost *cost,
                        rgm_governor_cost *spent) {
    spent->rest_ns = cost->rest_ns - governor->last.rest_ns;
    bool grown = spent->rest_ns >= 0;
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++) {
        spent->governed_ns[i] = cost->governed_ns[i] - governor->last.governed_ns[i];
        grown = grown && spent->governed_ns[i] >= 0;
    }
    return grown;
}

// The dearest is made rarer until all fits into the room, or nothing is left to be made rarer.
static void plan(const double *whole_ns, double room_ns, uint32_t *one_in) {
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++) one_in[i] = 1;
    for (;;) {
        double sum_ns = 0, most_ns = 0;
        int dearest = -1;
        for (int i = 0; i < RGM_GOVERNED_COUNT; i++) {
            double ns = whole_ns[i] / one_in[i];
            sum_ns += ns;
            if (one_in[i] >= RGM_GOVERNOR_RAREST || ns <= most_ns) continue;
            most_ns = ns;
            dearest = i;
        }
        if (sum_ns <= room_ns || dearest < 0) return;
        one_in[dearest] *= 2;
    }
}

static void adapt(rgm_governor *governor, const rgm_governor_cost *spent, double room_ns) {
    double whole_ns[RGM_GOVERNED_COUNT];
    uint32_t needed[RGM_GOVERNED_COUNT], easy[RGM_GOVERNED_COUNT];
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++)
        whole_ns[i] = (double)spent->governed_ns[i] * governor->one_in[i];
    plan(whole_ns, room_ns, needed);
    plan(whole_ns, room_ns * RGM_GOVERNOR_EASY, easy);
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++) {
        uint32_t now = governor->one_in[i];
        bool more = easy[i] < now;
        governor->calm[i] = more ? governor->calm[i] + 1 : 0;
        if (needed[i] > now)
            governor->one_in[i] = needed[i];
        else if (more && governor->calm[i] >= RGM_GOVERNOR_CALM)
            governor->one_in[i] = now / 2;
    }
}

bool rgm_governor_look(rgm_governor *governor, int64_t now_ns, const rgm_governor_cost *cost) {
    rgm_governor_cost spent;
    double window_ns = (double)(now_ns - governor->last_ns);
    bool known = governor->looked && spent_since(governor, cost, &spent);
    if (known && window_ns < (double)RGM_GOVERNOR_LOOK_NS) return false;
    governor->looked = true;
    governor->last = *cost;
    governor->last_ns = now_ns;
    if (!known) return false;
    double spent_ns = (double)spent.rest_ns, allowed_ns = governor->share * window_ns;
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++) spent_ns += (double)spent.governed_ns[i];
    governor->spent = spent_ns / window_ns;
    governor->debt_ns = fmax(0, governor->debt_ns + spent_ns - allowed_ns);
    double saved_ns = fmin(allowed_ns / 2, governor->debt_ns * window_ns / (double)RGM_GOVERNOR_REPAY_NS);
    adapt(governor, &spent, fmax(0, allowed_ns - saved_ns - (double)spent.rest_ns));
    return true;
}
