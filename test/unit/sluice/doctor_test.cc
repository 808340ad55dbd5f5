// SPDX-License-Identifier: BSD-3-Clause
// sluice doctor, on fake machines that consist of files: a healthy one, and each ailment with its
// cure.
#include <filesystem>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <vector>

#include <gtest/gtest.h>

#include "folder.h"

extern "C" {
#include "sluice/doctor/doctor.h"
#include "sluice/ping/path_size.h"
#include "sluice/ping/probe.h"
}

namespace
{

const char NIC[] = "0000:01:00.0";

class Machine
{
  public:
    Machine()
    {
        file("etc/sluice/sluiced.conf",
             "[daemon]\nidle = poll\nprivate_key_file = /etc/sluice/private.key\n"
             "[port 0000:01:00.0]\naddress = 10.0.0.1/24\nmtu = 9000\n"
             "[port net_af_xdp0]\nvdev = net_af_xdp0,iface=veth0,start_queue=0\nmtu = 1500\n"
             "[port net_memif0]\n"
             "vdev = "
             "net_memif0,role=server,socket-abstract=no,socket=/run/sluice/m.sock,bsize=9216\n"
             "mtu = 9000\n"
             "[peer b]\naddress = 10.0.0.7/32\nshared_key_file = /etc/sluice/b.key\n");
        key_file("etc/sluice/private.key");
        key_file("etc/sluice/b.key");
        file("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1024\n");
        file("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "512\n");
        for (const char *node : {"node0", "node1"})
            file(std::string("sys/devices/system/node/") + node +
                     "/hugepages/hugepages-2048kB/nr_hugepages",
                 "512\n");
        folder(std::string("sys/bus/pci/devices/") + NIC);
        driver("vfio-pci");
        file("dev/vfio/vfio", "");
        folder("sys/kernel/iommu_groups/7");
        file("sys/class/net/veth0/flags", "0x1003\n");
        file("sys/class/net/veth0/mtu", "1500\n");
        file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\n"
                             "flags\t\t: fpu tsc constant_tsc rep_good nonstop_tsc\nbugs\t\t:\n");
        file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
        file("sys/devices/system/cpu/online", "0-7\n");
        file("sys/devices/system/cpu/isolated", "2-7\n");
        for (int i = 0; i < 8; i++)
            governor(i, "performance");
        limit("unlimited", "0000000000000000", (int)geteuid());
        folder("run/sluice");
        listen();
    }
    ~Machine()
    {
        close(fd);
    }
    void file(const std::string &name, const std::string &text) const
    {
        folder(std::filesystem::path(name).parent_path());
        root.write(name, text);
    }
    void key_file(const std::string &name, unsigned int mode = 0600) const
    {
        file(name, "not looked at\n");
        chmod(root.at(name).c_str(), mode);
    }
    void logs_keys() const
    {
        folder("keys");
        conf("[daemon]\n", "[daemon]\nkey_log_file = /keys/log\n");
    }
    void folder(const std::string &name) const
    {
        std::filesystem::create_directories(root.at(name));
    }
    void gone(const std::string &name) const
    {
        std::filesystem::remove_all(root.at(name));
    }
    void driver(const std::string &name) const
    {
        std::string link = root.at(std::string("sys/bus/pci/devices/") + NIC + "/driver");

        std::filesystem::remove(link);
        if (!name.empty())
            std::filesystem::create_symlink("../../../bus/pci/drivers/" + name, link);
    }
    void governor(int cpu, const std::string &name) const
    {
        file("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor",
             name + "\n");
    }
    void limit(const std::string &soft, const std::string &caps, int uid = 0) const
    {
        for (const std::string &who : {std::string("self"), std::to_string(getpid())}) {
            file("proc/" + who + "/limits", "Limit        Soft Limit   Hard Limit   Units\n"
                                            "Max locked memory         " +
                                                soft + "       unlimited       bytes\n");
            file("proc/" + who + "/status",
                 "Name:\tx\nUid:\t0\t" + std::to_string(uid) + "\t0\t0\nCapEff:\t" + caps + "\n");
        }
    }
    void conf(const std::string &before, const std::string &after) const
    {
        std::string text = root.read("etc/sluice/sluiced.conf");

        text.replace(text.find(before), before.size(), after);
        root.write("etc/sluice/sluiced.conf", text);
    }
    void listen()
    {
        struct sockaddr_un a = {};

        a.sun_family = AF_UNIX;
        snprintf(a.sun_path, sizeof a.sun_path, "%s", root.at("run/sluice/sluiced.sock").c_str());
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        EXPECT_EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
        EXPECT_EQ(::listen(fd, 4), 0);
    }
    void dies()
    {
        close(fd);
        fd = -1;
    }
    void ends()
    {
        dies();
        gone("run/sluice/sluiced.sock");
    }
    /* A thread of a process. The main thread has the number of the process. */
    void thread(int pid, int tid, const std::string &name, const std::string &cpus) const
    {
        std::string process = "proc/" + std::to_string(pid) + "/",
                    task = process + "task/" + std::to_string(tid) + "/";

        if (pid == tid)
            file(process + "comm", name + "\n");
        file(task + "comm", name + "\n");
        file(task + "status",
             "Name:\t" + name + "\nCpus_allowed:\tff\nCpus_allowed_list:\t" + cpus + "\nx:\t1\n");
    }
    /* A daemon with one worker. */
    void sluiced(int pid, const std::string &cpus) const
    {
        thread(pid, pid, "sluiced", "0-7");
        thread(pid, pid + 1, "sl-worker-1", cpus);
        thread(pid, pid + 2, "rte-worker-2", "1");
    }
    std::vector<struct doctor_finding> look(const char *program = nullptr) const
    {
        std::vector<struct doctor_finding> all;
        struct doctor d = {};

        d.root = root.path.c_str();
        d.config = "/etc/sluice/sluiced.conf";
        d.daemon = program;
        d.ports = ports;
        d.synchronised = synchronised;
        d.peer = peer;
        d.probe = probe;
        d.tell = [](void *ctx, const struct doctor_finding *f) {
            static_cast<std::vector<struct doctor_finding> *>(ctx)->push_back(*f);
        };
        d.ctx = &all;
        doctor_run(&d);
        return all;
    }

