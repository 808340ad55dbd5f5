/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden inputs for fuzz_path.c: each element, the errors of each value, and packets of each kind.
 */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "fuzz_path.h"

const uint64_t golden_runs = 3000;

static const char *const goldens[] = {
    "",
    "delay 20ms 2ms 25% distribution normal limit 20 loss 0.1%",
    "rate 100mbit limit 250kB delay 1ms loss 10% ecn",
    "rate 8mbit -4 48 5 limit 9 red min 2kB max 9kB probability 10% weight 3 ecn",
    "rate 8mbit codel target 5us interval 50us ecn",
    "rate 8mbit band length 100 limit 3 band dscp 46,34 limit 4kB band",
    "receiver 8mbit stall 10us trace ./f limit 9",
    "delay 10us distribution ./f",
    "delay 1ms 1ms order reorder 30% 10% gap 3",
    "duplicate 50% 10% corrupt 50%",
    "loss state 5% 30% 20% 60% 2% loss gemodel 5% 10% 50% loss list 3,7,10-12 loss every 5 2",
    "loss pattern 00101 slot distribution uniform 2ms 1ms packets 3 bytes 9kB",
    "police pcr 50mbit cdvt 10us cells line 155mbit scr 10mbit mbs 50 tag 12 hop 8mbit burst 9kB "
    "rcntl",
    "police pcr 1mbit shape limit 5 police pcr 1mbit drop",
    "match dport 5000-5010 ( delay 1ms ) or src 10.0.0.0/24 ( loss 50% ) or vlan 5 ( ) else ( rate "
    "1mbit )",
    "each flow max 4 ( rate 1mbit limit 3 each dscp max 2 ( delay 1us ) )",
    "seed 7 rate 1mbit delay 1ms at 1ms rate 2mbit at 2ms delay 0 rate 1gbit",
    "rate 1mbit rate 2mbit at 5us rate/2 3mbit",
    "match proto udp length 64-1500 dscp 46 port 2000 dst fd00::/16 sport 7 ( corrupt 100% )",
    /* wrong */
    "delai 20ms",
    "rate 100",
    "delay 1ms distribution nofile",
    "match proto udp ( ) )",
    "each flow ( each flow ( each flow ( each flow ( each flow ( ) ) ) ) )",
    "loss 120% delay -1ms rate 0 limit",
    "at 5ms rate 1mbit",
    "police scr 1mbit",
};

/* Packets of each kind, taken at once and late. */
static const uint8_t program[] = {
    PATH_STEP_PUSH | 3 << 2,
    0x00,
    50,
    0x05,
    200,
    0x16,
    9,
    0x0b,
    90,
    PATH_STEP_NEXT,
    PATH_STEP_POP | 3 << 2,
    PATH_STEP_TIME | 12 << 2,
    99,
    PATH_STEP_PUSH | 3 << 2,
    0x08,
    50,
    0x0c,
    10,
    0x24,
    200,
    0x1d,
    255,
    PATH_STEP_TIME | 16 << 2,
    50,
    PATH_STEP_POP | 9 << 2,
    PATH_STEP_PUSH | 3 << 2,
    0x04,
    250,
    0x04,
    250,
    0x04,
    0,
    0x02,
    250,
    PATH_STEP_TIME | 20 << 2,
    200,
    PATH_STEP_POP | 63 << 2,
};

size_t golden_put(unsigned int i, uint8_t *p)
{
    static const char file[] = "0\n1\n1\n5 # ms\n";
    size_t len;

    if (i >= sizeof goldens / sizeof goldens[0])
        return 0;
    len = strlen(goldens[i]) + 1;
    memcpy(p, goldens[i], len);
    memcpy(p + len, file, sizeof file);
    len += sizeof file;
    memcpy(p + len, program, sizeof program);
    return len + sizeof program;
}

void golden_check(void)
{
    const struct fuzz_path_counts *c = &fuzz_path_counts;

    CHECK(c->parsed >= 19 && c->refused >= 8 && c->again >= 14 && c->files >= 2);
    CHECK(c->in >= 200 && c->out >= 100 && c->dropped >= 15 && c->copied >= 4);
}

void golden_print(void)
{
    const struct fuzz_path_counts *c = &fuzz_path_counts;

    printf("paths: parsed %llu refused %llu again %llu; packets: in %llu out %llu dropped %llu "
           "copied %llu\n",
           (unsigned long long)c->parsed, (unsigned long long)c->refused,
           (unsigned long long)c->again, (unsigned long long)c->in, (unsigned long long)c->out,
           (unsigned long long)c->dropped, (unsigned long long)c->copied);
}
