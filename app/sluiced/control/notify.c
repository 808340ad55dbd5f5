/* SPDX-License-Identifier: BSD-3-Clause */
/* See notify.h. The protocol is lines of text; libsystemd is not needed for it. */
#include "sluiced/control/notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Does not block: a manager that does not listen must not hold us up. */
static void notify_send(const char *line)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    size_t len = path != NULL ? strlen(path) : 0;
    int fd;

    if (len < 2 || len >= sizeof sun.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(sun.sun_path, path, len);
    if (path[0] == '@') /* an abstract name */
        sun.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&sun,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}

void notify_ready(void)
{
    notify_send("READY=1\n");
}

void notify_reloading(uint64_t now_ns)
{
    char text[64];

    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n", now_ns / 1000);
    notify_send(text);
}

void notify_status(const char *status)
{
    char text[NOTIFY_STATUS_MAX + 16];

    snprintf(text, sizeof text, "STATUS=%.*s\n", NOTIFY_STATUS_MAX - 1, status);
    notify_send(text);
}

void notify_stopping(void)
{
    notify_send("STOPPING=1\n");
}

void notify_alive(void)
{
    notify_send("WATCHDOG=1\n");
}

uint64_t notify_interval_ns(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    char *end;
    unsigned long long n;

    if (us == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    n = strtoull(us, &end, 10);
    if (end == us || *end != '\0' || n > UINT64_MAX / 1000)
        return 0;
    return n * 1000 / 3; /* so that two datagrams may get lost */
}
