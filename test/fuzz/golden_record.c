/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden inputs for fuzz_record.c: transfers that go well, and each way in which they may not. */
#include <stdio.h>
#include <unistd.h>

#include "base/check.h"
#include "fuzz_golden.h"
#include "fuzz_record.h"
#include "sluice/files/destination.h"
#include "sluice/files/record.h"

#define DIR              DESTINATION_DIR
#define REPLACE          4
#define KEPT             8
#define WRONG_FILE       0x10
#define WRONG            0x20
#define PATCHED          0x40
#define WRONG_LEN        0x80
/* mode 0644, time 5, name "d/x", and a size */
#define OFFER(size)      RECORD_OFFER, 1, 0xa4, 5, 3, 'd', '/', 'x', size
#define NAMED(c, size)   RECORD_OFFER, 1, 0xa4, 5, 1, c, size
#define STREAMED(c)      RECORD_OFFER, 1, 0xa9, 5, 1, c /* mode 0651: the size is not known */
#define FOLDER           RECORD_DIR, 1, 0xed, 5, 1, 'd'
#define DATA(len)        RECORD_DATA, len, 'a'
#define HOLE(len)        RECORD_HOLE, len
#define END              RECORD_END_FILE
#define ALL              RECORD_END_ALL
#define SEND             RECORD_STEP_SEND
#define SENT             RECORD_STEP_SENT
#define NO_MORE          RECORD_STEP_NO_MORE
#define SIZE_HUGE        0xf3, 0xff, 0xff, 0xff, 0xff
/* FUZZ_LEFT: an OFFER that resumes it (mode 0646), and the records about it */
#define LEFT_SIZE        0xf3, 0, 0x20, 0, 1
#define LEFT_OFFER       RECORD_OFFER, 1, 0xa6, FUZZ_LEFT_TIME, 1, 'l', LEFT_SIZE
#define ASK              RECORD_STEP_RESUME, 0, 1, 0xa4, FUZZ_LEFT_TIME, 1, 'l', LEFT_SIZE
#define ANSWER           RECORD_STEP_RESUME, 1
#define HAVE             RECORD_STEP_RESUME, 2
#define KEEP(chunks)     RECORD_STEP_RESUME, 3, chunks
#define LEFT             RECORD_STEP_LEFT
/* several connections; of a JOIN, token 7 is right */
#define STREAMS(n)       RECORD_STEP_RESUME, ((n)-1) << 4 | 4
#define JOIN(token)      RECORD_STEP_RESUME, 5, token
#define OTHER            RECORD_STEP_RESUME, 6
#define AFTER(n)         RECORD_STEP_RESUME, 7, n
/* with SYNC in the first byte */
#define SYNC             0x10
#define DRY              0x20
#define DELETE           0x40
#define CHECKSUM         0x80
#define LINK(c)          RECORD_STEP_SYNC, 0, 5, 3, c, 0, 't'
#define NAME(c)          RECORD_STEP_SYNC, 1, 1, c
#define BEFORE           (DELETE | 1)
#define NAMES(c)         RECORD_STEP_SYNC, 9, 1, c /* of a directory */
#define ALL_NAMED        RECORD_STEP_SYNC, 8
#define NOT_ALL_NAMED    RECORD_STEP_SYNC, 10
#define BEGIN(c)         RECORD_STEP_SYNC, 2, 0xed, 1, 5, 1, c
#define DONE(c)          RECORD_DIR, 1, 0xed, 5, 1, c
#define UNREAD           RECORD_STEP_SYNC, 3
#define BLOCKS           RECORD_STEP_SYNC, 4
#define COPY(from, size) RECORD_STEP_SYNC, 5, from, size
#define ZEROS            RECORD_DATA, 0xf1, 0x0b, 0xb8, 0 /* 3000 of them */
#define THOUSANDS(n)     0xf1, (n)*1000 >> 8, (n)*1000 & 0xff
/* an OFFER of 6000 bytes that are copied (mode 0654), and what asks for it */
#define COPIED           RECORD_OFFER, 1, 0xac, 6, 1, 'b', THOUSANDS(6)
#define ASK_BASIS        RECORD_STEP_RESUME, 0, 1, 0xa4, 6, 1, 'b', THOUSANDS(6)
/* an ATTR: flags, and items: a link, an owner, a group, an ACL, an extended attribute */
#define ATTR(flags, len) RECORD_STEP_SYNC, 6, flags, len
#define NUMBER(n)        1, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, n
#define OWNER            2, 4, 0, 0, 0, 0, 0, 4, 'r', 'o', 'o', 't', 0, 0, 0, 0
#define GROUP            3, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0
#define ENTRY(tag, n)    4, 0, 0, 0, 0, 0, 0, 8, 0, tag, 0, 6, 0, 0, 0, n
#define ACL              ENTRY(1, 0), ENTRY(2, 9), ENTRY(4, 0), ENTRY(16, 0), ENTRY(32, 0)
#define XATTR(c)         6, 6, 0, 0, 0, 0, 0, 1, 'u', 's', 'e', 'r', '.', c, 'v'
#define HARD(n, c)       RECORD_STEP_SYNC, 7, n, 1, c

