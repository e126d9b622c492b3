// SPDX-License-Identifier: Apache-2.0
// The bar for the importer: the same work (text -> columns, names interned, times as exact nanoseconds) with
// simdjson's on-demand reader. benchmarks/import.py compiles it where simdjson's single header is found.
//
//     bench_simdjson FILE memory|windows ROUNDS    prints one JSON object
//
// `memory` parses the whole text; `windows` reads 256 KiB at a time and parses event by event, with memory
// bounded by the columns, as the importer does.
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simdjson.h"

namespace od = simdjson::ondemand;

namespace {

double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Of this program alone: getrusage counts what the parent held when it forked.
long peak_kib() {
    long kib = 0;
    char line[256];
    std::FILE *file = std::fopen("/proc/self/status", "r");
    while (file && std::fgets(line, sizeof line, file))
        if (std::sscanf(line, "VmHWM: %ld", &kib) == 1) break;
    if (file) std::fclose(file);
    return kib;
}

// Names are looked up by the bytes of the input; only a new one is copied.
class Names {
  public:
    uint32_t id(std::string_view text) {
        uint64_t hash = text.size() * 0x9E3779B97F4A7C15u;
        const char *at = text.data();
        size_t left = text.size();
        for (; left >= 8; at += 8, left -= 8) {
            uint64_t word;
            std::memcpy(&word, at, 8);
            hash = (hash ^ word) * 0xff51afd7ed558ccdu;
            hash ^= hash >> 32;
        }
        uint64_t word = 0;
        std::memcpy(&word, at, left);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 29;
        if (texts_.size() * 2 >= slots_.size()) grow();
        for (size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
            uint32_t found = slots_[slot];
            if (!found) {
                slots_[slot] = static_cast<uint32_t>(texts_.size()) + 1;
                texts_.emplace_back(text);
                hashes_.push_back(hash);
                return static_cast<uint32_t>(texts_.size()) - 1;
            }
            if (hashes_[found - 1] == hash && texts_[found - 1] == text) return found - 1;
        }
    }
    size_t size() const { return texts_.size(); }

