/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/element/flow.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include <rte_jhash.h>

#include "path/ip.h"
#include "path/rule.h"
#include "path/sorter.h"

#define FLOW_BRANCHES_MAX 8u
#define EACH_MAX          1024u
#define EACH_DEFAULT      16u

/* ---- match -------------------------------------------------------------------------------- */

struct match_params {
    struct rule rules[FLOW_BRANCHES_MAX];
    uint32_t n;
};

struct match {
    struct element e;
    /* first element of each branch; [n]: for packets that fit no rule */
    struct element *heads[FLOW_BRANCHES_MAX + 1];
};

static int match_parse(struct spec *s, void *params)
{
    struct match_params *p = params;

    p->n = 1;
    return rule_parse(s, &p->rules[0]);
}

static bool match_apart(const void *params)
{
    return true; /* what its chains do is for them to say */
}

static void match_arrive(struct element *e, struct path_packet *packet)
{
    const struct match_params *p = e->params;
    struct ip_flow f;

    uint32_t i = 0;

    if (!path_whole(e->path, packet)) {
        element_drop(e, packet);
        return;
    }
    ip_flow(packet->m, &f);
    while (i < p->n && !rule_fits(&p->rules[i], &f, packet->len))
        i++;
    element_put(((struct match *)e)->heads[i], packet);
}

const struct element_kind kind_match = {
    .name = "match",
    .bytes = sizeof(struct match),
    .params_bytes = sizeof(struct match_params),
    .parse = match_parse,
    .apart = match_apart,
    .arrive = match_arrive,
};

/* ---- each --------------------------------------------------------------------------------- */

enum each_key { EACH_FLOW, EACH_SRC, EACH_DST, EACH_VLAN, EACH_DSCP, EACH_MAC };

static const char *const each_keys[] = {"flow", "src", "dst", "vlan", "dscp", "mac"};

struct each_params {
    enum each_key key;
    uint64_t max;
};

struct each {
    struct element e;
    struct element **heads;
    struct ip_flow *flows; /* keys of the n flows that have a branch */
    uint32_t *table;       /* hash table with open addressing: flow number + 1; 0: free */
    uint32_t mask, n;
};

static int each_parse(struct spec *s, void *params)
{
    struct each_params *p = params;
    uint32_t i = 0;

    while (i < RTE_DIM(each_keys) && !spec_accept(s, each_keys[i]))
        i++;
    if (i == RTE_DIM(each_keys))
        return spec_stray(s, "is nothing that tells flows apart (flow src dst vlan dscp mac)");
    p->key = (enum each_key)i;
    p->max = EACH_DEFAULT;
    if (spec_accept(s, "max"))
        spec_number(s, "each's max", 1, EACH_MAX, &p->max);
    return 0;
}

static bool each_apart(const void *params)
{
    return ((const struct each_params *)params)->key == EACH_FLOW;
}

static int each_init(struct element *e)
{
    struct each *x = (struct each *)e;
    uint32_t max = (uint32_t)((const struct each_params *)e->params)->max;

    x->mask = rte_align32pow2(4 * max) - 1;
    x->heads = rte_zmalloc("path flows", max * sizeof *x->heads, 0);
    x->flows = rte_zmalloc("path flows", max * sizeof *x->flows, 0);
    x->table = rte_zmalloc("path flows", (x->mask + 1) * sizeof *x->table, 0);
    return x->heads == NULL || x->flows == NULL || x->table == NULL ? -ENOMEM : 0;
}

static void each_fini(struct element *e)
{
    struct each *x = (struct each *)e;

    rte_free(x->heads);
    rte_free(x->flows);
    rte_free(x->table);
}

/* Sets *k to those fields of the packet by which `key` tells flows apart; the others are 0. */
static void key_of(enum each_key key, const struct rte_mbuf *m, struct ip_flow *k)
{
    struct ip_flow f;

    ip_flow(m, &f);
    memset(k, 0, sizeof *k);
    if (key == EACH_FLOW || key == EACH_SRC)
        memcpy(k->src, f.src, sizeof k->src);
    if (key == EACH_FLOW || key == EACH_DST)
        memcpy(k->dst, f.dst, sizeof k->dst);
    if (key == EACH_FLOW) {
        k->sport = f.sport;
        k->dport = f.dport;
        k->proto = f.proto;
    }
    if (key == EACH_VLAN)
        k->vlan = f.vlan;
    if (key == EACH_DSCP)
        k->dscp = f.dscp;
    if (key == EACH_MAC) {
        memcpy(k->src_mac, f.src_mac, 6);
        memcpy(k->dst_mac, f.dst_mac, 6);
    }
}

