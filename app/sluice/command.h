/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands. Each takes its own arguments (argv[0]: its name) and returns an exit code (say.h).
 */
#ifndef SLUICE_COMMAND_COMMAND_H
#define SLUICE_COMMAND_COMMAND_H

int command_send(int argc, char **argv);
int command_recv(int argc, char **argv);
int command_perf(int argc, char **argv);
int command_show(int argc, char **argv);
int command_top(int argc, char **argv);
int command_reload(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_exec(int argc, char **argv);
int command_console(int argc, char **argv);

#endif
