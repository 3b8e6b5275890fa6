/* Values inside a payload, little endian. All input is hostile: a read beyond the end sets `bad` and returns zeros, so
 * that a message is read to its end and checked once. */
#ifndef SVC_WIRE_H
#define SVC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	uint8_t *at, *end; /* one more byte than `end` must be writable */
	uint8_t *close;    /* where the last string ends */
	bool bad;
};

struct reader reader_of(uint8_t *bytes, size_t size);
uint8_t read_u8(struct reader *reader);
uint16_t read_u16(struct reader *reader);
uint32_t read_u32(struct reader *reader);
uint64_t read_u64(struct reader *reader);
/* Points into the message. */
uint8_t *read_bytes(struct reader *reader, size_t *size);
/* Reads a string without NUL bytes. It is terminated with a NUL in place, over bytes already read, at the next read or
 * at the end: use it after reader_done(). */
char *read_text(struct reader *reader);
/* Returns whether everything was well formed and nothing is left. */
bool reader_done(struct reader *reader);

/* Writes to memory of the caller; what does not fit is dropped and sets `full`. */
struct writer {
	uint8_t *at, *end;
	bool full;
};

struct writer writer_to(uint8_t *bytes, size_t size);
void write_number(struct writer *writer, uint64_t value, size_t size);
void write_str(struct writer *writer, const void *bytes, size_t size);

uint32_t load_u32(const uint8_t *at);
void store_u32(uint8_t *at, uint32_t value);

#endif
