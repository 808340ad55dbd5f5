/* SPDX-License-Identifier: BSD-3-Clause */
/* Error messages: one line with cause and cure. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "client/state.h"

int client_fail(struct sluice *s, int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(s->error, sizeof s->error, format, args);
    va_end(args);
    return status;
}

const char *sluice_error(const struct sluice *s)
{
    return s->error;
}

const char *sluice_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        {0, "done"},
        {-ENODATA, "the peer sends no more"},
        {-ETIMEDOUT, "the peer is silent: check that its daemon runs and the path works"},
        {-ECONNREFUSED, "nobody receives there: start the receiver first, or check the port"},
        {-ECONNRESET, "the peer gave up: check its output"},
        {-EMSGSIZE, "the receive buffer is shorter than the request: post a larger one"},
        {-ECANCELED, "canceled here"},
        {-EHOSTUNREACH, "no host answers at that address: check the address, gateway and cabling"},
        {-EACCES, "our daemon has no key of that host, or the host is not for this user: look at "
                  "public_key and users in its section [peer NAME]"},
        {-ESHUTDOWN, "the peer's daemon stopped: start it again"},
        {-ECOMM, "the path passes control packets, but no data packet of any size: look for a "
                 "filter on it"},
        {-ENOTCONN, "the connection or our daemon is gone: open again"},
        {-EPIPE, "the peer reads no more, or sending was shut down here"},
        {-EPROTO, "versions or capabilities do not match: run the same release on both sides"},
        {-ENOSPC, "no connection is free: raise connections in sluiced's configuration"},
        {-ENOBUFS, "too many requests are outstanding: take completions first"},
        {-ENOENT, "the service was not claimed: call sluice_listen() first"},
        {-EADDRINUSE, "another session has this service: choose another port"},
        {-EINVAL, "the daemon refused it: is the address one of its own, or of the wrong family?"},
        {-EUSERS, "this user has three quarters of all connections: close some"},
        {-EDQUOT, "the quota is used up: free memory, or raise it in sluiced's configuration"},
        {-ENOMEM, "no memory: free some, or add some"},
        {-EAGAIN, "too many requests are outstanding: take completions first"},
        {-EFAULT, "the data are not in memory of sluice_alloc()"},
        {-EBUSY, "requests use it: take their completions first"},
    };
    size_t i;

    for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].status == status)
            return texts[i].text;
    }
    return status < 0 ? strerror(-status) : "done";
}
