/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a storage, and the pieces that wait for them. See storage.h. */
#include "sluice/storage/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "sluice/attributes/fd_path.h"
#include "sluice/storage/batch.h"

#define THREADS_MAX 16

struct storage {
    int fd; /* eventfd: counts 1 while `done` has pieces */
    pthread_mutex_t mutex;
    pthread_cond_t work;    /* a file waits, or the threads are to end */
    pthread_cond_t stopped; /* a file is not running any more */

    /* Under the mutex. */
    struct storage_file *first_file, *last_file;  /* that wait for a thread */
    struct storage_piece *first_done, *last_done; /* that wait for storage_take() */
    unsigned int n_waiting;                       /* files */
    unsigned int n_idle;                          /* threads */
    bool end;

    /* Of the owner. */
    pthread_t threads[THREADS_MAX];
    unsigned int n_threads, max_threads;
};

/* ---- under the mutex ----------------------------------------------------------------------- */

static void storage_queue(struct storage *s, struct storage_file *f)
{
    f->next = NULL;
    f->queued = true;
    if (s->first_file == NULL)
        s->first_file = f;
    else
        s->last_file->next = f;
    s->last_file = f;
    s->n_waiting++;
    pthread_cond_signal(&s->work);
}

static void storage_unqueue(struct storage *s, struct storage_file *f)
{
    struct storage_file **at = &s->first_file, *before = NULL;

    while (*at != f) {
        before = *at;
        at = &(*at)->next;
    }
    *at = f->next;
    if (s->last_file == f)
        s->last_file = before;
    f->queued = false;
    s->n_waiting--;
}

static struct storage_piece *file_pop(struct storage_file *f)
{
    struct storage_piece *p = f->first;

    f->first = p->next;
    if (f->first == NULL)
        f->last = NULL;
    return p;
}

/* The last piece of `done` was taken: the descriptor is not readable any more. */
static void storage_emptied(struct storage *s)
{
    uint64_t count;

    CHECK(read(s->fd, &count, sizeof count) == sizeof count);
}

static void storage_done(struct storage *s, struct storage_piece *p)
{
    const uint64_t one = 1;

    p->next = NULL;
    if (s->first_done == NULL) {
        s->first_done = p;
        CHECK(write(s->fd, &one, sizeof one) == sizeof one);
    } else {
        s->last_done->next = p;
    }
    s->last_done = p;
}

/* Removes the pieces of the file from those that are done. */
static void storage_undo(struct storage *s, const struct storage_file *f)
{
    struct storage_piece **at = &s->first_done, *p;
    bool some = s->first_done != NULL;

    s->last_done = NULL;
    while ((p = *at) != NULL) {
        if (p->file == f) {
            p->busy = false;
            *at = p->next;
        } else {
            s->last_done = p;
            at = &p->next;
        }
    }
    if (some && s->first_done == NULL)
        storage_emptied(s);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* Does pieces of the file, until it has none, or another file waits. The mutex is locked before and
 * after. */
static void storage_serve(struct storage *s, struct batch *b, struct storage_file *f)
{
    f->running = true;
    pthread_mutex_unlock(&s->mutex);
    batch_start(b, f);
    pthread_mutex_lock(&s->mutex);
    while (b->n > 0 || f->first != NULL) {
        struct storage_piece *p;

        while ((b->n == 0 || s->first_file == NULL) && f->first != NULL && batch_room(b)) {
            p = file_pop(f);
            pthread_mutex_unlock(&s->mutex);
            batch_begin(b, p);
            pthread_mutex_lock(&s->mutex);
        }
        pthread_mutex_unlock(&s->mutex);
        p = batch_end(b);
        pthread_mutex_lock(&s->mutex);
        storage_done(s, p);
        if (b->n == 0 && s->first_file != NULL)
            break;
    }
    f->running = false;
    if (f->first != NULL)
        storage_queue(s, f);
    pthread_cond_signal(&s->stopped);
}

static void *storage_run(void *context)
{
    struct storage *s = context;
    struct batch b = {.ring = NULL};
    struct storage_file *f;

    pthread_mutex_lock(&s->mutex);
    while (!s->end) {
        f = s->first_file;
        if (f == NULL) {
            s->n_idle++;
            pthread_cond_wait(&s->work, &s->mutex);
            s->n_idle--;
            continue;
        }
        storage_unqueue(s, f);
        storage_serve(s, &b, f);
    }
    pthread_mutex_unlock(&s->mutex);
    batch_fini(&b);
    return NULL;
}

/* Starts a thread, with all signals blocked: the owner's thread takes those. False: it cannot. */
static bool storage_start(struct storage *s)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&s->threads[s->n_threads], NULL, storage_run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err != 0)
        return false;
    s->n_threads++;
    return true;
}

