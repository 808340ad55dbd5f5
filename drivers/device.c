/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/device.h"

#include <semaphore.h>
#include <string.h>

#include <rte_alarm.h>

#include "base/check.h"

bool device_guarded[RTE_MAX_ETHPORTS];

struct call {
    int (*function)(uint16_t port);
    uint16_t port;
    int rc;
    bool made; /* atomic: what is above may be read. The EAL's locks ensure that, too, but
                  ThreadSanitizer does not know them */
    sem_t done;
};

static void call_run(void *arg)
{
    struct call *c = arg;

    CHECK(__atomic_load_n(&c->made, __ATOMIC_ACQUIRE));
    c->rc = c->function(c->port);
    sem_post(&c->done);
}

static bool is_memif(uint16_t port)
{
    struct rte_eth_dev_info info;

    memset(&info, 0, sizeof info);
    return rte_eth_dev_info_get(port, &info) == 0 && info.driver_name != NULL &&
           strcmp(info.driver_name, "net_memif") == 0;
}

/* Runs the function where the port's driver wants it. The EAL runs alarms on its interrupt thread,
 * one callback after the other. */
static int call(int (*function)(uint16_t port), uint16_t port)
{
    struct call c = {.function = function, .port = port};
    int rc;

    if (!is_memif(port))
        return function(port);
    sem_init(&c.done, 0, 0);
    __atomic_store_n(&c.made, true, __ATOMIC_RELEASE);
    rc = rte_eal_alarm_set(1, call_run, &c);
    if (rc == 0) {
        while (sem_wait(&c.done) != 0) /* a signal came */
            ;
        rc = c.rc;
    }
    sem_destroy(&c.done);
    return rc;
}

int device_start(uint16_t port)
{
    __atomic_store_n(&device_guarded[port], is_memif(port), __ATOMIC_RELAXED);
    return call(rte_eth_dev_start, port);
}

int device_stop(uint16_t port)
{
    return call(rte_eth_dev_stop, port);
}

int device_close(uint16_t port)
{
    return call(rte_eth_dev_close, port);
}

bool device_link_up(uint16_t port)
{
    struct rte_eth_link link;

    memset(&link, 0, sizeof link);
    return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}
