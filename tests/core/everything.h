// SPDX-License-Identifier: Apache-2.0
// A trace with something for every table and damage of every sort.
#ifndef RGM_TEST_EVERYTHING_H
#define RGM_TEST_EVERYTHING_H

#define EVENT(name, ts)                                                                                      \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":2,\"ts\":" ts ",\"dur\":3}"

static const char everything[] =
    "\xEF\xBB\xBF{\"schemaVersion\":1, \"distributedInfo\":{\"rank\":3}, \"traceEvents\" : [\n"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"main\"}},\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#4\",\"pid\":1,\"tid\":2,\"ts\":1.000,"
    "\"dur\":99},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\\u00e9\\n\",\"pid\":1,\"tid\":2,\"ts\":2.5,\"dur\":9.001,"
    "\"args\":"
    "{\"External id\":5,\"Input Dims\":[[2,3],[]],\"odd\":{\"x\":[1,2]}}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":2,\"ts\":3,\"dur\":1,"
    "\"args\":{\"correlation\":7}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":2,\"args\":{"
    "\"device\":0,\"stream\":7,"
    "\"correlation\":7,\"grid\":[1,2,3],\"block\":[4,5,6]}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"unescaped \"quote\" "
    "here\",\"pid\":0,\"tid\":7,\"ts\":8,\"dur\":2},\n"
    "{\"ph\":\"s\",\"cat\":\"ac2g\",\"id\":7,\"name\":\"f\",\"pid\":1,\"tid\":2,\"ts\":3},"
    "{\"ph\":\"f\",\"cat\":\"ac2g\",\"id\":7,\"name\":\"f\",\"pid\":0,\"tid\":7,\"ts\":5,\"bp\":\"e\"},,\n"
    "{\"ph\":\"B\",\"name\":\"begun\",\"pid\":1,\"tid\":2,\"ts\":20},{\"ph\":\"E\",\"pid\":1,\"tid\":2,"
    "\"ts\":30},\n"
    "7, null, {\"ph\":7 \"damaged\":1}, \n"
    "{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":40,\"args\":{\"v\":1.25}},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"twice\",\"name\":\"last\",\"pid\":1,\"tid\":2,\"ts\":41,"
    "\"dur\":1,},\n"
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"cat\":\"cpu_instant_event\",\"pid\":1,\"tid\":2,\"ts\":42,"
    "\"args\":{\"Bytes\":64,"
    "\"Device Type\":1,\"Device Id\":0,\"Addr\":9,\"Total Allocated\":64,\"Total Reserved\":128}},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"tail\",\"pid\":1,\"tid\":2,\"ts\":50,\"dur\":1}\n"
    "], \"baseTimeNanoseconds\": 1000}  ";

#endif
