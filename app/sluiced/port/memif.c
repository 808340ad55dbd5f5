/* SPDX-License-Identifier: BSD-3-Clause */
/* See memif.h. */
#include "sluiced/port/memif.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_ether.h>

#include "common/buffer.h"

#define MEMIF_SOCKET_DEFAULT "/run/memif.sock"
#define MEMIF_BSIZE_DEFAULT  2048

static void args_set(struct memif_args *m, bool *abstract, const char *key, const char *value)
{
    if (strcmp(key, "role") == 0)
        m->server = strcmp(value, "server") == 0 || strcmp(value, "master") == 0;
    else if (strcmp(key, "zero-copy") == 0)
        m->zero_copy = strcmp(value, "yes") == 0;
    else if (strcmp(key, "bsize") == 0)
        m->bsize_bytes = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "socket-abstract") == 0)
        *abstract = strcmp(value, "no") != 0;
    else if (strcmp(key, "socket") == 0)
        snprintf(m->socket, sizeof m->socket, "%s", value);
}

void memif_args_parse(struct memif_args *m, const char *args)
{
    bool abstract = true;
    char text[512], *rest = text, *pair;

    *m = (struct memif_args){.bsize_bytes = MEMIF_BSIZE_DEFAULT, .socket = MEMIF_SOCKET_DEFAULT};
    snprintf(text, sizeof text, "%s", args);
    while ((pair = strsep(&rest, ",")) != NULL) {
        char *value = strchr(pair, '=');

        if (value == NULL)
            continue;
        *value++ = '\0';
        args_set(m, &abstract, pair, value);
    }
    if (abstract)
        m->socket[0] = '\0';
}

int memif_bsize_check(const struct memif_args *m, const struct config_port *cfg, const char *of,
                      char *err, size_t err_len)
{
    uint32_t least = cfg->mtu_bytes + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN;

    if (m->bsize_bytes >= least)
        return 0;
    snprintf(err, err_len,
             "port %s: mtu = %u does not fit bsize=%u%s; give the vdev of both ends bsize=%u, or "
             "lower mtu",
             cfg->name, cfg->mtu_bytes, m->bsize_bytes, of,
             RTE_MIN((uint32_t)RTE_ALIGN_CEIL(least, 1024), BUFFER_BYTES_MAX));
    return -EINVAL;
}

static void socket_clean(const struct memif_args *m)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    struct stat st;
    int fd;

    if (!m->server || m->socket[0] == '\0' || stat(m->socket, &st) != 0 || !S_ISSOCK(st.st_mode))
        return;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    snprintf(sun.sun_path, sizeof sun.sun_path, "%s", m->socket);
    if (connect(fd, (struct sockaddr *)&sun, sizeof sun) != 0 && errno == ECONNREFUSED)
        unlink(m->socket);
    close(fd);
}

void memif_vdev_clean(const char *vdev)
{
    struct memif_args m;

    if (strncmp(vdev, "net_memif", strlen("net_memif")) != 0)
        return;
    memif_args_parse(&m, vdev + strcspn(vdev, ","));
    socket_clean(&m);
}
