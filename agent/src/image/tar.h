/* Reads a tar archive (POSIX ustar and pax, GNU's long names and large numbers) entry by entry. All of it is hostile:
 * every size is bounded before it is used. */
#ifndef SVC_IMAGE_TAR_H
#define SVC_IMAGE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK 512
#define TAR_INPUT (128 * 1024)
/* All headers of one entry together. */
#define TAR_EXTENSION_MAX (1024 * 1024)
#define TAR_NAME_MAX 256
#define TAR_ATTRIBUTES_MAX 64
/* Zeros that fill the last record of an archive. */
#define TAR_FILLING_MAX (16 * 1024 * 1024)

enum tar_type {
	TAR_FILE = '0', TAR_HARD_LINK = '1', TAR_LINK = '2', TAR_CHARACTERS = '3', TAR_BLOCKS = '4', TAR_FOLDER = '5',
	TAR_PIPE = '6',
};

struct tar_attribute {
	const char *name, *value;
	size_t name_size, value_size;
};

/* Texts end with NUL and last until the next entry is read. */
struct tar_entry {
	enum tar_type type;
	uint16_t mode;              /* the low twelve bits */
	uint32_t uid, gid;
	uint32_t major, minor;
	int64_t mtime_ns;
	uint64_t size;              /* of the content; 0 unless it is a file */
	const char *path, *target;
	struct tar_attribute attributes[TAR_ATTRIBUTES_MAX]; /* security.capability and user.* */
	size_t attribute_count;
	char header_path[TAR_NAME_MAX + 2], header_target[TAR_NAME_MAX]; /* what path and target point to without pax */
};

struct tar {
	int fd;
	size_t at, end;             /* of the input that is read and not used */
	uint64_t content, padding;  /* of the current entry, not read yet */
	size_t extension_size;
	bool may_lack_end;          /* it may end after an entry: some programs write no blocks of zeros behind the last one */
	uint8_t input[TAR_INPUT];
	char extension[TAR_EXTENSION_MAX + 1];
};

void tar_open(struct tar *tar, int fd);
/* 1 with the next entry, 0 at the end of the archive and of the input, -1 when it fails (fault.h). Skips the content
 * that was not read. */
int tar_next(struct tar *tar, struct tar_entry *entry);
/* Points at the next part of the content in the input: its size, 0 at its end, -1 when it fails. */
int64_t tar_content(struct tar *tar, const uint8_t **part);

/* The next `size` bytes, to `to` or nowhere. -1 when the archive ends before. */
int tar_take(struct tar *tar, void *to, uint64_t size);
/* Parses a block into an entry without texts of pax. Returns its type, 0 for a block of zeros, -1 when it fails.
 * (tar-header.c) */
int tar_header(const uint8_t *block, struct tar_entry *entry, uint64_t *size);
/* Applies the records of a pax header to an entry and its size. They are changed in place, and the entry points into
 * them. (tar-pax.c) */
int tar_pax(char *records, size_t length, struct tar_entry *entry, uint64_t *size);

#endif
