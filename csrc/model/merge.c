// SPDX-License-Identifier: Apache-2.0
#include "model/merge.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "model/append.h"
#include "model/links.h"

// Columns that append leaves as they are, and the smallest value that is moved: the others mean "none".
enum { TIME, ID, MOVES };
static const int64_t smallest[MOVES] = {[TIME] = INT64_MIN, [ID] = 1};

typedef struct {
    const rgm_table_desc *desc;
    size_t column;
    int what;
} moved;

// All of them are i64.
#define MOVED(table, column, what) {&rgm_##table##_desc, RGM_COLUMN_INDEX(table, column), what}
static const moved moved_columns[] = {
    MOVED(spans, start_ns, TIME),   MOVED(spans, correlation, ID),  MOVED(spans, external_id, ID),
    MOVED(launches, graph, ID),     MOVED(memory, time_ns, TIME),   MOVED(counters, time_ns, TIME),
    MOVED(operators, sequence, ID), MOVED(frames, id, ID),          MOVED(frames, parent_id, ID),
    MOVED(frames, module_id, ID),   MOVED(syncs, event, ID),        MOVED(syncs, record_correlation, ID),
    MOVED(flows, id, ID),           MOVED(flows, time_ns, TIME),    MOVED(files, shift_ns, TIME),
    MOVED(witness, time_ns, TIME),  MOVED(pressure, time_ns, TIME), MOVED(samples, time_ns, TIME),
};
enum { N_MOVED = sizeof moved_columns / sizeof moved_columns[0] };

typedef struct {
    rgm_run *to;
    rgm_run *from;
    uint32_t *names; // id in `from` -> id in `to`
    size_t first_lane;
    int64_t delta[MOVES];
    int64_t position;
    rgm_merge_of of;
    bool several;
    bool wide;     // an id did not fit below 2^40
    bool unlinked; // a run does not know its launches: they are to be found by correlation
} merge;

// --- columns ----------------------------------------------------------------------------------------------

// Columns that are written even where a run holds only their default: times, and what fill_ranks fills.
static uint64_t columns_needed(const rgm_table_desc *desc) {
    uint64_t mask = desc == &rgm_lanes_desc ? RGM_COLUMN_BIT(lanes, rank) : 0;
    for (size_t i = 0; i < N_MOVED; i++) {
        const moved *m = &moved_columns[i];
        if (m->desc == desc && desc->columns[m->column].missing >= (double)smallest[m->what])
            mask |= UINT64_C(1) << m->column;
    }
    return mask;
}

static bool add(merge *m, int64_t *value, int what) {
    if (*value < smallest[what]) return true;
    if (what == ID && *value >= INT64_C(1) << RGM_MERGE_ID_BITS) m->wide = true;
    int64_t sum;
    if (__builtin_add_overflow(*value, m->delta[what], &sum)) return what == ID; // an id may stay as it is
    *value = sum;
    return true;
}

static rgm_status move_columns(merge *m, const rgm_table_desc *desc, size_t first, rgm_error *err) {
    const rgm_table *table = rgm_run_table(m->to, desc);
    for (size_t i = 0; i < N_MOVED; i++) {
        const moved *c = &moved_columns[i];
        rgm_i64 *column = c->desc == desc ? rgm_table_column(desc, table, c->column) : NULL;
        if (!column || !m->delta[c->what]) continue;
        for (size_t row = first; row < table->rows; row++)
            if (!add(m, &column[row], c->what))
                return rgm_error_set(err, RGM_LIMIT, "%s.%s of run %lld is out of range after the merge",
                                     desc->name, desc->columns[c->column].name, (long long)m->position);
    }
    return RGM_OK;
}

// Tables that tell of whole processes: rows that name no lane get the first of theirs, which says whose they
// are beside those of others.
#define TABLES_OF_PROCESSES(X) X(memory) X(segments) X(blocks) X(pressure)

static size_t lane_column(const rgm_table_desc *desc) {
#define LANE_COLUMN(table)                                                                                   \
    if (desc == &rgm_##table##_desc) return RGM_COLUMN_INDEX(table, lane);
    TABLES_OF_PROCESSES(LANE_COLUMN)
    return SIZE_MAX;
}

static rgm_status name_lanes(merge *m, const rgm_table_desc *desc, size_t first, rgm_error *err) {
    rgm_table *table = rgm_run_table(m->to, desc);
    size_t column = lane_column(desc);
    if (column == SIZE_MAX || table->rows == first || !m->several) return RGM_OK;
    if (!m->from->lanes.rows && m->of == RGM_MERGE_PROCESSES) return RGM_OK;
    RGM_TRY(rgm_table_ensure(desc, table, column, err));
    rgm_i32 *lane = rgm_table_column(desc, table, column);
    for (size_t row = first; row < table->rows; row++)
        if (lane[row] < 0) lane[row] = (rgm_i32)m->first_lane;
    return RGM_OK;
}

// A rank of which nothing but these is known has none: it gets one.
static rgm_status add_lane(merge *m, rgm_error *err) {
    size_t row, rows = 0;
#define ADD_ROWS(table) rows += m->from->table.rows;
    TABLES_OF_PROCESSES(ADD_ROWS)
    if (!rows || m->from->lanes.rows || !m->several || m->of == RGM_MERGE_PROCESSES) return RGM_OK;
    RGM_TRY(rgm_table_append(&rgm_lanes_desc, &m->to->lanes, RGM_ALL_COLUMNS, &row, err));
    m->to->lanes.process[row] = -1;
    return RGM_OK;
}

static rgm_status append_tables(merge *m, rgm_error *err) {
    const rgm_append_ids ids = {.name_of = m->names,
                                .first_lane = m->first_lane,
                                .first_span = m->to->spans.rows,
                                .first_stack = m->to->stacks.rows};
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        size_t first = ((const rgm_table *)rgm_run_table(m->to, desc))->rows;
        if (desc == &rgm_anomalies_desc) continue;
        RGM_TRY(rgm_append_table(desc, m->to, m->from, columns_needed(desc), &ids, err));
        RGM_TRY(move_columns(m, desc, first, err));
        RGM_TRY(name_lanes(m, desc, first, err));
    }
    return RGM_OK;
}

