/* SPDX-License-Identifier: BSD-3-Clause */
/* Local and remote paths. See operand.h. */
#include "sluice/cp/operand.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The colon that ends the host; NULL: the operand is local. */
static const char *operand_colon(const char *text)
{
    bool bracket = text[0] == '[';
    const char *at;

    if (text[0] == ':')
        return NULL;
    for (at = text; *at != 0 && *at != '/'; at++) {
        if (at[0] == '@' && at[1] == '[')
            bracket = true;
        if (bracket && at[0] == ']' && at[1] == ':')
            return at + 1;
        if (!bracket && at[0] == ':')
            return at;
    }
    return NULL;
}

/* Characters that the remote shell, or the ProxyCommand of ssh, could take for more than a name. */
static bool operand_harmless(const char *name)
{
    const char *at;

    for (at = name; *at != 0; at++) {
        if ((unsigned char)*at <= ' ' || *at == 0x7f || strchr("'`\"$\\;&<>|(){}*?!#", *at) != NULL)
            return false;
    }
    return true;
}

const char *operand_read(struct operand *o, const char *text)
{
    const char *colon = operand_colon(text), *name;
    char *at;
    size_t len;

    o->path = text;
    o->host[0] = 0;
    if (*text == 0)
        return "an empty name; give a path";
    if (colon == NULL)
        return NULL;
    len = (size_t)(colon - text);
    if (len >= sizeof o->host)
        return "the host's name is too long; write HOST:PATH, or ./NAME for a local file";
    memcpy(o->host, text, len);
    o->host[len] = 0;
    o->path = colon + 1;
    at = strrchr(o->host, '@');
    name = at == NULL ? o->host : at + 1;
    if (name[0] == '[') { /* and the last character is the ] before the colon */
        at = o->host + (name - o->host);
        memmove(at, at + 1, strlen(at));
        at[strlen(at) - 1] = 0;
    }
    if (*name == 0 || o->host[0] == '@')
        return "the user or the host is missing; write [USER@]HOST:PATH";
    if (o->host[0] == '-' || name[0] == '-')
        return "the host looks like an option; write HOST:PATH, or ./NAME for a local file";
    if (!operand_harmless(o->host))
        return "the host has characters that no host has; write HOST:PATH, or ./NAME for a local "
               "file";
    return NULL;
}
