/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads files and computes their hashes, by several threads. See hasher.h. */
#include "sluice/manifest/hasher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sluice/files/digest.h"
#include "sluice/files/extent.h"
#include "sluice/files/name.h"
#include "sluice/loop.h"
#include "sluice/report/progress.h"

#define HASHER_DEFAULT 8          /* threads: more rarely make a disk faster */
#define AHEAD_BYTES    (8u << 20) /* that the kernel is asked to read ahead in a file */
#define LOOK_NS        100000000  /* between two looks for signals */

/* What the threads share. */
struct crew {
    const struct hasher *hasher;
    size_t next;    /* the first job that nobody has taken; atomic */
    uint64_t bytes; /* that were read; atomic */
    bool stop;      /* no more is read; atomic; written by the caller's thread */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint8_t *over;    /* of each job, whether it is done; under the mutex */
    size_t announced; /* jobs before it were handed to done(); under the mutex */
};

/* One thread's. */
struct hand {
    struct crew *crew;
    pthread_t thread;
    struct digest *digest;
    uint8_t *piece;      /* DIGEST_PIECE_BYTES */
    struct name_dir dir; /* of the file before: the next one is often in there, too */
};

/* ---- one file ------------------------------------------------------------------------------ */

/* Opens the file below the root. Returns the descriptor or a negative errno. */
static int hand_open(struct hand *w, const char *name)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    const char *base;
    int fd, parent_fd = name_dir_parent(&w->dir, name, &base, NULL);

    if (parent_fd < 0)
        return parent_fd;
    fd = openat(parent_fd, base, flags);
    return fd < 0 ? -errno : fd;
}

/* Asks the kernel for what is read next, so that the disk works while we hash. */
static void read_ahead(int fd, uint64_t at)
{
    if (at % (AHEAD_BYTES / 2) == 0)
        posix_fadvise(fd, (off_t)at, AHEAD_BYTES, POSIX_FADV_WILLNEED);
}

/* Hashes the next piece of the file. e: its extents, NULL: it has no holes. Returns the length, 0
 * at the end, or a negative errno. */
static int64_t hand_piece(struct hand *w, int fd, uint64_t at, uint64_t size, struct extent *e)
{
    uint64_t left = DIGEST_PIECE_BYTES;
    ssize_t n;
    int err;

    if (e != NULL && at < size) {
        err = at < e->offset + e->len ? 0 : extent_find(fd, at, size, e);
        if (err < 0)
            return err;
        left = e->offset + e->len - at;
        left = left < RECORD_HOLE_MAX ? left : RECORD_HOLE_MAX;
        if (e->hole) {
            digest_zeros(w->digest, left);
            return (int64_t)left;
        }
    }
    left = left < DIGEST_PIECE_BYTES ? left : DIGEST_PIECE_BYTES;
    do {
        n = pread(fd, w->piece, left, (off_t)at);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    digest_update(w->digest, w->piece, (uint64_t)n);
    return n;
}

/* Hashes what the open file has. 0 or a negative errno. */
static int hand_hash(struct hand *w, int fd, const struct stat *st, struct hasher_job *job)
{
    bool sparse = (uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size;
    uint64_t size = (uint64_t)st->st_size, at = 0;
    struct extent extent = {0};
    struct crew *c = w->crew;
    int64_t n;

    digest_reset(w->digest);
    do {
        if (__atomic_load_n(&c->stop, __ATOMIC_RELAXED))
            return -ECANCELED;
        if (size > DIGEST_PIECE_BYTES && !sparse)
            read_ahead(fd, at);
        n = hand_piece(w, fd, at, size, sparse ? &extent : NULL);
        if (n < 0)
            return (int)n;
        at += (uint64_t)n;
        __atomic_fetch_add(&c->bytes, (uint64_t)n, __ATOMIC_RELAXED);
    } while (n > 0);
    digest_value(w->digest, job->hash);
    return at == size ? 0 : -ESTALE;
}

static int hand_job(struct hand *w, struct hasher_job *job)
{
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    struct identity after;
    struct stat st;
    int err, fd;

    if (job->path == NULL)
        fd = hand_open(w, job->name);
    else
        fd = openat(w->crew->hasher->root_fd, job->path, flags);
    if (job->path != NULL && fd < 0)
        fd = -errno;
    if (fd == -ENOTDIR)
        return -ENOENT; /* something else has the name of its directory */
    if (fd == -ELOOP || fd == -ENXIO)
        return -EISDIR; /* a symbolic link, or a socket or pipe */
    if (fd < 0)
        return fd;
    err = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EISDIR;
    if (err == 0) {
        job->identity = identity_of(&st);
        err = hand_hash(w, fd, &st, job);
    }
    if (err == 0 && fstat(fd, &st) == 0) {
        after = identity_of(&st);
        err = identity_same(&job->identity, &after) ? 0 : -ESTALE;
    }
    close(fd);
    return err;
}

/* ---- the threads --------------------------------------------------------------------------- */

static void *hand_run(void *context)
{
    struct hand *w = context;
    struct crew *c = w->crew;
    size_t i;

    while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->hasher->n) {
        struct hasher_job *job = &c->hasher->jobs[i];

        job->err = __atomic_load_n(&c->stop, __ATOMIC_RELAXED) ? -ECANCELED : hand_job(w, job);
        pthread_mutex_lock(&c->mutex);
        c->over[i] = 1;
        if (i == c->announced)
            pthread_cond_signal(&c->changed);
        pthread_mutex_unlock(&c->mutex);
    }
    return NULL;
}

static int hand_init(struct hand *w, struct crew *c)
{
    w->crew = c;
    w->dir.root_fd = c->hasher->root_fd;
    w->dir.fd = -1;
    w->digest = digest_create();
    w->piece = malloc(DIGEST_PIECE_BYTES);
    return w->digest == NULL || w->piece == NULL ? -ENOMEM : 0;
}

static void hand_fini(struct hand *w)
{
    if (w->crew != NULL)
        name_dir_close(&w->dir);
    digest_destroy(w->digest);
    free(w->piece);
}

/* Waits until the job is done, or for a moment. */
static bool crew_wait(struct crew *c, size_t i)
{
    struct timespec end;
    bool over;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += LOOK_NS;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&c->mutex);
    c->announced = i;
    if (!c->over[i])
        pthread_cond_timedwait(&c->changed, &c->mutex, &end);
    over = c->over[i];
    pthread_mutex_unlock(&c->mutex);
    return over;
}

