/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice show: what the daemon is doing, as tables for people or as the daemon's own JSON. */
#include "sluice/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/text.h"
#include "sluice/loop.h"
#include "sluice/options.h"
#include "sluice/say.h"
#include "sluice/view/view.h"

const char command_show_help[] =
    "usage: sluice show VIEW [--json] [--socket PATH]\n"
    "Shows the state of the daemon. \"sluice console\" also shows single ports and\n"
    "connections, and changes settings.\n"
    "\n"
    "  conns        connections: state, peer, grants, bytes, losses, round-trip time\n"
    "  conn         connections in detail\n"
    "  grants       grants of connections, their reasons, and overrides\n"
    "  path         paths of open connections: rates, losses, delays\n"
    "  spread       variation of delays, rates and request latencies\n"
    "  ports        ports: addresses, link, traffic, losses\n"
    "  port-info    ports in detail\n"
    "  port-stats   counters of ports since they were last cleared\n"
    "  port-xstats  all counters of the drivers since they were last cleared\n"
    "  capacity     capacity of ports, and how much of it is granted\n"
    "  history      latest changes of grants and capacities, with reasons\n"
    "  workers      load of the lcores\n"
    "  trace        latest events: connections, grants, NAKs, silence, overruns\n"
    "  clients      applications: process, user, memory, services\n"
    "  neigh        neighbours: MAC addresses of IP addresses\n"
    "  peers        peers with keys: state, last handshake, public key\n"
    "  reload       time and result of the latest reload of the configuration\n"
    "\n"
    "      --json         print all values as JSON; names end in the unit\n"
    "      --socket PATH  socket of the daemon ($SLUICE_SOCKET)\n"
    "  -h, --help         show this help\n"
    "\n"
    "Exit status: 0 success, 2 usage error, 3 no daemon. Manual: sluice(1).\n";

static int show_run(const struct options *o, const struct view *v)
{
    const struct view_filter all = {0};
    char err[512];
    struct loop l = {0};
    int code = loop_open(&l, o->socket);

    if (code != SAY_OK)
        return code;
    code = view_print(v, l.session, &all, o->json, err, sizeof err) < 0
               ? say_error(SAY_DAEMON, "%s", err)
               : say_flush();
    loop_close(&l);
    return code;
}

int command_show(int argc, char **argv)
{
    struct options o = {0};
    char safe[64], names[VIEW_NAMES_MAX], what[VIEW_NAMES_MAX + 32];
    const struct view *v;
    int code = options_plain(&o, command_show_help, argc, argv);

    if (code != OPTIONS_GO)
        return code;
    view_names(names, sizeof names);
    if (argc - optind != 1) {
        snprintf(what, sizeof what, "name one of %s", names);
        return options_wrong("show", what);
    }
    v = view_find(argv[optind]);
    if (v != NULL)
        return show_run(&o, v);
    return say_error(SAY_USAGE, "show %s: not known; name one of %s",
                     text_safe(safe, sizeof safe, argv[optind]), names);
}
