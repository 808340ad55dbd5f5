/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One piece of a file, as a thread of the storage does it. Does not lock: the thread has the file.
 *
 * A direct piece has three parts: piece_direct() says how many bytes can go past the page cache,
 * somebody moves as many of them as it can, and piece_rest() moves the others and hashes. Memory,
 * place and length of direct I/O are multiples of PIECE_ALIGN, which serves disks with sectors of
 * up to that size.
 */
#ifndef SLUICE_COMMAND_PIECE_H
#define SLUICE_COMMAND_PIECE_H

#include "sluice/storage/storage.h"

#define PIECE_ALIGN 4096

/* Moves at most len bytes of the piece from byte `from` on, by a descriptor of its file. Returns
 * how many (0: the file ends), or a negative errno. */
int64_t piece_try(const struct storage_piece *p, int fd, uint32_t from, uint32_t len);
/* Reads or writes the whole piece through the page cache, and hashes it. 0 or a negative errno;
 * -ECANCELED: the file was cancelled. */
int piece_move(struct storage_file *f, struct storage_piece *p);
/* Bytes at the beginning of the piece that can be moved past the page cache; 0: none. */
uint32_t piece_direct(const struct storage_file *f, const struct storage_piece *p);
/* Hashes the whole piece. */
void piece_hash(struct storage_file *f, const struct storage_piece *p);
/* `moved` bytes were moved past the page cache (a negative errno: none could). Moves the rest, and
 * hashes what was read. 0 or a negative errno. */
int piece_rest(struct storage_file *f, struct storage_piece *p, int64_t moved);

#endif
