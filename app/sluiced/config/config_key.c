/* SPDX-License-Identifier: BSD-3-Clause */
/* See config_key.h. */
#include "sluiced/config/config_key.h"

#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "base/value.h"
#include "host/host.h"
#include "sluiced/config/config.h"
#include "wire/limits.h"

#define US 1000ull
#define MS 1000000ull
#define S  1000000000ull

static const char *const idle_words[] = {"poll", "pause", "sleep", NULL};
static const char *const log_words[] = {"default", "error", "warning", "notice",
                                        "info",    "debug", NULL};
static const char *const format_words[] = {"text", "json", NULL};
static const char *const yes_words[] = {"yes", "no", NULL};
static const char *const occupancy_words[] = {"off", "buffers", "delay", NULL};
static const char *const security_words[] = {"none", "offered", "required", NULL};
static const char *const cipher_words[] = {"aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", NULL};
static const char *const library_words[] = {"auto", "libipsec-mb", "libcrypto", NULL};
static const char *const sum_words[] = {"auto", "none", "software", "offload", NULL};

#define DAEMON(field)  offsetof(struct config_daemon, field)
#define PORT(field)    offsetof(struct config_port, field)
#define PEER(field)    offsetof(struct config_peer, field)
#define SERVICE(field) offsetof(struct config_service, field)

const struct config_key config_daemon_keys[] = {
    {"socket", CONFIG_TEXT, DAEMON(socket), 1, CONFIG_SOCKET_MAX - 1, false, CONFIG_SOCKET_DEFAULT,
     CONFIG_SOCKET_DEFAULT, NULL},
    {"eal", CONFIG_TEXT, DAEMON(eal), 1, CONFIG_VALUE_MAX - 1, false, NULL, "-l 0,1 --in-memory",
     NULL},
    {"socket_group", CONFIG_TEXT, DAEMON(socket_group), 1, CONFIG_GROUP_MAX - 1, false, NULL,
     "sluice", NULL},
    {"control_interval", CONFIG_TIME, DAEMON(control_interval_ns), 100 * US, 100 * MS, false, "1ms",
     "1ms", NULL},
    {"quota", CONFIG_SIZE, DAEMON(quota_bytes), 1 << 20, 1ull << 46, true, NULL, "4G", NULL},
    {"quota_total", CONFIG_SIZE, DAEMON(quota_total_bytes), 1 << 20, 1ull << 46, true, NULL, "32G",
     NULL},
    {"lock", CONFIG_WORD, DAEMON(lock), 0, 0, false, "yes", "no", yes_words},
    {"sessions", CONFIG_NUMBER, DAEMON(sessions), 1, 4096, false, "64", "16", NULL},
    {"idle", CONFIG_WORD, DAEMON(idle), 0, 0, false, "poll", "sleep", idle_words},
    {"control_lcore", CONFIG_NUMBER, DAEMON(control_lcore), 0, 1023, false, NULL, "0", NULL},
    {"log_level", CONFIG_WORD, DAEMON(log_level), 0, 0, false, "default", "info", log_words},
    {"log_format", CONFIG_WORD, DAEMON(log_format), 0, 0, false, "text", "json", format_words},
    {"cipher", CONFIG_WORD, DAEMON(cipher), 0, 0, false, "aes-128-gcm", "aes-256-gcm",
     cipher_words},
    {"cipher_library", CONFIG_WORD, DAEMON(cipher_library), 0, 0, false, "auto", "libcrypto",
     library_words},
    {"private_key_file", CONFIG_TEXT, DAEMON(private_key_file), 1, CONFIG_VALUE_MAX - 1, false,
     NULL, "/etc/sluice/private.key", NULL},
    {"key_log_file", CONFIG_TEXT, DAEMON(key_log_file), 1, CONFIG_VALUE_MAX - 1, false, NULL,
     "/run/sluice/keys.log", NULL},
    {NULL, 0, 0, 0, 0, false, NULL, NULL, NULL},
};

