/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's configuration: reads an INI file, checks it strictly, and fills one struct with
 * numbers in fixed units. Needs no EAL. doc/configuration.md has every key with its unit, default
 * and an example.
 *
 * Invariant: config_load() either fills all of *c with values inside their limits and returns 0, or
 * returns a negative errno with one line "FILE:LINE: [SECTION] KEY: CAUSE; CURE" in err. It reads
 * no key files: config_keys.h does.
 */
#ifndef SLUICED_CONFIG_H
#define SLUICED_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto/key.h"
#include "sluiced/config/config_users.h"
#include "wire/addr.h"

#define CONFIG_PEERS_MAX            64
#define CONFIG_SERVICE_SECTIONS_MAX 64
#define CONFIG_PORTS_MAX            16
#define CONFIG_WORKERS_MAX          64  /* of all ports together */
#define CONFIG_NAME_MAX             56  /* name of a port or peer, with its final 0 */
#define CONFIG_VALUE_MAX            256 /* as CFG_VALUE_LEN of rte_cfgfile */
#define CONFIG_SOCKET_MAX           108 /* as sun_path of struct sockaddr_un */
#define CONFIG_GROUP_MAX            64  /* name of a group, with its final 0 */
#define CONFIG_LCORES_MAX           32
#define CONFIG_NEIGHBORS_MAX        8
#define CONFIG_ERROR_MAX            512
#define CONFIG_FILE_DEFAULT         "/etc/sluice/sluiced.conf"
#define CONFIG_SOCKET_DEFAULT       "/run/sluice/sluiced.sock"
#define CONFIG_LCORE_ANY            UINT32_MAX

/* What a worker does after an iteration that found no work. */
enum config_idle {
    CONFIG_IDLE_POLL,  /* goes on at once */
    CONFIG_IDLE_PAUSE, /* one pause instruction: leaves the sibling thread more of the core */
    /* naps: of at most 1.7 ms, after 200 us without work. If all new work ends a nap: of at most
     * 10 ms, after 25 us */
    CONFIG_IDLE_SLEEP,
};
enum config_occupancy { CONFIG_OCCUPANCY_OFF, CONFIG_OCCUPANCY_BUFFERS, CONFIG_OCCUPANCY_DELAY };

enum config_sum {
    CONFIG_SUM_AUTO,
    CONFIG_SUM_NONE,
    CONFIG_SUM_SOFTWARE,
    CONFIG_SUM_OFFLOAD,
};

/* Values of the key `lock`, in the order of its words in config_key.c. */
enum config_lock {
    CONFIG_LOCK_YES,
    CONFIG_LOCK_NO,
};

/* Values of the key `ecn`, in the order of its words in config_key.c. */
enum config_switch {
    CONFIG_YES,
    CONFIG_NO,
};

/* Values of the key `log_level`, in the order of its words in config_key.c. */
enum config_log {
    CONFIG_LOG_DEFAULT, /* as --log-level says, else warnings of libraries and errors of drivers */
    CONFIG_LOG_ERROR,
    CONFIG_LOG_WARNING,
    CONFIG_LOG_NOTICE,
    CONFIG_LOG_INFO,
    CONFIG_LOG_DEBUG,
};

/* What seals packets. */
enum config_library { CONFIG_LIBRARY_AUTO, CONFIG_LIBRARY_IPSEC_MB, CONFIG_LIBRARY_LIBCRYPTO };

struct config_daemon {
    char
        eal[CONFIG_VALUE_MAX]; /* arguments of DPDK's EAL, if the command line has none; "": none */
    char socket[CONFIG_SOCKET_MAX];
    uint64_t control_interval_ns;
    char socket_group[CONFIG_GROUP_MAX]; /* "": the daemon's own group */
    uint64_t quota_bytes;                /* of each user; 0: no limit */
    uint64_t quota_total_bytes;          /* of all users together; 0: no limit */
    uint32_t lock;                       /* enum config_lock */
    uint32_t sessions;
    uint32_t idle;                           /* enum config_idle */
    uint32_t control_lcore;                  /* or CONFIG_LCORE_ANY */
    uint32_t log_level;                      /* enum config_log */
    uint32_t log_format;                     /* enum say_format (common/say.h) */
    uint32_t cipher;                         /* enum aead_cipher */
    uint32_t cipher_library;                 /* enum config_library */
    char private_key_file[CONFIG_VALUE_MAX]; /* "": none; nothing is secured then */
    char key_log_file[CONFIG_VALUE_MAX];     /* "": keys are not logged */
};

struct config_prefix {
    struct addr addr; /* unset: none */
    uint32_t len;     /* bits: 1-32 for IPv4, 1-128 for IPv6 */
};

struct config_lcores {
    uint32_t n; /* 0: any */
    uint32_t id[CONFIG_LCORES_MAX];
};

