/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages for people: whole lines on stderr, each starting with the program's name. */
#ifndef COMMON_SAY_H
#define COMMON_SAY_H

/* Sets the program's name; "sluiced" by default. The text is not copied, so it must stay valid. */
void say_as(const char *program);
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* Exit codes, as in sluiced(8) and sluice-emu(8). */
enum say_exit {
    EXIT_OK = 0,
    EXIT_FAULT = 1,  /* ran, but did not end as it should */
    EXIT_USAGE = 2,  /* the command line is wrong */
    EXIT_CONFIG = 3, /* the configuration file is wrong */
    /* the EAL lacks rights, hugepages, memory or lcores, or its file prefix is in use */
    EXIT_EAL = 4,
    EXIT_PORT = 5,   /* a port is not there, or cannot do what is configured */
    EXIT_SOCKET = 6, /* the socket is in use or cannot be made */
};

#endif
