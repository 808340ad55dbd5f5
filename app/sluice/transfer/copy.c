/* SPDX-License-Identifier: BSD-3-Clause */
/* The token and the names of a copy. See copy.h. */
#include "sluice/transfer/copy.h"

#include <string.h>

#include "sluice/files/tree.h"

bool copy_same_token(const uint8_t a[RECORD_TOKEN_BYTES], const uint8_t b[RECORD_TOKEN_BYTES])
{
    uint8_t differ = 0;
    int i;

    for (i = 0; i < RECORD_TOKEN_BYTES; i++)
        differ |= (uint8_t)(a[i] ^ b[i]);
    return differ == 0;
}

bool copy_proves(const struct copy *c, const uint8_t token[RECORD_TOKEN_BYTES])
{
    return copy_same_token(c->token, token);
}

bool copy_asked(const struct copy *c, const char *name, bool directory)
{
    size_t len = strcspn(name, "/");
    const char *base;
    int base_len, i;

    if (c->n_paths == 0)
        return true;
    if (!c->recursive && (directory || name[len] == '/'))
        return false;
    for (i = 0; i < c->n_paths; i++) {
        bool inside;

        tree_base(c->paths[i], &base, &base_len);
        /* Only what is in such a directory is sent, and that has any name. So it is with a home
         * directory: "~" and "~user". */
        inside = base_len == 0 || (base == c->paths[i] && base[0] == '~') ||
                 (c->contents && base[base_len] == '/');
        if (inside ? c->recursive : (size_t)base_len == len && memcmp(base, name, len) == 0)
            return true;
    }
    return false;
}
