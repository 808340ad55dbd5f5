/* SPDX-License-Identifier: BSD-3-Clause */
/* See probe.h. */
#include "sluice/ping/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "client/probe.h"
#include "sluice/view/view.h"

/* Counters of dropped frames, summed over all ports and workers: an object {name: count}. */
static json_t *drops_read(struct loop *l)
{
    json_t *ports = daemon_rows(l->session, "ports"), *port, *worker, *value;
    json_t *drops = json_object();
    size_t i, k;
    const char *name;

    json_array_foreach(ports, i, port)
    {
        json_array_foreach(json_object_get(port, "workers"), k, worker)
        {
            json_object_foreach(json_object_get(worker, "host"), name, value)
            {
                json_int_t sum = json_integer_value(json_object_get(drops, name));

                if (strncmp(name, "drop_", 5) == 0)
                    json_object_set_new(drops, name, json_integer(sum + json_integer_value(value)));
            }
        }
    }
    json_decref(ports);
    return drops;
}

/* Writes the counters that have risen, and by how much. */
static void drops_compare(const json_t *before, json_t *after, char *out, size_t out_len)
{
    size_t len = 0;
    const char *name;
    json_t *value;

    out[0] = '\0';
    json_object_foreach(after, name, value)
    {
        const json_t *was = json_object_get(before, name);
        json_int_t rise = json_integer_value(value) - json_integer_value(was);

        if (was != NULL && rise > 0 && len < out_len)
            len += (size_t)snprintf(out + len, out_len - len, "%s%s %lld", len > 0 ? ", " : "",
                                    name, (long long)rise);
    }
}

/* The address of "HOST", "HOST:SERVICE" or "[HOST]:SERVICE", as it is written. */
static void host_part(const char *host, char *out, size_t out_len)
{
    const char *colon = strrchr(host, ':');
    bool bracket = host[0] == '[';
    size_t len = strlen(host);

    if (bracket)
        len = strcspn(++host, "]");
    else if (colon != NULL && strchr(host, ':') == colon)
        len = (size_t)(colon - host);
    snprintf(out, out_len, "%.*s", (int)len, host);
}

/* What the daemon knows of a peer with a key at this address. */
static void secured_read(struct loop *l, const char *host, char *out, size_t out_len)
{
    json_t *peers = daemon_rows(l->session, "peers"), *peer;
    char address[64];
    size_t i;

    host_part(host, address, sizeof address);
    out[0] = '\0';
    json_array_foreach(peers, i, peer)
    {
        for (int f = 0; f < 2; f++) {
            const char *text =
                json_string_value(json_object_get(peer, f == 0 ? "address" : "address6"));

            if (text != NULL && strcmp(text, address) == 0)
                snprintf(out, out_len, "%s", json_string_value(json_object_get(peer, "state")));
        }
    }
    json_decref(peers);
}

/* Has the host answered ARP or neighbour discovery? 1, 0, or -1: not known, as it is not asked, but
 * the gateway to it is, or this user may not see it. */
static int neighbor_answers(struct loop *l, const char *host)
{
    json_t *rows = daemon_rows(l->session, "neigh"), *row;
    char address[64];
    int answers = -1;
    size_t i;

    host_part(host, address, sizeof address);
    json_array_foreach(rows, i, row)
    {
        const char *text = json_string_value(json_object_get(row, "address")),
                   *mac = json_string_value(json_object_get(row, "mac"));

        if (text != NULL && mac != NULL && strcmp(text, address) == 0)
            answers = answers == 1 || mac[0] != '\0';
    }
    json_decref(rows);
    return answers;
}

/* Looks for what stands in the way. */
static void failure_look(struct loop *l, const char *host, const json_t *before, struct probe *out)
{
    json_t *after = drops_read(l);
    int answers = neighbor_answers(l, host);

    drops_compare(before, after, out->drops, sizeof out->drops);
    json_decref(after);
    secured_read(l, host, out->secured, sizeof out->secured);
    out->neighbor = answers == 1;
    if (out->status == -ETIMEDOUT && answers == 0) /* our wait was shorter than the daemon's */
        out->status = -EHOSTUNREACH;
}

/* Waits for the completion of the opening. Returns its status, or -ETIMEDOUT, -EINTR, -ENOTCONN. */
static int answer_wait(struct loop *l, uint64_t end)
{
    struct sluice_completion c;

    while (loop_signal() == 0) {
        int n = sluice_poll(l->session, &c, 1, 0);

        if (n < 0)
            return -ENOTCONN;
        if (n > 0 && c.op == SLUICE_OP_CONNECT)
            return c.status;
        if (loop_now() >= end)
            return -ETIMEDOUT;
        if (n == 0)
            loop_wait_until(l, -1, end);
    }
    return -EINTR;
}

