/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are written behind the thread that serves senders, against the same files written by
 * it: the same results in the same order, and the same content. */
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/content.h"
#include "unit/sluice/folder.h"
#include "unit/sluice/receiver.h"
#include "unit/sluice/storage/fixture.h"

extern "C" {
#include "sluice/transfer/incoming.h"
}

namespace
{

/* A request: its records, and where the data of each are in `bytes`. */
struct Request {
    void add(struct record r, const std::string &data = "")
    {
        size_t at = bytes.size();

        r.len_bytes = (uint32_t)data.size();
        bytes.resize(at + RECORD_HEADER_BYTES);
        record_encode((uint8_t *)bytes.data() + at, &r);
        bytes += data;
    }
    std::string bytes;
};

/* Requests of files with random pieces, some of which end wrong. */
class Maker
{
  public:
    Maker(std::mt19937_64 &rng, uint64_t size_max) : rng(rng), size_max(size_max)
    {
    }
    ~Maker()
    {
        digest_destroy(digest);
    }
    Maker(const Maker &) = delete;

    void file()
    {
        struct record r = {};
        uint64_t size = rng() % size_max, at = 0;
        bool unknown = rng() % 4 == 0;

        digest_reset(digest);
        number++;
        r.mode = 0600;
        r.size = unknown ? 0 : size;
        r.flags = unknown ? RECORD_SIZE_UNKNOWN : 0;
        put(RECORD_OFFER, r, "f" + std::to_string(rng() % 6));
        while (at < size && rng() % 40 != 0) {
            uint64_t piece = rng() % 3 ? RECORD_DATA_MAX : 1 + rng() % RECORD_DATA_MAX;

            r = {};
            r.offset = at;
            piece = std::min(piece, size - at);
            at += piece;
            if (!unknown && rng() % 6 == 0) {
                r.size = piece;
                digest_zeros(digest, piece);
                put(RECORD_HOLE, r);
                continue;
            }
            std::string data = content_large(rng, piece);
            digest_update(digest, data.data(), data.size());
            put(RECORD_DATA, r, data);
        }
        r = {};
        r.size = at;
        digest_value(digest, r.hash);
        r.hash[0] = (uint8_t)(r.hash[0] + (rng() % 8 == 0));
        if (at < size && rng() % 2)
            r = {};
        put(at < size && r.size == 0 ? RECORD_DROP_FILE : RECORD_END_FILE, r);
    }
    std::vector<Request> requests;

  private:
    void put(enum record_type type, struct record r, const std::string &data = "")
    {
        r.type = (uint8_t)type;
        r.file = number;
        if (requests.empty() || rng() % 3 == 0 ||
            requests.back().bytes.size() + RECORD_HEADER_BYTES + data.size() > RECORD_REQUEST_MAX)
            requests.emplace_back();
        requests.back().add(r, data);
    }
    std::mt19937_64 &rng;
    uint64_t size_max, number = 0;
    struct digest *digest = digest_create();
};

/* A receiver whose requests come from memory. */
class Receiver
{
  public:
    explicit Receiver(struct storage *storage) : memory(kBuffers)
    {
        destination.kind = DESTINATION_DIR;
        destination.dir_fd = folder.fd;
        destination.stream_fd = -1;
        destination.overwrite = true;
        destination.keep_s = 60;
        EXPECT_EQ(incoming_init(&in, nullptr, &destination, kBuffers), 0);
        EXPECT_EQ(summary_init(&in.summary, false), 0);
        strcpy(in.part.owner, "peer b");
        in.state = INCOMING_OPEN;
        in.served = in.no_more = true; /* nothing is posted */
        in.storage = storage;
        std::fill_n(in.results.busy, RESULT_QUEUE_SLOTS, true);
        for (auto &m : memory) {
            EXPECT_EQ(posix_memalign((void **)&m, 4096, PACK_BYTES), 0);
            in.buffers.at[in.buffers.n] = m;
            buffers_give(&in.buffers, in.buffers.n++);
        }
    }
    ~Receiver()
    {
        incoming_fini(&in);
        for (auto *m : memory)
            free(m);
    }
    /* Takes what was written, after waiting for it if there is nothing else to do. */
    void written(bool wait)
    {
        if (in.storage == nullptr)
            return;
        if (wait)
            storage_wait(in.storage);
        while (struct storage_piece *piece = storage_take(in.storage)) {
            EXPECT_EQ(piece->owner, &in);
            incoming_written(&in, piece);
        }
    }
    void work()
    {
        while (incoming_work(&in, 16u << 20))
            ;
    }
    void take(const Request &q)
    {
        int i;

        written(false);
        work();
        while ((i = buffers_take(&in.buffers)) < 0) {
            written(true);
            work();
        }
        receiver_comes(&in, i, q.bytes.data(), q.bytes.size());
        work();
    }
    void settle()
    {
        while (work(), in.n_ready > 0 || storage_busy(&in.behind))
            written(true);
    }
    /* What each file has become. */
    std::vector<std::pair<uint64_t, uint32_t>> results()
    {
        std::vector<std::pair<uint64_t, uint32_t>> out;

        for (const struct record &r : receiver_answers(&in))
            out.push_back({r.file, r.mode});
        return out;
    }
    std::map<std::string, std::string> contents()
    {
        std::map<std::string, std::string> out;

        for (auto &e : std::filesystem::directory_iterator(folder.path)) {
            std::string &content = out[e.path().filename()] = folder.read(e.path().filename());

            EXPECT_EQ(content.size(), e.file_size());
        }
        return out;
    }
    static constexpr uint32_t kBuffers = 8;
    Folder folder;
    struct destination destination = {};
    struct incoming in = {};
    std::vector<uint8_t *> memory;
};

class Behind : public WithStorage
{
  protected:
    Behind() : WithStorage(2)
    {
    }
    void compare(std::mt19937_64 &rng, uint64_t size_max, int files)
    {
        Receiver behind(storage), plain(nullptr);
        Maker maker(rng, size_max);

        for (int i = 0; i < files; i++)
            maker.file();
        for (const Request &q : maker.requests) {
            behind.take(q);
            plain.take(q);
        }
        behind.settle();
        plain.settle();
        EXPECT_EQ(behind.in.status, 0);
        EXPECT_EQ(behind.in.buffers.n_free, Receiver::kBuffers);
        EXPECT_EQ(behind.results(), plain.results());
        EXPECT_EQ(behind.results().size(), (size_t)files);
        EXPECT_EQ(behind.in.summary.bytes, plain.in.summary.bytes);
        EXPECT_EQ(behind.in.summary.hole_bytes, plain.in.summary.hole_bytes);
        EXPECT_TRUE(behind.contents() == plain.contents());
    }
};

} // namespace

