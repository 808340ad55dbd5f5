/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Associations of two hosts, A and B, with an attacker on the path between them. doc/protocol.md
 * (section 11) has the rules; lib/assoc/exchange.c, lib/assoc/assoc.c, lib/assoc/table.c,
 * lib/host/security.c and lib/host/rekey.c follow them. spin_test.py runs the model.
 *
 * ## What it has
 * - INIT, RESPONSE, COOKIE under load and for an earlier time, FIRST, DATA in a connection that may
 *   have moved on to a newer association, plain FIRST and DATA.
 * - Both hosts may ask each other, each again and again. Each may be restarted, with its clock going
 *   on or set back; may take the other one from its list and put it there again.
 * - Control and worker of a host are two: a message from one to the other is under way for any time.
 * - The attacker has every packet that was ever sent. It delivers each as often as it likes, in any
 *   order, or never. So loss, repetition, reordering and delay need no transitions of their own,
 *   and what it sends without the keys for it is left out, because it changes nothing. In the world
 *   INSIDER it is also E, a peer with a key and an address of its own: A asks it, and it asks B.
 *
 * ## How it is abstracted
 * Cryptography is perfect: a packet is a term. An INIT is the number i of an entry (i_from, i_to,
 * i_time), which only the owner of i_from's private key can have made, and which only i_to can read.
 * An association is the number k of an entry: the INIT that it answers (a_init) and the host that
 * answered (a_by). Two hosts have the same keys if they mean the same k. RESPONSE k can be read only
 * with the ephemeral key of a_init[k]. Whoever has not k's keys seals and opens nothing under it.
 * mac1 is left out: the attacker knows all public keys.
 * Time is left out: what happens after some time may happen at any time (renewal, doubt, a new INIT
 * instead of the one before, ASSOC_REWIND_NS). Only order counts. A clock gives i_time.
 * Each number of entries is bounded by the macros below; beyond them nobody asks or answers.
 *
 * ## What it checks
 *   agreement  who has an association means the same peer, direction and keys as the other end: at
 *              the initiator when RESPONSE is taken, at the responder when a packet is opened
 *   replay     a FIRST is taken once at most
 *   revoked    once a worker knows that a peer is gone, it takes nothing under that peer's keys
 *   downgrade  no plain packet is taken from, or sent to, a host of which the worker has a key
 *   old        an INIT ends no association that is in use; one that waits gives way only to an INIT
 *              that was made later, unless a clock has gone back. The responder keeps the
 *              association under which its peer seals. For an earlier time, the sender shows its
 *              address first
 *   load       under load, no association without a cookie
 *   recovery   whatever has happened: if the attacker stops, a FIRST is taken after ROUNDS attempts
 *              at most, each an INIT that is answered or not
 *
 * ## What it does not show
 * That the cryptography is perfect, and what is left of old keys (forward secrecy): see the analyses
 * of WireGuard and Noise. Nothing about time, load, numbers of slots, more than two peers or workers,
 * numbers that wrap, or the order of DATA in a connection. FIRST may come late: the attacker may keep
 * it as long as its association lives. That the code does what the model says: test/unit/assoc plays
 * the same attacks with the code (orders_test.cc, world_test.cc).
 *
 * ## Mutants
 * Each macro M_... below breaks one rule. spin_test.py knows which world shows it.
 */

/* ---- worlds: what may happen, and how often ------------------------------------------------- */

#ifndef INITS
#define INITS 3 /* of both hosts together */
#endif
#ifndef ASSOCS
#define ASSOCS 3
#endif
#ifndef FIRSTS
#define FIRSTS 2
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef BACK /* clocks may be set back by a restart */
#define BACK 0
#endif
#ifndef REVOKED /* how often a host takes the other from its list, or puts it back */
#define REVOKED 0
#endif
#ifndef BOTH /* 0: only A opens connections */
#define BOTH 0
#endif
#ifndef INSIDER
#define INSIDER 0
#endif
#ifndef PLAIN /* security = offered, and there are plain connections; 0: required */
#define PLAIN 0
#endif
#define ROUNDS 3

