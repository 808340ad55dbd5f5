// SPDX-License-Identifier: BSD-3-Clause
// Mistakes in a configuration file. Each message names file and line, section and key, the cause
// and the cure.
#include <gtest/gtest.h>

#include <string>
#include <sys/stat.h>
#include <vector>

#include "file.h"

extern "C" {
#include "sluiced/config/config.h"
}

namespace
{

struct Mistake {
    const char *text;
    unsigned int line; // 0: the file as a whole
    const char *about; // section and key
    const char *cause;
    const char *cure;
};

#define KEY  "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="
#define OWN  "[daemon]\nprivate_key_file = /k\n"  // two lines
#define PORT "[port p0]\naddress = 10.0.0.1/24\n" // a mistake after it is on line 3

const Mistake mistakes[] = {
    // the file
    {"", 0, "", "no port is configured", "add a section [port NAME]"},
    {"[daemon]\nidle = poll\n", 0, "", "no port is configured", "[port NAME]"},
    {"address = 10.0.0.1/24\n", 1, "address", "before any section", "[port NAME]"},
    {"[port p0\n", 1, "[port p0", "without its ']'", "write [name]"},
    {"[port p0] address = 1\n", 1, "address = 1", "follows a section's ']'", "a line of its own"},
    {"[]\n", 1, "", "without a name", "[daemon] or [port NAME]"},
    {PORT "mtu 9000\n", 3, "[port p0] \"mtu 9000\"", "neither", "write '='"},
    {PORT "= 9000\n", 3, "= 9000", "without a key", "key = value"},
    {PORT "mtu =\n", 3, "[port p0] mtu:", "no value", "remove the line"},
    {PORT "mtu = # 9000\n", 3, "[port p0] mtu:", "no value", "remove the line"},
    {PORT "mtu = 9000\nmtu = 1500\n", 4, "[port p0] mtu:", "first in line 3", "remove one"},
    {PORT "[port p0]\nmtu = 1500\n", 3, "[port p0]", "first in line 1", "merge them"},
    // sections
    {"[deamon]\n", 1, "[deamon]", "unknown section", "did you mean [daemon]?"},
    {"[net_memif0]\n", 1, "[net_memif0]", "unknown section", "[port net_memif0]"},
    {"[port]\n", 1, "[port]", "a port without a name", "[port NAME]"},
    {"[port a b]\n", 1, "[port a b]", "cannot be a port's name", "net_memif0"},
    {"[port p0]\nmtu = 9000\n", 1, "[port p0]", "no address", "add address ="},
    {"[port p0]\naddress = 10.0.0.1/24\n[port  p0]\naddress = 10.0.1.1/24\n", 3, "[port  p0]",
     "occurs twice", "merge its sections"},
    // keys
    {PORT "capcity = 1Gbit\n", 3, "[port p0] capcity:", "unknown key", "did you mean capacity?"},
    {PORT "Mtu = 9000\n", 3, "[port p0] Mtu:", "unknown key", "did you mean mtu?"},
    {PORT "frobnicate = 1\n", 3, "[port p0] frobnicate:", "unknown key", "remove the line"},
    {PORT "socket = /tmp/x\n", 3, "[port p0] socket:", "does not belong here", "[daemon]"},
    {"[daemon]\nmtu = 9000\n" PORT, 2, "[daemon] mtu:", "does not belong here", "[port NAME]"},
    {PORT "exception = a/b\n", 3, "[port p0] exception:", "cannot be an interface's name", "tap0"},
    {PORT "exception = sixteen_letters_\n", 3, "[port p0] exception:", "cannot be an interface",
     "up to 15"},
    {PORT "exception = t0\n[port p1]\naddress = 10.0.1.1/24\nexception = t0\n", 6,
     "[port p1] exception:", "port p0 has this one, too", "give each port its own"},
    // peers
    {PORT "[peer]\nweight = 2\n", 3, "[peer]", "a peer without a name", "[peer NAME]"},
    {PORT "[peer a]\nweight = 2\n", 3, "[peer a]", "has no address", "add address ="},
    {PORT "[peer a]\naddress = 10.0.0.7/32\naddress6 = fd00::7/128\n", 5,
     "[peer a] address6:", "a second network", "[peer NAME] of its own"},
    {PORT "[peer a]\naddress = 10.0.0.7/32\nweight = 0\n", 5, "[peer a] weight: \"0\"", "too small",
     "1 to 65535"},
    {PORT "[peer a]\naddress = 10.0.0.7/32\npriority = 8\n", 5, "[peer a] priority: \"8\"",
     "too large", "0 to 7"},
    {PORT "[peer a]\naddress = 10.0.0.7/32\nminimum = 2Gbit\nceiling = 1Gbit\n", 5,
     "[peer a] minimum:", "above ceiling", "swap them"},
    {PORT "[peer a]\naddress = 10.0.0.7/32\nminimum = 2Gbit\nall_ceiling = 1Gbit\n", 5,
     "[peer a] minimum:", "above all_ceiling", "raise all_ceiling"},
    {PORT "capacity = 1Gbit\n[peer a]\naddress = 10.0.0.7/32\nall_minimum = 2Gbit\n", 6,
     "[peer a] all_minimum:", "exceed the capacity of port p0", "raise capacity"},
    // keys
    {PORT "security = required\n", 3, "[port p0] security:", "has no key", "private_key_file to"},
    {PORT "security = offered\n", 3, "[port p0] security:", "has no key", "sluice key generate"},
    {PORT "security = yes\n", 3, "security: \"yes\"", "none of none offered required", "example"},
    {PORT "[peer a]\naddress = 10.0.0.7/32\npublic_key = " KEY "\n", 5,
     "[peer a] public_key:", "no key of its own", "private_key_file to [daemon]"},
    {OWN PORT "[peer a]\npublic_key = " KEY "\n", 5, "[peer a]", "has no address", "add address ="},
    {OWN PORT "[peer a]\naddress = 10.0.0.7/32\npublic_key = abc\n", 7, "public_key: \"abc\"",
     "not a public key", "sluice key public"},
    {OWN PORT "[peer a]\naddress = 10.0.0.7/32\npublic_key = "
              "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
     7, "[peer a] public_key:", "no host has this key", "sluice key public"},
    {OWN PORT "[peer a]\naddress = 10.0.0.7/32\nshared_key_file = /s\n", 7,
     "[peer a] shared_key_file:", "no public_key", "add public_key"},
    {PORT "[daemon]\nkey_log_file = /l\n", 4, "[daemon] key_log_file:", "no keys to log",
     "remove it, or add private_key_file"},
    {OWN PORT "[peer a]\naddress = 10.0.0.7/32\npublic_key = " KEY
              "\n[peer b]\naddress = 10.0.0.8/32\npublic_key = " KEY "\n",
     10, "[peer b] public_key:", "peer a has this key", "one section"},
    {OWN PORT "[peer a]\naddress = 10.0.0.7/32\naddress6 = fd00::7/128\nall_ceiling = 1Gbit\n"
              "public_key = " KEY "\n",
     8, "[peer a] all_ceiling:", "this peer has two", "remove it"},
    {PORT "public_key = " KEY "\n", 3, "[port p0] public_key:", "does not belong", "[peer NAME]"},
    {PORT "weight = 2\n", 3, "[port p0] weight:", "does not belong here", "[peer NAME]"},
    // rates, sizes, times, numbers
    {PORT "capacity = fast\n", 3, "[port p0] capacity: \"fast\"", "number", "for example 1Gbit"},
    {PORT "capacity = 1\n", 3, "capacity: \"1\"", "needs a unit", "for example 1Gbit"},
    {PORT "capacity = 1Gb\n", 3, "capacity: \"1Gb\"", "its unit is none of", "1Gbit"},
    {PORT "capacity = 1bit\n", 3, "capacity: \"1bit\"", "too small", "1Gbit"},
    {PORT "capacity = 8bit\n", 3, "capacity: \"8bit\"", "too small", "0, or 8 kbit/s to"},
    {PORT "capacity = 9000Tbit\n", 3, "capacity: \"9000Tbit\"", "too large", "2251.799 Tbit"},
    {PORT "first_rate = 0\n", 3, "first_rate: \"0\"", "too small", "8 kbit/s"},
    {PORT "burst = 5G\n", 3, "burst: \"5G\"", "too large", "1 B to 3.999 GiB"},
    {PORT "burst = 64q\n", 3, "burst: \"64q\"", "its unit is none of k M G T", "64k"},
    {PORT "scr = 1Mbit\n", 3, "[port p0] scr:", "needs a peak rate", "pcr = 100Mbit"},
    {PORT "pcr = 1Mbit\nscr = 2Mbit\n", 4, "[port p0] scr:", "above pcr", "swap"},
    {PORT "pcr = 1Mbit\nmbs = 2k\n", 4, "[port p0] mbs:", "needs a sustained rate", "scr = 50Mbit"},
    {PORT "pcr = 1Mbit\nscr = 1Mbit\nmbs = 1k\n", 5, "[port p0] mbs:", "must hold a frame", "1518"},
    {PORT "pcr = 1Mbit\nscr = 1Mbit\n", 4, "[port p0] scr:", "must hold a frame", "mbs = 1518"},
    {PORT "occupancy = on\n", 3, "occupancy: \"on\"", "none of off buffers delay", "delay"},
    {PORT "occupancy = delay\n", 3, "occupancy:", "no thresholds", "1ms,4ms/"},
    {PORT "occupancy_law = dual\n", 3, "occupancy_law:", "no effect alone", "occupancy = buffers"},
    {PORT "occupancy = delay\noccupancy_law = dual\n", 4, "occupancy_law:", "count buffers",
     "dual 1ms,4ms"},
    {PORT "occupancy = buffers\noccupancy_law = 1,7/1e-5/1.003\n", 4,
     "occupancy_law:", "do not fit the levels", "one beta"},
    {PORT "occupancy = buffers\noccupancy_law = 7,1/1e-5/1.1,1.2\n", 4,
     "occupancy_law:", "not a law", "rise"},
    {PORT "tx_lead = 2ms\n", 3, "tx_lead: \"2ms\"", "too large", "0, or 1 us to 1 ms"},
    {PORT "silence = 3\n", 3, "silence: \"3\"", "a time needs a unit", "for example 10s"},
    {PORT "silence = 3d\n", 3, "silence: \"3d\"", "ns us ms s min h", "10s"},
    {PORT "silence = 1ms\n", 3, "silence: \"1ms\"", "too small", "10 ms to 3600 s"},
    {PORT "repeat = -1ms\n", 3, "repeat: \"-1ms\"", "negative", "10ms"},
    {PORT "mtu = 65536\n", 3, "mtu: \"65536\"", "too large", "576 to 65535 bytes"},
    {PORT "mtu = 300\n", 3, "mtu: \"300\"", "too small", "576 to 65535 bytes"},
    {PORT "source_ports = 9-5\n", 3, "source_ports: \"9-5\"", "backwards", "61440-65535"},
    {PORT "source_ports = 5-\n", 3, "source_ports: \"5-\"", "not a range", "61440-65535"},
    {PORT "source_ports = 1-65536\n", 3, "source_ports: \"1-65536\"", "too large", "1 to 65535"},
    {PORT "workers = two\n", 3, "workers: \"two\"", "number", "for example 2"},
    {PORT "workers = 1.5\n", 3, "workers: \"1.5\"", "not a whole number", "for example 2"},
    {PORT "workers = 33\n", 3, "workers: \"33\"", "too large", "1 to 32"},
    {PORT "vlan = 4095\n", 3, "vlan: \"4095\"", "too large", "0, or 1 to 4094"},
    {PORT "udp_port = 65536\n", 3, "udp_port: \"65536\"", "too large", "1 to 65535"},
    {PORT "depth = 100\n", 3, "depth: \"100\"", "not a power of two", "2, 4, 8"},
    {"[daemon]\ncontrol_interval = 1us\n" PORT, 2, "[daemon] control_interval: \"1us\"",
     "too small", "100 us to 100 ms"},
    // words
    {PORT "checksum = sofware\n", 3, "checksum: \"sofware\"", "none of auto none software offload",
     "did you mean software"},
    {PORT "checksum = yes\n", 3, "checksum: \"yes\"", "none of auto none", "for example software"},
    {"[daemon]\nlog_format = xml\n" PORT, 2, "[daemon] log_format:", "none of text json",
     "for example json"},
    {"[daemon]\nlog_level = inof\n" PORT, 2, "[daemon] log_level:", "none of default error",
     "did you mean info"},
    {"[daemon]\nidle = slep\n" PORT, 2, "[daemon] idle:", "none of poll pause sleep",
     "did you mean sleep"},
    // addresses
    {"[port p0]\naddress = 10.0.0.1\n", 2, "address: \"10.0.0.1\"", "prefix length is missing",
     "10.0.0.1/24"},
    {"[port p0]\naddress = 10.0.0.1/33\n", 2, "address:", "prefix length is wrong", "1 to 32"},
    {"[port p0]\naddress = 10.0.0.1/0\n", 2, "address:", "prefix length is wrong", "1 to 32"},
    {"[port p0]\naddress = 10.0.0.1/x\n", 2, "address:", "prefix length is wrong", "1 to 32"},
    {"[port p0]\naddress = 10.0.0.256/24\n", 2, "address:", "not an IPv4 address", "10.0.0.1/24"},
    {"[port p0]\naddress = fd00::1/64\n", 2, "address:", "is an IPv6 address", "10.0.0.1/24"},
    {"[port p0]\naddress6 = 10.0.0.1/24\n", 2, "address6:", "is an IPv4 address", "fd00::1/64"},
    {"[port p0]\naddress6 = fd00::1/129\n", 2, "address6:", "prefix length is wrong", "1 to 128"},
    {"[port p0]\naddress6 = fd00:1/64\n", 2, "address6:", "not an IPv6 address", "fd00::1/64"},
    {"[port p0]\naddress = 224.0.0.1/24\n", 2, "address:", "no station can have", "unicast"},
    {"[port p0]\naddress = 0.0.0.0/24\n", 2, "address:", "no station can have", "unicast"},
    {"[port p0]\naddress6 = ff02::1/64\n", 2, "address6:", "no station can have", "unicast"},
    {"[port p0]\naddress = 127.0.0.1/8\n", 2, "address:", "loopback", "the port's network"},
    {"[port p0]\naddress6 = ::1/128\n", 2, "address6:", "loopback", "the port's network"},
    {PORT "gateway = 10.0.1.1\n", 3, "gateway:", "not in the network of address", "correct one"},
    {PORT "gateway = 10.0.0.1\n", 3, "gateway:", "own address", "router's address"},
    {PORT "neighbor = 10.0.0.2\n", 3, "neighbor:", "an address and a MAC address", "ADDRESS MAC"},
    {PORT "neighbor = 10.0.0.2 02:00:00:00:00:02,\n", 3, "neighbor:", "an address and a MAC",
     "ADDRESS MAC"},
    {PORT "neighbor = 10.0.0.2 02:00:00:00:00\n", 3, "neighbor:", "not a MAC address", "six"},
    {PORT "neighbor = 10.0.0.2 03:00:00:00:00:02\n", 3, "neighbor:", "multicast", "even first"},
    {PORT "neighbor = 10.0.0.300 02:00:00:00:00:02\n", 3, "neighbor:", "not an IPv4", "10.0.0.254"},
    {PORT "neighbor = 10.0.0.2 02:00:00:00:00:02, 10.0.0.2 02:00:00:00:00:03\n", 3,
     "neighbor:", "twice", "each address once"},
    {PORT "neighbor = 10.0.0.1 02:00:00:00:00:02\n", 3, "neighbor:", "own address",
     "other stations"},
    {PORT "neighbor = 10.0.1.2 02:00:00:00:00:02\n", 3, "neighbor:", "not in the port's network",
     "correct it"},
    {PORT "neighbor = fd00::2 02:00:00:00:00:02\n", 3, "neighbor:", "not in the port's network",
     "correct it"},
    {PORT "gateway6 = fd00::2\n", 3, "gateway6:", "a gateway without an address", "add address6"},
    {PORT "address6 = fd00::1/64\nmtu = 1200\n", 4, "mtu:", "IPv6 needs 1280", "1280 or more"},
    {PORT "[port p1]\naddress = 10.0.0.1/16\n", 4, "[port p1] address:", "port p0 has this address",
     "its own"},
    {PORT "mac = 02:00:00:00:00\n", 3, "mac:", "not a MAC address", "02:00:00:00:00:01"},
    {PORT "mac = 02:00:00:00:00:0g\n", 3, "mac:", "not a MAC address", "02:00:00:00:00:01"},
    {PORT "mac = 01:00:5e:00:00:01\n", 3, "mac:", "multicast", "even first byte"},
    {PORT "mac = 00:00:00:00:00:00\n", 3, "mac:", "all zero", "unicast"},
    // lists
    {PORT "lcores = a\n", 3, "lcores: \"a\"", "not a list of lcores", "for example 1,3-5"},
    {PORT "lcores = 1;2\n", 3, "lcores: \"1;2\"", "not a list of lcores", "1,3-5"},
    {PORT "lcores = 1,\n", 3, "lcores: \"1,\"", "not a list of lcores", "1,3-5"},
    {PORT "lcores = 3-\n", 3, "lcores: \"3-\"", "without its end", "1,3-5"},
    {PORT "lcores = 3-1\n", 3, "lcores: \"3-1\"", "backwards", "1,3-5"},
    {PORT "lcores = 2000\n", 3, "lcores: \"2000\"", "1023", "1,3-5"},
    {PORT "lcores = 0-40\n", 3, "lcores:", "more than 32", "at most 32"},
    {PORT "workers = 1\nlcores = 1,2\n", 4, "lcores:", "2 lcores for 1 worker", "workers = 2"},
    // wires
    {PORT "wire_packets = 100\n", 3, "[port p0] wire_packets:", "has no wire", "add wire ="},
    {PORT "wire = delay 1ms\nwire_in = loss 1%\nwire_out = loss 1%\n", 3,
     "[port p0] wire:", "replace it in both directions", "remove one"},
    {PORT "wire = delay 1ms\nworkers = 2\n", 4, "[port p0] workers:", "one queue", "workers = 1"},
    {PORT "wire = delay 1ms\nlcores = 1,2\n", 4, "[port p0] lcores:", "one queue", "one lcore"},
    {PORT "checksum = offload\nwire_in = delay 1ms\n", 3,
     "[port p0] checksum:", "no checksum offload", "checksum = software"},
    // sums of workers
    {"[port a]\naddress = 10.0.0.1/24\nworkers = 32\n[port b]\naddress = 10.0.1.1/24\n"
     "workers = 32\n[port c]\naddress = 10.0.2.1/24\n",
     7, "[port c] workers:", "have 65 workers, the maximum is 64", "write fewer"},
    // peers that no address belongs to
    {PORT "[peer a]\naddress = 10.0.0.0/24\n[peer b]\naddress = 10.0.0.7/32\n", 6,
     "[peer b] address:", "peer a comes first", "above that one"},
    {PORT "[peer a]\naddress6 = fd00::/16\n[peer b]\naddress6 = fd00:1::/16\n", 6,
     "[peer b] address6:", "peer a comes first", "above that one"},
    // who may use what
    {PORT "[service]\n", 3, "[service]", "a service without a number", "[service *]"},
    {PORT "[service web]\nusers = root\n", 3, "[service web]", "is no service", "1 to 65535"},
    {PORT "[service 0]\nusers = root\n", 3, "[service 0]", "is no service", "1 to 65535"},
    {PORT "[service 65536]\nusers = root\n", 3, "[service 65536]", "is no service", "1 to 65535"},
    {PORT "[service 7]\nusers = root\n[service  7]\nusers = root\n", 5, "[service  7]",
     "occurs twice", "merge its sections"},
    {PORT "[service *]\nusers = root\n[service\t*]\nusers = root\n", 5, "*]", "occurs twice",
     "merge its sections"},
    {PORT "[service 7]\n", 3, "[service 7]", "has no users", "add users = NAME @GROUP"},
    {PORT "[service 7]\nusers = no_such_user_\n", 4,
     "[service 7] users:", "there is no user \"no_such_user_\" on this host", "groups behind an @"},
    {PORT "[service 7]\nusers = root @no_such_group_\n", 4, "[service 7] users:",
     "there is no group \"no_such_group_\" on this host", "for example 1001 @users"},
    {PORT "[service 7]\nusers = 4294967295\n", 4, "[service 7] users:", "there is no user",
     "numbers of users"},
    {PORT "[service 7]\nusers = @\n", 4, "[service 7] users:", "there is no group \"\"",
     "groups behind an @"},
    {PORT "[service 7]\nusers = ,\n", 4, "[service 7] users:", "it names nobody",
     "numbers of users"},
    {PORT "[service 7]\nservices = 7\n", 4, "[service 7] services:", "does not belong here",
     "[peer NAME]"},
    {PORT "[service 7]\nuser = root\n", 4, "[service 7] user:", "unknown key",
     "did you mean users?"},
    {PORT "users = root\n", 3, "[port p0] users:", "does not belong here", "[peer NAME]"},
    {PORT "[peer a]\naddress = 10.0.0.7/32\nservices = 7\n", 5,
     "[peer a] services:", "no public_key", "add public_key"},
    {OWN PORT "[peer a]\naddress = 10.0.0.7/32\npublic_key = " KEY "\nservices = 7, x\n", 8,
     "[peer a] services:", "not a list of services", "for example 7000 7100-7199"},
    {OWN PORT "[peer a]\naddress = 10.0.0.7/32\npublic_key = " KEY "\nservices = 0\n", 8,
     "[peer a] services:", "not a list of services", "1 to 65535"},
    {OWN PORT "[peer a]\naddress = 10.0.0.7/32\npublic_key = " KEY "\nservices = 9-7\n", 8,
     "[peer a] services:", "not a list of services", "1 to 65535"},
    {OWN PORT "[peer a]\naddress = 10.0.0.7/32\npublic_key = " KEY "\nservices = 7-65536\n", 8,
     "[peer a] services:", "not a list of services", "1 to 65535"},
    {OWN PORT "[peer a]\naddress = 10.0.0.7/32\npublic_key = " KEY "\nservices = none 7\n", 8,
     "[peer a] services:", "not a list of services", "or none"},
    // devices
    {PORT "vdev = net_memif1,role=server\n", 3,
     "vdev:", "named net_memif1, but the port is named p0", "the same name"},
};

std::string fail(const std::string &path)
{
    struct config c;
    char err[CONFIG_ERROR_MAX] = "";

    EXPECT_LT(config_load(&c, path.c_str(), err, sizeof err), 0) << path;
    return err;
}

void expect_part(const std::string &err, const std::string &part)
{
    EXPECT_NE(err.find(part), std::string::npos) << "\"" << err << "\" lacks \"" << part << "\"";
}

TEST(ConfigErrors, EachNamesLineCauseAndCure)
{
    EXPECT_GE(sizeof mistakes / sizeof mistakes[0], 30u);
    for (const Mistake &m : mistakes) {
        File f(m.text);
        std::string err = fail(f.path);
        std::string where = f.path + ":" + (m.line ? std::to_string(m.line) + ": " : " ");

        EXPECT_EQ(err.substr(0, where.size()), where) << m.text << err;
        EXPECT_EQ(err.find('\n'), std::string::npos) << err;
        expect_part(err, m.about);
        expect_part(err, m.cause);
        expect_part(err, m.cure);
    }
}

TEST(ConfigErrors, FilesThatCannotBeRead)
{
    std::string err = fail("/nowhere/sluiced.conf");

    expect_part(err, "/nowhere/sluiced.conf: cannot be read: No such file or directory");
    expect_part(err, "--config FILE");
    expect_part(fail("/tmp"), "cannot be read: Is a directory");
}

TEST(ConfigErrors, TooLong)
{
    std::string x(300, 'x');

    expect_part(fail(File(PORT "vdev = " + x + "\n").path), "vdev: the value is longer than 255");
    expect_part(fail(File(PORT "# " + x + x + "\n").path), ":3: [port p0] the line is longer");
    expect_part(fail(File("[port " + x + "]\n").path), "longer than 63 bytes; shorten it");
    expect_part(fail(File("[port " + x.substr(0, 58) + "]\n").path), "longer than 55 bytes");
    expect_part(fail(File(PORT + x.substr(0, 70) + " = 1\n").path), "unknown key");
    expect_part(fail(File("[daemon]\nsocket = /" + x.substr(0, 120) + "\n").path),
                "it is longer than 107 bytes");
}

TEST(ConfigErrors, TooMany)
{
    std::string ports, lines = PORT;

    for (int i = 0; i < 17; i++)
        ports +=
            "[port p" + std::to_string(i) + "]\naddress = 10.0." + std::to_string(i) + ".1/24\n";
    expect_part(fail(File(ports).path), ":33: [port p16] more than 16 ports; remove one");
    std::string peers = OWN PORT;
    for (int i = 0; i < 33; i++) {
        std::string n = std::to_string(i), key = KEY;

        key[0] = (char)('A' + i % 26);
        key[1] = (char)('A' + i / 26);
        peers += "[peer p" + n + "]\naddress = 10.0.0." + n + "/32\naddress6 = fd00::" + n +
                 "/128\npublic_key = " + key + "\n";
    }
    peers.replace(peers.find("10.0.0.0/32"), 11, "10.0.1.0/32");
    expect_part(fail(File(peers).path),
                ":133: [peer p32] the peers up to this one have 66 networks, the maximum is 64");
    std::string services = PORT, users = PORT "[service 7]\nusers =",
                ranges =
                    OWN PORT "[peer a]\naddress = 10.0.0.7/32\npublic_key = " KEY "\nservices =";
    for (int i = 1; i <= 65; i++)
        services += "[service " + std::to_string(i) + "]\nusers = root\n";
    expect_part(fail(File(services).path), ":131: [service 65] more than 64 services");
    for (int i = 0; i < 33; i++)
        users += " " + std::to_string(i);
    expect_part(fail(File(users + "\n").path), "more than 32 users and groups");
    for (int i = 1; i <= 17; i++)
        ranges += " " + std::to_string(i);
    expect_part(fail(File(ranges + "\n").path), "more than 16 ranges");
    for (int i = 0; i < 70; i++)
        lines += "k" + std::to_string(i) + " = 1\n";
    expect_part(fail(File(lines).path), "63 keys");
}

/* Random bytes give an error or a configuration, never a crash. */
TEST(ConfigErrors, RandomBytesAreHarmless)
{
    const char *seed_text = getenv("SLUICE_SEED");
    unsigned int seed = seed_text ? (unsigned int)strtoul(seed_text, nullptr, 10) : 1;
    const std::vector<std::string> words = {
        "[daemon]\n",  "[port p0]\n", "address",  " = ",
        "10.0.0.1/24", "\n",          "#",        "\\",
        "]",           "[",           "capacity", "1Gbit",
        "mtu",         "lcores",      "1-3",      ",",
        " ",           "\r",          "\t",       "9999999999999999999999",
        "mac",         ":",           "vdev",     std::string(1, '\0'),
        "\xff",        "=",
    };

    printf("seed %u (SLUICE_SEED)\n", seed);
    for (int run = 0; run < 2000; run++) {
        std::string text;
        unsigned int n = (unsigned int)rand_r(&seed) % 60;

        for (unsigned int i = 0; i < n; i++)
            text += words[(unsigned int)rand_r(&seed) % words.size()];
        File f(text);
        struct config c;
        char err[CONFIG_ERROR_MAX] = "";

        if (config_load(&c, f.path.c_str(), err, sizeof err) != 0) {
            EXPECT_EQ(std::string(err).substr(0, f.path.size()), f.path);
        } else {
            EXPECT_GE(c.n_ports, 1u);
        }
    }
}

} // namespace
