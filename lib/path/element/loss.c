/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loss: drops packets at random, with or without correlation; or by a Markov chain, netem's of 4
 * states or Gilbert-Elliott's (both by Salsano, Ludovici, Ordine 2009, as in netem); or exactly
 * those that the spec names: a list of packet numbers, every n-th packet, or a pattern.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "path/draw.h"
#include "path/element.h"
#include "path/ip.h"

#define LOSS_RANGES_MAX  64u
#define LOSS_PATTERN_MAX 256u

enum loss_model { LOSS_RANDOM, LOSS_STATE, LOSS_GEMODEL, LOSS_LIST, LOSS_EVERY, LOSS_PATTERN };

struct loss_params {
    enum loss_model model;
    bool ecn;                            /* mark instead of dropping, where possible */
    uint64_t p, rho;                     /* LOSS_RANDOM */
    uint64_t p13, p31, p32, p23, p14;    /* LOSS_STATE */
    uint64_t to_bad, to_good, bad, good; /* LOSS_GEMODEL: transitions; loss in each state */
    uint32_t n;                          /* ranges in use, or length of the pattern */
    struct {
        uint64_t first, last; /* packet numbers from 1 */
    } ranges[LOSS_RANGES_MAX];
    uint64_t every, offset;
    uint8_t pattern[LOSS_PATTERN_MAX];
};

struct loss {
    struct element e;
    struct draw draw;
    uint32_t state;  /* LOSS_STATE: 1 .. 4; LOSS_GEMODEL: 1 good, 2 bad */
    uint32_t range;  /* LOSS_LIST: the first range that does not end before `number` */
    uint64_t number; /* number of the last packet, from 1 */
};

/* True if the probabilities a and b are more than 100% (2^64) in sum. Values that are exactly 100%
 * in sum stay within 2^64, since each is rounded down. */
static bool more_than_all(uint64_t a, uint64_t b)
{
    return a > 0 && a - 1 > DRAW_ALWAYS - b;
}

static int parse_state(struct spec *s, struct loss_params *p)
{
    p->p23 = DRAW_ALWAYS;
    if (!spec_share(s, "loss's p13", &p->p13))
        return -EINVAL;
    p->p31 = DRAW_ALWAYS - p->p13;
    if (spec_digit(s) && spec_share(s, "loss's p31", &p->p31) && spec_digit(s) &&
        spec_share(s, "loss's p32", &p->p32) && spec_digit(s) &&
        spec_share(s, "loss's p23", &p->p23) && spec_digit(s))
        spec_share(s, "loss's p14", &p->p14);
    if (more_than_all(p->p13, p->p14))
        return spec_fail(s, "comes after p13 and p14 that are more than 100% in sum");
    if (more_than_all(p->p31, p->p32))
        return spec_fail(s, "comes after p31 and p32 that are more than 100% in sum");
    return 0;
}

static int parse_gemodel(struct spec *s, struct loss_params *p)
{
    p->bad = DRAW_ALWAYS;
    if (!spec_share(s, "loss's p", &p->to_bad))
        return -EINVAL;
    p->to_good = DRAW_ALWAYS - p->to_bad;
    if (spec_digit(s) && spec_share(s, "loss's r", &p->to_good) && spec_digit(s) &&
        spec_share(s, "loss's 1-h", &p->bad) && spec_digit(s))
        spec_share(s, "loss's 1-k", &p->good);
    return 0;
}

/* Reads a list of packet numbers and ranges, such as 3,7,10-12. */
static int parse_list(struct spec *s, struct loss_params *p)
{
    const char *c = s->word;
    uint64_t after = 0;

    while (isdigit((unsigned char)*c)) {
        char *end;
        uint64_t first = strtoull(c, &end, 10), last = first;

        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoull(end + 1, &end, 10);
        if (first <= after || last < first)
            return spec_fail(s, "is no ascending list of packet numbers from 1");
        if (p->n == LOSS_RANGES_MAX)
            return spec_fail(s, "lists more than 64 numbers or ranges");
        p->ranges[p->n].first = first;
        p->ranges[p->n++].last = after = last;
        c = end;
        if (*c == ',' && isdigit((unsigned char)c[1]))
            c++;
    }
    if (p->n == 0 || *c != '\0')
        return spec_fail(s, "is no list of packet numbers such as 3,7,10-12");
    spec_next(s);
    return 0;
}

static int parse_pattern(struct spec *s, struct loss_params *p)
{
    size_t len = strspn(s->word, "01");

    if (len == 0 || s->word[len] != '\0')
        return spec_fail(s, "is no pattern of 0 (passes) and 1 (is lost)");
    for (p->n = 0; p->n < len; p->n++)
        p->pattern[p->n] = s->word[p->n] == '1';
    spec_next(s);
    return 0;
}