#define A 0
#define B 1
#define E 4

/* Entries begin at 1; 0 is none. The last ones are for the calm end. */
#define SIZE    9
#define FSIZE   4

byte n_init, n_assoc, n_first;
byte i_from[SIZE], i_to[SIZE], i_time[SIZE];
byte a_init[SIZE], a_by[SIZE];
byte a_list[SIZE];  /* the responder's list, by its number, in which the peer was */
bool a_taken[SIZE]; /* ghost: the initiator has taken the RESPONSE */
bool a_heard[SIZE]; /* a worker of the responder has opened a packet */

/* The responder's worker: a message is under way to it; it has the keys; it has given them back. */
#define MAILED 1
#define HAS    2
byte a_worker[SIZE];
bool a_confirm[SIZE]; /* CONFIRM is under way to control */

/* Each host's control, as initiator and as responder, of the one peer it has. */
byte attempt[2]; /* INIT */
byte clock[2];   /* time of the next INIT */
bool back[2];    /* ghost: its clock was set back */
byte time[2];    /* of the peer's INIT that counts */
bool cookie[2];  /* somebody at the peer's address has a cookie of this host */
byte pending[2], rewound[2], current[2], previous[2];
byte list[2];    /* 0: the peer is not in the list; else the number of the list */
byte lists;      /* how many lists there were */

/* Each host's worker. */
byte w_list[2];
byte out[2];      /* the association under which it seals what it opens */
bool plain[2];    /* it has opened a plain connection */

/* Connections; FIRST f opens connection f. */
byte f_assoc[FSIZE];
bool f_open[FSIZE];   /* at the opener */
bool f_seen[FSIZE];   /* at the acceptor's worker: in the window of its association */
bool f_seen2[FSIZE];  /* in that of another worker, for a mutant */
byte f_taken[FSIZE];  /* ghost */
bool f_conn[FSIZE];   /* at the acceptor: the connection lives */
byte f_list[FSIZE];   /* and belongs to the peer in this list */
byte d_sent[SIZE];    /* DATA of connection f, under association k: bit f */

byte restarts, changes;

hidden byte x, y, k, old, i, n, ok, rounds, bare; /* scratch, within a step */

#define FROM(k)    i_from[a_init[k]]
#define PEER(h)    (1 - (h))
#define NAME(h)    ((h) + 65) /* for the text of a counterexample */
/* Does control of h, the responder, have the association? */
#define HELD(h, k) (pending[h] == (k) || rewound[h] == (k) || current[h] == (k) || previous[h] == (k))

/* ---- the properties; spin names the line of the one that fails ------------------------------ */

inline agreement(what) { assert(what) }
inline replay(what) { assert(what) }
inline revoked(what) { assert(what) }
inline downgrade(what) { assert(what) }
inline old_init(what) { assert(what) }
inline load(what) { assert(what) }
inline recovery(what) { assert(what) }

/* ---- the responder -------------------------------------------------------------------------- */

/* Control of y answers INIT i with a new association k, which has no role yet. */
inline answer(i)
{
    load(!bare);
    n_assoc++;
    k = n_assoc;
    printf("%c answers INIT %d: association %d\n", NAME(y), i, k);
    a_init[k] = i;
    a_by[k] = y;
    if
    :: y != E -> a_list[k] = list[y]
    :: else -> skip
    fi;
    a_worker[k] = MAILED;
}

/* An association that waited gives way to that of INIT i. */
inline give_way(old, i)
{
    old_init(old == 0 || i > a_init[old] || back[x]);
}

#ifdef M_NO_COOKIE_BACK
#define SHOWN(proved) true
#else
#define SHOWN(proved) (proved)
#endif

