/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands. Each takes its own arguments (argv[0]: its name) and returns an exit code (say.h).
 * Its help is what --help prints; the shell's completion comes from it (complete.h). */
#ifndef SLUICE_COMMAND_COMMAND_H
#define SLUICE_COMMAND_COMMAND_H

#include <stddef.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
};

int command_send(int argc, char **argv);
int command_recv(int argc, char **argv);
int command_cp(int argc, char **argv);
int command_sync(int argc, char **argv);
int command_perf(int argc, char **argv);
int command_show(int argc, char **argv);
int command_top(int argc, char **argv);
int command_reload(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_exec(int argc, char **argv);
int command_console(int argc, char **argv);
int command_ping(int argc, char **argv);
int command_key(int argc, char **argv);
int command_capture(int argc, char **argv);
int command_verify(int argc, char **argv);

extern const char command_send_help[];
extern const char command_recv_help[];
extern const char command_cp_help[];
extern const char command_sync_help[];
extern const char command_perf_help[];
extern const char command_show_help[];
extern const char command_top_help[];
extern const char command_reload_help[];
extern const char command_doctor_help[];
extern const char command_exec_help[];
extern const char command_console_help[];
extern const char command_ping_help[];
extern const char command_key_help[];
extern const char command_capture_help[];
extern const char command_verify_help[];

#endif
