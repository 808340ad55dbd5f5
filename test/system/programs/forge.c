/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forge IFACE COUNT SECONDS SEED SRC_IP DST_IP OTHER_IP: sends COUNT forged frames on IFACE within
 * about SECONDS, to the Sluice host DST_IP, during a transfer from SRC_IP. OTHER_IP is a third
 * address, which has no connection.
 *
 * It sees the real frames that leave and makes its own from copies of them. Version 1 has no secret
 * but the key, so a forged frame that the host can accept never has the connection's key together
 * with its address and a good checksum. Written against doc/protocol.md, without lib/wire.
 *
 * After each WINDOW frames it asks DST_IP for an ICMP echo (RFC 792) and waits for the answer, so
 * that no more frames than that wait in the receiver's ring, however late its worker gets a core.
 *
 * Prints "KIND COUNT" lines. Exit status: 0 all sent, 1 not, 2 usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ETH_BYTES    14
#define HEADERS      (ETH_BYTES + 20 + 8) /* Ethernet, IPv4 without options, UDP */
#define FRAME_MAX    1514
#define TEMPLATES    64
#define BATCH        32
#define WINDOW       256
#define ECHO_TRIES   100
#define ECHO_WAIT_S  0.1
#define SLUICE_PORT  47800
#define HEADER_BYTES 16 /* of every Sluice packet */
#define FIRST_BYTES  192

struct frame {
    uint32_t len;
    uint8_t b[FRAME_MAX];
};

struct forge {
    int fd;
    uint64_t rng;
    uint32_t src, dst, other; /* network order */
    uint32_t templates, newest;
    struct frame seen[TEMPLATES]; /* real frames from src to dst, the newest ones */
    uint32_t asked;               /* the sequence number of the last echo request */
    bool answered;
};

static uint64_t rng_next(struct forge *g)
{
    g->rng ^= g->rng << 13;
    g->rng ^= g->rng >> 7;
    g->rng ^= g->rng << 17;
    return g->rng * 0x2545f4914f6cdd1dull;
}

static uint32_t rng_below(struct forge *g, uint32_t n)
{
    return (uint32_t)((rng_next(g) >> 32) % n);
}

static void rng_fill(struct forge *g, uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        p[i] = (uint8_t)(rng_next(g) >> 40);
}

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v & 0xffff);
}

static uint32_t get16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t sum_add(uint32_t sum, const uint8_t *p, uint32_t n)
{
    for (; n > 1; n -= 2, p += 2)
        sum += get16(p);
    return n ? sum + ((uint32_t)p[0] << 8) : sum;
}

