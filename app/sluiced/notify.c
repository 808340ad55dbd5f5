/* SPDX-License-Identifier: BSD-3-Clause */
/* See notify.h. */
#include "sluiced/notify.h"

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>

void notify_ready(void)
{
    sd_notify(0, "READY=1");
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

void notify_alive(void)
{
    sd_notify(0, "WATCHDOG=1");
}

uint64_t notify_interval_ns(void)
{
    uint64_t us = 0;

    return sd_watchdog_enabled(0, &us) > 0 ? us * 1000 / 3 : 0;
}

#else

void notify_ready(void)
{
}

void notify_stopping(void)
{
}

void notify_alive(void)
{
}

uint64_t notify_interval_ns(void)
{
    return 0;
}

#endif
