/* SPDX-License-Identifier: BSD-3-Clause */
/* See tap_signals.h. */
#include "sluiced/port/tap_signals.h"

#include <string.h>

void tap_signals_hide(struct tap_signals *s)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    memset(s, 0, sizeof *s);
    for (int i = SIGRTMIN; i <= SIGRTMAX && i < TAP_SIGNALS; i++)
        if (sigaction(i, NULL, &s->old[i]) == 0 && s->old[i].sa_handler == SIG_DFL)
            sigaction(i, &ignore, NULL);
}

void tap_signals_show(const struct tap_signals *s)
{
    for (int i = SIGRTMIN; i <= SIGRTMAX && i < TAP_SIGNALS; i++)
        if (s->old[i].sa_handler == SIG_DFL)
            sigaction(i, &s->old[i], NULL);
}