/* ---- the owner ----------------------------------------------------------------------------- */

/* Processors that this process may use. */
static unsigned int storage_processors(void)
{
    cpu_set_t set;
    long online;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned int)CPU_COUNT(&set);
    online = sysconf(_SC_NPROCESSORS_ONLN); /* more than a cpu_set_t counts */
    return online < 1 ? 1 : (unsigned int)online;
}

struct storage *storage_create(unsigned int max_files, bool direct)
{
    unsigned int n = storage_processors() - 1;
    struct storage *s;

    n = n == 0 && direct ? 1 : n;
    n = n < max_files ? n : max_files;
    if (n == 0)
        return NULL;
    s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->fd < 0) {
        free(s);
        return NULL;
    }
    s->max_threads = n < THREADS_MAX ? n : THREADS_MAX;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->stopped, NULL);
    return s;
}

void storage_destroy(struct storage *s)
{
    unsigned int i;

    if (s == NULL)
        return;
    pthread_mutex_lock(&s->mutex);
    s->end = true;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->mutex);
    for (i = 0; i < s->n_threads; i++)
        pthread_join(s->threads[i], NULL);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->stopped);
    pthread_mutex_destroy(&s->mutex);
    close(s->fd);
    free(s);
}

int storage_fd(const struct storage *s)
{
    return s == NULL ? -1 : s->fd;
}

uint64_t storage_cpu_ns(const struct storage *s)
{
    uint64_t ns = 0;
    struct timespec t;
    unsigned int i;
    clockid_t clock;

    for (i = 0; s != NULL && i < s->n_threads; i++) {
        if (pthread_getcpuclockid(s->threads[i], &clock) == 0 && clock_gettime(clock, &t) == 0)
            ns += (uint64_t)t.tv_sec * CLOCK_NS_PER_S + (uint64_t)t.tv_nsec;
    }
    return ns;
}

int storage_direct(int fd, bool write)
{
    char path[FD_PATH_MAX];
    int direct_fd = open(fd_path(path, fd), (write ? O_RDWR : O_RDONLY) | O_DIRECT | O_CLOEXEC);

    return direct_fd < 0 ? -errno : direct_fd;
}

void storage_begin(struct storage_file *f, int fd, int direct_fd, struct digest *digest)
{
    *f = (struct storage_file){.fd = fd, .direct_fd = direct_fd, .digest = digest};
}

int storage_put(struct storage *s, struct storage_piece *p)
{
    struct storage_file *f = p->file;
    bool more;

    if (s->n_threads == 0 && !storage_start(s))
        return -EAGAIN;
    p->busy = true;
    p->err = 0;
    p->done_bytes = 0;
    p->next = NULL;
    f->n++;
    pthread_mutex_lock(&s->mutex);
    if (f->first == NULL)
        f->first = p;
    else
        f->last->next = p;
    f->last = p;
    if (!f->queued && !f->running)
        storage_queue(s, f);
    more = s->n_waiting > s->n_idle;
    pthread_mutex_unlock(&s->mutex);
    if (more && s->n_threads < s->max_threads)
        (void)!storage_start(s); /* else those that there are have to do */
    return 0;
}

struct storage_piece *storage_take(struct storage *s)
{
    struct storage_piece *p;

    if (s == NULL)
        return NULL;
    pthread_mutex_lock(&s->mutex);
    p = s->first_done;
    if (p != NULL) {
        s->first_done = p->next;
        if (s->first_done == NULL)
            storage_emptied(s);
    }
    pthread_mutex_unlock(&s->mutex);
    if (p == NULL)
        return NULL;
    p->busy = false;
    p->file->n--;
    if (p->err == 0)
        p->file->done_bytes += p->len_bytes;
    return p;
}

void storage_cancel(struct storage *s, struct storage_file *f)
{
    struct storage_piece *p;
    bool wrong = false;

    if (!storage_busy(f))
        return;
    __atomic_store_n(&f->cancel, true, __ATOMIC_RELAXED);
    pthread_mutex_lock(&s->mutex);
    if (f->queued)
        storage_unqueue(s, f);
    while (f->first != NULL) {
        p = file_pop(f);
        p->busy = false;
        p->err = -ECANCELED;
    }
    while (f->running)
        pthread_cond_wait(&s->stopped, &s->mutex);
    for (p = s->first_done; p != NULL && !wrong; p = p->next) {
        if (p->file != f)
            continue;
        wrong = p->err != 0;
        f->done_bytes += wrong ? p->done_bytes : p->len_bytes;
    }
    storage_undo(s, f);
    pthread_mutex_unlock(&s->mutex);
    f->n = 0;
    __atomic_store_n(&f->cancel, false, __ATOMIC_RELAXED);
}
