/* SPDX-License-Identifier: BSD-3-Clause */
/* See made_dirs.h. */
#include "sluice/files/made_dirs.h"

#include <string.h>
#include <sys/stat.h>

static void made_dirs_remove(struct made_dirs *m, uint32_t i)
{
    m->n--;
    memmove(&m->dirs[i], &m->dirs[i + 1], (m->n - i) * sizeof m->dirs[0]);
}

void made_dirs_add(struct made_dirs *m, int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return;
    if (m->n == MADE_DIRS_MAX)
        made_dirs_remove(m, 0);
    m->dirs[m->n].dev = st.st_dev;
    m->dirs[m->n++].ino = st.st_ino;
}

bool made_dirs_take(struct made_dirs *m, int fd)
{
    struct stat st;
    uint32_t i;

    if (fstat(fd, &st) < 0)
        return false;
    for (i = m->n; i-- > 0;) {
        if (m->dirs[i].ino == st.st_ino && m->dirs[i].dev == st.st_dev) {
            made_dirs_remove(m, i);
            return true;
        }
    }
    return false;
}
