// SPDX-License-Identifier: Apache-2.0
// Statistics of a history: values worked out by hand, and memory that runs out at every place.
#include "base/memory.h"
#include "compare/change_points.h"
#include "compare/prediction.h"
#include "faults.h"

static const double step[] = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 9, 8, 9, 8, 9, 8, 9, 8, 9, 8};
enum { STEP_COUNT = sizeof step / sizeof *step };

TEST(a_prediction_by_hand) {
    const double history[] = {8, 1, 5, 100, 3, 4, 7, 2}, value = 29.0 / 6;
    rgm_prediction found;
    rgm_error err = RGM_ERROR_NONE;
    CHECK_OK(rgm_predict(history, 8, &value, 1, 0.05, &found, &err));
    CHECK_NEAR(found.center, (2 + 3 + 4 + 5 + 7 + 8) / 6.0, 1e-12);
    CHECK_NEAR(found.p, 1, 1e-12);
    CHECK_EQ_U64(found.trimmed, 1);
    CHECK_NEAR(found.df, 5, 0);
    CHECK(found.low < found.center && found.center < found.high);
}

TEST(what_cannot_be_predicted) {
    const double history[] = {1, 2, 3, 4}, bad = NAN;
    rgm_prediction found;
    rgm_error err = RGM_ERROR_NONE;
    CHECK_EQ_I64(rgm_predict(history, 3, history, 1, 0.05, &found, &err), RGM_INVALID);
    CHECK_EQ_I64(rgm_predict(history, 4, history, 0, 0.05, &found, &err), RGM_INVALID);
    CHECK_EQ_I64(rgm_predict(history, 4, &bad, 1, 0.05, &found, &err), RGM_INVALID);
    CHECK(isnan(found.p));
}

TEST(a_step_is_placed_where_it_is) {
    rgm_change_point *points = NULL;
    size_t count = 0;
    rgm_error err = RGM_ERROR_NONE;
    CHECK_OK(rgm_change_points_of(step, STEP_COUNT, 0.01, false, &points, &count, &err));
    REQUIRE(count == 1);
    CHECK_EQ_U64(points[0].at, 10);
    CHECK_NEAR(points[0].before, 1.5, 0);
    CHECK_NEAR(points[0].after, 8.5, 0);
    rgm_free(points);
}

TEST(out_of_memory_leaks_nothing) {
    rgm_prediction found;
    size_t count;
    EACH_FAULT("change points") {
        rgm_change_point *points = NULL;
        FAULTY(rgm_change_points_of(step, STEP_COUNT, 0.01, true, &points, &count, NULL));
        rgm_free(points);
    }
    EACH_FAULT("a prediction") FAULTY(rgm_predict(step, STEP_COUNT, step, 1, 0.05, &found, NULL));
}
