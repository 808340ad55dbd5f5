/* SPDX-License-Identifier: BSD-3-Clause */
/* See raw_client.h. */
#include "unit/client/raw_client.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

int raw_memfd(uint64_t len_bytes, unsigned int flags)
{
    int fd = memfd_create("raw", flags);

    if (fd >= 0 && ftruncate(fd, static_cast<off_t>(len_bytes)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

RawClient::~RawClient()
{
    hang_up();
    if (memory != nullptr)
        munmap(memory, layout.total_bytes);
    if (session_fd >= 0)
        close(session_fd);
}

void RawClient::hang_up()
{
    if (sock >= 0)
        close(sock);
    if (wake_fd >= 0)
        close(wake_fd);
    sock = wake_fd = -1;
}

bool RawClient::connect(const std::string &path)
{
    struct sockaddr_un a = {};

    a.sun_family = AF_UNIX;
    memcpy(a.sun_path, path.c_str(), path.size() + 1);
    sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return ::connect(sock, reinterpret_cast<struct sockaddr *>(&a), sizeof a) == 0;
}

bool RawClient::send(const void *data, size_t len, const int *fds, int n_fds)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
    struct iovec io = {const_cast<void *>(data), len};
    struct msghdr m = {};

    m.msg_iov = &io;
    m.msg_iovlen = 1;
    if (n_fds > 0) {
        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE(static_cast<size_t>(n_fds) * sizeof(int));
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(static_cast<size_t>(n_fds) * sizeof(int));
        memcpy(CMSG_DATA(h), fds, static_cast<size_t>(n_fds) * sizeof(int));
    }
    return sendmsg(sock, &m, MSG_NOSIGNAL) == static_cast<ssize_t>(len);
}

bool RawClient::receive(struct protocol_reply *a, int timeout_ms, int *fd)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    char part[PROTOCOL_PART_MAX];
    struct pollfd p = {sock, POLLIN, 0};
    struct iovec io[2] = {{a, sizeof *a}, {part, sizeof part}};
    struct msghdr m = {};
    ssize_t n;

    memset(a, 0, sizeof *a);
    m.msg_iov = io;
    m.msg_iovlen = 2;
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    if (poll(&p, 1, timeout_ms) <= 0)
        return false;
    do
        n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (n < 0 && errno == ECONNRESET);
    if (n <= 0)
        return false;
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    if (h != nullptr && h->cmsg_type == SCM_RIGHTS) {
        int got;

        memcpy(&got, CMSG_DATA(h), sizeof got);
        if (fd != nullptr)
            *fd = got;
        else
            close(got);
    }
    return true;
}

struct protocol_reply RawClient::ask(struct protocol_request q, int fd, int *got)
{
    struct protocol_reply a = {};

    q.magic = PROTOCOL_MAGIC;
    q.version = PROTOCOL_VERSION;
    if (!send(&q, sizeof q, &fd, fd >= 0 ? 1 : 0) || !receive(&a, 10000, got))
        a.status = -ENOTCONN;
    return a;
}

struct protocol_reply RawClient::ask(uint16_t type)
{
    struct protocol_request q = {};

    q.type = type;
    return ask(q);
}

bool RawClient::open(const std::string &path, uint32_t n)
{
    struct protocol_request q = {};
    struct protocol_reply a;

    if (!connect(path))
        return false;
    a = ask(PROTOCOL_HELLO);
    if (a.status != 0 || a.type != PROTOCOL_HELLO)
        return false;
    limits = a.u.limits;
    entries = n;
    layout = protocol_layout_for(limits.channels, n, n, limits.handles);
    session_fd = raw_memfd(layout.total_bytes, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    memory = static_cast<uint8_t *>(
        mmap(nullptr, layout.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, session_fd, 0));
    q.type = PROTOCOL_SESSION;
    q.u.session = {limits.channels, n, n, limits.handles, layout.total_bytes};
    a = ask(q, session_fd, &wake_fd);
    return a.status == 0 && a.type == PROTOCOL_SESSION && wake_fd >= 0;
}

struct protocol_reply RawClient::region(int fd, uint64_t len_bytes)
{
    struct protocol_request q = {};

    q.type = PROTOCOL_REGION;
    q.u.region_bytes = len_bytes;
    return ask(q, fd);
}

struct protocol_channel *RawClient::ring(uint32_t channel)
{
    return reinterpret_cast<struct protocol_channel *>(memory + channel * layout.channel_bytes);
}

struct protocol_submission *RawClient::sq(uint32_t channel)
{
    return reinterpret_cast<struct protocol_submission *>(memory + channel * layout.channel_bytes +
                                                          layout.sq_offset);
}

struct protocol_completion *RawClient::cq(uint32_t channel)
{
    return reinterpret_cast<struct protocol_completion *>(memory + channel * layout.channel_bytes +
                                                          layout.cq_offset);
}

void RawClient::submit(uint32_t channel, const struct protocol_submission &e)
{
    struct protocol_channel *r = ring(channel);
    uint32_t tail = __atomic_load_n(&r->sq_tail, __ATOMIC_RELAXED);

    sq(channel)[tail & (entries - 1)] = e;
    __atomic_store_n(&r->sq_tail, tail + 1, __ATOMIC_RELEASE);
}

bool RawClient::take(uint32_t channel, struct protocol_completion *e)
{
    struct protocol_channel *r = ring(channel);
    uint32_t head = __atomic_load_n(&r->cq_head, __ATOMIC_RELAXED);

    if (__atomic_load_n(&r->cq_tail, __ATOMIC_ACQUIRE) == head)
        return false;
    *e = cq(channel)[head & (entries - 1)];
    __atomic_store_n(&r->cq_head, head + 1, __ATOMIC_RELEASE);
    return true;
}
