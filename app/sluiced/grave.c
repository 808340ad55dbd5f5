/* SPDX-License-Identifier: BSD-3-Clause */
/* See grave.h. */
#include "sluiced/grave.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define GRAVE_THREADS 16u
#define GRAVE_STACK   65536
#define GRAVE_CROWD   256u  /* waiting: no new clients */
#define GRAVE_MAX     1024u /* beyond it, who buries waits */

static struct {
    pthread_mutex_t lock;
    uint32_t threads, waiting;
    int fds[GRAVE_MAX];
} grave = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Closes what waits, then ends. */
static void *grave_dig(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&grave.lock);
    while (grave.waiting > 0) {
        int fd = grave.fds[--grave.waiting];

        pthread_mutex_unlock(&grave.lock);
        close(fd);
        pthread_mutex_lock(&grave.lock);
    }
    grave.threads--;
    pthread_mutex_unlock(&grave.lock);
    return NULL;
}

static int thread_start(void)
{
    pthread_attr_t apart;
    pthread_t t;
    int err;

    pthread_attr_init(&apart);
    pthread_attr_setdetachstate(&apart, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&apart, GRAVE_STACK);
    err = pthread_create(&t, &apart, grave_dig, NULL);
    pthread_attr_destroy(&apart);
    return err;
}

void grave_bury(int fd)
{
    bool full, more;

    pthread_mutex_lock(&grave.lock);
    full = grave.waiting == GRAVE_MAX;
    if (!full)
        grave.fds[grave.waiting++] = fd;
    more = !full && grave.threads < GRAVE_THREADS;
    grave.threads += more;
    pthread_mutex_unlock(&grave.lock);
    if (full)
        close(fd);
    if (more && thread_start() != 0)
        grave_dig(NULL); /* no thread to be had: here, then */
}

bool grave_crowded(void)
{
    bool crowded;

    pthread_mutex_lock(&grave.lock);
    crowded = grave.waiting >= GRAVE_CROWD;
    pthread_mutex_unlock(&grave.lock);
    return crowded;
}