/* Opens a connection to a service on which nobody should listen. As sluice_connect(). */
static int probe_open(struct loop *l, const char *host, uint32_t packet_bytes,
                      struct sluice_conn **conn)
{
    char target[300];

    host_part(host, target, sizeof target);
    if (strlen(target) == strlen(host)) /* no service is given */
        snprintf(target, sizeof target, strchr(host, ':') != NULL ? "[%s]:%d" : "%s:%d", host,
                 PROBE_SERVICE);
    else
        snprintf(target, sizeof target, "%s", host);
    return client_probe(l->session, target, packet_bytes, conn);
}

/* Waits for the answer. Nobody listens: a daemon says so. */
static int refusal_wait(struct loop *l, uint64_t end)
{
    int status = answer_wait(l, end);

    return status == -ECONNREFUSED ? 0 : status;
}

int probe_try(struct loop *l, const char *host, uint32_t packet_bytes, uint64_t wait_ns)
{
    struct sluice_conn *conn;
    int status = probe_open(l, host, packet_bytes, &conn);

    if (status < 0)
        return status;
    status = refusal_wait(l, loop_now() + wait_ns);
    sluice_conn_close(conn);
    return status;
}

int probe_run(struct loop *l, const char *host, uint64_t wait_ns, struct probe *out)
{
    struct sluice_conn *conn;
    json_t *before = drops_read(l);
    uint64_t begin = loop_now();

    *out = (struct probe){.sent = true};
    out->status = probe_open(l, host, 0, &conn);
    if (out->status < 0) {
        out->sent = false;
        snprintf(out->why, sizeof out->why, "%s", sluice_error(l->session));
    } else {
        out->status = refusal_wait(l, begin + wait_ns);
        out->round_trip_ns = loop_now() - begin;
        if (out->status != 0 && out->status != -ENOTCONN)
            failure_look(l, host, before, out);
        sluice_conn_close(conn);
    }
    json_decref(before);
    return out->status == -ENOTCONN ? -ENOTCONN : 0;
}

/* ---- what it means ------------------------------------------------------------------------ */

static void silence_explain(const struct probe *p, struct probe_finding *out)
{
    bool asked = strcmp(p->secured, "asked, no answer") == 0;

    if (strncmp(p->secured, "its answers cannot", 18) == 0) {
        snprintf(out->text, sizeof out->text, "%s", p->secured);
        snprintf(out->cure, sizeof out->cure,
                 "copy shared_key_file of one host to the other, and reload both");
    } else if (p->secured[0] != '\0') {
        snprintf(out->text, sizeof out->text, "%s",
                 asked ? "the host does not answer our handshake"
                       : "nothing comes back under the keys that were agreed on");
        snprintf(out->cure, sizeof out->cure,
                 "start sluiced there; give each of both hosts the other's public_key (sluice key "
                 "public), and the address that it sends from; let UDP port 47800 through "
                 "firewalls, both ways; compare the clocks");
    } else {
        snprintf(out->text, sizeof out->text, "nothing comes back%s",
                 p->neighbor ? ", though the host answers ARP or neighbour discovery" : "");
        snprintf(out->cure, sizeof out->cure,
                 "start sluiced there; let UDP port 47800 through firewalls, both ways; a daemon "
                 "whose port has security = required answers only hosts whose public_key it has");
    }
}

void probe_explain(const struct probe *p, struct probe_finding *out)
{
    size_t len;

    out->cure[0] = '\0';
    if (!p->sent) {
        snprintf(out->text, sizeof out->text, "our daemon does not try: %s", p->why);
    } else if (p->status == -EHOSTUNREACH) {
        snprintf(out->text, sizeof out->text,
                 "no host answers ARP or neighbour discovery for it, or for the gateway to it");
        snprintf(out->cure, sizeof out->cure,
                 "check that the host is up, its address, the VLAN (vlan) and the cable; sluice "
                 "show neigh lists the hosts that answer");
    } else if (p->status == -ETIMEDOUT) {
        silence_explain(p, out);
    } else {
        snprintf(out->text, sizeof out->text, "%s", sluice_status_text(p->status));
    }
    len = strlen(out->text);
    if (p->drops[0] != '\0')
        snprintf(out->text + len, sizeof out->text - len,
                 "; meanwhile our host dropped frames (doc/counters.md): %s", p->drops);
}
