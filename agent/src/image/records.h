/* The entries of a layer as a file beside its folder: what the file system of the store does not say. Little endian:
 *   u8 type · u8 flags · u16 mode · u32 uid · u32 gid · i64 mtime_ns · u64 size · str path · str target ·
 *   u16 n · n × (str name · str value)          str: u32 size · bytes
 * In the order of the archive: of several with one path, the last counts. */
#ifndef SVC_IMAGE_RECORDS_H
#define SVC_IMAGE_RECORDS_H

#include <stdint.h>
#include <stdio.h>

#include "image/tar.h"

enum record_type {
	RECORD_FILE = 1, RECORD_FOLDER = 2, RECORD_LINK = 3,
	RECORD_CHARACTERS = 4, RECORD_BLOCKS = 5, RECORD_PIPE = 6, /* not made; size: major << 32 | minor */
	RECORD_WHITEOUT = 7,      /* removes the path from lower layers */
	RECORD_OPAQUE = 8,        /* empties the folder in lower layers */
};

#define RECORD_IMPLIED 1  /* a folder that no entry names */
#define RECORD_HARD_LINK 2 /* `target` is the path of the file */

struct record {
	enum record_type type;
	uint8_t flags;
	const char *path, *target;
	uint64_t size;
};

/* Limits what records_add() takes: records, and bytes of them. Without it both are unlimited. */
void records_limit(uint64_t max_records, uint64_t max_bytes);
/* Appends to a buffer that records_flush() writes to RECORDS_FD. `entry` has the other facts; NULL: there are none. */
int records_add(const struct record *record, const struct tar_entry *entry);
int records_flush(void);

/* Reads the next record's type, flags and path into `record`; the path is in `room`, which has PATH_MAX bytes.
 * 1, 0 at the end, -1. */
int records_next(FILE *file, struct record *record, char *room);

#endif
