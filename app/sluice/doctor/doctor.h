/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a machine lacks for sluiced: findings, each with the command that cures it. The checks
 * change nothing. They read files below a root directory, in which a test can imitate any machine.
 */
#ifndef SLUICE_COMMAND_DOCTOR_H
#define SLUICE_COMMAND_DOCTOR_H

#include <glob.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define DOCTOR_TEXT  512
#define DOCTOR_PATH  1024
#define DOCTOR_PORTS 16
#define DOCTOR_PEERS 64

enum doctor_level {
    DOCTOR_GOOD,
    DOCTOR_WARNING, /* sluiced works, but slower or not as steadily as it could */
    DOCTOR_BAD,     /* sluiced will not work */
};

struct probe;     /* ping/probe.h */
struct path_size; /* ping/path_size.h */

struct doctor_finding {
    const char *check;
    enum doctor_level level;
    char text[DOCTOR_TEXT], cure[DOCTOR_TEXT]; /* cure "": nothing to be done */
};

/* The part of the configuration that the checks use. */
struct doctor_port {
    char name[64], vdev[256];
    char security[16]; /* "": the configuration does not say */
    uint32_t mtu_bytes;
};

struct doctor_conf {
    char socket[108], group[64]; /* group: socket_group; "": none */
    bool poll, lock;             /* poll: idle = poll or pause; lock: lock = yes */
    uint32_t n_ports;
    struct doctor_port ports[DOCTOR_PORTS];
    char private_key_file[256]; /* "": none */
    char key_log_file[256];     /* "": none */
    uint32_t n_shared;
    char shared_key_file[DOCTOR_PEERS][256]; /* of all peers together */
};

struct doctor {
    const char *root;   /* "": this machine */
    const char *config; /* path of the daemon's configuration, below root */
    const char *socket; /* NULL: as configured */
    const char *daemon; /* path of sluiced, to check the configuration; NULL: no such check */
    struct doctor_conf conf;
    bool conf_there;
    int pid; /* of the daemon that answers; 0: none */
    /* What the daemon says about the addresses of its ports: an array of objects with name and
     * conflict, on which the caller calls json_decref(); NULL: no answer. The function itself may
     * be NULL. */
    json_t *(*ports)(const char *socket);
    /* Is the system's clock synchronised? 1, 0, or -1: not known. May be NULL: not asked. */
    int (*synchronised)(void);
    const char *peer; /* a host whose daemon is to answer; NULL: none */
    /* Asks it, as probe_run() does, and if it answers, searches as path_size_find() does. May be
     * NULL: not asked. */
    int (*probe)(const char *socket, const char *host, struct probe *out, struct path_size *size);
    void (*tell)(void *ctx, const struct doctor_finding *finding);
    void *ctx;
};

/* Runs all checks, always in the same order. */
void doctor_run(struct doctor *d);

/* ---- for the checks --------------------------------------------------------------------------*/

/* Reports a finding. The text may be followed by a cure, after a "\n". */
__attribute__((format(printf, 4, 5))) void doctor_tell(const struct doctor *d, const char *check,
                                                       enum doctor_level level, const char *format,
                                                       ...);
/* Writes a path below the root to out. */
__attribute__((format(printf, 3, 4))) const char *
doctor_path(const struct doctor *d, char out[DOCTOR_PATH], const char *format, ...);
/* Number of paths below the root that fit a pattern; the caller calls globfree() on g. */
__attribute__((format(printf, 3, 4))) size_t doctor_glob(const struct doctor *d, glob_t *g,
                                                         const char *format, ...);
/* Reads the first bytes of a file, without white space at their end; false: it cannot be opened. */
__attribute__((format(printf, 4, 5))) bool doctor_read(const struct doctor *d, char *out,
                                                       size_t out_len, const char *format, ...);
/* The number at the beginning of a file; -1: there is none. */
__attribute__((format(printf, 2, 3))) long doctor_number(const struct doctor *d, const char *format,
                                                         ...);
__attribute__((format(printf, 2, 3))) bool doctor_there(const struct doctor *d, const char *format,
                                                        ...);
/* The last component of the path that a symbolic link points to; false: there is no link. */
__attribute__((format(printf, 4, 5))) bool doctor_link(const struct doctor *d, char *out,
                                                       size_t out_len, const char *format, ...);

/* Value of a line "NAME: ..." in a text of such lines; NULL: it is not there. */
const char *doctor_value(const char *text, const char *name);
/* The CPUs of a list such as "0-3,7". */
void doctor_cpu_list(const char *list, cpu_set_t *out);

/* doctor_conf.c: fills d->conf from the configuration, as far as that can be read. */
void doctor_conf_read(struct doctor *d);
void doctor_config(struct doctor *d);
/* doctor_daemon.c */
void doctor_socket(struct doctor *d);
void doctor_locking(struct doctor *d);
void doctor_rights(struct doctor *d);
void doctor_addresses(struct doctor *d);
void doctor_reach(struct doctor *d);
/* doctor_machine.c */
void doctor_hugepages(struct doctor *d);
void doctor_clock(struct doctor *d);
void doctor_files(struct doctor *d);
void doctor_cpus(struct doctor *d);
/* doctor_keys.c */
void doctor_keys(struct doctor *d);
void doctor_time(struct doctor *d);
void doctor_security(struct doctor *d);
/* doctor_workers.c */
void doctor_workers(struct doctor *d);
/* doctor_port.c */
void doctor_ports(struct doctor *d);

#endif
