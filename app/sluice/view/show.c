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

static const char help[] =
    "usage: sluice show VIEW [--json] [--socket PATH]\n"
    "Shows what the daemon is doing; for single ones, and changes: sluice console.\n"
    "\n"
    "  conns     connections: state, peer, rates granted, bytes, units sent again or lost, RTT\n"
    "  ports     ports: addresses, link, traffic, losses\n"
    "  workers   lcores: how busy they are\n"
    "  capacity  what a port can absorb and what of it is granted\n"
    "  history   the latest grants and capacities, and why\n"
    "  trace     the latest events: opened, ended, grants, NAKs, silence, overruns\n"
    "  reload    when the configuration was last read anew, and what was wrong with it\n"
    "  grants    what was granted to whom, why, and what was set by hand\n"
    "  spread    how delays, rates and latencies of requests vary, to the next power of two\n"
    "  path      how paths of open connections are: RTT, rate, losses, delays, repeats\n"
    "  clients   applications: who, their memory and services\n"
    "  neigh     neighbours: which MAC address an IP address has\n"
    "  port-info, port-stats, port-xstats\n"
    "            ports at length; their counters since cleared; all that the driver counts\n"
    "  conn      connections at length\n"
    "\n"
    "      --json         everything that the daemon tells, as JSON; units are in the names\n"
    "      --socket PATH  the daemon's socket ($SLUICE_SOCKET)\n"
    "\n"
    "Exit: 0 shown, 2 usage, 3 no daemon. See sluice(1).\n";

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
    int code = options_plain(&o, help, argc, argv);

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
