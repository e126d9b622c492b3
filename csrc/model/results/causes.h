// SPDX-License-Identifier: Apache-2.0
// What limits a program, cause by cause; the first is the verdict.
#ifndef RGM_MODEL_RESULTS_CAUSES_H
#define RGM_MODEL_RESULTS_CAUSES_H

// X(NAME, token, saved, definition): saved 1 where all of its time could go, 0 where that cannot be known.
#define RGM_LIMIT_CAUSES(X)                                                                                  \
    X(UNKNOWN, "unknown", 0, "nothing in the recording tells")                                               \
    X(DEVICE, "device", 0, "a device works")                                                                 \
    X(COMMUNICATION, "communication", 1, "a device does nothing but communicate")                            \
    X(DEVICE_COPIES, "device_copies", 1, "a device does nothing but copy")                                   \
    X(LAUNCHES, "launches", 1, "a device waits while work is being launched")                                \
    X(DEVICE_IDLE, "device_idle", 1, "a device waits for the host, which does something else")               \
    X(INPUT, "input", 1, "the loop waits for its next batch, or makes it")                                   \
    X(SLEEP, "sleep", 1, "the thread sleeps by its own wish")                                                \
    X(LOCK, "lock", 1, "the thread waits for another thread")                                                \
    X(INTERPRETER_LOCK, "interpreter_lock", 1, "other threads hold the interpreter's lock")                  \
    X(PROCESSOR, "processor", 1, "others have the processors")                                               \
    X(FILE, "file", 1, "the thread waits for a file")                                                        \
    X(NETWORK, "network", 1, "the thread waits for a socket or a pipe")                                      \
    X(EVENT_LOOP, "event_loop", 1, "an event loop has nothing to run: its tasks wait for sockets or timers") \
    X(CHILD, "child", 1, "the thread waits for another process")                                             \
    X(PICKLING, "pickling", 1, "data is pickled for another process, or passed on to it")                    \
    X(WAITING, "waiting", 1, "the thread waits, the system does not tell for what")                          \
    X(GARBAGE_COLLECTION, "garbage_collection", 1, "Python collects garbage")                                \
    X(CHECKPOINT, "checkpoint", 1, "state is written")                                                       \
    X(COMPILE, "compile", 1, "code is compiled")                                                             \
    X(SYNCHRONISATION, "synchronisation", 1, "the host waits for the device")                                \
    X(COPIES, "copies", 1, "tensors are moved between devices")                                              \
    X(PAGE_FAULTS, "page_faults", 1, "memory is touched for the first time")                                 \
    X(SMALL_WORK, "small_work", 0, "operators so short that calling them is most of their time")             \
    X(OPTIMIZER, "optimizer", 0, "parameters are updated")                                                   \
    X(GRADIENT_CLIPPING, "gradient_clipping", 0, "gradients are clipped")                                    \
    X(LAYER, "layer", 0, "one module computes")                                                              \
    X(FORWARD, "forward", 0, "modules compute")                                                              \
    X(BACKWARD, "backward", 0, "gradients are computed")                                                     \
    X(IMPORTS, "imports", 0, "modules are imported")                                                         \
    X(NATIVE, "native", 0, "compiled code runs that has given up the interpreter's lock")                    \
    X(PYTHON, "python", 0, "Python code runs, or compiled code that keeps the interpreter's lock")           \
    X(SCOPE, "scope", 0, "a scope of the program runs")                                                      \
    X(FIRST_STEP, "first_step", 1, "the first step takes longer than the others")                            \
    X(UNEVEN_STEPS, "uneven_steps", 1, "some steps take much longer than most")                              \
    X(MEMORY_GROWTH, "memory_growth", 0, "memory grows from step to step")

// One row is a cause, the first of them the verdict. The rows of a kind `what` divide the window; `when` and
// `danger` look at the same time in another way.
#define RGM_CAUSES(X)                                                                                        \
    X(u8, cause, "", 0, "An index of LIMIT_CAUSES.")                                                         \
    X(i64, time_ns, "ns", 0, "Time of the window that it takes.")                                            \
    X(f64, share, "", NAN, "time_ns of the window.")                                                         \
    X(f64, error, "", 0, "Standard error of the share, where samples of stacks tell it; 0 where spans do.")  \
    X(i64, saved_ns, "ns", -1,                                                                               \
      "What its going would save of the window at most, -1 where that is not known.")                        \
    X(u8, tied, "", 0, "1 where it is within the margin of the first.")                                      \
    X(u8, confidence, "", 0, "An index of DEGREES: how clearly it comes before the others.")                 \
    X(name, subject, "", 0, "Module, scope, operator or kernel that takes most of it, \"\" for none.")       \
    X(f64, subject_share, "", NAN, "Share of time_ns that the subject or the line has.")                     \
    X(i32, stack, "", -1, "Row in `stacks` of the line that takes most of it, -1 for none.")                 \
    X(i32, inner, "", -1,                                                                                    \
      "Row in `stacks` of the innermost function called there that most of its samples are within, -1: "     \
      "none.")                                                                                               \
    X(f64, inner_share, "", NAN, "Share of these samples that it has.")                                      \
    X(i64, span, "", -1, "Row in `spans` of an example, -1 for none.")                                       \
    X(i64, count, "", 0, "Spans that are it, or samples that show it.")                                      \
    X(i64, elsewhere, "", 0,                                                                                 \
      "Samples that show it in other threads or processes, for which the main thread waits.")                \
    X(i64, process, "", -1,                                                                                  \
      "Process of the line where that is another than the main thread's, which waits for it; -1 where not.") \
    X(u8, calling, "", 0,                                                                                    \
      "1 where the line waits for calls of compiled code that keep the interpreter's lock.")                 \
    X(u8, serving, "", 0, "1 where a server waits for who asks it, or for what its requests wait for.")      \
    X(f64, figure, "", NAN,                                                                                  \
      "Its own figure: growth in bytes per second, mean length of the calls in ns, the first step by the "   \
      "usual one, the kernel's part of what compiled code computes where that is most of it.")               \
    X(i64, window_ns, "ns", 0, "Length of the window, the same in all rows.")                                \
    X(i64, marked_ns, "ns", 0,                                                                               \
      "Of the window, in scopes of the program's own on its driving thread; the same in all rows.")          \
    X(i32, steps, "", 0, "Steps in the window, 0 where it is the whole run; the same in all rows.")          \
    X(i64, samples, "", 0, "Samples of the main thread in the window that tell; the same in all rows.")      \
    X(i64, displaced, "", 0,                                                                                 \
      "Samples that found it ready to run while other programs had the processors: left out of the shares.") \
    X(i64, unseen_ns, "ns", 0,                                                                               \
      "Of the window, between two samples far apart, as of a process that was suspended: left out of the "   \
      "shares; the same in all rows.")

#define RGM_CAUSES_RESULTS(X) X(causes, RGM_CAUSES, "A cause that limits the program.")

#define RGM_LIMIT_CAUSE_ENUM(name, token, saved, definition) RGM_CAUSE_##name,
typedef enum { RGM_LIMIT_CAUSES(RGM_LIMIT_CAUSE_ENUM) RGM_CAUSE_COUNT } rgm_limit_cause;

#endif