// --- what is not a plain column ---------------------------------------------------------------------------

static rgm_status map_names(merge *m, rgm_error *err) {
    uint32_t count = rgm_strings_count(&m->from->strings);
    m->names = rgm_malloc((count ? count : 1) * sizeof *m->names);
    if (!m->names) return rgm_error_no_memory(err);
    for (uint32_t id = 0; id < count; id++) {
        rgm_string text = rgm_strings_view(&m->from->strings, id);
        RGM_TRY(rgm_strings_intern(&m->to->strings, text.data, text.length, &m->names[id], err));
    }
    return RGM_OK;
}

static bool knows_rank(const rgm_run *run) {
    for (size_t lane = 0; run->lanes.rank && lane < run->lanes.rows; lane++)
        if (run->lanes.rank[lane] >= 0) return true;
    return false;
}

static int32_t rank_of(const rgm_run *run, int32_t otherwise) {
    for (size_t lane = 0; run->lanes.rank && lane < run->lanes.rows; lane++)
        if (run->lanes.rank[lane] >= 0) return run->lanes.rank[lane];
    for (size_t i = 0; run->files.rank && i < run->files.rows; i++)
        if (run->files.rank[i] >= 0) return run->files.rank[i];
    return otherwise;
}

static void fill_ranks(merge *m) {
    if (m->of == RGM_MERGE_PROCESSES || knows_rank(m->from)) return;
    int32_t rank = rank_of(m->from, (int32_t)m->position);
    for (size_t lane = m->first_lane; lane < m->to->lanes.rows; lane++) m->to->lanes.rank[lane] = rank;
}

static rgm_status intern(rgm_run *run, const char *text, rgm_name *id, rgm_error *err) {
    return rgm_strings_intern(&run->strings, text, strlen(text), id, err);
}

// A run that names no input becomes one itself, so that its environment and its shift are kept.
static rgm_status add_file(merge *m, rgm_error *err) {
    if (m->from->files.rows) return RGM_OK;
    size_t row;
    rgm_files *files = &m->to->files;
    RGM_TRY(rgm_table_append(&rgm_files_desc, files, RGM_ALL_COLUMNS, &row, err));
    RGM_TRY(intern(m->to, m->from->source, &files->format[row], err));
    RGM_TRY(intern(m->to, m->from->environment, &files->environment[row], err));
    files->events[row] = files->kept[row] = (int64_t)m->from->spans.rows;
    files->rank[row] = rank_of(m->from, m->of == RGM_MERGE_RANKS ? (int32_t)m->position : -1);
    files->shift_ns[row] = m->delta[TIME];
    if (m->from->start_unix_ns >= 0) files->base_ns[row] = m->from->start_unix_ns - m->from->start_ns;
    return RGM_OK;
}

static rgm_status add_anomalies(merge *m, rgm_error *err) {
    const rgm_anomalies *from = &m->from->anomalies;
    for (size_t i = 0; i < from->rows; i++) {
        int64_t first = RGM_CELL(from, first_ns, i, -1), offset = RGM_CELL(from, first_offset, i, -1);
        rgm_string detail = rgm_strings_view(&m->from->strings, RGM_CELL(from, detail, i, 0));
        if (first != -1 && __builtin_add_overflow(first, m->delta[TIME], &first)) first = -1;
        RGM_TRY(rgm_run_note(m->to, (rgm_anomaly)RGM_CELL(from, code, i, 0), RGM_CELL(from, count, i, 0),
                             first, detail.length ? detail.data : NULL, err));
        RGM_TRY(rgm_run_note_input(m->to, (rgm_anomaly)RGM_CELL(from, code, i, 0), 0,
                                   RGM_CELL(from, lost, i, 0), offset, NULL, err));
    }
    return RGM_OK;
}

