/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Always-on checks: a broken invariant aborts, in release builds too. Never used on values that
 * came from a packet, a client or a file: those get verdicts, counters and error messages.
 */
#ifndef SLUICE_BASE_CHECK_H
#define SLUICE_BASE_CHECK_H

/* Writes one line "file:line: broken invariant: expr" to stderr and aborts. */
__attribute__((noreturn, cold, noinline)) void check_failed(const char *file, int line,
                                                            const char *expr);

#define CHECK(expr)                                                                                \
    do {                                                                                           \
        if (__builtin_expect(!(expr), 0))                                                          \
            check_failed(__FILE__, __LINE__, #expr);                                               \
    } while (0)

#endif