const uint64_t golden_runs = 8000;

static const struct fuzz_golden goldens[] = {
    GOLDEN(DIR, OFFER(9), DATA(4), SEND, DATA(5), END, FOLDER, ALL, SEND, SENT, NO_MORE),
    GOLDEN(DIR, OFFER(200), DATA(4), HOLE(180), SEND, DATA(16), END, ALL, SEND, SENT, NO_MORE),
    GOLDEN(DIR, STREAMED('s'), DATA(9), END, NAMED('e', 0), END, ALL, SEND, SENT, NO_MORE),
    GOLDEN(DIR | REPLACE, NAMED('x', 1), DATA(1), END, NAMED('x', 2), DATA(2), END, ALL, SEND),
    GOLDEN(DIR, NAMED('x', 1), DATA(1), END, NAMED('x', 2), DATA(2), END, ALL, SEND, SENT, NO_MORE),
    GOLDEN(DIR, FOLDER, NAMED('d', 1), DATA(1), END, NAMED('.', 1), DATA(1), END, ALL, SEND),
    GOLDEN(DIR, NAMED('d', 0), END, FOLDER, OFFER(1), DATA(1), END, ALL, SEND),
    GOLDEN(DIR, NAMED('x', 9), DATA(3), RECORD_DROP_FILE, ALL, SEND, SENT, NO_MORE),
    GOLDEN(DESTINATION_FILE, NAMED('x', 3), DATA(3), END, NAMED('y', 1), DATA(1), END, FOLDER,
           SEND),
    GOLDEN(DESTINATION_STREAM, NAMED('x', 9), DATA(3), HOLE(6), END, ALL, SEND, SENT, NO_MORE),
    /* wrong: hash, size, too large, beyond the size, a hole in a stream */
    GOLDEN(DIR, NAMED('x', 3), DATA(3), END | WRONG, 1, ALL, SEND),
    GOLDEN(DIR, NAMED('x', 4), DATA(3), END, ALL, SEND),
    GOLDEN(DIR, NAMED('x', SIZE_HUGE), DATA(3), END, ALL, SEND),
    GOLDEN(DIR, NAMED('x', 3), DATA(4), SEND),
    GOLDEN(DIR, STREAMED('x'), HOLE(4), SEND),
    /* a place, a number, an order that are wrong */
    GOLDEN(DIR, NAMED('x', 9), RECORD_DATA | WRONG, 3, 'a', 3, SEND),
    GOLDEN(DIR, NAMED('x', 9), RECORD_DATA | WRONG_FILE, 1, 'a', 1, SEND),
    GOLDEN(DIR, DATA(1), SEND),
    GOLDEN(DIR, NAMED('x', 9), NAMED('y', 9), SEND),
    GOLDEN(DIR, NAMED('x', 0), END, RECORD_END_ALL | WRONG, 1, SEND),
    GOLDEN(DIR, RECORD_RESULT | WRONG_FILE, 2, 9, 1, SEND),
    /* headers that are none */
    GOLDEN(DIR, RECORD_OFFER | PATCHED, 1, 0xa4, 5, 1, 'x', 1, 1, 0, 4, 1, SEND),
    GOLDEN(DIR, RECORD_OFFER | WRONG_LEN, 1, 0xa4, 5, 1, 'x', 1, 1, SEND),
    GOLDEN(DIR, RECORD_STEP_RAW, 3, 'S', 'L', 'U', SEND),
    /* the connection fails within a file, and between two */
    GOLDEN(DIR, OFFER(9), DATA(4), SEND, RECORD_STEP_BROKEN),
    GOLDEN(DIR, OFFER(9), DATA(4), SEND, NO_MORE),
    GOLDEN(DIR, NAMED('x', 0), END, SEND, SENT, RECORD_STEP_BROKEN),
    /* what is there of a file: nothing, a part, all of it; it is kept, or not */
    GOLDEN(DIR, ASK, SEND, SENT, LEFT_OFFER, SEND, SENT, KEEP(1), SEND),
    GOLDEN(DIR | KEPT, LEFT, ASK, SEND, SENT, LEFT_OFFER, SEND, SENT, KEEP(2), DATA(1), END, ASK,
           ALL, SEND, SENT, NO_MORE),
    GOLDEN(DIR | KEPT, LEFT, LEFT_OFFER, SEND, SENT, KEEP(1), HOLE(0xf3), 0, 0x10, 0, 1, END, ALL,
           SEND, SENT, NO_MORE),
    GOLDEN(DIR | KEPT, LEFT, LEFT_OFFER, SEND, DATA(4), SEND, RECORD_STEP_BROKEN),
    GOLDEN(DESTINATION_FILE | KEPT, LEFT, LEFT_OFFER, SEND, KEEP(2), DATA(1), END, ALL, SEND, SENT),
    GOLDEN(DIR | KEPT, LEFT, LEFT_OFFER, SEND, KEEP(3), SEND),
    GOLDEN(DIR | KEPT, LEFT, LEFT_OFFER, ASK, SEND),
    GOLDEN(DIR | KEPT, ASK, RECORD_STEP_RESUME, WRONG_FILE, 1, 0xa4, 5, 1, 'l', 1, 2, SEND),
    /* several connections: right, with another token, numbers or order, and cut off */
    GOLDEN(DIR, STREAMS(2), NAMED('x', 9), DATA(4), SEND, SENT, JOIN(7), OTHER, DATA(5), SEND,
           OTHER, END, SEND, OTHER, ALL, SEND, SENT, NO_MORE),
    GOLDEN(DIR, STREAMS(3), SEND, SENT, JOIN(7), JOIN(7), NAMED('x', 0), END, ALL, SEND, NO_MORE),
    GOLDEN(DIR, STREAMS(2), SEND, SENT, JOIN(8), OTHER, NAMED('x', 0), END, ALL, SEND, SENT,
           NO_MORE),
    GOLDEN(DIR, STREAMS(2), SEND, SENT, JOIN(7), OTHER, AFTER(0), NAMED('x', 0), END, SEND),
    GOLDEN(DIR, STREAMS(2), SEND, SENT, JOIN(7), AFTER(5), NAMED('x', 0), END, ALL, SEND, NO_MORE),
    GOLDEN(DIR, STREAMS(2), STREAMS(2), SEND),
    GOLDEN(DIR, NAMED('x', 0), END, STREAMS(2), SEND),
    GOLDEN(DIR, NAMED('x', 0), END, SEND, STREAMS(2), SEND),
    GOLDEN(DIR, JOIN(7), STREAMS(1), SEND, JOIN(7), NAMED('x', 0), END, ALL, SEND, NO_MORE),
    GOLDEN(DIR | KEPT, STREAMS(2), OFFER(9), DATA(4), SEND, SENT, JOIN(7), OTHER, DATA(4), SEND,
           RECORD_STEP_BROKEN),
    /* a sync: links, directories, what is in the way, and what is deleted; a dry run; no sync */
    GOLDEN(SYNC | DELETE, BEGIN('.'), BEGIN('d'), OFFER(3), DATA(3), END, LINK('l'), DONE('d'),
           NAME('n'), DONE('.'), ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC | DELETE, OFFER(3), DATA(3), END, SEND, BEGIN('.'), LINK('d'), BEGIN('d'),
           LINK('d'), DONE('.'), ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC | DELETE, OFFER(3), DATA(3), END, BEGIN('.'), DONE('.'), UNREAD, SEND, SENT,
           NO_MORE),
    GOLDEN(SYNC | DELETE, OFFER(3), DATA(3), END, BEGIN('.'), DONE('.'), ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC, OFFER(3), DATA(3), END, LINK('d'), NAMED('d', 1), DATA(1), END, DONE('l'), ALL,
           SEND, SENT, NO_MORE),
    GOLDEN(SYNC | DRY | DELETE, BEGIN('.'), ASK, LINK('l'), BEGIN('d'), DONE('d'), DONE('.'), ALL,
           SEND, SENT, NO_MORE),
    GOLDEN(SYNC | DRY, NAMED('x', 1), DATA(1), SEND),
    GOLDEN(SYNC | CHECKSUM, NAMED('l', LEFT_SIZE), HOLE(0xf3), 0, 0x20, 0, 1, END, SEND, ASK,
           LEFT_OFFER, SEND, SENT, KEEP(2), DATA(1), END, ALL, SEND),
    /* what is deleted first; names out of order */
    GOLDEN(SYNC | BEFORE, ALL_NAMED, OFFER(3), DATA(3), END, ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC | BEFORE, NAMES('.'), NAME('x'), NAMES('d'), ALL_NAMED, BEGIN('.'), OFFER(3),
           DATA(3), END, DONE('.'), ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC | BEFORE, NAMES('.'), NOT_ALL_NAMED, LINK('l'), ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC | BEFORE | DRY, NAMES('.'), ALL_NAMED, ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC | BEFORE, ALL_NAMED, ALL_NAMED, SEND),
    GOLDEN(SYNC | BEFORE, LINK('l'), SEND),
    GOLDEN(SYNC | DELETE, NAMES('d'), SEND),
    GOLDEN(SYNC | DELETE, ALL_NAMED, SEND),
    /* a file that is copied from the one that it replaces, or is not */
    GOLDEN(SYNC, NAMED('b', THOUSANDS(6)), ZEROS, SEND, ZEROS, END, SEND, ASK_BASIS, SEND, SENT,
           COPIED, COPY(THOUSANDS(1), THOUSANDS(5)), ZEROS, SEND),
    GOLDEN(SYNC, NAMED('b', THOUSANDS(6)), ZEROS, SEND, ZEROS, END, SEND, ASK_BASIS, ASK_BASIS,
           SEND, SENT, COPIED, COPY(THOUSANDS(1), THOUSANDS(3)), ZEROS, END, ALL, SEND, SENT,
           NO_MORE),
    GOLDEN(SYNC, COPIED, COPY(0, THOUSANDS(6)), SEND),
    GOLDEN(SYNC, NAMED('b', THOUSANDS(6)), COPY(0, 9), SEND),
    GOLDEN(SYNC, BLOCKS, SEND),
    GOLDEN(DIR, COPIED, SEND),
    GOLDEN(SYNC, LINK('.'), LINK('/'), SEND),
    /* attributes: of files, directories and links, right and wrong, and files with several names */
    GOLDEN(SYNC, ATTR(0, 28), OWNER, GROUP, RECORD_OFFER, 9, 0xa4, 5, 1, 'x', 1, DATA(1), END,
           ATTR(2, 30), XATTR('a'), XATTR('b'), LINK('l'), ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC, ATTR(1, 80), ACL, FOLDER, ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC | DELETE, ATTR(0, 16), NUMBER(1), NAMED('x', 1), DATA(1), END, HARD(1, 'y'),
           HARD(1, 'y'), BEGIN('d'), HARD(1, 'd'), HARD(1, 'z'), ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC | DRY, ATTR(0, 16), NUMBER(1), ASK, HARD(1, 'y'), ALL, SEND, SENT, NO_MORE),
    GOLDEN(SYNC, ATTR(0, 16), NUMBER(2), NAMED('x', 0), SEND),
    GOLDEN(SYNC, HARD(1, 'y'), SEND),
    GOLDEN(SYNC, ATTR(0, 16), NUMBER(1), LINK('l'), SEND),
    GOLDEN(SYNC, ATTR(0, 24), GROUP, GROUP, FOLDER, SEND),
    GOLDEN(SYNC, ATTR(2, 30), XATTR('b'), XATTR('a'), FOLDER, SEND),
    GOLDEN(SYNC, ATTR(1, 16), ENTRY(1, 0), FOLDER, SEND),
    GOLDEN(SYNC, ATTR(0, 12), GROUP, ALL, SEND),
    GOLDEN(DIR, ATTR(0, 12), GROUP, FOLDER, SEND),
    GOLDEN(DIR, HARD(1, 'y'), SEND),
    GOLDEN(DIR, BEGIN('d'), SEND),
    GOLDEN(DIR, HAVE, SEND),
    GOLDEN(DIR, ASK, ANSWER, SEND),
    GOLDEN(DIR, RECORD_OFFER, 1, 0xa4, 5, 4, '.', '.', '/', 'x', 0, END, ALL, SEND),
    GOLDEN(DIR, RECORD_OFFER, 1, 0xa4, 5, 4, '/', 't', '/', '\n', 0, END, ALL, SEND),
};