static int loss_parse(struct spec *s, void *params)
{
    struct loss_params *p = params;
    int rc = 0;

    if (spec_accept(s, "state")) {
        p->model = LOSS_STATE;
        rc = parse_state(s, p);
    } else if (spec_accept(s, "gemodel")) {
        p->model = LOSS_GEMODEL;
        rc = parse_gemodel(s, p);
    } else if (spec_accept(s, "list")) {
        p->model = LOSS_LIST;
        rc = parse_list(s, p);
    } else if (spec_accept(s, "every")) {
        p->model = LOSS_EVERY;
        if (spec_number(s, "loss's period", 1, UINT32_MAX, &p->every) && spec_digit(s))
            spec_number(s, "loss's offset", 0, UINT32_MAX, &p->offset);
    } else if (spec_accept(s, "pattern")) {
        p->model = LOSS_PATTERN;
        rc = parse_pattern(s, p);
    } else {
        bool random = spec_accept(s, "random");

        if (!random && !spec_digit(s))
            return spec_stray(s, "is neither loss's probability nor its model");
        if (spec_share(s, "loss's probability", &p->p) && spec_digit(s))
            spec_share(s, "loss's correlation", &p->rho);
    }
    p->ecn = rc == 0 && spec_accept(s, "ecn");
    return rc;
}

static bool loss_apart(const void *params)
{
    const struct loss_params *p = params;

    return p->model == LOSS_RANDOM && p->rho == 0;
}

static int loss_init(struct element *e)
{
    struct loss *l = (struct loss *)e;

    l->draw.rng = &e->rng;
    l->state = 1;
    return 0;
}

/* The states: 1 good, 2 good within a burst of losses, 3 lost within a burst, 4 lost alone. The
 * state that the chain enters is the packet's fate. */
static bool state_loses(struct loss *l, const struct loss_params *p)
{
    uint64_t x = rng_u64(&l->e.rng);

    switch (l->state) {
    case 1:
        if (draw_hits(x, p->p14))
            l->state = 4;
        else if (draw_hits(x - p->p14, p->p13))
            l->state = 3;
        break;
    case 2:
        if (draw_hits(x, p->p23))
            l->state = 3;
        break;
    case 3:
        if (draw_hits(x, p->p32))
            l->state = 2;
        else if (draw_hits(x - p->p32, p->p31))
            l->state = 1;
        break;
    default:
        l->state = 1;
    }
    return l->state >= 3;
}

static bool gemodel_loses(struct loss *l, const struct loss_params *p)
{
    bool bad = l->state == 2;
    bool lost = draw_hits(rng_u64(&l->e.rng), bad ? p->bad : p->good);

    if (draw_hits(rng_u64(&l->e.rng), bad ? p->to_good : p->to_bad))
        l->state = bad ? 1 : 2;
    return lost;
}

static bool list_loses(struct loss *l, const struct loss_params *p)
{
    while (l->range < p->n && p->ranges[l->range].last < l->number)
        l->range++;
    return l->range < p->n && p->ranges[l->range].first <= l->number;
}

static __rte_noinline bool loses(struct loss *l)
{
    const struct loss_params *p = l->e.params;

    l->number++;
    switch (p->model) {
    case LOSS_STATE:
        return state_loses(l, p);
    case LOSS_GEMODEL:
        return gemodel_loses(l, p);
    case LOSS_LIST:
        return list_loses(l, p);
    case LOSS_EVERY:
        return l->number > p->offset && (l->number - p->offset) % p->every == 0;
    case LOSS_PATTERN:
        return p->pattern[(l->number - 1) % p->n];
    case LOSS_RANDOM:
        break;
    }
    return draw_hits(draw_u64(&l->draw, p->rho), p->p);
}

/* True if the packet is marked instead of lost. */
static __rte_noinline bool marks(struct element *e, struct path_packet *packet)
{
    const struct loss_params *p = e->params;

    if (!p->ecn || !path_whole(e->path, packet) || !ip_mark(packet->m))
        return false;
    counter_add(&e->counts.marked, 1);
    return true;
}

static inline bool goes_on(struct element *e, struct path_packet *packet)
{
    const struct loss_params *p = e->params;
    bool lost;

    /* the usual case, kept apart because the others need more registers */
    if (p->model == LOSS_RANDOM && p->rho == 0)
        lost = draw_hits(rng_u64(&e->rng), p->p);
    else
        lost = loses((struct loss *)e);
    if (!lost || marks(e, packet))
        return true;
    element_drop(e, packet);
    return false;
}

static void loss_arrive_burst(struct element *e, struct path_packet *packets, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (!goes_on(e, &packets[i]))
            continue;
        if (kept != i)
            packet_copy(&packets[kept], &packets[i]);
        kept++;
    }
    element_pass_burst(e, packets, kept);
}

static void loss_arrive(struct element *e, struct path_packet *packet)
{
    loss_arrive_burst(e, packet, 1);
}

/* A change restarts the list, the pattern or the chain. */
static void loss_change(struct element *e, const void *old, uint64_t at)
{
    struct loss *l = (struct loss *)e;

    l->state = 1;
    l->range = 0;
    l->number = 0;
}

const struct element_kind kind_loss = {
    .name = "loss",
    .bytes = sizeof(struct loss),
    .params_bytes = sizeof(struct loss_params),
    .parse = loss_parse,
    .apart = loss_apart,
    .init = loss_init,
    .arrive = loss_arrive,
    .arrive_burst = loss_arrive_burst,
    .change = loss_change,
};
