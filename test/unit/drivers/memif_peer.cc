// SPDX-License-Identifier: BSD-3-Clause
#include "memif_peer.hh"

#include <cstdint>
#include <cstring>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace
{

constexpr unsigned ACK = 1, HELLO = 2, INIT = 3, ADD_REGION = 4, ADD_RING = 5, CONNECT = 6,
                   CONNECTED = 7;
constexpr size_t MESSAGE_BYTES = 128;
constexpr uint16_t VERSION = 2 << 8, CLIENT_TO_SERVER = 1;
constexpr uint32_t COOKIE = 0x3E31F20;
constexpr uint8_t LOG2_SLOTS = 6;
constexpr size_t RING_BYTES = 128 + 16 * (1 << LOG2_SLOTS);

template <typename T> void put(std::string &to, T value)
{
    to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

} // namespace

MemifPeer::MemifPeer(const std::string &path)
{
    sockaddr_un address = {};

    fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    is_connected = connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
}

MemifPeer::MemifPeer(const std::string &path, unsigned queues, std::atomic<uint64_t> *steps_)
    : MemifPeer(path)
{
    steps = steps_;
    memory = memfd_create("memif", MFD_ALLOW_SEALING);
    is_connected = is_connected && shake_hands(queues);
}

MemifPeer::~MemifPeer()
{
    close(fd);
    close(memory);
}

bool MemifPeer::shake_hands(unsigned queues)
{
    size_t bytes = 2 * queues * RING_BYTES;
    std::string init, region;
    int event = eventfd(0, EFD_NONBLOCK);
    bool good;

    if (ftruncate(memory, static_cast<off_t>(bytes)) != 0)
        return false;
    for (unsigned i = 0; i < 2 * queues; i++)
        if (pwrite(memory, &COOKIE, sizeof COOKIE, static_cast<off_t>(i * RING_BYTES)) < 0)
            return false;
    put<uint16_t>(init, VERSION);
    put<uint32_t>(init, 0); // id
    put<uint8_t>(init, 0);  // Ethernet
    put<uint16_t>(region, 0);
    put<uint64_t>(region, bytes);
    good = receive(HELLO) && send(INIT, init) && receive(ACK) && send(ADD_REGION, region, memory) &&
           receive(ACK);
    for (unsigned i = 0; i < 2 * queues && good; i++) {
        std::string ring;

        put<uint16_t>(ring, i < queues ? CLIENT_TO_SERVER : 0);
        put<uint16_t>(ring, static_cast<uint16_t>(i % queues));
        put<uint16_t>(ring, 0); // region
        put<uint32_t>(ring, static_cast<uint32_t>(i * RING_BYTES));
        put<uint8_t>(ring, LOG2_SLOTS);
        put<uint16_t>(ring, 0);
        good = send(ADD_RING, ring, event) && receive(ACK);
    }
    close(event);
    return good && send(CONNECT, "") && receive(CONNECTED);
}

bool MemifPeer::send(unsigned type, const std::string &body, int descriptor)
{
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    char message[MESSAGE_BYTES] = {};
    iovec part = {message, sizeof message};
    msghdr m = {};

    message[0] = static_cast<char>(type);
    memcpy(message + 2, body.data(), body.size());
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    if (descriptor >= 0) {
        m.msg_control = control;
        m.msg_controllen = sizeof control;
        cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof descriptor);
        memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
    }
    return sendmsg(fd, &m, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
}

bool MemifPeer::receive(unsigned type)
{
    char message[MESSAGE_BYTES];
    ssize_t got = recv(fd, message, sizeof message, 0);

    if (steps != nullptr)
        ++*steps;
    return got == static_cast<ssize_t>(sizeof message) && static_cast<unsigned>(message[0]) == type;
}