/* Control of y takes INIT i of its peer x. proved: mac2 is right. */
inline take_init(i, proved)
{
    if
    :: list[y] == 0 -> skip /* a stranger */
    :: list[y] != 0 && ((pending[y] != 0 && a_init[pending[y]] == i) ||
                        (rewound[y] != 0 && a_init[rewound[y]] == i)) -> skip /* the same RESPONSE */
    :: else ->
        if
#ifdef M_OLD_INIT
        :: true ->
#else
        :: i_time[i] > time[y] ->
#endif
            answer(i);
#ifdef M_CURRENT_AT_ONCE
            old = previous[y];
            previous[y] = current[y];
            current[y] = k;
            old_init(old == 0 || !a_heard[old]);
#else
            give_way(pending[y], i);
            pending[y] = k;
#endif
            time[y] = i_time[i]
#ifndef M_OLD_INIT
        :: i_time[i] < time[y] && SHOWN(proved) ->
#ifndef M_NO_WAY_BACK
            old_init(cookie[y]);
            answer(i);
#ifdef M_REWOUND_WAITS_WITH_OTHERS
            give_way(pending[y], i);
            pending[y] = k
#else
            rewound[y] = k
#endif
#ifdef M_REWIND_AT_ONCE
            ;
            time[y] = i_time[i]
#endif
#else
            skip
#endif
        :: i_time[i] < time[y] && !SHOWN(proved) -> cookie[y] = 1
        :: else -> skip /* the same time */
#endif
        fi
    fi
}

/* The worker of y has opened a packet under k. */
inline hear(k)
{
    agreement(a_taken[k] || FROM(k) == E);
    if
    :: !a_heard[k] -> a_heard[k] = 1; a_confirm[k] = 1
    :: else -> skip
    fi
}

/* Control of y learns that. */
inline confirm(k)
{
    a_confirm[k] = 0;
    printf("control of %c knows that association %d is used\n", NAME(y), k);
    if
    :: pending[y] == k || rewound[y] == k ->
        old = previous[y];
        old_init(old == 0 || out[PEER(y)] != old);
        previous[y] = current[y];
        current[y] = k;
        if
        :: pending[y] == k -> pending[y] = 0
        :: else -> rewound[y] = 0; time[y] = i_time[a_init[k]]
        fi
    :: else -> skip
    fi
}

/* ---- the initiator -------------------------------------------------------------------------- */

inline ask(to)
{
    n_init++;
    printf("%c asks %c: INIT %d, time %d\n", NAME(x), NAME(to), n_init, clock[x]);
    i_from[n_init] = x;
    i_to[n_init] = to;
    i_time[n_init] = clock[x];
    clock[x]++;
    attempt[x] = n_init
}

/* x takes RESPONSE k. */
inline take_response(k)
{
    printf("%c takes the RESPONSE of association %d\n", NAME(x), k);
    agreement(a_init[k] == attempt[x]);
    agreement(FROM(k) == x && a_by[k] == i_to[attempt[x]]);
    attempt[x] = 0;
    a_taken[k] = 1;
    if
    :: a_by[k] != E -> out[x] = k
    :: else -> skip
    fi
}

inline send_first()
{
    n_first++;
    printf("%c opens connection %d under association %d\n", NAME(x), n_first, out[x]);
    f_assoc[n_first] = out[x];
    f_open[n_first] = 1
}

/* ---- workers -------------------------------------------------------------------------------- */

/* Does the worker of y, the responder of k, take a FIRST under it? */
#ifdef M_REVOKED_FIRST
#define TAKES_UNDER(k) (a_worker[k] == HAS)
#else
#define TAKES_UNDER(k) (a_worker[k] == HAS && w_list[a_by[k]] == a_list[k])
#endif

inline take_first(f)
{
    k = f_assoc[f];
    y = a_by[k];
    printf("%c takes the FIRST of connection %d\n", NAME(y), f);
    f_taken[f]++;
    replay(f_taken[f] == 1);
    revoked(w_list[y] != 0 && w_list[y] == a_list[k]);
    f_conn[f] = 1;
    f_list[f] = a_list[k];
    hear(k)
}

inline take_data(f, k)
{
    y = a_by[k];
    printf("%c takes DATA of connection %d under association %d\n", NAME(y), f, k);
    revoked(w_list[y] != 0 && w_list[y] == f_list[f]);
    hear(k)
}

