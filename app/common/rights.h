/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May this process do what ports need? For messages that say why something failed: the kernel, not
 * this, decides what is allowed.
 */
#ifndef COMMON_RIGHTS_H
#define COMMON_RIGHTS_H

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#define RIGHTS_CURE "start as root, or by the installed unit"

/* True for root, and for a service that was given capabilities for the network. */
static inline bool rights_present(void)
{
    return geteuid() == 0 || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_NET_ADMIN, 0, 0) == 1;
}

#endif
