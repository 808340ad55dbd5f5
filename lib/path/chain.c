/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/chain.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "path/element/flow.h"

/* What the functions that read one text share. */
struct reader {
    struct chain *chain;
    uint32_t depth;
};

/* ---- freeing -------------------------------------------------------------------------------- */

static void params_free(const struct element_kind *kind, void *params)
{
    if (params != NULL && kind->forget != NULL)
        kind->forget(params);
    rte_free(params);
}

static void stages_free(struct stage *st)
{
    while (st != NULL) {
        struct stage *next = st->next;

        while (st->changes != NULL) {
            struct stage_change *c = st->changes;

            st->changes = c->next;
            params_free(st->kind, c->params);
            rte_free(c);
        }
        for (uint32_t i = 0; i < st->n_branches; i++)
            stages_free(st->branches[i]);
        params_free(st->kind, st->params);
        rte_free(st->text);
        rte_free(st);
        st = next;
    }
}

void chain_free(struct chain *c)
{
    stages_free(c->first);
    c->first = NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int chain_read(struct spec *s, struct stage **chain, void *ctx);

static void *params_new(struct spec *s, const struct element_kind *kind)
{
    void *params = rte_zmalloc("path params", RTE_MAX(kind->params_bytes, 1u), 0);

    if (params == NULL) {
        spec_fail_errno(s, -ENOMEM, "the path's memory");
        return NULL;
    }
    if (kind->parse(s, params) != 0 || s->failed) {
        params_free(kind, params);
        return NULL;
    }
    return params;
}

/* Copies the text from `from` to `to`, without white space at its end. */
static char *text_new(const char *from, const char *to)
{
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    char *text = rte_zmalloc("path text", (size_t)(to - from) + 1, 0);

    if (text != NULL)
        memcpy(text, from, (size_t)(to - from));
    return text;
}

/* Reads the rest of an element whose name has been taken from the text. */
static struct stage *stage_new(struct spec *s, const struct element_kind *kind, const char *from,
                               struct reader *r)
{
    struct stage *st = rte_zmalloc("path stage", sizeof *st, 0);

    if (st == NULL) {
        spec_fail_errno(s, -ENOMEM, "the path's memory");
        return NULL;
    }
    st->kind = kind;
    st->depth = r->depth;
    st->number = r->chain->stages;
    st->params = params_new(s, kind);
    if (st->params != NULL)
        st->text = text_new(from, s->at);
    if (st->text != NULL && flow_opens(kind)) {
        r->depth++;
        flow_parse_branches(s, st, chain_read, r);
        r->depth--;
    }
    if (st->text == NULL || s->failed) {
        if (!s->failed)
            spec_fail_errno(s, -ENOMEM, "the path's memory");
        stages_free(st);
        return NULL;
    }
    return st;
}

static const struct element_kind *kind_read(struct spec *s)
{
    for (uint32_t i = 0; element_kinds[i] != NULL; i++)
        if (spec_accept(s, element_kinds[i]->name))
            return element_kinds[i];
    return NULL;
}

/* Finds the element that a change names, as "rate" or "rate/2". */
static struct stage *target_read(struct spec *s, struct stage *first)
{
    char name[SPEC_WORD_MAX];
    char *slash = strchr(strcpy(name, s->word), '/');
    unsigned long which = 0, n = 0;
    struct stage *found = NULL;

    if (slash != NULL) {
        *slash = '\0';
        which = strtoul(slash + 1, &slash, 10);
        if (*slash != '\0' || which == 0) {
            spec_fail(s, "must be an element's name, a / and its number from 1");
            return NULL;
        }
    }
    for (struct stage *st = first; st != NULL; st = st->next) {
        if (strcasecmp(st->kind->name, name) != 0)
            continue;
        n++;
        if (which == 0 || n == which)
            found = st;
    }
    if (n == 0) {
        for (struct stage *st = first; st != NULL && s->n_tried < RTE_DIM(s->tried); st = st->next)
            s->tried[s->n_tried++] = st->kind->name;
        spec_stray(s, "is not an element of this chain that could change");
    } else if (which == 0 && n > 1) {
        spec_fail(s, "occurs more than once in this chain: say which, as in rate/2");
    } else if (found == NULL) {
        spec_fail(s, "has a number above how often it occurs in this chain");
    } else if (flow_opens(found->kind)) {
        spec_fail(s, "cannot change: put the changes inside its parentheses");
    } else {
        spec_next(s);
        return found;
    }
    return NULL;
}

/* Reads the values that an element will have from `after` on, and inserts them into its list of
 * changes, which is in the order of time. */
static int change_new(struct spec *s, struct stage *st, uint64_t after)
{
    struct stage_change *c = rte_zmalloc("path change", sizeof *c, 0), **where = &st->changes;

    if (c == NULL)
        return spec_fail_errno(s, -ENOMEM, "the path's memory");
    c->after = after;
    c->params = params_new(s, st->kind);
    if (c->params == NULL) {
        rte_free(c);
        return -EINVAL;
    }
    while (*where != NULL && (*where)->after <= after)
        where = &(*where)->next;
    c->next = *where;
    *where = c;
    return 0;
}

/* Reads TIME ELEMENT... after "at". */
static int changes_read(struct spec *s, struct stage *first)
{
    uint64_t after;
    bool any = false;

    if (!spec_time(s, "at", &after))
        return -EINVAL;
    while (!spec_end(s) && strcmp(s->word, ")") != 0 && strcasecmp(s->word, "at") != 0) {
        struct stage *st = target_read(s, first);

        if (st == NULL || change_new(s, st, after) != 0)
            return -EINVAL;
        any = true;
    }
    return any ? 0 : spec_fail(s, "comes where an element with its new values is missing");
}

/* Reads elements up to the end or to a closing parenthesis, which it does not take. */
static int chain_read(struct spec *s, struct stage **chain, void *ctx)
{
    struct reader *r = ctx;
    struct stage **end = chain;

    *chain = NULL;
    if (r->depth > CHAIN_DEPTH_MAX)
        return spec_fail(s, "is inside too many parentheses");
    while (!spec_end(s) && strcmp(s->word, ")") != 0) {
        const char *from = s->at;
        const struct element_kind *kind = kind_read(s);

        if (kind == NULL && r->depth == 0 && spec_accept(s, "seed")) {
            r->chain->seeded = spec_number(s, "the seed", 0, UINT64_MAX, &r->chain->seed);
        } else if (kind == NULL && spec_accept(s, "at")) {
            while (changes_read(s, *chain) == 0 && spec_accept(s, "at"))
                continue;
            if (!spec_end(s) && strcmp(s->word, ")") != 0)
                return spec_stray(s, "comes after the changes: elements come before \"at\"");
        } else if (kind == NULL) {
            return spec_stray(s, "is no element, nor an option of the one before");
        } else if (r->chain->stages++ == CHAIN_STAGES_MAX) {
            return spec_fail(s, "comes after 64 elements, which is the most");
        } else {
            *end = stage_new(s, kind, from, r);
            if (*end == NULL)
                return -EINVAL;
            end = &(*end)->next;
        }
    }
    return s->failed ? -EINVAL : 0;
}

int chain_parse(struct chain *c, struct spec *s)
{
    struct reader r = {c, 0};

    memset(c, 0, sizeof *c);
    if (chain_read(s, &c->first, &r) == 0 && !spec_end(s))
        spec_fail(s, "closes what was not opened");
    if (s->failed) {
        chain_free(c);
        return -EINVAL;
    }
    return 0;
}

/* ---- what flows have in common --------------------------------------------------------------- */

static bool params_apart(const struct stage *st, const void *params)
{
    return st->kind->apart != NULL && st->kind->apart(params);
}

static bool stage_apart(const struct stage *st)
{
    bool apart = params_apart(st, st->params);

    for (const struct stage_change *c = st->changes; c != NULL && apart; c = c->next)
        apart = params_apart(st, c->params);
    return apart;
}

const struct stage *chain_common(const struct stage *first)
{
    const struct stage *common = NULL;

    for (const struct stage *st = first; st != NULL && common == NULL; st = st->next) {
        if (!stage_apart(st))
            return st;
        for (uint32_t i = 0; i < st->n_branches && common == NULL && !flow_divides(st); i++)
            common = chain_common(st->branches[i]);
    }
    return common;
}

/* ---- making --------------------------------------------------------------------------------- */

static int element_new(struct chain_elements *out, const struct element_kind *kind,
                       const struct stage *stage, uint32_t instance, struct element **made)
{
    struct element *e;
    struct rng mix;

    if (out->n == CHAIN_ELEMENTS_MAX)
        return -E2BIG;
    e = rte_zmalloc("path element", kind->bytes, 64);
    if (e == NULL)
        return -ENOMEM;
    out->list[out->n++] = *made = e;
    e->kind = kind;
    e->stage = stage;
    e->params = stage->params;
    e->path = out->path;
    e->instance = instance;
    e->due = TIME_NEVER;
    e->since = out->since;
    e->change_at = stage->changes != NULL && kind == stage->kind
                       ? out->since + stage->changes->after
                       : TIME_NEVER;
    /* seeded by place in the text and by flow, so that what one element draws does not change the
     * random numbers of another */
    rng_init(&mix, out->seed);
    rng_init(&e->rng, rng_u64(&mix) + ((uint64_t)instance << 32) + stage->number);
    if (kind->run != NULL) {
        e->delay = rte_zmalloc("path histogram", sizeof *e->delay, 64);
        e->queue = rte_zmalloc("path histogram", sizeof *e->queue, 64);
        if (e->delay == NULL || e->queue == NULL)
            return -ENOMEM;
    }
    return kind->init != NULL ? kind->init(e) : 0;
}

/* Makes a flow element (`match` or `each`) and its branches, and connects them. The branches meet
 * again in `join`, which leads to `rest`. */
static int flows_create(struct chain_elements *out, struct stage *stage, uint32_t instance,
                        struct element *rest, struct element *join, struct element **e)
{
    uint32_t copies = flow_copies(stage), n = stage->n_branches * copies;
    struct element **heads = rte_zmalloc("path flows", n * sizeof *heads, 0);
    int rc = heads == NULL ? -ENOMEM : 0;

    join->next = rest;
    for (uint32_t i = n; rc == 0 && i-- > 0;)
        rc = chain_build(out, stage->branches[i / copies], instance * copies + i % copies, join,
                         &heads[i]);
    if (rc == 0)
        rc = element_new(out, stage->kind, stage, instance, e);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        flow_connect(*e, i, heads[i]);
    if (rc == 0)
        flow_connect_rest(*e, n, join);
    rte_free(heads);
    return rc;
}

int chain_build(struct chain_elements *out, struct stage *stage, uint32_t instance,
                struct element *rest, struct element **first)
{
    struct element *e = NULL, *join = NULL;
    int rc;

    *first = rest;
    if (stage == NULL)
        return 0;
    rc = chain_build(out, stage->next, instance, rest, &rest);
    if (rc != 0)
        return rc;
    if (stage->n_branches > 0) {
        rc = element_new(out, &kind_join, stage, instance, &join);
        if (rc == 0)
            rc = flows_create(out, stage, instance, rest, join, &e);
    } else {
        rc = element_new(out, stage->kind, stage, instance, &e);
        if (rc == 0)
            e->next = rest;
    }
    *first = e;
    return rc;
}
