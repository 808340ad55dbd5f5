// SPDX-License-Identifier: BSD-3-Clause
// Good configurations. Every key reaches its field in its unit, and the documentation has every
// key.
#include <gtest/gtest.h>

#include <dirent.h>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

#include "load.h"

extern "C" {
#include "host/host.h"
#include "sluiced/config/config.h"
#include "sluiced/config/config_key.h"
}

namespace
{

std::string read_all(const std::string &path)
{
    std::ifstream in(path);
    std::stringstream s;

    EXPECT_TRUE(in.good()) << path;
    s << in.rdbuf();
    return s.str();
}

std::string addr_text(const struct addr &a)
{
    char buf[ADDR_TEXT_MAX];
    return addr_format(&a, buf);
}

TEST(Config, Defaults)
{
    struct config c = load("[port net_memif0]\naddress = 10.0.0.1/24\n");

    EXPECT_STREQ(c.daemon.socket, "/run/sluice/sluiced.sock");
    EXPECT_STREQ(c.daemon.socket_group, "");
    EXPECT_GT(c.daemon.quota_bytes, 0u);
    EXPECT_LE(c.daemon.quota_bytes, 16ull << 30);
    EXPECT_GE(c.daemon.quota_total_bytes, 4 * c.daemon.quota_bytes) << "four quotas fit in it";
    EXPECT_LE(c.daemon.quota_total_bytes,
              static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2);
    EXPECT_EQ(c.daemon.control_interval_ns, 1000000u);
    EXPECT_EQ(c.daemon.idle, (uint32_t)CONFIG_IDLE_POLL);
    EXPECT_EQ(c.daemon.control_lcore, CONFIG_LCORE_ANY);
    ASSERT_EQ(c.n_ports, 1u);
    const struct config_port &p = c.ports[0];
    EXPECT_STREQ(p.name, "net_memif0");
    EXPECT_STREQ(p.vdev, "");
    EXPECT_EQ(addr_text(p.address[0].addr), "10.0.0.1");
    EXPECT_EQ(p.address[0].len, 24u);
    EXPECT_TRUE(addr_is_unset(&p.address[1].addr));
    EXPECT_TRUE(addr_is_unset(&p.gateway[0]));
    EXPECT_FALSE(p.mac.set);
    EXPECT_EQ(p.mtu_bytes, 1500u);
    EXPECT_EQ(p.vlan, 0u);
    EXPECT_EQ(p.udp_port, 47800u);
    EXPECT_EQ(p.source_ports.first, 61440u);
    EXPECT_EQ(p.source_ports.last, 65535u);
    EXPECT_EQ(p.workers, 0u);
    EXPECT_EQ(p.lcores.n, 0u);
    EXPECT_EQ(p.checksum, (uint32_t)CONFIG_SUM_AUTO);
    EXPECT_EQ(p.capacity_Bps, 0u);
    EXPECT_EQ(p.burst_bytes, 0u);
    EXPECT_EQ(p.ahead, 0u);
    EXPECT_EQ(p.silence_ns, 3000000000u);
    EXPECT_STREQ(c.daemon.private_key_file, "");
    EXPECT_STREQ(c.daemon.key_log_file, "");
    EXPECT_EQ(p.security, (uint32_t)HOST_SECURITY_NONE);
}

/* A file that sets every key. */
const char kEveryKey[] = "# a comment\n"
                         "[daemon]\n"
                         "socket = /tmp/a.sock   # another\n"
                         "control_interval = 2ms\n"
                         "socket_group = sluice\n"
                         "quota = 4G\n"
                         "quota_total = 5G\n"
                         "sessions = 16\n"
                         "idle = sleep\n"
                         "control_lcore = 3\n"
                         "private_key_file = /etc/sluice/private.key # ours\n"
                         "key_log_file = /run/sluice/keys.log\n"
                         "\n"
                         "[port net_memif0]\n"
                         "vdev = net_memif0,role=server,id=0,socket=/tmp/m\n"
                         "exception = tap0\n"
                         "address = 10.0.0.1/24\n"
                         "address6 = fd00::1/64\n"
                         "gateway = 10.0.0.254\n"
                         "gateway6 = fe80::1\n"
                         "neighbor = 10.0.0.254 02:00:00:00:00:fe , fe80::1\t02:00:00:00:00:01\n"
                         "mac = 02:00:00:00:00:0a\n"
                         "mtu = 9000\n"
                         "vlan = 100\n"
                         "udp_port = 4000\n"
                         "source_ports = 4000\n"
                         "workers = 4\n"
                         "lcores = 1, 4-6\n"
                         "queue_size = 512\n"
                         "checksum = software\n"
                         "capacity = 1Gbit\n"
                         "burst = 64k\n"
                         "first_rate = 100Mbit\n"
                         "first_burst = 32k\n"
                         "pcr = 80Mbit\n"
                         "cdvt = 30us\n"
                         "scr = 40Mbit\n"
                         "mbs = 10k\n"
                         "tx_lead = 100us\n"
                         "occupancy = buffers\n"
                         "occupancy_law = dual 2,5\n"
                         "early = 7\n"
                         "ahead = 2\n"
                         "silence = 10s\n"
                         "repeat = 500us\n"
                         "connections = 1000\n"
                         "depth = 128\n"
                         "gaps = 99\n"
                         "security = offered\n"
                         "[port 0000:01:00.0]\n"
                         "address = 10.0.1.1/24\r\n";

TEST(Config, EveryKeyOfTheDaemonReachesItsField)
{
    struct config c = load(kEveryKey);

    EXPECT_STREQ(c.daemon.socket, "/tmp/a.sock");
    EXPECT_EQ(c.daemon.control_interval_ns, 2000000u);
    EXPECT_STREQ(c.daemon.socket_group, "sluice");
    EXPECT_EQ(c.daemon.quota_bytes, 4ull << 30);
    EXPECT_EQ(c.daemon.quota_total_bytes, 5ull << 30);
    EXPECT_EQ(c.daemon.sessions, 16u);
    EXPECT_EQ(c.daemon.idle, (uint32_t)CONFIG_IDLE_SLEEP);
    EXPECT_EQ(c.daemon.control_lcore, 3u);
    EXPECT_STREQ(c.daemon.private_key_file, "/etc/sluice/private.key");
    EXPECT_STREQ(c.daemon.key_log_file, "/run/sluice/keys.log");
    ASSERT_EQ(c.n_ports, 2u);
    EXPECT_STREQ(c.ports[1].name, "0000:01:00.0");
    EXPECT_EQ(addr_text(c.ports[1].address[0].addr), "10.0.1.1"); // the line ended in CR LF
}

TEST(Config, EveryKeyOfAPortReachesItsField)
{
    struct config c = load(kEveryKey);

    ASSERT_EQ(c.n_ports, 2u);
    const struct config_port &p = c.ports[0];
    EXPECT_STREQ(p.vdev, "net_memif0,role=server,id=0,socket=/tmp/m");
    EXPECT_STREQ(p.exception, "tap0");
    EXPECT_EQ(addr_text(p.address[1].addr), "fd00::1");
    EXPECT_EQ(p.address[1].len, 64u);
    EXPECT_EQ(addr_text(p.gateway[0]), "10.0.0.254");
    EXPECT_EQ(addr_text(p.gateway[1]), "fe80::1");
    ASSERT_EQ(p.neighbors.n, 2u);
    EXPECT_EQ(addr_text(p.neighbors.addr[0]), "10.0.0.254");
    EXPECT_EQ(p.neighbors.mac[0].b[5], 0xfe);
    EXPECT_EQ(addr_text(p.neighbors.addr[1]), "fe80::1");
    EXPECT_EQ(p.neighbors.mac[1].b[5], 1);
    ASSERT_TRUE(p.mac.set);
    EXPECT_EQ(p.mac.b[0], 2);
    EXPECT_EQ(p.mac.b[5], 10);
    EXPECT_EQ(p.mtu_bytes, 9000u);
    EXPECT_EQ(p.vlan, 100u);
    EXPECT_EQ(p.udp_port, 4000u);
    EXPECT_EQ(p.source_ports.first, 4000u);
    EXPECT_EQ(p.source_ports.last, 4000u);
    EXPECT_EQ(p.workers, 4u);
    ASSERT_EQ(p.lcores.n, 4u);
    EXPECT_EQ(p.lcores.id[0], 1u);
    EXPECT_EQ(p.lcores.id[3], 6u);
    EXPECT_EQ(p.queue_size, 512u);
    EXPECT_EQ(p.checksum, (uint32_t)CONFIG_SUM_SOFTWARE);
    EXPECT_EQ(p.capacity_Bps, 125000000u);
    EXPECT_EQ(p.burst_bytes, 65536u);
    EXPECT_EQ(p.first_rate_Bps, 12500000u);
    EXPECT_EQ(p.first_burst_bytes, 32768u);
    EXPECT_EQ(p.pcr_Bps, 10000000u);
    EXPECT_EQ(p.cdvt_ns, 30000u);
    EXPECT_EQ(p.scr_Bps, 5000000u);
    EXPECT_EQ(p.mbs_bytes, 10240u);
    EXPECT_EQ(p.tx_lead_ns, 100000u);
    EXPECT_EQ(p.occupancy, (uint32_t)CONFIG_OCCUPANCY_BUFFERS);
    EXPECT_STREQ(p.occupancy_law, "dual 2,5");
    EXPECT_EQ(p.early, 7u);
    EXPECT_EQ(p.ahead, 2u);
    EXPECT_EQ(p.silence_ns, 10000000000u);
    EXPECT_EQ(p.repeat_ns, 500000u);
    EXPECT_EQ(p.connections, 1000u);
    EXPECT_EQ(p.depth, 128u);
    EXPECT_EQ(p.gaps, 99u);
    EXPECT_EQ(p.security, (uint32_t)HOST_SECURITY_OFFERED);
}

TEST(Config, ExamplesAreGood)
{
    struct config_daemon d;
    struct config_port p;
    struct config_peer peer;
    struct config_service service;
    char err[CONFIG_ERROR_MAX];

    for (const struct config_key *k = config_daemon_keys; k->name != nullptr; k++)
        EXPECT_EQ(config_key_parse(k, k->example, &d, err, sizeof err), 0)
            << k->name << ": " << err;
    for (const struct config_key *k = config_port_keys; k->name != nullptr; k++)
        EXPECT_EQ(config_key_parse(k, k->example, &p, err, sizeof err), 0)
            << k->name << ": " << err;
    for (const struct config_key *k = config_peer_keys; k->name != nullptr; k++)
        EXPECT_EQ(config_key_parse(k, k->example, &peer, err, sizeof err), 0)
            << k->name << ": " << err;
    for (const struct config_key *k = config_service_keys; k->name != nullptr; k++)
        EXPECT_EQ(config_key_parse(k, k->example, &service, err, sizeof err), 0)
            << k->name << ": " << err;
}

TEST(Config, DocumentationKnowsEveryKeyAndDefault)
{
    std::string doc = read_all(SOURCE_ROOT "/doc/configuration.md");
    std::string man = read_all(SOURCE_ROOT "/doc/man/sluiced.8");

    for (const struct config_key *keys :
         {config_daemon_keys, config_port_keys, config_peer_keys, config_service_keys}) {
        for (const struct config_key *k = keys; k->name != nullptr; k++) {
            std::string row = std::string("| `") + k->name + "` |";
            size_t from = keys == config_peer_keys      ? doc.find("## [peer NAME]")
                          : keys == config_service_keys ? doc.find("## [service N]")
                                                        : 0;
            size_t at = doc.find(row, from);

            ASSERT_NE(at, std::string::npos) << "doc/configuration.md lacks a row " << row;
            std::string line = doc.substr(at, doc.find('\n', at) - at);
            if (k->standard != nullptr) {
                EXPECT_NE(line.find(std::string("| `") + k->standard + "` |"), std::string::npos)
                    << k->name << ": default " << k->standard << " is not in: " << line;
            }
            EXPECT_NE(line.find(k->example), std::string::npos) << k->name << ": " << line;
            EXPECT_NE(man.find(std::string(".It Cm ") + k->name), std::string::npos)
                << "sluiced.8 lacks " << k->name;
        }
    }
}

/* The files that we deliver in config/ load. */
TEST(Config, DeliveredFilesLoad)
{
    DIR *dir = opendir(SOURCE_ROOT "/config");
    unsigned int n = 0;

    ASSERT_NE(dir, nullptr);
    while (struct dirent *e = readdir(dir)) {
        std::string name = e->d_name;
        struct config c;
        char err[CONFIG_ERROR_MAX] = "";

        if (name.size() < 5 || name.substr(name.size() - 5) != ".conf")
            continue;
        EXPECT_EQ(config_load(&c, (SOURCE_ROOT "/config/" + name).c_str(), err, sizeof err), 0)
            << err;
        n++;
    }
    closedir(dir);
    EXPECT_GE(n, 5u);
}

/* What security a port has if the file does not say: none without a private key and for ports whose
 * other end is memory of this machine. */
TEST(Config, SecurityOfAPort)
{
    const std::string nic = "[port 0000:01:00.0]\naddress = 10.0.0.1/24\n",
                      memif = "[port net_memif0]\naddress = 10.0.1.1/24\n",
                      key = "[daemon]\nprivate_key_file = /etc/sluice/private.key\n";

    EXPECT_EQ(load(nic).ports[0].security, (uint32_t)HOST_SECURITY_NONE);
    EXPECT_EQ(load(key + nic).ports[0].security, (uint32_t)HOST_SECURITY_REQUIRED);
    EXPECT_EQ(load(nic + key).ports[0].security, (uint32_t)HOST_SECURITY_REQUIRED);
    EXPECT_EQ(load(key + memif).ports[0].security, (uint32_t)HOST_SECURITY_NONE);
    EXPECT_EQ(load(key + memif + "security = required\n").ports[0].security,
              (uint32_t)HOST_SECURITY_REQUIRED);
    EXPECT_EQ(load(key + nic + "security = offered\n").ports[0].security,
              (uint32_t)HOST_SECURITY_OFFERED);
    EXPECT_EQ(load(key + nic + "security = none\n").ports[0].security,
              (uint32_t)HOST_SECURITY_NONE);
    EXPECT_EQ(load(nic + "security = none\n").ports[0].security, (uint32_t)HOST_SECURITY_NONE);
}

/* Who may use what: by name and by number, users and groups, services and ranges of them. */
TEST(Config, UsersAndServices)
{
    struct config c = load("[daemon]\nprivate_key_file = /k\n[port p]\naddress = 10.0.0.1/24\n"
                           "[peer a]\naddress = 10.0.0.7/32\n"
                           "public_key = 3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\n"
                           "users = 1001, @4711\nservices = 7000, 7100-7199 65535\n"
                           "[service 7]\nusers = root @root 12345\n"
                           "[service *]\nusers = 0\n");

    ASSERT_EQ(c.n_services, 2u);
    EXPECT_STREQ(c.services[0].name, "7");
    EXPECT_EQ(c.services[0].number, 7u);
    EXPECT_STREQ(c.services[0].users.text, "root @root 12345");
    ASSERT_EQ(c.services[0].users.n, 3u);
    const struct config_user due[] = {{0, 0}, {1, 0}, {0, 12345}};
    EXPECT_EQ(memcmp(c.services[0].users.at, due, sizeof due), 0);
    EXPECT_STREQ(c.services[1].name, "*");
    EXPECT_EQ(c.services[1].number, 0u);
    const struct config_peer &a = c.peers[0];
    ASSERT_EQ(a.users.n, 2u);
    EXPECT_EQ(a.users.at[0].group, 0u);
    EXPECT_EQ(a.users.at[0].id, 1001u);
    EXPECT_EQ(a.users.at[1].group, 1u);
    EXPECT_EQ(a.users.at[1].id, 4711u);
    ASSERT_EQ(a.services.n, 3u);
    EXPECT_EQ(a.services.range[0].first, 7000u);
    EXPECT_EQ(a.services.range[0].last, 7000u);
    EXPECT_EQ(a.services.range[1].first, 7100u);
    EXPECT_EQ(a.services.range[1].last, 7199u);
    EXPECT_EQ(a.services.range[2].last, 65535u);
}

/* Lcores say how many workers there are, if nothing else does. */
TEST(Config, LcoresAreWorkers)
{
    EXPECT_EQ(load("[port p]\naddress = 10.0.0.1/24\nlcores = 3,5-6\n").ports[0].workers, 3u);
}

} // namespace
