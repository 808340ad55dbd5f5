/* SPDX-License-Identifier: BSD-3-Clause */
/* The box's console: testpmd's prompt (rte_cmdline), on stdin and stdout. */
#ifndef EMU_CONSOLE_H
#define EMU_CONSOLE_H

#include "emu/box.h"

struct console;

/* NULL if there is no memory. */
struct console *console_open(struct box *b);
/* Takes what stdin has; false if it ended, or quit was said. */
bool console_read(struct console *c);
void console_close(struct console *c);

#endif
