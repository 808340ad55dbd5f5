/* SPDX-License-Identifier: BSD-3-Clause */
/* What the daemon tells people: whole lines on stderr, each starting with "sluiced: ". */
#ifndef SLUICED_SAY_H
#define SLUICED_SAY_H

__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* Exit codes, as in sluiced(8). */
enum say_exit {
    EXIT_OK = 0,
    EXIT_FAULT = 1,  /* ran, but did not end as it should */
    EXIT_USAGE = 2,  /* command line */
    EXIT_CONFIG = 3, /* configuration file */
    EXIT_EAL = 4,    /* rights, hugepages, memory, lcores, another process with our file prefix */
    EXIT_PORT = 5,   /* a port cannot be had, or cannot do what is configured */
    EXIT_SOCKET = 6, /* the socket is in use or cannot be made */
};

#endif
