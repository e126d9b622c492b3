// SPDX-License-Identifier: Apache-2.0
// Instructions of Python's pickles by byte: X(byte, name) and, of those that are carried out, X(byte, NAME).
// The others would import, call, change objects, or are of protocols that nobody writes any more.
#ifndef RGM_IO_PICKLE_OPCODES_H
#define RGM_IO_PICKLE_OPCODES_H

#define RGM_PICKLE_ACCEPTED(X)                                                                               \
    X('(', MARK)                                                                                             \
    X('.', STOP)                                                                                             \
    X('N', NONE)                                                                                             \
    X(0x88, NEWTRUE)                                                                                         \
    X(0x89, NEWFALSE)                                                                                        \
    X('J', BININT)                                                                                           \
    X('K', BININT1)                                                                                          \
    X('M', BININT2)                                                                                          \
    X(0x8a, LONG1)                                                                                           \
    X(0x8b, LONG4)                                                                                           \
    X('G', BINFLOAT)                                                                                         \
    X(0x8c, SHORT_BINUNICODE)                                                                                \
    X('X', BINUNICODE)                                                                                       \
    X(0x8d, BINUNICODE8)                                                                                     \
    X('C', SHORT_BINBYTES)                                                                                   \
    X('B', BINBYTES)                                                                                         \
    X(0x8e, BINBYTES8)                                                                                       \
    X(']', EMPTY_LIST)                                                                                       \
    X('l', LIST)                                                                                             \
    X('a', APPEND)                                                                                           \
    X('e', APPENDS)                                                                                          \
    X('}', EMPTY_DICT)                                                                                       \
    X('d', DICT)                                                                                             \
    X('s', SETITEM)                                                                                          \
    X('u', SETITEMS)                                                                                         \
    X(')', EMPTY_TUPLE)                                                                                      \
    X('t', TUPLE)                                                                                            \
    X(0x85, TUPLE1)                                                                                          \
    X(0x86, TUPLE2)                                                                                          \
    X(0x87, TUPLE3)                                                                                          \
    X('q', BINPUT)                                                                                           \
    X('r', LONG_BINPUT)                                                                                      \
    X(0x94, MEMOIZE)                                                                                         \
    X('h', BINGET)                                                                                           \
    X('j', LONG_BINGET)                                                                                      \
    X(0x95, FRAME)

#define RGM_PICKLE_REFUSED(X)                                                                                \
    X(0x80, PROTO) /* but at the beginning */                                                                \
    X('c', GLOBAL)                                                                                           \
    X(0x93, STACK_GLOBAL)                                                                                    \
    X('R', REDUCE)                                                                                           \
    X('b', BUILD)                                                                                            \
    X('i', INST)                                                                                             \
    X('o', OBJ)                                                                                              \
    X(0x81, NEWOBJ)                                                                                          \
    X(0x92, NEWOBJ_EX)                                                                                       \
    X(0x82, EXT1)                                                                                            \
    X(0x83, EXT2)                                                                                            \
    X(0x84, EXT4)                                                                                            \
    X('P', PERSID)                                                                                           \
    X('Q', BINPERSID)                                                                                        \
    X(0x97, NEXT_BUFFER)                                                                                     \
    X(0x98, READONLY_BUFFER)                                                                                 \
    X(0x8f, EMPTY_SET)                                                                                       \
    X(0x90, ADDITEMS)                                                                                        \
    X(0x91, FROZENSET)                                                                                       \
    X(0x96, BYTEARRAY8)                                                                                      \
    X('0', POP)                                                                                              \
    X('1', POP_MARK)                                                                                         \
    X('2', DUP)                                                                                              \
    X('I', INT)                                                                                              \
    X('L', LONG)                                                                                             \
    X('F', FLOAT)                                                                                            \
    X('S', STRING)                                                                                           \
    X('T', BINSTRING)                                                                                        \
    X('U', SHORT_BINSTRING)                                                                                  \
    X('V', UNICODE)                                                                                          \
    X('g', GET)                                                                                              \
    X('p', PUT)

#endif