/* Returns the number of the flow with key k: its own, or, if none is left, one that it shares. */
static uint32_t flow_number(struct each *x, const struct ip_flow *k)
{
    const struct each_params *p = x->e.params;
    uint32_t hash = rte_jhash(k, sizeof *k, 0), i;

    RTE_BUILD_BUG_ON(sizeof *k % 4 != 0);
    for (i = hash & x->mask; x->table[i] != 0; i = (i + 1) & x->mask)
        if (memcmp(&x->flows[x->table[i] - 1], k, sizeof *k) == 0)
            return x->table[i] - 1;
    if (x->n == p->max) {
        counter_add(&x->e.counts.shared, 1);
        return hash % x->n;
    }
    x->flows[x->n] = *k;
    x->table[i] = ++x->n;
    return x->n - 1;
}

static void each_arrive(struct element *e, struct path_packet *packet)
{
    struct each *x = (struct each *)e;
    struct ip_flow k;

    if (!path_whole(e->path, packet)) {
        element_drop(e, packet);
        return;
    }
    key_of(((const struct each_params *)e->params)->key, packet->m, &k);
    element_put(x->heads[flow_number(x, &k)], packet);
}

const struct element_kind kind_each = {
    .name = "each",
    .bytes = sizeof(struct each),
    .params_bytes = sizeof(struct each_params),
    .parse = each_parse,
    .apart = each_apart,
    .init = each_init,
    .fini = each_fini,
    .arrive = each_arrive,
};

/* ---- join --------------------------------------------------------------------------------- */

struct join {
    struct element e;
    struct sorter sorter;
};

static int join_init(struct element *e)
{
    struct join *j = (struct join *)e;

    /* branches release packets one branch after the other: the join can sort packets only when all
     * branches have run */
    e->blind = true;
    /* packets of one poll are not far apart in time */
    if (sorter_init(&j->sorter, e->path->cfg.packets_max, 1u << 20, &e->path->store) != 0)
        return -ENOMEM;
    j->sorter.by_seq = true;
    return 0;
}

static void join_fini(struct element *e)
{
    sorter_fini(&((struct join *)e)->sorter);
}

static void join_arrive(struct element *e, struct path_packet *packet)
{
    struct join *j = (struct join *)e;

    sorter_push(&j->sorter, packet);
    e->due = sorter_next(&j->sorter);
}

static void join_run(struct element *e, uint64_t until)
{
    struct join *j = (struct join *)e;
    struct path_packet packet;
    bool overtaken;

    while (!element_sated(e) && sorter_pop(&j->sorter, until, &packet, &overtaken))
        element_pass(e, &packet);
    e->due = sorter_next(&j->sorter);
}

const struct element_kind kind_join = {
    .name = "join",
    .bytes = sizeof(struct join),
    .init = join_init,
    .fini = join_fini,
    .arrive = join_arrive,
    .run = join_run,
};

/* ---- for chain.c -------------------------------------------------------------------------- */

bool flow_opens(const struct element_kind *kind)
{
    return kind == &kind_match || kind == &kind_each;
}

bool flow_divides(const struct stage *stage)
{
    return stage->kind == &kind_each && each_apart(stage->params);
}

uint32_t flow_copies(const struct stage *stage)
{
    return stage->kind == &kind_each ? (uint32_t)((const struct each_params *)stage->params)->max
                                     : 1;
}

void flow_connect(struct element *e, uint32_t branch, struct element *first)
{
    if (e->kind == &kind_each)
        ((struct each *)e)->heads[branch] = first;
    else
        ((struct match *)e)->heads[branch] = first;
}

void flow_connect_rest(struct element *e, uint32_t n, struct element *join)
{
    if (e->kind == &kind_match)
        ((struct match *)e)->heads[n] = join;
}

static int branch_read(struct spec *s, struct stage *st,
                       int (*parse)(struct spec *s, struct stage **chain, void *ctx), void *ctx)
{
    if (!spec_accept(s, "("))
        return spec_stray(s, "comes where a chain in parentheses is missing");
    if (parse(s, &st->branches[st->n_branches++], ctx) != 0)
        return -EINVAL;
    return spec_accept(s, ")") ? 0 : spec_stray(s, "comes where a ) is missing");
}

int flow_parse_branches(struct spec *s, struct stage *st,
                        int (*parse)(struct spec *s, struct stage **chain, void *ctx), void *ctx)
{
    struct match_params *p = st->params;
    int rc = branch_read(s, st, parse, ctx);

    while (rc == 0 && st->kind == &kind_match) {
        bool other = spec_accept(s, "else");

        if (!other && !spec_accept(s, "or"))
            break;
        if (st->n_branches == FLOW_BRANCHES_MAX)
            return spec_fail(s, "belongs to a ninth chain: match can have 8");
        /* the branch of "else" has an empty rule, which fits all packets */
        rc = other ? 0 : rule_parse(s, &p->rules[st->n_branches]);
        p->n = st->n_branches + 1;
        if (rc == 0)
            rc = branch_read(s, st, parse, ctx);
        if (other)
            break;
    }
    return rc;
}