static rgm_status set_extent(merge *m, rgm_error *err) {
    int64_t start, end;
    if (__builtin_add_overflow(m->from->start_ns, m->delta[TIME], &start) ||
        __builtin_add_overflow(m->from->end_ns, m->delta[TIME], &end))
        return rgm_error_set(err, RGM_LIMIT, "the times of run %lld are out of range after the merge",
                             (long long)m->position);
    rgm_run *to = m->to;
    if (m->position == 0 || start < to->start_ns) {
        to->start_ns = start;
        to->start_unix_ns = m->from->start_unix_ns;
    }
    if (m->position == 0 || end > to->end_ns) to->end_ns = end;
    to->complete = (m->position == 0 || to->complete) && m->from->complete;
    return RGM_OK;
}

// --- one run after the other ------------------------------------------------------------------------------

static rgm_status append_run(merge *m, rgm_error *err) {
    m->first_lane = m->to->lanes.rows;
    m->delta[ID] = m->position << RGM_MERGE_ID_BITS;
    m->unlinked = m->unlinked || rgm_run_lacks_launches(m->from);
    RGM_TRY(map_names(m, err));
    RGM_TRY(append_tables(m, err));
    RGM_TRY(add_lane(m, err));
    fill_ranks(m);
    RGM_TRY(add_file(m, err));
    RGM_TRY(add_anomalies(m, err));
    return set_extent(m, err);
}

// Pairs of rank and run in order; a rank that two runs claim has neighbours of different runs.
static rgm_status check_ranks(rgm_run *const *runs, size_t count, rgm_error *err) {
    size_t lanes = 0, n = 0;
    for (size_t r = 0; r < count; r++) lanes += runs[r]->lanes.rows;
    uint64_t *keys = rgm_malloc((lanes + count) * sizeof *keys);
    uint32_t *order = rgm_malloc((lanes + count) * sizeof *order);
    rgm_status status = keys && order ? RGM_OK : rgm_error_no_memory(err);
    for (size_t r = 0; status == RGM_OK && r < count; r++) {
        bool known = knows_rank(runs[r]);
        int32_t alone = runs[r]->lanes.rows ? -1 : rank_of(runs[r], (int32_t)r);
        if (alone >= 0) keys[n++] = (uint64_t)alone << 32 | r;
        for (size_t lane = 0; lane < runs[r]->lanes.rows; lane++) {
            int32_t rank = known ? RGM_CELL(&runs[r]->lanes, rank, lane, -1) : rank_of(runs[r], (int32_t)r);
            if (rank >= 0) keys[n++] = (uint64_t)rank << 32 | r;
        }
    }
    if (status == RGM_OK) status = rgm_sort_order(keys, n, order, err);
    for (size_t i = 1; status == RGM_OK && i < n; i++) {
        uint64_t before = keys[order[i - 1]], here = keys[order[i]];
        if (before >> 32 == here >> 32 && before != here)
            status = rgm_error_set(err, RGM_INVALID, "runs %u and %u are both of rank %u", (uint32_t)before,
                                   (uint32_t)here, (uint32_t)(here >> 32));
    }
    rgm_free(keys);
    rgm_free(order);
    return status;
}

rgm_status rgm_run_merge(rgm_run *const *runs, const int64_t *shift_ns, size_t count, rgm_merge_of of,
                         rgm_run **out, rgm_error *err) {
    merge m = {.of = of, .several = count > 1};
    rgm_status status;
    size_t spans = 0;
    for (size_t r = 0; r < count; r++) spans += runs[r]->spans.rows;
    if (!count) return rgm_error_set(err, RGM_INVALID, "there is no run to merge");
    if (spans > INT32_MAX) return rgm_error_set(err, RGM_LIMIT, "%zu spans are too many", spans);
    if (count > 1 << 20) return rgm_error_set(err, RGM_LIMIT, "%zu runs are too many", count);
    if (of == RGM_MERGE_RANKS) RGM_TRY(check_ranks(runs, count, err));
    RGM_GOTO(rgm_run_new(&m.to, err));
    for (size_t r = 0; r < count; r++) {
        m.from = runs[r];
        m.position = (int64_t)r;
        m.delta[TIME] = shift_ns ? shift_ns[r] : 0;
        RGM_GOTO(append_run(&m, err));
        rgm_free(m.names);
        m.names = NULL;
    }
    RGM_GOTO(rgm_run_set_text(&m.to->environment, runs[0]->environment, strlen(runs[0]->environment), err));
    RGM_GOTO(rgm_run_set_text(&m.to->source, runs[0]->source, strlen(runs[0]->source), err));
    if (m.unlinked) rgm_table_drop(&rgm_spans_desc, &m.to->spans, RGM_COLUMN_INDEX(spans, launch));
    if (m.wide && count > 1)
        RGM_GOTO(rgm_run_note(m.to, RGM_ANOMALY_NUMBER_RANGE, 1, -1,
                              "ids of 2^40 or more may be taken for those of another rank", err));
    RGM_GOTO(rgm_run_check(m.to, err));
    *out = m.to;
    m.to = NULL;
done:
    rgm_free(m.names);
    rgm_run_free(m.to);
    return status;
}