/* The worker of h learns of a new list. */
inline learn(h)
{
    printf("the worker of %c has list %d\n", NAME(h), list[h]);
    w_list[h] = list[h];
    out[h] = 0;
    n = 1;
    do
    :: n < FSIZE ->
        if
        :: f_assoc[n] != 0 && FROM(f_assoc[n]) == h -> f_open[n] = 0
        :: f_assoc[n] != 0 && FROM(f_assoc[n]) != h ->
#ifndef M_REVOKED_CONNECTION
            f_conn[n] = 0
#else
            skip
#endif
        :: else -> skip
        fi;
        n++
    :: else -> break
    od;
    n = 0;
#ifndef M_PLAIN_STAYS
    if
    :: w_list[h] != 0 -> plain[h] = 0
    :: else -> skip
    fi
#endif
}

/* ---- what becomes of a host ------------------------------------------------------------------ */

/* h takes its peer from its list, or puts it there. */
inline change(h)
{
    changes++;
    printf("%c changes its list\n", NAME(h));
    attempt[h] = 0;
    pending[h] = 0;
    rewound[h] = 0;
    current[h] = 0;
    previous[h] = 0;
    time[h] = 0;
    if
    :: list[h] != 0 -> list[h] = 0
    :: else -> lists++; list[h] = 1 + lists
    fi
}

/* h forgets all but its keys and its list. */
inline restart(h)
{
    restarts++;
    printf("%c is restarted\n", NAME(h));
    attempt[h] = 0;
    pending[h] = 0;
    rewound[h] = 0;
    current[h] = 0;
    previous[h] = 0;
    time[h] = 0;
    cookie[h] = 0;
    out[h] = 0;
    plain[h] = 0;
    w_list[h] = list[h];
    n = 1;
    do
    :: n < SIZE ->
        if
        :: a_by[n] == h && a_init[n] != 0 -> a_worker[n] = 0; a_confirm[n] = 0
        :: else -> skip
        fi;
        n++
    :: else -> break
    od;
    n = 1;
    do
    :: n < FSIZE ->
        if
        :: f_assoc[n] != 0 && FROM(f_assoc[n]) == h -> f_open[n] = 0
        :: f_assoc[n] != 0 && FROM(f_assoc[n]) != h -> f_conn[n] = 0
        :: else -> skip
        fi;
        n++
    :: else -> break
    od;
    n = 0
}

/* ---- the calm end ---------------------------------------------------------------------------- */

/* All mail between controls and workers arrives. */
inline settle()
{
    n = 1;
    do
    :: n <= n_assoc ->
        y = a_by[n];
        if
        :: y != E && a_confirm[n] -> k = n; confirm(k)
        :: else -> skip
        fi;
        n++
    :: else -> break
    od;
    n = 1;
    do
    :: n <= n_assoc ->
        y = a_by[n];
        if
        :: y != E && FROM(n) != E && !HELD(y, n) -> a_worker[n] = 0
        :: y != E && FROM(n) != E && HELD(y, n) -> a_worker[n] = HAS
        :: else -> skip
        fi;
        n++
    :: else -> break
    od;
    n = 0
}

/* One INIT of x reaches its peer y, and what it is answered with comes back. busy: the answer to an
 * INIT without a cookie is COOKIE. */
inline exchange(busy)
{
    i = attempt[x];
    y = PEER(x);
    k = 0;
    if
    :: !busy -> take_init(i, false)
    :: else -> cookie[y] = 1
    fi;
    if
    :: k == 0 && cookie[y] -> take_init(i, true)
    :: else -> skip
    fi;
    if
    :: k == 0 && pending[y] != 0 && a_init[pending[y]] == i -> k = pending[y]
    :: k == 0 && rewound[y] != 0 && a_init[rewound[y]] == i -> k = rewound[y]
    :: else -> skip
    fi;
    if
    :: k != 0 -> old = k; take_response(old)
    :: else -> skip
    fi
}

