/* SPDX-License-Identifier: BSD-3-Clause */
/* The box's console (console/console.h, sluice-console(7)) on stdin and stdout, in a thread. */
#ifndef EMU_PROMPT_H
#define EMU_PROMPT_H

#include "emu/box.h"

struct prompt;

/* Starts the console. NULL if there is no memory, descriptor or thread. */
struct prompt *prompt_open(struct box *b);
/* A descriptor that becomes readable once the console has executed quit, or stdin has ended. */
int prompt_fd(const struct prompt *p);
void prompt_close(struct prompt *p);

#endif