const struct config_key config_port_keys[] = {
    {"vdev", CONFIG_TEXT, PORT(vdev), 1, CONFIG_VALUE_MAX - 1, false, NULL,
     "net_memif0,role=server,id=0", NULL},
    {"exception", CONFIG_TEXT, PORT(exception), 1, CONFIG_VALUE_MAX - 1, false, NULL, "tap0", NULL},
    {"address", CONFIG_PREFIX4, PORT(address[0]), 1, 32, false, NULL, "10.0.0.1/24", NULL},
    {"address6", CONFIG_PREFIX6, PORT(address[1]), 1, 128, false, NULL, "fd00::1/64", NULL},
    {"gateway", CONFIG_ADDR4, PORT(gateway[0]), 0, 0, false, NULL, "10.0.0.254", NULL},
    {"gateway6", CONFIG_ADDR6, PORT(gateway[1]), 0, 0, false, NULL, "fd00::fe", NULL},
    {"neighbor", CONFIG_NEIGHBORS, PORT(neighbors), 0, 0, false, NULL,
     "10.0.0.254 02:00:00:00:00:fe", NULL},
    {"mac", CONFIG_MAC, PORT(mac), 0, 0, false, NULL, "02:00:00:00:00:01", NULL},
    {"mtu", CONFIG_SIZE32, PORT(mtu_bytes), WIRE_MTU_MIN, WIRE_MTU_MAX, false, "1500", "9000",
     NULL},
    {"vlan", CONFIG_NUMBER, PORT(vlan), 1, 4094, true, "0", "100", NULL},
    {"udp_port", CONFIG_NUMBER, PORT(udp_port), 1, 65535, false, "47800", "47800", NULL},
    {"source_ports", CONFIG_RANGE, PORT(source_ports), 1, 65535, false, "61440-65535",
     "61440-65535", NULL},
    {"workers", CONFIG_NUMBER, PORT(workers), 1, CONFIG_LCORES_MAX, true, "0", "2", NULL},
    {"lcores", CONFIG_LCORES, PORT(lcores), 0, 1023, false, NULL, "1,3-5", NULL},
    {"queue_size", CONFIG_NUMBER, PORT(queue_size), 64, 32768, false, "2048", "4096", NULL},
    {"checksum", CONFIG_WORD, PORT(checksum), 0, 0, false, "auto", "software", sum_words},
    {"ecn", CONFIG_WORD, PORT(ecn), 0, 0, false, "yes", "no", yes_words},
    {"capacity", CONFIG_RATE, PORT(capacity_Bps), 1000, WIRE_RATE_MAX_BPS, true, "0", "1Gbit",
     NULL},
    {"burst", CONFIG_SIZE, PORT(burst_bytes), 1, WIRE_BURST_MAX_BYTES, true, "0", "64k", NULL},
    {"first_rate", CONFIG_RATE, PORT(first_rate_Bps), 1000, WIRE_RATE_MAX_BPS, false, "1Gbit",
     "100Mbit", NULL},
    {"first_burst", CONFIG_SIZE, PORT(first_burst_bytes), 1, WIRE_BURST_MAX_BYTES, false, "16k",
     "32k", NULL},
    {"pcr", CONFIG_RATE, PORT(pcr_Bps), 1000, WIRE_RATE_MAX_BPS, true, "0", "100Mbit", NULL},
    {"cdvt", CONFIG_TIME, PORT(cdvt_ns), 1, 1 * S, true, "0", "10us", NULL},
    {"scr", CONFIG_RATE, PORT(scr_Bps), 1000, WIRE_RATE_MAX_BPS, true, "0", "50Mbit", NULL},
    {"mbs", CONFIG_SIZE, PORT(mbs_bytes), 1, WIRE_BURST_MAX_BYTES, true, "0", "64k", NULL},
    {"tx_lead", CONFIG_TIME, PORT(tx_lead_ns), 1 * US, 1 * MS, true, "20us", "50us", NULL},
    {"occupancy", CONFIG_WORD, PORT(occupancy), 0, 0, false, "off", "delay", occupancy_words},
    {"occupancy_law", CONFIG_TEXT, PORT(occupancy_law), 1, CONFIG_VALUE_MAX - 1, false, NULL,
     "1ms,4ms/1e-6/1.0005,1.005", NULL},
    {"early", CONFIG_NUMBER, PORT(early), 0, 65536, false, "4", "0", NULL},
    {"ahead", CONFIG_NUMBER, PORT(ahead), 0, 65536, false, "0", "2", NULL},
    {"silence", CONFIG_TIME, PORT(silence_ns), 10 * MS, 3600 * S, false, "3s", "10s", NULL},
    {"repeat", CONFIG_TIME, PORT(repeat_ns), 10 * US, 1 * S, false, "1ms", "10ms", NULL},
    {"connections", CONFIG_NUMBER, PORT(connections), 1, 1 << 20, false, "256", "1024", NULL},
    {"depth", CONFIG_POWER, PORT(depth), 2, 65536, false, "64", "256", NULL},
    {"gaps", CONFIG_NUMBER, PORT(gaps), 2, 65536, false, "256", "1024", NULL},
    {"wire", CONFIG_TEXT, PORT(wire), 1, CONFIG_VALUE_MAX - 1, false, NULL, "rate 1gbit delay 5ms",
     NULL},
    {"wire_out", CONFIG_TEXT, PORT(wire_out), 1, CONFIG_VALUE_MAX - 1, false, NULL, "loss 1%",
     NULL},
    {"wire_in", CONFIG_TEXT, PORT(wire_in), 1, CONFIG_VALUE_MAX - 1, false, NULL, "delay 5ms",
     NULL},
    {"wire_packets", CONFIG_NUMBER, PORT(wire_packets), 64, 1 << 22, false, "16384", "65536", NULL},
    {"security", CONFIG_WORD, PORT(security), 0, 0, false, NULL, "required", security_words},
    {NULL, 0, 0, 0, 0, false, NULL, NULL, NULL},
};