/* Is what x seals opened at its peer? */
inline reaches()
{
    settle();
    ok = 0;
    k = out[x];
    if
    :: k != 0 -> ok = (a_worker[k] == HAS)
    :: else -> skip
    fi
}

/* The attacker has stopped, and x wants a connection to its peer. */
inline calm(busy)
{
    printf("the attacker stops\n");
    if
    :: w_list[A] != list[A] -> learn(A)
    :: else -> skip
    fi;
    if
    :: w_list[B] != list[B] -> learn(B)
    :: else -> skip
    fi;
    reaches();
    old = 0;
    if
    :: !ok && attempt[x] != 0 && i_to[attempt[x]] == PEER(x) -> exchange(busy); reaches()
    :: else -> skip
    fi;
    rounds = 0;
    do
    :: !ok && rounds < ROUNDS ->
        rounds++;
#ifdef M_INIT_FOREVER
        if
        :: attempt[x] == 0 -> ask(PEER(x))
        :: else -> skip
        fi;
#else
        ask(PEER(x));
#endif
        exchange(busy);
        reaches()
    :: else -> break
    od;
    recovery(ok);
    y = PEER(x);
    send_first();
    recovery(TAKES_UNDER(f_assoc[n_first]));
    take_first(n_first);
    settle();
    recovery(current[PEER(x)] != 0)
}

/* Forgets everything, so that all ends are one state. */
inline wipe()
{
    n = 0;
    do
    :: n < SIZE ->
        i_from[n] = 0; i_to[n] = 0; i_time[n] = 0; a_init[n] = 0; a_by[n] = 0; a_list[n] = 0;
        a_taken[n] = 0; a_heard[n] = 0; a_worker[n] = 0; a_confirm[n] = 0; d_sent[n] = 0;
        n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < FSIZE ->
        f_assoc[n] = 0; f_open[n] = 0; f_seen[n] = 0; f_seen2[n] = 0; f_taken[n] = 0; f_conn[n] = 0;
        f_list[n] = 0;
        n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < 2 ->
        attempt[n] = 0; clock[n] = 0; back[n] = 0; time[n] = 0; cookie[n] = 0; pending[n] = 0;
        rewound[n] = 0; current[n] = 0; previous[n] = 0; list[n] = 0; w_list[n] = 0; out[n] = 0;
        plain[n] = 0;
        n++
    :: else -> break
    od;
    n_init = 0; n_assoc = 0; n_first = 0; lists = 0; restarts = 0; changes = 0
}

/* ---- one step of the world, for each entry ---------------------------------------------------- */

#define EACH_INIT(f)  f(1) f(2) f(3) f(4)
#define EACH_ASSOC(f) f(1) f(2) f(3) f(4)
#define EACH_FIRST(f) f(1) f(2)
#define EACH_HOST(f)  f(A) f(B)

#define MAY_OPEN(h) ((h) == A || BOTH)

#define INIT_IS(q) ((q) <= n_init && i_to[q] != E)

/* INIT q comes; sign: a space, or + for one with the right mac2. */
inline comes(q, sign)
{
    x = i_from[q];
    y = i_to[q];
    printf("INIT %d%c comes to %c\n", q, sign, NAME(y))
}

/* Associations with E are apart: a host keeps what it knows of each peer on its own. */
#ifdef M_NO_COOKIE_UNDER_LOAD
#define UNDER_LOAD(q) true ->                                                                      \
    comes(q, 32); bare = 1; take_init(q, false); bare = 0
#else
#define UNDER_LOAD(q) !cookie[i_to[q]] -> cookie[i_to[q]] = 1
#endif
#define TAKE_INIT(q)                                                                               \
    :: d_step { INIT_IS(q) && i_from[q] != E && n_assoc < ASSOCS ->                                \
        comes(q, 32); take_init(q, false) }                                                        \
    :: d_step { INIT_IS(q) && i_from[q] != E && n_assoc < ASSOCS && cookie[i_to[q]] ->             \
        comes(q, 43); take_init(q, true) }                                                         \
    :: d_step { INIT_IS(q) && i_from[q] != E && n_assoc < ASSOCS && UNDER_LOAD(q) }