struct config_range {
    uint32_t first, last; /* first <= last */
};

struct config_mac {
    bool set;
    uint8_t b[6];
};

/* Stations whose MAC addresses do not have to be asked for. */
struct config_neighbors {
    uint32_t n;
    struct addr addr[CONFIG_NEIGHBORS_MAX];
    struct config_mac mac[CONFIG_NEIGHBORS_MAX];
};

struct config_port {
    char name[CONFIG_NAME_MAX];
    uint32_t line;                    /* of its section in the file */
    char vdev[CONFIG_VALUE_MAX];      /* "": the device exists already */
    char exception[CONFIG_VALUE_MAX]; /* the kernel's interface, or a vdev; "": none */
    struct config_prefix address[2];  /* IPv4, IPv6 */
    struct addr gateway[2];           /* unset: none */
    struct config_neighbors neighbors;
    struct config_mac mac;
    uint32_t mtu_bytes;
    uint32_t vlan; /* 1-4094, or 0: untagged */
    uint32_t udp_port;
    struct config_range source_ports; /* UDP ports that connections are opened from */
    uint32_t workers;                 /* 0: as many as suit the device and the lcores */
    uint32_t queue_size;              /* descriptors of each queue and direction */
    struct config_lcores lcores;
    uint32_t checksum;     /* enum config_sum */
    uint32_t ecn;          /* enum config_switch */
    uint64_t capacity_Bps; /* 0: not known */
    uint64_t burst_bytes;  /* 0: chosen from the rate */
    uint64_t first_rate_Bps;
    uint64_t first_burst_bytes;
    uint64_t pcr_Bps, scr_Bps; /* contract of each connection's frames; 0: none */
    uint64_t mbs_bytes;
    uint64_t cdvt_ns;
    uint64_t tx_lead_ns; /* the NIC gets timed frames this long ahead; 0: not used */
    uint32_t occupancy;  /* enum config_occupancy */
    char occupancy_law[CONFIG_VALUE_MAX]; /* syntax: control/occupancy.h; "": none */
    uint32_t early, ahead; /* requests sent before the peer's first CNTL; beyond posted buffers */
    uint64_t silence_ns;
    uint64_t repeat_ns;
    uint32_t connections;
    uint32_t depth;
    uint32_t gaps;
    char wire[CONFIG_VALUE_MAX]; /* path of the emulated wire, both directions; "": none */
    /* Each replaces `wire` in one direction; "": does not. */
    char wire_out[CONFIG_VALUE_MAX], wire_in[CONFIG_VALUE_MAX];
    uint32_t wire_packets;
    uint32_t security; /* enum host_security (host/host.h) */
};

static inline bool config_port_wired(const struct config_port *p)
{
    return p->wire[0] != '\0' || p->wire_out[0] != '\0' || p->wire_in[0] != '\0';
}

/* Does the kernel get the frames that are not Sluice's? */
static inline bool config_port_excepted(const struct config_port *p)
{
    return p->exception[0] != '\0';
}

/* The hosts of a network: their share when capacity is divided, and the key by which they are
 * known.
 */
struct config_peer {
    char name[CONFIG_NAME_MAX];
    uint32_t line;
    struct config_prefix address[2]; /* one of them is set; both may be if there is a public key */
    uint32_t weight, priority;
    uint64_t min_Bps, ceiling_Bps;          /* of each connection; 0: none */
    uint64_t all_min_Bps, all_ceiling_Bps;  /* of all connections together; 0: none */
    uint8_t public_key[KEY_BYTES];          /* all zero: none */
    char shared_key_file[CONFIG_VALUE_MAX]; /* "": none */
    struct config_users users;              /* may open connections to it */
    struct config_services services;        /* that it may connect to; needs a public key */
};

/* The users that may accept on a service. */
struct config_service {
    char name[CONFIG_NAME_MAX]; /* its number; "*": all that have no section */
    uint32_t line;
    uint32_t number; /* 0: all that have no section */
    struct config_users users;
};

struct config {
    struct config_daemon daemon;
    uint32_t n_ports, n_peers, n_services;
    struct config_port ports[CONFIG_PORTS_MAX];
    struct config_peer peers[CONFIG_PEERS_MAX];
    struct config_service services[CONFIG_SERVICE_SECTIONS_MAX];
    struct config_secrets *secrets; /* config_keys.h; NULL: no private key, or none was read */
};

int config_load(struct config *c, const char *path, char *err, size_t err_len);

/* Names of the values of enum config_idle and config_sum. */
const char *config_idle_name(uint32_t idle);
const char *config_sum_name(uint32_t sum);
/* Of enum host_security. */
const char *config_security_name(uint32_t security);

/* Has this peer a public key? */
bool config_peer_secured(const struct config_peer *p);

#endif