const struct config_key config_peer_keys[] = {
    {"address", CONFIG_PREFIX4, PEER(address[0]), 1, 32, false, NULL, "10.0.0.7/32", NULL},
    {"address6", CONFIG_PREFIX6, PEER(address[1]), 1, 128, false, NULL, "fd00:7::1/48", NULL},
    {"weight", CONFIG_NUMBER, PEER(weight), 1, 65535, false, "1", "4", NULL},
    {"priority", CONFIG_NUMBER, PEER(priority), 0, 7, false, "0", "1", NULL},
    {"minimum", CONFIG_RATE, PEER(min_Bps), 1000, WIRE_RATE_MAX_BPS, true, "0", "10Mbit", NULL},
    {"ceiling", CONFIG_RATE, PEER(ceiling_Bps), 1000, WIRE_RATE_MAX_BPS, true, "0", "1Gbit", NULL},
    {"all_minimum", CONFIG_RATE, PEER(all_min_Bps), 1000, WIRE_RATE_MAX_BPS, true, "0", "100Mbit",
     NULL},
    {"all_ceiling", CONFIG_RATE, PEER(all_ceiling_Bps), 1000, WIRE_RATE_MAX_BPS, true, "0", "5Gbit",
     NULL},
    {"public_key", CONFIG_PUBLIC, PEER(public_key), 0, 0, false, NULL,
     "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=", NULL},
    {"shared_key_file", CONFIG_TEXT, PEER(shared_key_file), 1, CONFIG_VALUE_MAX - 1, false, NULL,
     "/etc/sluice/shared.key", NULL},
    {"users", CONFIG_USERS, PEER(users), 0, 0, false, NULL, "1001 @users", NULL},
    {"services", CONFIG_SERVICES, PEER(services), 0, 0, false, NULL, "7000 7100-7199", NULL},
    {NULL, 0, 0, 0, 0, false, NULL, NULL, NULL},
};

const struct config_key config_service_keys[] = {
    {"users", CONFIG_USERS, SERVICE(users), 0, 0, false, NULL, "1001 @users", NULL},
    {NULL, 0, 0, 0, 0, false, NULL, NULL, NULL},
};

const struct config_key *config_key_find(const struct config_key *keys, const char *name)
{
    for (; keys->name != NULL; keys++) {
        if (strcmp(keys->name, name) == 0)
            return keys;
    }
    return NULL;
}

const struct config_key *config_key_nearest(const struct config_key *keys, const char *name)
{
    const struct config_key *best = NULL;
    unsigned int best_distance = 4;

    for (; keys->name != NULL; keys++) {
        unsigned int d = value_distance(keys->name, name);

        /* A key with more than half of its letters changed is another word. */
        if (d < best_distance && d * 2 <= strlen(keys->name)) {
            best = keys;
            best_distance = d;
        }
    }
    return best;
}

void config_key_defaults(const struct config_key *keys, void *base)
{
    char err[CONFIG_ERROR_MAX];

    for (; keys->name != NULL; keys++) {
        if (keys->standard != NULL)
            CHECK(config_key_parse(keys, keys->standard, base, err, sizeof err) == 0);
    }
}

const char *config_idle_name(uint32_t idle)
{
    CHECK(idle <= CONFIG_IDLE_SLEEP);
    return idle_words[idle];
}

const char *config_sum_name(uint32_t sum)
{
    CHECK(sum <= CONFIG_SUM_OFFLOAD);
    return sum_words[sum];
}

const char *config_security_name(uint32_t security)
{
    CHECK(security <= HOST_SECURITY_REQUIRED);
    return security_words[security];
}