#ifdef M_RESPONSE_UNBOUND
#define ANSWERS(q) true
#else
#define ANSWERS(q) (a_init[q] == attempt[FROM(q)])
#endif
#define TAKE_RESPONSE(q)                                                                           \
    :: d_step { (q) <= n_assoc && FROM(q) != E && attempt[FROM(q)] != 0 && ANSWERS(q) ->           \
        x = FROM(q); take_response(q) }

#define CONTROL_AND_WORKER(q)                                                                      \
    :: d_step { (q) <= n_assoc && a_by[q] != E && a_worker[q] == MAILED &&                         \
        (a_list[q] != list[a_by[q]] || w_list[a_by[q]] == list[a_by[q]]) -> a_worker[q] = HAS }    \
    :: d_step { (q) <= n_assoc && a_by[q] != E && a_worker[q] == HAS && FROM(q) != E &&            \
        !HELD(a_by[q], q) -> a_worker[q] = 0 }                                                     \
    :: d_step { (q) <= n_assoc && a_confirm[q] && a_by[q] != E -> y = a_by[q]; confirm(q) }

/* The attacker as E, a peer. E and its peers ask each other, and E answers. Under an association of
 * its own it seals what it likes: FIRST from A's address, DATA for a connection that A has opened. */
#ifdef M_INIT_OF_ANOTHER /* a host reads what was sealed for another one */
#define READS(h, q) true
#else
#define READS(h, q) (i_to[q] == (h))
#endif
#ifdef M_FIRST_ANY_ADDRESS
#define AT_ADDRESS(q, h) true
#else
#define AT_ADDRESS(q, h) (FROM(q) == (h))
#endif
#ifdef M_ANY_ASSOCIATION
#define OF_PEER(f, q) true
#else
#define OF_PEER(f, q) (FROM(f_assoc[f]) == FROM(q))
#endif
#define INSIDER_INIT(q)                                                                            \
    :: d_step { (q) <= n_init && n_assoc < ASSOCS && (i_from[q] == E || i_to[q] == E) &&           \
        READS(B, q) && list[B] != 0 -> y = B; answer(q) }                                          \
    :: d_step { (q) <= n_init && n_assoc < ASSOCS && i_to[q] == E -> y = E; answer(q) }
#define INSIDER_SEALS(q)                                                                           \
    :: d_step { (q) <= n_assoc && a_by[q] == B && FROM(q) == E && a_worker[q] == HAS &&            \
        AT_ADDRESS(q, A) -> agreement(FROM(q) == A) }                                              \
    :: d_step { (q) <= n_assoc && a_by[q] == B && FROM(q) == E && a_worker[q] == HAS &&            \
        f_conn[1] && a_by[f_assoc[1]] == B && OF_PEER(1, q) ->                                     \
        agreement(FROM(f_assoc[1]) == FROM(q)) }

#ifdef M_WINDOW_OF_A_WORKER
#define NEW(f) (!f_seen[f] || !f_seen2[f])
#elif defined(M_FIRST_AGAIN)
#define NEW(f) true
#else
#define NEW(f) (!f_seen[f])
#endif
#define FIRST_AND_DATA(f)                                                                          \
    :: d_step { (f) <= n_first && TAKES_UNDER(f_assoc[f]) && NEW(f) ->                             \
        if :: f_seen[f] -> f_seen2[f] = 1 :: else -> f_seen[f] = 1 fi; take_first(f) }             \
    EACH_DATA(f, 1) EACH_DATA(f, 2) EACH_DATA(f, 3) EACH_DATA(f, 4)
#define EACH_DATA(f, q)                                                                            \
    :: d_step { (f) <= n_first && f_open[f] && out[FROM(f_assoc[f])] == (q) &&                     \
        (d_sent[q] & (1 << (f))) == 0 -> d_sent[q] = d_sent[q] | (1 << (f)) }                      \
    :: d_step { (f) <= n_first && (d_sent[q] & (1 << (f))) != 0 && f_conn[f] &&                    \
        a_worker[q] == HAS && a_list[q] == f_list[f] -> take_data(f, q) }

