/* SPDX-License-Identifier: BSD-3-Clause */
/* "HOST[:PORT]" to addresses: a name, an IPv4 address, or an IPv6 address in brackets. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "client/state.h"

#define RESOLVE_HOST_MAX 256

static int resolve_port(struct sluice *s, const char *text, uint16_t *port)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || errno != 0 || n == 0 || n > UINT16_MAX)
        return client_fail(s, -EINVAL, "port '%.32s': give a number from 1 to 65535", text);
    *port = (uint16_t)n;
    return 0;
}

/* Splits text into host and port. */
static int resolve_split(struct sluice *s, const char *text, char *host, uint16_t *port)
{
    const char *start = text, *end, *colon = strrchr(text, ':');

    *port = SLUICE_PORT_DEFAULT;
    if (text[0] == '[') {
        start = text + 1;
        end = strchr(text, ']');
        if (end == NULL || (end[1] != 0 && end[1] != ':'))
            return client_fail(s, -EINVAL, "'%.64s': write [ADDRESS] or [ADDRESS]:PORT", text);
        colon = end[1] == ':' ? end + 1 : NULL;
    } else if (colon != NULL && strchr(text, ':') == colon) {
        end = colon;
    } else {
        colon = NULL; /* no port, or a bare IPv6 address */
        end = text + strlen(text);
    }
    if (end == start || end - start >= RESOLVE_HOST_MAX)
        return client_fail(s, -EINVAL, "'%.64s': write HOST or HOST:PORT", text);
    memcpy(host, start, (size_t)(end - start));
    host[end - start] = 0;
    return colon != NULL ? resolve_port(s, colon + 1, port) : 0;
}

static bool resolve_address(const struct addrinfo *a, uint8_t peer[16])
{
    if (a->ai_family == AF_INET6) {
        memcpy(peer, &((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr, 16);
        return true;
    }
    if (a->ai_family != AF_INET)
        return false;
    memset(peer, 0, 10);
    memset(peer + 10, 0xff, 2);
    memcpy(peer + 12, &((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr, 4);
    return true;
}

int client_resolve(struct sluice *s, const char *host_port, uint8_t (*peers)[16], int max,
                   uint16_t *port)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *list, *a;
    char host[RESOLVE_HOST_MAX];
    int err, n = 0;

    err = resolve_split(s, host_port, host, port);
    if (err < 0)
        return err;
    err = getaddrinfo(host, NULL, &hints, &list);
    if (err != 0)
        return client_fail(s, -EHOSTUNREACH,
                           "unknown host '%.100s': %s; check the name, or give an address", host,
                           err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
    for (a = list; a != NULL && n < max; a = a->ai_next)
        n += resolve_address(a, peers[n]);
    freeaddrinfo(list);
    if (n == 0)
        return client_fail(s, -EHOSTUNREACH, "host '%.100s' has no IP address; give one", host);
    return n;
}