  private:
    void grow() {
        slots_.assign(slots_.empty() ? 4096 : slots_.size() * 2, 0);
        mask_ = slots_.size() - 1;
        for (uint32_t i = 0; i < hashes_.size(); i++) {
            size_t slot = hashes_[i] & mask_;
            while (slots_[slot]) slot = (slot + 1) & mask_;
            slots_[slot] = i + 1;
        }
    }
    std::vector<uint32_t> slots_;
    std::vector<uint64_t> hashes_;
    std::vector<std::string> texts_;
    size_t mask_ = 0;
};

// Arguments that become columns: whole numbers, numbers with decimals, texts, JSON kept as text.
enum How : uint8_t { WHOLE, REAL, TEXT, JSON, TRIPLE };
struct Field {
    std::string_view key;
    How how;
    uint8_t index;
};
enum { WHOLES = 26, REALS = 4, TEXTS = 12 };
const Field known[] = {
    {"correlation", WHOLE, 0},
    {"External id", WHOLE, 1},
    {"external id", WHOLE, 1},
    {"bytes", WHOLE, 2},
    {"device", WHOLE, 3},
    {"stream", WHOLE, 4},
    {"registers per thread", WHOLE, 5},
    {"shared memory", WHOLE, 6},
    {"graph id", WHOLE, 7},
    {"graph node id", WHOLE, 8},
    {"Sequence number", WHOLE, 9},
    {"Fwd thread id", WHOLE, 10},
    {"Python id", WHOLE, 11},
    {"Python parent id", WHOLE, 12},
    {"Python module id", WHOLE, 13},
    {"In msg nelems", WHOLE, 14},
    {"Out msg nelems", WHOLE, 15},
    {"Group size", WHOLE, 16},
    {"Seq", WHOLE, 17},
    {"wait_on_stream", WHOLE, 18},
    {"wait_on_cuda_event_id", WHOLE, 19},
    {"wait_on_cuda_event_record_corr_id", WHOLE, 20},
    {"Bytes", WHOLE, 21},
    {"Device Id", WHOLE, 22},
    {"Addr", WHOLE, 23},
    {"Total Allocated", WHOLE, 24},
    {"Total Reserved", WHOLE, 25},
    {"est. achieved occupancy %", REAL, 0},
    {"theoretical occupancy %", REAL, 1},
    {"blocks per SM", REAL, 2},
    {"warps per SM", REAL, 3},
    {"Call stack", TEXT, 0},
    {"Module Hierarchy", TEXT, 1},
    {"Collective name", TEXT, 2},
    {"dtype", TEXT, 3},
    {"Process Group Name", TEXT, 4},
    {"Process Group Description", TEXT, 5},
    {"Process Group Ranks", TEXT, 6},
    {"cuda_sync_kind", TEXT, 7},
    {"Input Dims", JSON, 8},
    {"Input dims", JSON, 8},
    {"Input type", JSON, 9},
    {"Input Strides", JSON, 10},
    {"Concrete Inputs", JSON, 11},
    {"grid", TRIPLE, 0},
    {"block", TRIPLE, 3},
};

struct Arguments {
    uint64_t wholes_set = 0, texts_set = 0;
    int64_t whole[WHOLES];
    double real[REALS];
    uint32_t text[TEXTS];
    int32_t size[6];
    bool launch = false;
    bool has(int index) const { return wholes_set >> index & 1; }
    int64_t get(int index) const { return has(index) ? whole[index] : -1; }
};

struct Columns {
    // spans
    std::vector<int64_t> start, duration, correlation, external, bytes;
    std::vector<uint32_t> name, lane;
    std::vector<uint8_t> kind;
    // launches, operators, frames, collectives, syncs: the span's row and the values
    std::vector<uint32_t> launch_span, operator_span, frame_span, other_span;
    std::vector<int64_t> launch_whole, operator_whole, frame_whole, other_whole;
    std::vector<int32_t> launch_size;
    std::vector<double> launch_real;
    std::vector<uint32_t> operator_text, other_text;
    // flows, memory
    std::vector<int64_t> flow_id, flow_time, memory_time, memory_whole;
    std::vector<uint32_t> flow_lane, memory_lane;
    std::vector<char> flow_phase;
    Names names;
    std::unordered_map<uint64_t, uint32_t> lanes;
    std::vector<Field> by_length[40];
    uint64_t last_lane_key = ~UINT64_C(0);
    uint32_t last_lane = 0;
    size_t events = 0;

