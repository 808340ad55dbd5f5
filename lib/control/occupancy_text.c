/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses a law as people write it: LEVELS/ALPHAS/BETAS, or a preset's name with optional LEVELS. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/value.h"
#include "control/occupancy.h"

#define WORD_MAX 32u

struct reader {
    const char *at;
    bool times;
    char *err;
    size_t err_len;
};

static int wrong(const struct reader *r, const char *word, const char *cause, const char *cure)
{
    snprintf(r->err, r->err_len, "\"%.40s\": %s; %s", word, cause, cure);
    return -EINVAL;
}

/* Reads the next item of a list, up to ',' or the list's end, and moves the reader behind it. */
static int item_next(struct reader *r, char word[WORD_MAX])
{
    size_t len = strcspn(r->at, ",/ ");

    if (len == 0)
        return wrong(r, r->at, "a value is missing", "write for example 1,7/1e-5/1.003,1.2");
    if (len >= WORD_MAX)
        return wrong(r, r->at, "it is too long for a value", "write a shorter one");
    memcpy(word, r->at, len);
    word[len] = 0;
    r->at += len;
    return 0;
}

static int level_read(const struct reader *r, const char *word, uint64_t *level)
{
    const char *cause = r->times ? value_time(word, level) : value_number(word, level);

    if (cause == NULL)
        return 0;
    return wrong(r, word, cause,
                 r->times ? "levels of delay are times, for example 2ms"
                          : "levels of buffers are whole numbers; or single, dual, triple");
}

static int factor_read(const struct reader *r, const char *word, double *factor)
{
    char *end;

    *factor = strtod(word, &end);
    if (*end == 0 && *factor > 0 && *factor <= 1e3)
        return 0;
    return wrong(r, word, "it is not a number above 0, up to 1000", "write for example 1e-5");
}

/* Reads a list of levels or of factors. Returns how many, or -EINVAL. */
static int list_read(struct reader *r, uint64_t *levels, double *factors)
{
    char word[WORD_MAX];
    int n = 0, rc;

    for (;;) {
        if (n == (int)OCCUPANCY_THRESHOLDS_MAX)
            return wrong(r, r->at, "a ninth value", "at most 8 are possible");
        rc = item_next(r, word);
        if (rc == 0)
            rc = levels != NULL ? level_read(r, word, &levels[n])
                                : factor_read(r, word, &factors[n]);
        if (rc != 0)
            return rc;
        n++;
        if (*r->at != ',')
            return n;
        r->at++;
    }
}

static int preset_read(struct reader *r, const struct occupancy_law *preset,
                       struct occupancy_law *law)
{
    int n;

    *law = *preset;
    if (*r->at == 0)
        return r->times ? wrong(r, r->at, "its levels count buffers",
                                "say levels of delay behind it, for example dual 1ms,4ms")
                        : 0;
    n = list_read(r, law->level, NULL);
    if (n < 0)
        return n;
    if (n != (int)law->n)
        return wrong(r, r->at, "not as many levels as it has", "one for each threshold");
    return *r->at == 0 ? 0 : wrong(r, r->at, "something is left over", "leave it out");
}

static int lists_read(struct reader *r, struct occupancy_law *law)
{
    int n = list_read(r, law->level, NULL), alphas, betas;

    if (n < 0)
        return n;
    if (*r->at++ != '/')
        return wrong(r, r->at - 1, "no '/' behind the levels", "write LEVELS/ALPHAS/BETAS");
    alphas = list_read(r, NULL, law->alpha_per_us);
    if (alphas < 0)
        return alphas;
    if (*r->at++ != '/')
        return wrong(r, r->at - 1, "no '/' behind the alphas", "write LEVELS/ALPHAS/BETAS");
    betas = list_read(r, NULL, law->beta);
    if (betas < 0)
        return betas;
    if (*r->at != 0)
        return wrong(r, r->at, "something is left over", "leave it out");
    if (alphas + betas != n + 1)
        return wrong(
            r, "", "alphas and betas do not fit the levels",
            "one beta for each level from Th0 on, one alpha for each below it and one more");
    law->n = (uint32_t)n;
    law->zero = (uint32_t)alphas - 1;
    return 0;
}

int occupancy_law_parse(const char *text, bool times, struct occupancy_law *law, char *err,
                        size_t err_len)
{
    static const struct {
        const char *name;
        const struct occupancy_law *law;
    } presets[] = {
        {"single", &occupancy_single}, {"dual", &occupancy_dual}, {"triple", &occupancy_triple}};
    struct reader r = {text, times, err, err_len};
    size_t len = strcspn(text, " ");
    int rc = 1;

    memset(law, 0, sizeof *law);
    for (size_t i = 0; i < sizeof presets / sizeof presets[0] && rc == 1; i++)
        if (strlen(presets[i].name) == len && strncmp(text, presets[i].name, len) == 0) {
            r.at += len + (text[len] == ' ');
            rc = preset_read(&r, presets[i].law, law);
        }
    if (rc == 1)
        rc = lists_read(&r, law);
    if (rc == 0 && !occupancy_law_right(law))
        rc = wrong(&r, text, "it is not a law",
                   "levels, alphas and betas rise, alphas are above 0, betas above 1");
    return rc;
}
