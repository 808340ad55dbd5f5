/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how much one core can copy with glibc's memcpy(), from cold memory to cold memory. Both
 * have 1 GiB, and are copied in pieces of one unit. They are far larger than any cache, so each
 * piece is cold again when its turn comes.
 *
 * Usage: memcpy_bench UNIT_BYTES
 * Prints {"ready": true} when the memory is there. Then each line of input is a time in seconds.
 * The program copies for that long and prints {"bytes": N, "seconds": S} on one line. It ends with
 * its input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cold.h"

int main(int argc, char **argv)
{
    size_t unit = argc == 2 ? strtoul(argv[1], NULL, 10) : 0, units, next = 0;
    char *from, *to, line[64];

    if (unit == 0 || unit > MEMORY_BYTES / LOOK_UNITS) {
        fputs("usage: memcpy_bench UNIT_BYTES\n", stderr);
        return 2;
    }
    units = MEMORY_BYTES / unit;
    from = cold_memory("memcpy_bench");
    to = cold_memory("memcpy_bench");
    puts("{\"ready\": true}");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        double begin = now_s(), end = begin + strtod(line, NULL), now;
        unsigned long long copied = 0;

        do {
            for (int i = 0; i < LOOK_UNITS; i++) {
                memcpy(to + next * unit, from + next * unit, unit);
                next = next + 1 == units ? 0 : next + 1;
            }
            copied += LOOK_UNITS * unit;
            now = now_s();
        } while (now < end);
        printf("{\"bytes\": %llu, \"seconds\": %.9f}\n", copied, now - begin);
        fflush(stdout);
    }
    return 0;
}