    Columns() {
        for (const Field &field : known) by_length[field.key.size()].push_back(field);
    }
    uint32_t lane_of(uint64_t process, uint64_t thread) {
        uint64_t key = process * 0x9E3779B97F4A7C15u + thread;
        if (key != last_lane_key) {
            last_lane = lanes.try_emplace(key, static_cast<uint32_t>(lanes.size())).first->second;
            last_lane_key = key;
        }
        return last_lane;
    }
};

// The digits of a time, not a double: microseconds with up to three decimals -> nanoseconds.
int64_t exact_ns(std::string_view text) {
    int64_t whole = 0;
    size_t i = 0;
    bool negative = !text.empty() && text[0] == '-';
    for (i = negative; i < text.size() && text[i] >= '0' && text[i] <= '9'; i++)
        whole = whole * 10 + (text[i] - '0');
    int64_t part = 0, digits = 0;
    if (i < text.size() && text[i] == '.')
        for (i++; i < text.size() && digits < 3 && text[i] >= '0' && text[i] <= '9'; i++, digits++)
            part = part * 10 + (text[i] - '0');
    for (; digits < 3; digits++) part *= 10;
    int64_t ns = whole * 1000 + part;
    return negative ? -ns : ns;
}

int64_t whole_number(od::value value, int64_t missing) {
    int64_t number;
    return value.get_int64().get(number) ? missing : number;
}

uint64_t place(Columns &out, od::value value) {
    int64_t number;
    if (!value.get_int64().get(number)) return static_cast<uint64_t>(number);
    std::string_view text;
    if (!value.get_string().get(text)) return out.names.id(text) | UINT64_C(1) << 40;
    return 0;
}

void take_value(Columns &out, const Field &field, od::value value, Arguments &into) {
    std::string_view text;
    switch (field.how) {
    case WHOLE:
        if (!value.get_int64().get(into.whole[field.index])) into.wholes_set |= UINT64_C(1) << field.index;
        break;
    case REAL:
        if (value.get_double().get(into.real[field.index])) into.real[field.index] = 0;
        into.launch = true;
        break;
    case TEXT:
        if (value.get_string().get(text)) break;
        into.text[field.index] = out.names.id(text);
        into.texts_set |= UINT64_C(1) << field.index;
        break;
    case JSON:
        if (value.raw_json().get(text)) break;
        into.text[field.index] = out.names.id(text);
        into.texts_set |= UINT64_C(1) << field.index;
        break;
    case TRIPLE: {
        int i = 0;
        od::array list;
        if (value.get_array().get(list)) break;
        for (auto item : list)
            if (i < 3) into.size[field.index + i++] = static_cast<int32_t>(whole_number(item.value(), 0));
        into.launch = true;
    }
    }
}

void take_arguments(Columns &out, od::object args, Arguments &into) {
    for (auto field : args) {
        std::string_view key = field.escaped_key();
        if (key.size() >= 40) continue;
        for (const Field &candidate : out.by_length[key.size()])
            if (candidate.key == key) {
                take_value(out, candidate, field.value(), into);
                break;
            }
    }
}

uint8_t kind_of(std::string_view category) {
    return static_cast<uint8_t>(category.size() * 7 +
                                (category.empty() ? 0 : static_cast<uint8_t>(category[0])));
}

void take_event(Columns &out, od::object event) {
    std::string_view name, category, phase;
    int64_t start = 0, duration = 0, id = 0;
    uint64_t process = 0, thread = 0;
    Arguments args;
    uint32_t name_id = 0;
    for (auto field : event) {
        std::string_view key = field.escaped_key();
        switch (key.size()) {
        case 2:
            if (key == "ph")
                phase = field.value().get_string();
            else if (key == "id")
                id = whole_number(field.value(), 0);
            else if (key == "ts")
                start = exact_ns(field.value().raw_json_token());
            break;
        case 3:
            if (key == "cat")
                category = field.value().get_string();
            else if (key == "pid")
                process = place(out, field.value());
            else if (key == "tid")
                thread = place(out, field.value());
            else if (key == "dur")
                duration = exact_ns(field.value().raw_json_token());
            break;
        case 4:
            if (key == "name") {
                if (!field.value().get_string().get(name)) name_id = out.names.id(name);
            } else if (key == "args") {
                od::object inner;
                if (!field.value().get_object().get(inner)) take_arguments(out, inner, args);
            }
            break;
        default: break;
        }
    }
    out.events++;
    if (phase == "s" || phase == "f" || phase == "t") {
        out.flow_id.push_back(id);
        out.flow_time.push_back(start);
        out.flow_lane.push_back(out.lane_of(process, thread));
        out.flow_phase.push_back(phase[0]);
        return;
    }
    if (phase == "i" && name == "[memory]") {
        out.memory_time.push_back(start);
        out.memory_lane.push_back(out.lane_of(process, thread));
        for (int i = 21; i < 26; i++) out.memory_whole.push_back(args.get(i));
        return;
    }
    if (phase != "X") return;
    uint32_t row = static_cast<uint32_t>(out.start.size());
    out.start.push_back(start);
    out.duration.push_back(duration);
    out.name.push_back(name_id);
    out.kind.push_back(kind_of(category));
    out.lane.push_back(out.lane_of(process, thread));
    out.correlation.push_back(args.get(0));
    out.external.push_back(args.get(1));
    out.bytes.push_back(args.get(2));
    if (args.launch) {
        out.launch_span.push_back(row);
        for (int i = 5; i < 9; i++) out.launch_whole.push_back(args.get(i));
        out.launch_size.insert(out.launch_size.end(), args.size, args.size + 6);
        out.launch_real.insert(out.launch_real.end(), args.real, args.real + REALS);
    }
    if (args.has(11)) {
        out.frame_span.push_back(row);
        for (int i = 11; i < 14; i++) out.frame_whole.push_back(args.get(i));
    }
    if (args.has(9) || args.texts_set >> 8) {
        out.operator_span.push_back(row);
        for (int i = 9; i < 11; i++) out.operator_whole.push_back(args.get(i));
        for (int i = 8; i < TEXTS; i++)
            out.operator_text.push_back(args.texts_set >> i & 1 ? args.text[i] : 0);
    }
    if (args.texts_set & 0xFC) {
        out.other_span.push_back(row);
        for (int i = 14; i < 21; i++) out.other_whole.push_back(args.get(i));
        for (int i = 2; i < 8; i++) out.other_text.push_back(args.texts_set >> i & 1 ? args.text[i] : 0);
    }
}

void read_whole(Columns &out, od::parser &parser, const simdjson::padded_string &text) {
    od::document document = parser.iterate(text);
    od::array events;
    if (document.type() == od::json_type::array)
        events = document.get_array();
    else
        events = document["traceEvents"].get_array();
    for (auto event : events) take_event(out, event.get_object());
}

// Windows are cut between two events, found from the end: the text between events is always the same in one
// file.
void read_windows(Columns &out, od::parser &parser, const char *path) {
    constexpr size_t WINDOW = 256 << 10;
    std::FILE *file = std::fopen(path, "rb");
    if (!file) std::exit(1);
    std::vector<char> buffer(WINDOW * 64 + simdjson::SIMDJSON_PADDING);
    std::string between;
    size_t held = 0;
    for (bool more = true; more;) {
        size_t got = std::fread(buffer.data() + held, 1, WINDOW, file);
        held += got;
        more = got > 0;
        std::string_view text(buffer.data(), held);
        size_t from = 0;
        if (between.empty()) {
            size_t key = text.find("\"traceEvents\"");
            from = text.find('[', key == std::string_view::npos ? 0 : key) + 1;
            between = "}," + std::string(text.substr(from, text.find('{', from) - from)) + "{";
            from = text.find('{', from);
        }
        size_t cut = text.rfind(between);
        if (cut != std::string_view::npos && cut > from) {
            od::document_stream stream;
            if (parser.iterate_many(buffer.data() + from, cut + 1 - from, cut + 1 - from, true).get(stream))
                std::exit(2);
            for (auto document : stream) take_event(out, document.get_object());
            from = cut + between.size() - 1;
        }
        if (!more) { // one event and what follows the events
            simdjson::padded_string rest(buffer.data() + from, held - from);
            od::document document = parser.iterate(rest);
            take_event(out, document.get_object());
        }
        std::memmove(buffer.data(), buffer.data() + from, held - from);
        held -= from;
    }
    std::fclose(file);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    bool windows = std::strcmp(argv[2], "windows") == 0;
    double best = 1e30;
    size_t events = 0, spans = 0, names = 0, bytes = 0;
    for (int round = 0; round < std::atoi(argv[3]); round++) {
        Columns out;
        od::parser parser;
        double begin;
        if (windows) {
            begin = cpu_seconds();
            read_windows(out, parser, argv[1]);
        } else {
            simdjson::padded_string text = simdjson::padded_string::load(argv[1]);
            bytes = text.size();
            begin = cpu_seconds();
            read_whole(out, parser, text);
        }
        double taken = cpu_seconds() - begin;
        if (taken < best) best = taken;
        events = out.events;
        spans = out.start.size();
        names = out.names.size();
    }
    std::printf("{\"cpu_s\": %.6f, \"events\": %zu, \"spans\": %zu, \"names\": %zu, \"bytes\": %zu, "
                "\"peak_kib\": %ld, "
                "\"implementation\": \"%s\"}\n",
                best, events, spans, names, bytes, peak_kib(),
                std::string(simdjson::get_active_implementation()->name()).c_str());
    return 0;
}