size_t golden_put(unsigned int i, uint8_t *p)
{
    return golden_copy(goldens, sizeof goldens / sizeof goldens[0], i, p);
}

void golden_check(void)
{
    static const enum record_code reached[] = {RECORD_OK,      RECORD_BAD_NAME, RECORD_IN_THE_WAY,
                                               RECORD_CORRUPT, RECORD_ONE_FILE, RECORD_DROPPED,
                                               RECORD_EXISTS,  RECORD_TOO_LARGE};
    const struct fuzz_record_counts *c = &fuzz_record_counts;

    for (int i = RECORD_OFFER; i < RECORD_TYPES; i++)
        CHECK(c->decoded[i] > 0 || i == RECORD_TOKEN);
    CHECK(c->told >= 10 && c->resumed >= 3);
    CHECK(c->blocks >= 4 && c->copied >= 1);
    CHECK(c->items >= 10 && c->deleted >= 2 && c->linked >= 2);
    CHECK(c->joined >= 3 && c->elsewhere >= 3);
    CHECK(c->special >= 1 || geteuid() != 0);
    for (size_t i = 0; i < sizeof reached / sizeof reached[0]; i++)
        CHECK(c->results[reached[i]] > 0);
    CHECK(c->refused >= 3 && c->broken >= 10 && c->whole >= 6);
}

void golden_print(void)
{
    const struct fuzz_record_counts *c = &fuzz_record_counts;

    printf("receivers: whole %llu broken %llu; files: received %llu corrupt %llu refused name "
           "%llu\n",
           (unsigned long long)c->whole, (unsigned long long)c->broken,
           (unsigned long long)c->results[RECORD_OK],
           (unsigned long long)c->results[RECORD_CORRUPT],
           (unsigned long long)c->results[RECORD_BAD_NAME]);
}