/* Hands the jobs over in order, while the threads work. */
static int crew_watch(struct crew *c)
{
    const struct hasher *h = c->hasher;
    struct progress progress;
    size_t i = 0;
    int err = 0;

    progress_init(&progress, h->quiet, NULL);
    while (i < h->n) {
        if (h->stops && loop_code() != 0) {
            err = -ECANCELED;
            __atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
        }
        if (crew_wait(c, i))
            h->done(h->context, &h->jobs[i++]);
        if (i < h->n)
            progress_show(
                &progress, loop_now(),
                &(struct progress_view){.name = h->jobs[i].name,
                                        .done_bytes = __atomic_load_n(&c->bytes, __ATOMIC_RELAXED),
                                        .total_bytes = h->total_bytes,
                                        .limit = ""});
    }
    progress_clear(&progress);
    return err;
}

/* Starts the threads, with all signals blocked: the caller's thread takes those. Returns how many
 * run. */
static unsigned int crew_start(struct hand *hands, unsigned int n)
{
    sigset_t all, before;
    unsigned int i;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (i = 0; i < n && pthread_create(&hands[i].thread, NULL, hand_run, &hands[i]) == 0; i++)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return i;
}

static unsigned int hasher_threads(const struct hasher *h)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned int n = h->threads;

    if (n == 0)
        n = cores < 1 ? 1 : cores > HASHER_DEFAULT ? HASHER_DEFAULT : (unsigned int)cores;
    n = n > HASHER_THREADS_MAX ? HASHER_THREADS_MAX : n;
    return h->n < n ? (unsigned int)h->n : n;
}

static int crew_run(struct crew *c, struct hand *hands, unsigned int n)
{
    unsigned int i, running;
    int err;

    running = crew_start(hands, n);
    if (running == 0)
        hand_run(&hands[0]); /* then this thread does it alone, without a bar */
    err = crew_watch(c);
    for (i = 0; i < running; i++)
        pthread_join(hands[i].thread, NULL);
    return err;
}

int hasher_run(struct hasher *h)
{
    struct hand hands[HASHER_THREADS_MAX] = {0};
    struct crew c = {.hasher = h, .mutex = PTHREAD_MUTEX_INITIALIZER};
    unsigned int i, n = hasher_threads(h);
    pthread_condattr_t monotonic;
    int err = 0;

    if (h->n == 0)
        return 0;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c.changed, &monotonic);
    c.over = calloc(h->n, 1);
    for (i = 0; i < n && err == 0; i++)
        err = hand_init(&hands[i], &c);
    if (c.over == NULL)
        err = -ENOMEM;
    if (err == 0)
        err = crew_run(&c, hands, n);
    for (i = 0; i < n; i++)
        hand_fini(&hands[i]);
    free(c.over);
    pthread_cond_destroy(&c.changed);
    pthread_condattr_destroy(&monotonic);
    return err;
}
