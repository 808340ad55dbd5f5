/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden inputs for fuzz_config.c: files with every key, and each kind of mistake. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "fuzz_config.h"

#define PORT  "[port net_memif0]\nvdev = net_memif0,id=0\naddress = 10.0.0.1/24\n"
#define PORT6 "[port net_ring1]\naddress6 = fd00::1/64\n"
#define KEY   "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="

const uint64_t golden_runs = 10000;

static const char *const goldens[] = {
    PORT,
    "# all of the daemon\n[daemon]\nsocket = /run/s\neal = -l 0,1 --in-memory\nsocket_group = "
    "sluice\n"
    "control_interval = 2ms\nquota = 4G\nquota_total = 0\nlock = no\nsessions = 16\nidle = sleep\n"
    "control_lcore = 3\nlog_level = info\nlog_format = json\ncipher = aes-256-gcm\ncipher_library "
    "= libcrypto\n" PORT,
    PORT "exception = tap0\ngateway = 10.0.0.254\nneighbor = 10.0.0.9 02:00:00:00:00:fe, 10.0.0.8 "
         "02:00:00:00:00:fd\nmac = 02:00:00:00:00:01\nmtu = 9000\nvlan = 100\nudp_port = 7\n"
         "source_ports = 100-200\nworkers = 2\nlcores = 1,3-3\nqueue_size = 64\nchecksum = none\n"
         "ecn = no\ncapacity = 1Gbit\nburst = 64k\nfirst_rate = 10Mbit\nfirst_burst = 32k\n",
    PORT
    "pcr = 100Mbit\ncdvt = 10us\nscr = 50Mbit\nmbs = 64k\ntx_lead = 50us\nearly = 0\nahead = 2\n"
    "silence = 10s\nrepeat = 10ms\nconnections = 1024\ndepth = 256\ngaps = 1024\n",
    PORT "occupancy = delay\noccupancy_law = 1ms,4ms/1e-6/1.0005,1.005\n",
    PORT "wire = rate 1gbit delay 5ms\nwire_out = loss 1%\nwire_packets = 99\n",
    PORT6 "gateway6 = fe80::1\n" PORT "security = none\n",
    "[daemon]\nprivate_key_file = /k\n" PORT "[peer b]\naddress = 10.0.0.2/32\naddress6 = "
    "fd00::2/128\npublic_key = " KEY "\nshared_key_file = /s # comment\n",
    PORT "[peer a b]\naddress = 10.1.0.0/16\nweight = 4\npriority = 1\nminimum = 10Mbit\nceiling = "
         "1Gbit\nall_minimum = 100Mbit\nall_ceiling = 5Gbit\n[peer c]\naddress6 = fd00:7::/48\n",
    PORT "wire = seed \\# 1\n",
    "[daemon]\nprivate_key_file = /k\nkey_log_file = /l\n" PORT
    "[service 7000]\nusers = root, 1001 @0\n"
    "[service *]\nusers = root\n[peer b]\naddress = 10.0.0.2/32\npublic_key = " KEY "\nusers = 7\n"
    "services = 7000 7100-7199\n",
    /* wrong */
    "",
    "[demon]\n",
    "[port]\n",
    "[peer]\n",
    "[service 0]\nusers = 1\n" PORT,
    "[service 7]\nusers = @\n" PORT,
    PORT "[peer b]\naddress = 10.0.0.2/32\nservices = 7\n",
    "[port a\n",
    "[port a] b\n",
    "[]\n",
    "x = 1\n",
    "[daemon]\n= 1\n",
    "[daemon]\nidle =\n",
    "[daemon]\nidle\n",
    "[daemon]\nidle = pole\n",
    "[daemon]\nidel = poll\n",
    "[daemon]\nmtu = 1500\n",
    "[daemon]\nxyzzy = 1\n",
    "[daemon]\nidle = poll\nidle = poll\n",
    "[daemon]\nquota = 7\n",
    "[daemon]\nquota = 1x\n",
    "[daemon]\ncontrol_interval = 5h\n",
    PORT PORT,
    PORT "gateway = 10.0.1.1\n",
    PORT "gateway = 10.0.0.1\n",
    PORT "gateway6 = fe80::1\n",
    PORT "neighbor = 10.0.0.1 02:00:00:00:00:01\n",
    PORT "neighbor = 10.0.0.9\n",
    PORT "neighbor = 10.0.0.9 01:00:00:00:00:01\n",
    PORT "mac = 00:00:00:00:00:00\n",
    PORT "address6 = ::1/64\n",
    PORT "lcores = 3-1\n",
    PORT "lcores = 1,\n",
    PORT "lcores = 0-99\n",
    PORT "source_ports = 9-8\n",
    PORT "depth = 100\n",
    PORT "vlan = 4095\n",
    PORT "scr = 1Mbit\n",
    PORT "pcr = 1Mbit\nscr = 2Mbit\n",
    PORT "pcr = 2Mbit\nscr = 1Mbit\nmbs = 9\n",
    PORT "pcr = 2Mbit\nmbs = 9k\n",
    PORT "occupancy = buffers\n",
    PORT "occupancy_law = dual\n",
    PORT "occupancy = buffers\noccupancy_law = 9\n",
    PORT "wire_packets = 99\n",
    PORT "wire = delay 1ms\nworkers = 2\n",
    PORT "wire = delay 1ms\nchecksum = offload\n",
    PORT "exception = a/b\n",
    PORT "security = required\n",
    PORT "[peer b]\naddress = 10.0.0.2/33\n",
    PORT "[peer b]\n",
    PORT "[peer b]\naddress = 10.0.0.2/32\naddress6 = fd00::2/128\n",
    PORT "[peer b]\naddress = 10.0.0.2/32\npublic_key = " KEY "\n",
    PORT "[peer b]\naddress = 10.0.0.2/32\nshared_key_file = /k\n",
    PORT "[peer b]\naddress = 10.0.0.0/24\n[peer c]\naddress = 10.0.0.2/32\n",
    PORT "[peer b]\naddress = 10.0.0.2/32\nminimum = 2Gbit\nceiling = 1Gbit\n",
    PORT "capacity = 1Mbit\n[peer b]\naddress = 10.0.0.2/32\nall_minimum = 2Gbit\n",
    "[port net_memif0]\naddress = 10.0.0.1/24\nvdev = net_memif1\n",
    "[port a]\nmtu = 1500\n",
    "[port a,b]\naddress = 10.0.0.1/24\n",
};

size_t golden_put(unsigned int i, uint8_t *p)
{
    size_t len;

    if (i >= sizeof goldens / sizeof goldens[0])
        return 0;
    len = strlen(goldens[i]);
    if (len == 0) /* a golden input has at least a byte */
        p[len++] = '\n';
    else
        memcpy(p, goldens[i], len);
    return len;
}

void golden_check(void)
{
    const struct fuzz_config_counts *c = &fuzz_config_counts;

    CHECK(c->loaded >= 10 && c->refused >= 57);
    CHECK(c->ports >= 11 && c->peers >= 3 && c->differences >= 60);
}

void golden_print(void)
{
    const struct fuzz_config_counts *c = &fuzz_config_counts;

    printf("files: loaded %llu refused %llu, with ports %llu peers %llu; differences %llu\n",
           (unsigned long long)c->loaded, (unsigned long long)c->refused,
           (unsigned long long)c->ports, (unsigned long long)c->peers,
           (unsigned long long)c->differences);
}