static uint32_t sum_fold(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

/* Corrects the lengths and checksums of an IPv4 UDP frame. */
static void frame_seal(struct frame *f)
{
    uint8_t *ip = f->b + ETH_BYTES, *udp = ip + 20;
    uint32_t udp_len = f->len - ETH_BYTES - 20, sum;

    put16(ip + 2, udp_len + 20);
    put16(ip + 10, 0);
    put16(ip + 10, sum_fold(sum_add(0, ip, 20)));
    put16(udp + 4, udp_len);
    put16(udp + 6, 0);
    sum = sum_fold(sum_add(sum_add(17 + udp_len, ip + 12, 8), udp, udp_len));
    put16(udp + 6, sum == 0 ? 0xffff : sum);
}

static void ip_seal(struct frame *f)
{
    put16(f->b + ETH_BYTES + 10, 0);
    put16(f->b + ETH_BYTES + 10, sum_fold(sum_add(0, f->b + ETH_BYTES, 20)));
}

static void random_key(struct forge *g, struct frame *f)
{
    rng_fill(g, f->b + HEADERS + 8, 8);
}

/* ---- kinds: each changes a copy of a real frame, and returns false if it cannot ------------- */

static bool kind_noise(struct forge *g, struct frame *f)
{
    f->len = ETH_BYTES + 46 + rng_below(g, FRAME_MAX - ETH_BYTES - 46);
    rng_fill(g, f->b + 12, f->len - 12);
    return true;
}

static bool kind_ip_noise(struct forge *g, struct frame *f)
{
    rng_fill(g, f->b + ETH_BYTES, f->len - ETH_BYTES);
    f->b[ETH_BYTES] = 0x45;
    put16(f->b + ETH_BYTES + 6, 0); /* not a fragment: the kernel keeps those */
    return true;
}

static bool kind_udp_noise(struct forge *g, struct frame *f)
{
    f->len = HEADERS + rng_below(g, FRAME_MAX - HEADERS);
    rng_fill(g, f->b + HEADERS, f->len - HEADERS);
    frame_seal(f);
    return true;
}

/* Flips one bit of version, type, flags or path. Most results are illegal, and none has the key. */
static bool kind_header(struct forge *g, struct frame *f)
{
    f->b[HEADERS + rng_below(g, 3)] ^= (uint8_t)(1u << rng_below(g, 8));
    random_key(g, f);
    frame_seal(f);
    return true;
}

static bool kind_security(struct forge *g, struct frame *f)
{
    put32(f->b + HEADERS + 4, 1 + rng_below(g, 1000));
    random_key(g, f);
    frame_seal(f);
    return true;
}

static bool kind_key(struct forge *g, struct frame *f)
{
    random_key(g, f);
    frame_seal(f);
    return true;
}

/* The key, but for one bit. */
static bool kind_key_bit(struct forge *g, struct frame *f)
{
    f->b[HEADERS + 8 + rng_below(g, 8)] ^= (uint8_t)(1u << rng_below(g, 8));
    frame_seal(f);
    return true;
}

static bool kind_source_ip(struct forge *g, struct frame *f)
{
    memcpy(f->b + ETH_BYTES + 12, &g->other, 4);
    frame_seal(f);
    return true;
}

static bool kind_source_port(struct forge *g, struct frame *f)
{
    put16(f->b + ETH_BYTES + 20, 1024 + rng_below(g, 30000));
    frame_seal(f);
    return true;
}

static bool kind_early(struct forge *g, struct frame *f)
{
    f->b[HEADERS + 1] |= 0x40;
    random_key(g, f);
    frame_seal(f);
    return true;
}

/* A valid FIRST, for a service on which no application listens. */
static bool kind_first(struct forge *g, struct frame *f)
{
    uint8_t *p = f->b + HEADERS;

    f->len = HEADERS + FIRST_BYTES;
    memset(p, 0, FIRST_BYTES);
    p[0] = 0x11;
    p[1] = 0x40;
    rng_fill(g, p + 8, 8);
    put32(p + 16, (uint32_t)rng_next(g));
    put32(p + 20, 1400);
    put16(p + 24, 1 + rng_below(g, 1000));
    put32(p + 36, 1 << 20); /* rate and burst, low words */
    put32(p + 44, 1 << 16);
    put32(p + 64, 3000);
    frame_seal(f);
    return true;
}

static bool kind_truncated(struct forge *g, struct frame *f)
{
    if (f->len <= ETH_BYTES + 46)
        return false;
    f->len = ETH_BYTES + 46 + rng_below(g, f->len - ETH_BYTES - 46);
    return true;
}

/* Sluice packets that end inside their header, in correct frames. */
static bool kind_short(struct forge *g, struct frame *f)
{
    f->len = HEADERS + rng_below(g, HEADER_BYTES + 30);
    random_key(g, f);
    frame_seal(f);
    return true;
}

static bool kind_fragment(struct forge *g, struct frame *f)
{
    put16(f->b + ETH_BYTES + 6, rng_below(g, 2) ? 0x2000 : 1 + rng_below(g, 0x1000));
    ip_seal(f);
    return true;
}

static bool kind_udp_length(struct forge *g, struct frame *f)
{
    put16(f->b + ETH_BYTES + 24, rng_below(g, 0x10000));
    return true;
}

static bool kind_port(struct forge *g, struct frame *f)
{
    put16(f->b + ETH_BYTES + 22, 1 + rng_below(g, 40000));
    frame_seal(f);
    return true;
}

/* A real unit with its key, damaged on the path. Its packet number is new, or it would be dropped
 * as a copy. */
static bool kind_damaged(struct forge *g, struct frame *f)
{
    uint8_t *number = f->b + HEADERS + 20; /* its bits 31 to 16 */
    uint32_t at = HEADERS + 56;

    if ((f->b[HEADERS] & 0xf) != 2 || f->len <= at)
        return false;
    put16(number, (uint32_t)(number[0] << 8 | number[1]) + 4);
    frame_seal(f);
    f->b[at + rng_below(g, f->len - at)] ^= (uint8_t)(1u << rng_below(g, 8));
    return true;
}

static bool kind_unsummed(struct forge *g, struct frame *f)
{
    rng_fill(g, f->b + HEADERS + 16, 16);
    put16(f->b + ETH_BYTES + 26, 0);
    return true;
}

static bool kind_destination(struct forge *g, struct frame *f)
{
    memcpy(f->b + ETH_BYTES + 16, &g->other, 4);
    frame_seal(f);
    return true;
}

static bool kind_vlan(struct forge *g, struct frame *f)
{
    if (f->len + 4 > FRAME_MAX)
        f->len = FRAME_MAX - 4;
    memmove(f->b + 16, f->b + 12, f->len - 12);
    put16(f->b + 12, 0x8100);
    put16(f->b + 14, 1 + rng_below(g, 4094));
    f->len += 4;
    return true;
}

/* CNTL that ends the connection, or RCNTL that starves it, without the key. */
static bool kind_reset(struct forge *g, struct frame *f)
{
    uint8_t *p = f->b + HEADERS;

    f->len = HEADERS + 176;
    rng_fill(g, p, 176);
    p[0] = rng_below(g, 2) ? 0x13 : 0x14;
    p[1] = p[0] == 0x13 ? 0x10 : 0;
    put32(p + 4, 0);
    p[47] = p[152] = 0;
    frame_seal(f);
    return true;
}

static const struct {
    const char *name;
    bool (*make)(struct forge *g, struct frame *f);
} kinds[] = {
    {"noise", kind_noise},
    {"ip_noise", kind_ip_noise},
    {"udp_noise", kind_udp_noise},
    {"header", kind_header},
    {"security", kind_security},
    {"key", kind_key},
    {"key_bit", kind_key_bit},
    {"source_ip", kind_source_ip},
    {"source_port", kind_source_port},
    {"early", kind_early},
    {"first", kind_first},
    {"truncated", kind_truncated},
    {"short", kind_short},
    {"fragment", kind_fragment},
    {"udp_length", kind_udp_length},
    {"port", kind_port},
    {"damaged", kind_damaged},
    {"unsummed", kind_unsummed},
    {"destination", kind_destination},
    {"vlan", kind_vlan},
    {"reset", kind_reset},
};

#define KINDS (sizeof kinds / sizeof kinds[0])

/* ---- seeing and sending ---------------------------------------------------------------------- */

static bool is_template(const struct forge *g, const struct frame *f)
{
    return f->len >= HEADERS + HEADER_BYTES && get16(f->b + 12) == ETH_P_IP &&
           f->b[ETH_BYTES] == 0x45 && f->b[ETH_BYTES + 9] == 17 &&
           memcmp(f->b + ETH_BYTES + 12, &g->src, 4) == 0 &&
           memcmp(f->b + ETH_BYTES + 16, &g->dst, 4) == 0 &&
           get16(f->b + ETH_BYTES + 22) == SLUICE_PORT;
}

/* True if this is dst's answer to the last echo request. */
static bool is_answer(const struct forge *g, const struct frame *f)
{
    const uint8_t *icmp = f->b + ETH_BYTES + 20;

    return f->len >= ETH_BYTES + 28 && get16(f->b + 12) == ETH_P_IP && f->b[ETH_BYTES] == 0x45 &&
           f->b[ETH_BYTES + 9] == 1 && memcmp(f->b + ETH_BYTES + 12, &g->dst, 4) == 0 &&
           icmp[0] == 0 && get16(icmp + 6) == (g->asked & 0xffff);
}

/* Reads a few of the frames that pass; the socket does not show our own. */
static void frames_see(struct forge *g)
{
    for (int i = 0; i < 8; i++) {
        struct frame f;
        ssize_t n = recv(g->fd, f.b, sizeof f.b, MSG_DONTWAIT);

        if (n < 0)
            return;
        f.len = (uint32_t)n;
        g->answered |= is_answer(g, &f);
        if (!is_template(g, &f))
            continue;
        g->newest = (g->newest + 1) % TEMPLATES;
        g->seen[g->newest] = f;
        if (g->templates < TEMPLATES)
            g->templates++;
    }
}

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static uint32_t batch_send(struct forge *g, struct frame *f, uint32_t n)
{
    struct mmsghdr m[BATCH];
    struct iovec iov[BATCH];
    uint32_t done = 0;

    memset(m, 0, sizeof m);
    for (uint32_t i = 0; i < n; i++) {
        iov[i] = (struct iovec){f[i].b, f[i].len};
        m[i].msg_hdr.msg_iov = &iov[i];
        m[i].msg_hdr.msg_iovlen = 1;
    }
    while (done < n) {
        int sent = sendmmsg(g->fd, m + done, n - done, 0);

        if (sent > 0)
            done += (uint32_t)sent;
        else if (errno == ENOBUFS || errno == EAGAIN)
            usleep(100);
        else
            break;
    }
    return done;
}

/*
 * An ICMP echo request from the third address, with the Ethernet header of a frame that was seen.
 */
static struct frame echo_request(struct forge *g)
{
    struct frame f = g->seen[g->newest];
    uint8_t *ip = f.b + ETH_BYTES, *icmp = ip + 20;

    f.len = ETH_BYTES + 20 + 8 + 18; /* fills an Ethernet frame */
    f.b[6] = 2;                      /* the third host's own address */
    rng_fill(g, f.b + 7, 5);
    put16(ip + 2, f.len - ETH_BYTES);
    ip[8] = 64;
    ip[9] = 1;
    memcpy(ip + 12, &g->other, 4);
    memcpy(ip + 16, &g->dst, 4);
    ip_seal(&f);
    memset(icmp, 0, f.len - ETH_BYTES - 20);
    icmp[0] = 8;
    put16(icmp + 6, ++g->asked & 0xffff);
    put16(icmp + 2, sum_fold(sum_add(0, icmp, f.len - ETH_BYTES - 20)));
    return f;
}

/* Waits until dst has read all frames that were sent. */
static bool window_wait(struct forge *g)
{
    for (int i = 0; i < ECHO_TRIES; i++) {
        struct frame f = echo_request(g);
        double until = now_s() + ECHO_WAIT_S;

        g->answered = false;
        if (batch_send(g, &f, 1) != 1)
            break;
        while (now_s() < until) {
            frames_see(g);
            if (g->answered)
                return true;
            usleep(50);
        }
    }
    fprintf(stderr, "forge: no answer to %d echo requests\n", ECHO_TRIES);
    return false;
}

static bool forge_run(struct forge *g, uint64_t count, double seconds, uint64_t *made)
{
    static struct frame batch[BATCH];
    double start = now_s();
    uint64_t sent = 0, read = 0; /* frames, and those that dst has read for sure */

    while (g->templates < 8) {
        frames_see(g);
        if (now_s() > start + 10) {
            fprintf(stderr, "forge: sees no frames of a transfer; start one first\n");
            return false;
        }
    }
    start = now_s();
    while (sent < count) {
        uint32_t n = 0, want = count - sent < BATCH ? (uint32_t)(count - sent) : BATCH;

        frames_see(g);
        while (n < want) {
            uint32_t kind = rng_below(g, KINDS);

            batch[n] = g->seen[(g->newest + TEMPLATES - rng_below(g, g->templates)) % TEMPLATES];
            if (!kinds[kind].make(g, &batch[n]))
                continue;
            made[kind]++;
            n++;
        }
        if (batch_send(g, batch, n) != n) {
            fprintf(stderr, "forge: %s\n", strerror(errno));
            return false;
        }
        sent += n;
        if (sent - read >= WINDOW) {
            if (!window_wait(g))
                return false;
            read = sent;
        }
        while ((double)sent / (double)count * seconds > now_s() - start)
            usleep(200);
    }
    return true;
}

static int forge_open(const char *iface)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_ALL),
                             .sll_ifindex = (int)if_nametoindex(iface)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));

    if (fd < 0 || at.sll_ifindex == 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0) {
        fprintf(stderr, "forge: %s: %s\n", iface, strerror(errno));
        return -1;
    }
    return fd;
}

int main(int argc, char **argv)
{
    static struct forge g;
    uint64_t made[KINDS] = {0};
    bool ok;

    if (argc != 8) {
        fprintf(stderr, "usage: forge IFACE COUNT SECONDS SEED SRC_IP DST_IP OTHER_IP\n");
        return 2;
    }
    g.rng = strtoull(argv[4], NULL, 0) | 1;
    if (inet_pton(AF_INET, argv[5], &g.src) != 1 || inet_pton(AF_INET, argv[6], &g.dst) != 1 ||
        inet_pton(AF_INET, argv[7], &g.other) != 1) {
        fprintf(stderr, "forge: an address is not understood\n");
        return 2;
    }
    g.fd = forge_open(argv[1]);
    if (g.fd < 0)
        return 1;
    ok = forge_run(&g, strtoull(argv[2], NULL, 10), atof(argv[3]), made);
    for (uint32_t i = 0; i < KINDS; i++)
        printf("%s %" PRIu64 "\n", kinds[i].name, made[i]);
    close(g.fd);
    return ok ? 0 : 1;
}
