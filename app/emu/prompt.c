/* SPDX-License-Identifier: BSD-3-Clause */
/* See prompt.h. Commands run under the box's lock. */
#include "emu/prompt.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "console/console.h"
#include "console/words.h"
#include "emu/report.h"

struct prompt {
    struct box *box;
    struct console console;
    int stop_fd, over_fd;
    pthread_t thread;
};

static void fd_raise(int fd)
{
    const uint64_t one = 1;

    if (write(fd, &one, sizeof one) != sizeof one)
        abort(); /* a write to an eventfd of our own does not fail */
}

/* Executes set path 0 forward|reverse|both SPEC. */
static int path_set(struct box *b, const struct grammar_line *l, char *err, size_t err_len)
{
    const char *direction = l->word[3];
    const char *spec = strcmp(l->word[4], "wire") == 0 ? "" : l->word[4];

    if (strcmp(l->word[2], "0") != 0) {
        snprintf(err, err_len, "there is one path; write set path 0");
        return CONSOLE_REFUSED;
    }
    for (unsigned int i = 0; i < 2; i++) {
        if (strcmp(direction, box_direction[1 - i]) == 0)
            continue;
        if (box_set(b, i, spec, err, err_len) != 0)
            return CONSOLE_REFUSED;
    }
    return CONSOLE_OK;
}

static int prompt_run(void *ctx, const struct grammar_line *l, char *err, size_t err_len)
{
    struct box *b = ctx;
    int code = CONSOLE_OK;

    pthread_mutex_lock(&b->lock);
    if (l->command->run == WORDS_SHOW_PATH) {
        printf("path 0 forward %s\npath 0 reverse %s\n", b->spec[0], b->spec[1]);
    } else if (l->command->run == WORDS_SHOW_STATS) {
        report_show(b, stdout);
    } else {
        code = path_set(b, l, err, err_len);
    }
    pthread_mutex_unlock(&b->lock);
    return code;
}

static void *prompt_main(void *arg)
{
    struct prompt *p = arg;

    console_talk(&p->console);
    fd_raise(p->over_fd);
    return NULL;
}

/* Completes PORT: there is one path, 0. */
static void prompt_values(void *ctx, const struct grammar_kind *kind, grammar_found found, void *to)
{
    if (strcmp(kind->name, "PORT") == 0)
        found(to, "0", kind);
}

static void prompt_free(struct prompt *p)
{
    if (p->stop_fd >= 0)
        close(p->stop_fd);
    if (p->over_fd >= 0)
        close(p->over_fd);
    free(p);
}

struct prompt *prompt_open(struct box *b)
{
    struct prompt *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->box = b;
    p->stop_fd = eventfd(0, EFD_CLOEXEC);
    p->over_fd = eventfd(0, EFD_CLOEXEC);
    p->console = (struct console){
        .grammar = {words_commands, words_kinds, WORDS_BOX},
        .program = "sluice-emu",
        .prompt = "sluice-emu> ",
        .run = prompt_run,
        .values = prompt_values,
        .ctx = b,
        .stop_fd = p->stop_fd,
    };
    if (p->stop_fd < 0 || p->over_fd < 0 || pthread_create(&p->thread, NULL, prompt_main, p) != 0) {
        prompt_free(p);
        return NULL;
    }
    return p;
}

int prompt_fd(const struct prompt *p)
{
    return p->over_fd;
}

void prompt_close(struct prompt *p)
{
    fd_raise(p->stop_fd);
    pthread_join(p->thread, NULL);
    prompt_free(p);
}
