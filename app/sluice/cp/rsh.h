/* SPDX-License-Identifier: BSD-3-Clause */
/* The remote shell, as ssh: the program that starts the far end of `sluice cp`. */
#ifndef SLUICE_COMMAND_RSH_H
#define SLUICE_COMMAND_RSH_H

#include <stdint.h>
#include <sys/types.h>

#define RSH_WORDS_MAX 64

/* Splits a command at blanks, in place. Between two ' or two ", blanks belong to a word. Returns
 * how many words there are; -EINVAL: none, too many, or a quote is not closed. */
int rsh_split(char *command, char *words[RSH_WORDS_MAX]);

/* Starts a program, which words[0] names, as posix_spawnp(3) finds it. *in_fd reads its standard
 * output, *out_fd writes its standard input; its standard error is ours. Returns its pid or a
 * negative errno. */
pid_t rsh_start(char *const *words, int *in_fd, int *out_fd);
/* Waits until the program has ended; after wait_ns, ends it. Returns its exit status, 128 + the
 * number of a signal that ended it, or a negative errno. */
int rsh_end(pid_t pid, uint64_t wait_ns);

#endif