#define HOST(h)                                                                                    \
    :: d_step { MAY_OPEN(h) && n_init < INITS && list[h] != 0 -> x = h; ask(PEER(h)) }             \
    :: d_step { out[h] != 0 && n_first < FIRSTS -> x = h; send_first() }                           \
    :: d_step { w_list[h] != list[h] && INSTALLED(h) -> learn(h) }                                 \
    :: d_step { restarts < RESTARTS -> restart(h) }                                                \
    :: d_step { BACK && restarts < RESTARTS && clock[h] > 1 ->                                     \
        restart(h); clock[h] = 1; back[h] = 1 }                                                    \
    :: d_step { changes < REVOKED -> change(h) }

/* Nothing that control of h has said before of an older list is under way. */
#define DONE(q, h)   (a_by[q] != (h) || a_worker[q] != MAILED || a_list[q] == list[h])
#define INSTALLED(h) (DONE(1, h) && DONE(2, h) && DONE(3, h) && DONE(4, h))

/* Plain connections, where the worker knows no key of the peer. The attacker sends plain FIRST from
 * any address. */
#ifdef M_PLAIN_FALLBACK /* an INIT that is not answered is followed by a plain FIRST */
#define OPENS_PLAIN(h) (w_list[h] == 0 || attempt[h] != 0)
#else
#define OPENS_PLAIN(h) (w_list[h] == 0)
#endif
#ifdef M_PLAIN_TAKEN
#define TAKES_PLAIN(h) true
#else
#define TAKES_PLAIN(h) (w_list[h] == 0)
#endif
#define PLAINLY(h)                                                                                 \
    :: d_step { MAY_OPEN(h) && OPENS_PLAIN(h) && !plain[h] ->                                      \
        plain[h] = 1; downgrade(w_list[h] == 0) }                                                  \
    :: d_step { plain[h] -> downgrade(w_list[h] == 0) }                                            \
    :: d_step { TAKES_PLAIN(h) -> downgrade(w_list[h] == 0) }

active proctype world()
{
    d_step {
        clock[A] = 1;
        clock[B] = 1;
        list[A] = 1;
        list[B] = 1;
        w_list[A] = 1;
        w_list[B] = 1;
    }
    do
    EACH_HOST(HOST)
    EACH_INIT(TAKE_INIT)
    EACH_ASSOC(TAKE_RESPONSE)
    EACH_ASSOC(CONTROL_AND_WORKER)
    EACH_FIRST(FIRST_AND_DATA)
#if PLAIN
    EACH_HOST(PLAINLY)
#endif
#if INSIDER
    :: d_step { n_init < INITS -> x = A; ask(E) }
    :: d_step { n_init < INITS -> n_init++; i_from[n_init] = E; i_to[n_init] = B }
    EACH_INIT(INSIDER_INIT)
    EACH_ASSOC(INSIDER_SEALS)
#endif
#ifdef M_INIT_UNPROVED /* anybody can make an INIT in A's name, and has the keys of what answers it */
    :: d_step { n_init < INITS -> n_init++; i_from[n_init] = A; i_to[n_init] = B; i_time[n_init] = 7 }
    :: d_step { n_assoc > 0 && i_time[a_init[n_assoc]] == 7 && a_worker[n_assoc] == HAS ->
        k = n_assoc; hear(k) }
#endif
    :: d_step { list[A] != 0 && list[B] != 0 -> x = A; calm(false); wipe() } -> break
    :: d_step { list[A] != 0 && list[B] != 0 -> x = A; calm(true); wipe() } -> break
#if BOTH
    :: d_step { list[A] != 0 && list[B] != 0 -> x = B; calm(false); wipe() } -> break
    :: d_step { list[A] != 0 && list[B] != 0 -> x = B; calm(true); wipe() } -> break
#endif
    :: d_step { list[A] == 0 || list[B] == 0 -> wipe() } -> break
    od
}