TEST_F(Behind, ResultsAndContentsAreTheSame)
{
    std::mt19937_64 rng(test_seed());

    compare(rng, 20u << 20, 10);
}

// A file that cannot be written any further is refused, and no other one.
TEST_F(Behind, ErrorsAreThoseOfTheRightFile)
{
    std::mt19937_64 rng(test_seed());
    struct rlimit before, small;

    signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = (8u << 20) + rng() % (8u << 20);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    compare(rng, 20u << 20, 10);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
}

// What was written of a file stays for a later transfer, and is counted as such.
TEST_F(Behind, WhatIsLeftIsWhatWasWritten)
{
    std::mt19937_64 rng(test_seed());

    for (int round = 0; round < 4; round++) {
        Receiver behind(storage);
        std::string content = content_large(rng, 24u << 20);
        std::string left;

        for (uint64_t at = 0; at < content.size(); at += RECORD_DATA_MAX) {
            Request q;
            struct record r = {};

            r.file = 1;
            r.type = RECORD_OFFER;
            r.size = content.size() + 1;
            if (at == 0)
                q.add(r, "f");
            if (at == 0)
                behind.take(q);
            q.bytes.clear();
            r.type = RECORD_DATA;
            r.size = 0;
            r.offset = at;
            q.add(r, content.substr(at, RECORD_DATA_MAX));
            behind.take(q);
        }
        usleep((useconds_t)(rng() % 8000));
        incoming_behind_cancel(&behind.in);
        uint64_t done = behind.in.part.at_bytes;
        EXPECT_EQ(part_file_leave(&behind.in.part), done >= RECORD_CHUNK_BYTES);
        for (auto &file : behind.contents())
            left = file.second;
        EXPECT_TRUE(left.substr(0, done) == content.substr(0, done));
    }
}

// A signal ends the receiver: nothing is under way when the connection's memory goes.
TEST_F(Behind, AFileThatIsGivenUpLeavesNothingUnderWay)
{
    std::mt19937_64 rng(test_seed());

    for (int round = 0; round < 4; round++) {
        Receiver behind(storage);
        Maker maker(rng, 64u << 20);
        size_t n;

        maker.file();
        n = rng() % maker.requests.size();
        for (size_t i = 0; i < n; i++)
            behind.take(maker.requests[i]);
        incoming_behind_cancel(&behind.in);
        EXPECT_FALSE(storage_busy(&behind.in.behind));
        part_file_discard(&behind.in.part);
        EXPECT_EQ(storage_take(storage), nullptr);
    }
}
