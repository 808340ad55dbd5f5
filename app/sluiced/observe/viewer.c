/* SPDX-License-Identifier: BSD-3-Clause */
/* See viewer.h. */
#include "sluiced/observe/viewer.h"

#include <inttypes.h>

bool viewer_sees_conn(const struct daemon *d, const struct access_user *viewer,
                      const struct host_conn_info *c)
{
    /* The session of a closed connection may be over, and its slot another user's. */
    return viewer->all ||
           (c->state != HOST_CLOSED && sessions_own(d->sessions, c->owner, viewer->uid));
}

void viewer_begin(FILE *f, const struct access_user *viewer, uint64_t uptime_ns, const char *what)
{
    fprintf(f, "{\"uptime_ns\":%" PRIu64, uptime_ns);
    if (!viewer->all)
        fprintf(f, ",\"only_uid\":%u", viewer->uid);
    fprintf(f, ",\"%s\":[", what);
}
