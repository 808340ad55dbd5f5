/* SPDX-License-Identifier: BSD-3-Clause */
/* See capture_file.h. */
#include "sluice/capture/capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "client/sluice.h"

#define BUFFER_BYTES (1u << 20)
#define TEXT_MAX     400

enum {
    BLOCK_SECTION = 0x0a0d0d0a,
    BLOCK_INTERFACE = 1,
    BLOCK_STATS = 5,
    ORDER = 0x1a2b3c4d,
    ETHERNET = 1,
    OPTION_END = 0,
    OPTION_COMMENT = 1,
    SECTION_SYSTEM = 3,
    SECTION_PROGRAM = 4,
    INTERFACE_NAME = 2,
    INTERFACE_DESCRIPTION = 3,
    INTERFACE_RESOLUTION = 9,
    STATS_BEGIN = 2,
    STATS_END = 3,
    STATS_FRAMES = 4,
    STATS_DROPPED = 5,
    STATS_WRITTEN = 8,
};

/* A block that is being made. */
struct making {
    uint8_t bytes[4 * TEXT_MAX];
    size_t used;
};

/* ---- the file ---------------------------------------------------------------------------- */

/* Opens a pipe or a device. Somebody may exchange it for a file after the first look. */
static int special_open(const char *path)
{
    struct stat st;
    int fd;

    if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        return -EEXIST;
    fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return -EEXIST;
}

static int named_open(const char *path, bool replace)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int fd = open(path, flags, 0600);

    if (fd >= 0 || errno != EEXIST)
        return fd >= 0 ? fd : -errno;
    fd = special_open(path);
    if (fd != -EEXIST || !replace)
        return fd;
    /* The old file may be readable for others, so it makes room for a new one. */
    fd = unlink(path) == 0 ? open(path, flags, 0600) : -1;
    return fd >= 0 ? fd : -errno;
}

int capture_file_open(struct capture_file *f, const char *path, bool replace)
{
    bool output = strcmp(path, "-") == 0;
    struct stat st;
    int status;

    *f = (struct capture_file){.fd = -1};
    if (output && isatty(STDOUT_FILENO))
        return -ENOTTY;
    f->fd = output ? dup(STDOUT_FILENO) : named_open(path, replace);
    if (f->fd < 0)
        return output ? -errno : f->fd;
    f->buffer = malloc(BUFFER_BYTES);
    status = f->buffer == NULL ? -ENOMEM : fstat(f->fd, &st) != 0 ? -errno : 0;
    if (status != 0) {
        close(f->fd);
        free(f->buffer);
        return status;
    }
    f->regular = S_ISREG(st.st_mode);
    f->is_pipe = S_ISFIFO(st.st_mode);
    return 0;
}

/* Counts the frames of the whole buffer as written. */
static void frames_written(struct capture_file *f)
{
    for (uint32_t i = 0; i < CAPTURE_PORTS_MAX; i++) {
        f->interface_frames[i] += f->buffer_frames[i];
        f->frames += f->buffer_frames[i];
    }
}

/* How much of the buffer's first n bytes are whole blocks; counts their frames as written. */
static size_t whole_bytes(struct capture_file *f, size_t n)
{
    struct capture_block b;
    size_t at = 0;

    while (at + CAPTURE_BLOCK_MIN <= n) {
        memcpy(&b, f->buffer + at, CAPTURE_BLOCK_MIN);
        if (b.len_bytes > n - at)
            break;
        at += b.len_bytes;
        if (b.type != CAPTURE_PACKET)
            continue;
        f->interface_frames[b.interface]++;
        f->frames++;
    }
    return at;
}

/* Takes away the last bytes that were written, if they are the file's last. There may be more
 * behind them if the file is the standard output. */
static void file_cut(const struct capture_file *f, size_t bytes)
{
    off_t end;
    struct stat st;

    if (bytes == 0 || !f->regular)
        return;
    end = lseek(f->fd, 0, SEEK_CUR);
    if (end < 0 || fstat(f->fd, &st) != 0 || st.st_size != end)
        return;
    /* If it fails, nothing more can be done; readers tell that the end is cut. */
    if (ftruncate(f->fd, end - (off_t)bytes) == 0)
        lseek(f->fd, -(off_t)bytes, SEEK_CUR);
}

