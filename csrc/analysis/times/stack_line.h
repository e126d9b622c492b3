// SPDX-License-Identifier: Apache-2.0
// Which line of a stack a reader would look at.
#ifndef RGM_ANALYSIS_STACK_LINE_H
#define RGM_ANALYSIS_STACK_LINE_H

#include "analysis/view.h"

// Where a sample found its thread; -1 where it names no row of `stacks`.
int32_t rgm_stack_of_sample(const rgm_view *view, size_t sample);
// The innermost function of the program itself (analysis/home.h); where there is none, or only the entry of
// an installed package, the innermost whose source can be read. Functions made from a text (of a data class,
// a proxy) only where the program has no other. A row of `stacks`, -1 of -1.
int32_t rgm_stack_own_line(const rgm_view *view, int32_t stack);
// The row of `stacks` that a stack was called from, -1 of none.
int32_t rgm_stack_caller(const rgm_view *view, int32_t stack);
// Whether the source of its innermost function can be read.
bool rgm_stack_is_readable(const rgm_view *view, int32_t stack);
// Of a process that another one has started to work for it: the innermost function of the program that is
// part of that work, or, where there is none, the innermost of all; -1 where it waits for work.
int32_t rgm_stack_line_of_work(const rgm_view *view, int32_t stack);
// Whether the stack is in what pickles for another process, or passes data on to it or takes it over, rather
// than in a line of the program within that.
bool rgm_stack_passes_on(const rgm_view *view, int32_t stack);
// Whether a function of the stack is of what starts processes and hands them their work: multiprocessing, a
// copy of it, an executor of processes.
bool rgm_stack_awaits_processes(const rgm_view *view, int32_t stack);
// Whether the stack is in that, or in joblib, rather than in a line of the program within it: what sleeps
// there looks at them now and then.
bool rgm_stack_polls_processes(const rgm_view *view, int32_t stack);
// Whether its innermost function is the one that writes into a pipe of multiprocessing.
bool rgm_stack_sends(const rgm_view *view, int32_t stack);
// Whether the stack is in an import that no line of the program within it has begun.
bool rgm_stack_imports(const rgm_view *view, int32_t stack);
// Whether the stack is in what compiles while a program runs (Numba, JAX, PyTorch, Triton, CuPy), a line of
// the program that is traced for it included.
bool rgm_stack_compiles(const rgm_view *view, int32_t stack);
// Whether the stack is in what hands out items: in __next__ or __iter__, or in the program's own __getitem__
// or collate function.
bool rgm_stack_iterates(const rgm_view *view, int32_t stack);
// Whether a line of the program itself is in the stack.
bool rgm_stack_is_own(const rgm_view *view, int32_t stack);
// Whether the stack ends in the program's own code, or in the interpreter's library that it calls, rather
// than in an installed package.
bool rgm_stack_ends_in_own(const rgm_view *view, int32_t stack);
// Whether a function of the stack is in a file whose path has `part` in it.
bool rgm_stack_passes(const rgm_view *view, int32_t stack, const char *part);
// Whether its innermost function is in a file whose path holds this part.
bool rgm_stack_is_in(const rgm_view *view, int32_t stack, const char *part);
// Whether the stack ends where the interpreter's library waits for what other threads do: the end of one, a
// result, an event, an item of a queue. Not where it takes a lock, which is no function of Python's.
bool rgm_stack_awaits_work(const rgm_view *view, int32_t stack);
// Whether the stack ends where an event loop (of asyncio, uvloop, trio, gevent or Twisted) looks for what is
// ready, rather than in a call of a task.
bool rgm_stack_is_of_loop(const rgm_view *view, int32_t stack);
// Whether the stack is in a task of an event loop of asyncio or trio: its other tasks stand still meanwhile.
bool rgm_stack_is_in_task(const rgm_view *view, int32_t stack);
// Whether the stack ends where a server waits for who asks it: in accept, or in the loop of socketserver,
// waitress or a worker of gunicorn.
bool rgm_stack_is_of_server(const rgm_view *view, int32_t stack);

#endif