    Folder root;
    int fd = -1;
    json_t *(*ports)(const char *socket) = nullptr;
    int (*synchronised)() = [] { return 1; };
    const char *peer = nullptr;
    int (*probe)(const char *, const char *, struct probe *, struct path_size *) = nullptr;
};

json_t *disputed(const char *conflict)
{
    return json_pack("[{ss ss} {ss ss}]", "name", "p0", "conflict", "", "name", "p1", "conflict",
                     conflict);
}

std::string said(const std::vector<struct doctor_finding> &all)
{
    std::string text;

    for (const auto &f : all)
        text += std::to_string(f.level) + " " + f.check + ": " + f.text + " | " + f.cure + "\n";
    return text;
}

TEST(Doctor, AHealthyMachine)
{
    Machine m;
    auto all = m.look();

    for (const auto &f : all) {
        EXPECT_EQ(f.level, DOCTOR_GOOD) << f.check << ": " << f.text;
        EXPECT_STREQ(f.cure, "");
    }
    for (const char *check : {"socket", "hugepages", "ports", "locking", "clock", "cpus", "keys",
                              "time", "security", "files"})
        EXPECT_NE(said(all).find(std::string("0 ") + check + ": "), std::string::npos) << check;
    EXPECT_NE(said(all).find("1024 of 2048 MB are free"), std::string::npos) << said(all);
    for (const char *text :
         {"/etc/sluice/private.key: only user ", "/etc/sluice/b.key: only user ",
          "0000:01:00.0: only peers with a key", "net_memif0: plain; its other end"})
        EXPECT_NE(said(all).find(text), std::string::npos) << said(all);
}

TEST(Doctor, SaysThatWorkersHaveCpusAndAddressesAreOurs)
{
    Machine m;

    m.sluiced(4000, "1");
    m.sluiced(5000, "0");
    m.ports = [](const char *) { return disputed(""); };
    EXPECT_NE(said(m.look()).find("0 workers: of 2 on this machine"), std::string::npos);
    EXPECT_NE(said(m.look()).find("0 addresses: no other station"), std::string::npos);
}

TEST(Doctor, AsksThePeer)
{
    Machine m;
    auto asked = [](const char *, const char *host, struct probe *out, struct path_size *size) {
        bool narrow = strcmp(host, "10.0.0.9") == 0,
             there = narrow || strcmp(host, "10.0.0.7") == 0;

        *size = {narrow ? 1444u : 9000u, !narrow};
        *out = {there ? 0 : -EHOSTUNREACH, true, 1234567, "", false, "", ""};
        return strcmp(host, "gone") == 0 ? -ENOTCONN : 0;
    };

    EXPECT_EQ(said(m.look()).find(" peer: "), std::string::npos) << "nobody asked for a peer";
    m.probe = asked;
    const struct {
        const char *peer, *words;
    } cases[] = {
        {"10.0.0.7", "0 peer: 10.0.0.7: a daemon answers, after 1.23 ms | "},
        {"10.0.0.7", "0 path: 10.0.0.7: packets of 9000 bytes come through, the longest"},
        {"10.0.0.9", "1 path: 10.0.0.9: packets of 1444 bytes come through, and no longer"},
        {"10.0.0.9", "set mtu = 1444"},
        {"10.0.0.8", "2 peer: 10.0.0.8: no answer: no host answers ARP"},
        {"10.0.0.8", "| check that the host is up"},
        {"gone", "2 peer: gone cannot be asked"},
    };
    std::string all;
    for (const auto &c : cases) {
        if (m.peer == nullptr ||
            strcmp(m.peer, c.peer) != 0) { // the machine can be asked a few times
            m.peer = c.peer;
            all = said(m.look());
        }
        EXPECT_NE(all.find(c.words), std::string::npos) << c.words << " is not in " << all;
    }
    EXPECT_EQ(all.find(" path: "), std::string::npos) << "of a peer that cannot be asked";
}

struct Ailment {
    void (*make)(Machine &m);
    const char *check;
    enum doctor_level level;
    const char *text, *cure;
    unsigned others = 0; // ailments that come with it
};

const char HUGE[] = "sys/kernel/mm/hugepages/hugepages-2048kB/";

const Ailment ailments[] = {
    {[](Machine &m) { m.gone("sys/kernel/mm"); }, "hugepages", DOCTOR_BAD, "kernel has none",
     "--no-huge"},
    {[](Machine &m) { m.file(std::string(HUGE) + "nr_hugepages", "0"); }, "hugepages", DOCTOR_BAD,
     "none are reserved", "sysctl -w vm.nr_hugepages=512"},
    {[](Machine &m) {
         m.ends();
         m.file(std::string(HUGE) + "free_hugepages", "10");
     },
     "hugepages", DOCTOR_BAD, "20 of 2048 MB are free", "vm.nr_hugepages=1536", 1},
    {[](Machine &m) {
         m.file("sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "0");
     },
     "hugepages", DOCTOR_WARNING, "node1 has none",
     "echo 512 > /sys/devices/system/node/node1/hugepages/"},
    {[](Machine &m) { m.gone(std::string("sys/bus/pci/devices/") + NIC); }, "ports", DOCTOR_BAD,
     "0000:01:00.0: there is no such device", "dpdk-devbind.py --status-dev net"},
    {[](Machine &m) { m.driver("ixgbe"); }, "ports", DOCTOR_BAD, "its driver is ixgbe",
     "modprobe vfio-pci; dpdk-devbind.py -b vfio-pci 0000:01:00.0"},
    {[](Machine &m) { m.driver(""); }, "ports", DOCTOR_BAD, "its driver is none",
     "dpdk-devbind.py -b vfio-pci 0000:01:00.0"},
    {[](Machine &m) { m.gone("dev/vfio"); }, "ports", DOCTOR_BAD, "/dev/vfio/vfio is missing",
     "modprobe vfio-pci"},
    {[](Machine &m) { m.gone("sys/kernel/iommu_groups"); }, "ports", DOCTOR_BAD, "no IOMMU",
     "intel_iommu=on"},
    {[](Machine &m) { m.gone("sys/class/net/veth0"); }, "ports", DOCTOR_BAD,
     "net_af_xdp0: there is no interface veth0", "ip link"},
    {[](Machine &m) { m.file("sys/class/net/veth0/flags", "0x1002"); }, "ports", DOCTOR_BAD,
     "veth0 is down", "ip link set veth0 up"},
    {[](Machine &m) { m.file("sys/class/net/veth0/mtu", "1400"); }, "ports", DOCTOR_BAD,
     "MTU 1500 is configured, but veth0 has 1400", "ip link set veth0 mtu 1500"},
    {[](Machine &m) {
         m.conf("mtu = 1500", "mtu = 9000");
         m.file("sys/class/net/veth0/mtu", "9000");
     },
     "ports", DOCTOR_BAD, "AF_XDP carries MTUs up to 3000", "mtu = 1500"},
    {[](Machine &m) { m.conf(",iface=veth0", ""); }, "ports", DOCTOR_BAD, "names no interface",
     "iface=NAME"},
    {[](Machine &m) { m.conf("/run/sluice/m.sock", "/run/other/m.sock"); }, "ports", DOCTOR_BAD,
     "folder of its socket is missing", "mkdir -p /run/other"},
    {[](Machine &m) { m.conf("bsize=9216", "bsize=2048"); }, "ports", DOCTOR_BAD,
     "frames of MTU 9000 do not fit into bsize=2048", "bsize=9216"},
    {[](Machine &m) { m.conf("9216\nmtu = 9000", "9216\nmtu = 65385"); }, "ports", DOCTOR_BAD,
     "frames of MTU 65385 do not fit into bsize=9216", "bsize=65407"},
    {[](Machine &m) { m.conf("9216\nmtu = 9000", "9216\nmtu = 65386"); }, "ports", DOCTOR_BAD,
     "memif carries MTUs up to 65385, 65386 is configured", "mtu = 65385"},
    {[](Machine &m) {
         m.conf("iface=veth0", "x=y");
         m.conf("vdev = net_af_xdp0", "vdev = net_bonding0,slave=0000:01:00.0,member=0000:01:00.1");
     },
     "ports", DOCTOR_BAD, "0000:01:00.1: there is no such device", "dpdk-devbind.py"},
    {[](Machine &m) { m.limit("8388608", "0000000000000000"); }, "locking", DOCTOR_BAD,
     "8 MB may be locked", "LimitMEMLOCK=infinity"},
    {[](Machine &m) { m.limit("4294967296", "0000000000000000"); }, "locking", DOCTOR_WARNING,
     "4096 MB may be locked", "ulimit -l unlimited"},
    {[](Machine &m) {
         m.ends();
         m.limit("unlimited", "0000000000000000", 1000);
     },
     "rights", DOCTOR_WARNING, "user 1000", "sudo sluiced", 1},
    {[](Machine &m) { m.file("proc/cpuinfo", "a\nflags\t\t: fpu tsc nonstop_tsc\n"); }, "clock",
     DOCTOR_BAD, "no constant_tsc", "cpupower frequency-set -g performance"},
    {[](Machine &m) { m.file("proc/cpuinfo", "a\nflags\t\t: constant_tsc nonstop_tsc_s3\n"); },
     "clock", DOCTOR_WARNING, "no nonstop_tsc", "max_cstate"},
    {[](Machine &m) {
         m.file("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
     },
     "clock", DOCTOR_WARNING, "does not trust the TSC", "dmesg | grep -i tsc"},
    {[](Machine &m) { m.file("sys/devices/system/cpu/isolated", "\n"); }, "cpus", DOCTOR_WARNING,
     "none of 8 is isolated", "isolcpus=2-7"},
    {[](Machine &m) { m.file("sys/devices/system/cpu/online", "0\n"); }, "cpus", DOCTOR_BAD,
     "there is only one", "idle = sleep"},
    {[](Machine &m) { m.governor(3, "powersave"); }, "cpus", DOCTOR_WARNING,
     "1 of 8 change their speed (governor powersave)", "cpupower frequency-set -g performance"},
    {[](Machine &m) {
         m.sluiced(4000, "1");
         m.sluiced(5000, "1");
     },
     "workers", DOCTOR_WARNING, "2 share CPU 1 (process 4000, 5000)", "--lcores 0@1,1@0"},
    {[](Machine &m) {
         m.sluiced(4000, "2");
         m.thread(4000, 4009, "sl-worker-9", "2");
     },
     "workers", DOCTOR_WARNING, "2 share CPU 2 (process 4000)", "--lcores 0@2,1@0"},
    {[](Machine &m) { // the main thread of the second process is a worker
         m.sluiced(4000, "0");
         m.thread(5000, 5000, "sluiced", "0");
         m.thread(5000, 5001, "sluiced-control", "1");
     },
     "workers", DOCTOR_WARNING, "2 share CPU 0 (process 4000, 5000)", "--lcores 0@0,1@1"},
    {[](Machine &m) {
         m.file("sys/devices/system/cpu/online", "0-1\n");
         m.file("sys/devices/system/cpu/isolated", "1\n");
         m.sluiced(4000, "0-1");
         m.sluiced(5000, "0-1");
         m.thread(6000, 6000, "sluice-emu", "0-1");
         m.thread(6000, 6001, "sl-worker-box", "0-1");
     },
     "workers", DOCTOR_WARNING, "3 share CPU 0-1 (process 4000, 5000, 6000)", "fewer daemons"},
    {[](Machine &m) {
         m.ports = [](const char *) { return disputed("10.0.0.1 not used, it is at 02::1"); };
     },
     "addresses", DOCTOR_BAD, "p1: another station has an address of ours: 10.0.0.1 not used",
     "address in [port p1]"},
    {[](Machine &m) {
         m.ports = [](const char *) { return disputed("10.0.0.1 was claimed by 02::1"); };
     },
     "addresses", DOCTOR_WARNING, "10.0.0.1 was claimed by", "change one"},
    {[](Machine &m) { m.ends(); }, "socket", DOCTOR_WARNING, "no daemon runs",
     "systemctl start sluiced"},
    {[](Machine &m) { m.dies(); }, "socket", DOCTOR_WARNING, "left behind", "systemctl start"},
    {[](Machine &m) { m.gone("etc/sluice/private.key"); }, "keys", DOCTOR_BAD,
     "/etc/sluice/private.key: No such file", "sluice key generate /etc/sluice/private.key"},
    {[](Machine &m) { m.gone("etc/sluice/b.key"); }, "keys", DOCTOR_BAD,
     "/etc/sluice/b.key: No such file", "sluice key shared /etc/sluice/b.key"},
    {[](Machine &m) { m.key_file("etc/sluice/b.key", 0640); }, "keys", DOCTOR_BAD,
     "/etc/sluice/b.key: its mode 0640 lets other users", "chmod 600 /etc/sluice/b.key"},
    {[](Machine &m) {
         m.gone("etc/sluice/b.key");
         m.folder("etc/sluice/b.key");
     },
     "keys", DOCTOR_BAD, "/etc/sluice/b.key: is no regular file", "name one that holds a key"},
    {[](Machine &m) {
         m.folder("keys");
         chmod(m.root.at("keys").c_str(), 0777);
         m.key_file("keys/a");
         m.conf("/etc/sluice/private.key", "/keys/a");
     },
     "keys", DOCTOR_BAD, "/keys/a: the mode 0777 of its folder", "chmod go-w /keys"},
    {[](Machine &m) { m.limit("unlimited", "0000000000000000", 12345); }, "keys", DOCTOR_BAD,
     "/etc/sluice/b.key: belongs to user ", "chown 12345 /etc/sluice/b.key", 1},
    {[](Machine &m) { m.logs_keys(); }, "keys", DOCTOR_WARNING,
     "/keys/log: keys are logged there: anyone with this file can read the packets",
     "remove key_log_file from /etc/sluice/sluiced.conf, systemctl restart sluiced, shred -u "
     "/keys/log"},
    {[](Machine &m) {
         m.logs_keys();
         m.key_file("keys/log", 0644);
     },
     "keys", DOCTOR_BAD, "/keys/log: its mode 0644 lets other users", "chmod 600 /keys/log", 1},
    {[](Machine &m) {
         m.logs_keys();
         m.key_file("keys/log");
         chmod(m.root.at("keys").c_str(), 0777);
     },
     "keys", DOCTOR_BAD, "/keys/log: the mode 0777 of its folder", "chmod go-w /keys", 1},
    {[](Machine &m) {
         m.logs_keys();
         std::filesystem::create_symlink("elsewhere", m.root.at("keys/log"));
     },
     "keys", DOCTOR_BAD, "/keys/log: is no regular file", "write another file", 1},
    {[](Machine &m) { m.synchronised = [] { return 0; }; }, "time", DOCTOR_WARNING,
     "not synchronised", "timedatectl set-ntp true"},
    {[](Machine &m) { m.conf("\nmtu = 1500", "\nsecurity = none\nmtu = 1500"); }, "security",
     DOCTOR_WARNING, "net_af_xdp0: plain: any host", "security = required in [port net_af_xdp0]"},
    {[](Machine &m) { m.conf("\nmtu = 1500", "\nsecurity = offered\nmtu = 1500"); }, "security",
     DOCTOR_WARNING, "net_af_xdp0: plain to hosts that have no", "once all have one"},
    {[](Machine &m) { m.conf("private_key_file = /etc/sluice/private.key\n", ""); }, "security",
     DOCTOR_WARNING, "0000:01:00.0: plain: any host", "sluice key generate /etc/sluice/private.key",
     1},
    {[](Machine &m) { m.gone("etc/sluice"); }, "config", DOCTOR_BAD,
     "/etc/sluice/sluiced.conf cannot be read", "--config FILE"},
};

TEST(Doctor, EveryAilmentHasItsCure)
{
    for (const Ailment &a : ailments) {
        Machine m;
        unsigned found = 0, others = 0;

        a.make(m);
        auto all = m.look();
        for (const auto &f : all) {
            if (f.level == DOCTOR_GOOD)
                continue;
            EXPECT_STRNE(f.cure, "") << f.text;
            if (f.level == a.level && std::string(f.check) == a.check &&
                std::string(f.text).find(a.text) != std::string::npos &&
                std::string(f.cure).find(a.cure) != std::string::npos)
                found++;
            else
                others++;
        }
        EXPECT_EQ(found, 1u) << a.text << "\n" << said(all);
        EXPECT_EQ(others, a.others) << a.text << "\n" << said(all);
    }
}

TEST(Doctor, WhatIsAllRightInOtherWays)
{
    void (*const ways[])(Machine &) = {
        [](Machine &m) { m.driver("mlx5_core"); },
        [](Machine &m) { m.driver("uio_pci_generic"); },
        [](Machine &m) {
            m.gone("sys/kernel/iommu_groups");
            m.file("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n");
        },
        [](Machine &m) { m.limit("8388608", "0000000000004000"); }, // CAP_IPC_LOCK
        [](Machine &m) {
            m.limit("8388608", "0");
            m.conf("idle = poll", "lock = no");
        },
        [](Machine &m) {
            m.file("sys/devices/system/cpu/online", "0");
            m.conf("idle = poll", "idle = sleep");
        },
        [](Machine &m) {
            m.file(std::string(HUGE) + "free_hugepages", "0");
        }, // the daemon uses them all
        [](Machine &m) { m.gone("sys/devices/system/cpu/cpu0"); },
        [](Machine &m) { m.file("proc/cpuinfo", "Features\t: fp asimd\n"); },
        [](Machine &m) { // a worker's CPU also has an idle lcore, control and another program
            m.sluiced(4000, "1");
            m.sluiced(5000, "0");
            m.thread(4000, 4003, "sluiced-console", "1");
            m.thread(6000, 6000, "other", "1");
            m.thread(6000, 6001, "sl-worker-1", "1");
        },
        [](Machine &m) { // two workers may use either of two CPUs
            m.sluiced(4000, "2-3");
            m.sluiced(5000, "2-3");
        },
        [](Machine &m) { m.ports = [](const char *) { return disputed(""); }; },
        [](Machine &m) { m.synchronised = nullptr; },
        [](Machine &m) { m.synchronised = [] { return -1; }; },
        [](Machine &m) { // a key in a folder where everybody may write, but replace nothing
            m.folder("keys");
            chmod(m.root.at("keys").c_str(), 01777);
            m.key_file("keys/a", 0400);
            m.conf("/etc/sluice/private.key", "/keys/a");
        },
        [](Machine &m) { // memory needs no key
            m.conf("private_key_file = /etc/sluice/private.key\n", "");
            m.conf("[port 0000:01:00.0]", "[port net_vhost0]");
            m.conf("[port net_af_xdp0]", "[port net_ring0]");
            m.conf("vdev = net_af_xdp0", "vdev = net_ring0");
            m.synchronised = [] { return 0; };
        },
        [](Machine &m) { m.ports = [](const char *) -> json_t * { return nullptr; }; },
    };
    for (auto make : ways) {
        Machine m;

        make(m);
        for (const auto &f : m.look())
            EXPECT_EQ(f.level, DOCTOR_GOOD) << f.text;
    }
}

/* The program that checks the configuration finds it good, finds a mistake, or is missing. */
TEST(Doctor, AsksTheDaemonAboutItsConfiguration)
{
    Machine m;
    struct {
        const char *script;
        enum doctor_level level;
        const char *text;
    } cases[] = {
        {"#!/bin/sh\n[ \"$1\" = --check ] && grep -q memif \"$2\"\n", DOCTOR_GOOD, "is good"},
        {"#!/bin/sh\necho \"sluiced: FILE:3: [port p0] mtu: it is wrong\" >&2; exit 3\n",
         DOCTOR_BAD, "FILE:3: [port p0] mtu: it is wrong"},
        {"#!/bin/sh\necho 'sluiced: FILE:3: it is wrong' >&2; seq 99999 >&2; exit 3\n", DOCTOR_BAD,
         "FILE:3: it is wrong"},
        {"#!/bin/sh\nexit 127\n", DOCTOR_WARNING, "could not be checked"},
        // With log_format = json, the daemon's text is for people only if it is asked for.
        {"#!/bin/sh\nshift 2\n[ \"$*\" = '--log-format text' ] || echo '{}' >&2\n"
         "echo 'sluiced: error: FILE:3: it is wrong' >&2; exit 3\n",
         DOCTOR_BAD, "FILE:3: it is wrong"},
    };

    for (const auto &c : cases) {
        m.file("bin/sluiced", c.script);
        std::filesystem::permissions(m.root.at("bin/sluiced"), std::filesystem::perms::owner_all);
        auto all = m.look(m.root.at("bin/sluiced").c_str());
        ASSERT_FALSE(all.empty());
        EXPECT_STREQ(all[0].check, "config");
        EXPECT_EQ(all[0].level, c.level) << all[0].text;
        EXPECT_NE(std::string(all[0].text).find(c.text), std::string::npos) << all[0].text;
    }
    EXPECT_EQ(m.look("/nowhere/sluiced")[0].level, DOCTOR_WARNING);
}

} // namespace
