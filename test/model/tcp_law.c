/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/tcp_law.h"

#include <string.h>

#include "base/check.h"

static const struct tcp_law_ops *const laws[TCP_LAWS] = {
    [TCP_CUBIC] = &cubic_law,
    [TCP_BBR] = &bbr_law,
    [TCP_COPA] = &copa_law,
};

void tcp_law_init(struct tcp_law *l, enum tcp_law_kind kind, const struct tcp_law_config *cfg)
{
    CHECK(kind < TCP_LAWS && cfg->cwnd_first >= 1);
    *l = (struct tcp_law){.ops = laws[kind], .cwnd = cfg->cwnd_first};
    l->ops->init(l, cfg);
}

const char *tcp_law_name(enum tcp_law_kind kind)
{
    return kind < TCP_LAWS ? laws[kind]->name : "?";
}

bool tcp_law_find(const char *name, enum tcp_law_kind *kind)
{
    for (uint32_t i = 0; i < TCP_LAWS; i++)
        if (strcmp(name, laws[i]->name) == 0) {
            *kind = (enum tcp_law_kind)i;
            return true;
        }
    return false;
}
