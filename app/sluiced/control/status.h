/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells the service manager what the daemon does: `systemctl status` shows it. Owned by the control
 * lcore.
 */
#ifndef SLUICED_STATUS_H
#define SLUICED_STATUS_H

#include <stdint.h>

#include "sluiced/control/notify.h"
#include "sluiced/port/links.h"

/* All zero at first. */
struct status {
    uint64_t due; /* TSC: no look before this */
    char text[NOTIFY_STATUS_MAX];
};

/* Looks at most once a second, and tells only what has changed since. */
void status_tell(struct status *s, const struct daemon *d, const struct links *k, uint64_t now);

#endif