int capture_file_flush(struct capture_file *f)
{
    size_t done = 0;

    while (f->error == 0 && done < f->used_bytes) {
        ssize_t n = write(f->fd, f->buffer + done, f->used_bytes - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            f->error = -errno;
    }
    if (f->error == 0)
        frames_written(f);
    else
        file_cut(f, done - whole_bytes(f, done));
    f->used_bytes = 0;
    memset(f->buffer_frames, 0, sizeof f->buffer_frames);
    return f->error;
}

int capture_file_close(struct capture_file *f)
{
    capture_file_flush(f);
    if (close(f->fd) != 0 && f->error == 0)
        f->error = -errno;
    free(f->buffer);
    f->buffer = NULL;
    return f->error;
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* Returns where the block is in the buffer; NULL: the file has failed. */
static uint8_t *file_put(struct capture_file *f, const void *block, size_t len)
{
    if (f->error != 0 || (len > BUFFER_BYTES - f->used_bytes && capture_file_flush(f) != 0))
        return NULL;
    memcpy(f->buffer + f->used_bytes, block, len);
    f->used_bytes += len;
    return f->buffer + f->used_bytes - len;
}

static void put(struct making *m, const void *bytes, size_t len)
{
    memcpy(m->bytes + m->used, bytes, len);
    m->used += len;
    while (m->used % 4 != 0)
        m->bytes[m->used++] = 0;
}

static void put32(struct making *m, uint32_t value)
{
    put(m, &value, sizeof value);
}

static void option(struct making *m, uint16_t code, const void *value, size_t len)
{
    const uint16_t head[2] = {code, (uint16_t)len};

    put(m, head, sizeof head);
    put(m, value, len);
}

static void option_text(struct making *m, uint16_t code, const char *text)
{
    option(m, code, text, strnlen(text, TEXT_MAX - 4));
}

static void option64(struct making *m, uint16_t code, uint64_t value)
{
    option(m, code, &value, sizeof value);
}

/* Times in the options of an Interface Statistics Block: the upper half is first. */
static void option_time(struct making *m, uint16_t code, uint64_t time_ns)
{
    const uint32_t halves[2] = {(uint32_t)(time_ns >> 32), (uint32_t)time_ns};

    option(m, code, halves, sizeof halves);
}

static void making_begin(struct making *m, uint32_t type)
{
    m->used = 0;
    put32(m, type);
    put32(m, 0);
}

static void making_end(struct making *m, struct capture_file *f)
{
    uint32_t len;

    option(m, OPTION_END, "", 0);
    len = (uint32_t)m->used + 4;
    put32(m, len);
    memcpy(m->bytes + 4, &len, sizeof len);
    file_put(f, m->bytes, len);
}

void capture_file_begin(struct capture_file *f, const char *ports)
{
    const uint16_t version[2] = {1, 0};
    const uint64_t unknown = UINT64_MAX; /* length of the section */
    struct utsname system;
    struct making m;
    char text[TEXT_MAX];

    making_begin(&m, BLOCK_SECTION);
    put32(&m, ORDER);
    put(&m, version, sizeof version);
    put(&m, &unknown, sizeof unknown);
    snprintf(text, sizeof text,
             "sluice capture: frames of sluiced, as its workers saw them: %.300s", ports);
    option_text(&m, OPTION_COMMENT, text);
    if (uname(&system) == 0) {
        snprintf(text, sizeof text, "%.60s %.60s %.60s", system.sysname, system.release,
                 system.machine);
        option_text(&m, SECTION_SYSTEM, text);
    }
    snprintf(text, sizeof text, "sluice %s", sluice_version());
    option_text(&m, SECTION_PROGRAM, text);
    making_end(&m, f);
}

void capture_file_interface(struct capture_file *f, const char *name, const char *description,
                            uint32_t snap_bytes)
{
    const uint16_t type[2] = {ETHERNET, 0};
    const uint8_t ns = 9;
    struct making m;

    making_begin(&m, BLOCK_INTERFACE);
    put(&m, type, sizeof type);
    put32(&m, snap_bytes);
    option_text(&m, INTERFACE_NAME, name);
    option_text(&m, INTERFACE_DESCRIPTION, description);
    option(&m, INTERFACE_RESOLUTION, &ns, sizeof ns);
    making_end(&m, f);
}

void capture_file_frame(struct capture_file *f, const void *b, uint32_t len_bytes,
                        uint32_t interface)
{
    const uint32_t head[] = {CAPTURE_PACKET, len_bytes, interface};
    uint8_t *at = file_put(f, b, len_bytes);

    if (at == NULL)
        return;
    memcpy(at, head, sizeof head);
    memcpy(at + len_bytes - sizeof len_bytes, &len_bytes, sizeof len_bytes);
    f->buffer_frames[interface]++;
}

void capture_file_stats(struct capture_file *f, const struct capture_stats *s)
{
    struct making m;

    making_begin(&m, BLOCK_STATS);
    put32(&m, s->interface);
    put32(&m, (uint32_t)(s->end_ns >> 32));
    put32(&m, (uint32_t)s->end_ns);
    option_time(&m, STATS_BEGIN, s->begin_ns);
    option_time(&m, STATS_END, s->end_ns);
    option64(&m, STATS_FRAMES, s->written + s->dropped);
    option64(&m, STATS_DROPPED, s->dropped);
    option64(&m, STATS_WRITTEN, s->written);
    making_end(&m, f);
}
