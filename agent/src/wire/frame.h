/* Frames of agent/PROTOCOL.md: parsing, and what surrounds a payload. */
#ifndef SVC_FRAME_H
#define SVC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum frame_type {
	FRAME_HELLO = 1, FRAME_PART = 2, FRAME_OPEN = 3, FRAME_DATA = 4, FRAME_EOF = 5, FRAME_CREDIT = 6,
	FRAME_CANCEL = 7, FRAME_CALL = 8,
	FRAME_WELCOME = 16, FRAME_RESULT = 17, FRAME_ERROR = 18, FRAME_STARTED = 19,
};

#define FRAME_MIN 9
#define FRAME_MAX 65552
#define FRAME_HEAD 9 /* length, type, stream */
#define FRAME_TAIL 4 /* tag */
#define DATA_MAX 65536
/* Fills a frame of 64 KiB: a host that reads as much at a time has each frame whole, and copies nothing. */
#define DATA_FULL (65536 - FRAME_HEAD - 1 - FRAME_TAIL)
#define NONCE_SIZE 16
#define PROTOCOL_VERSION 1

struct frame {
	uint8_t type;
	uint32_t stream, tag;
	uint8_t *payload; /* the byte after it may be overwritten */
	size_t size;
};

/* Parses the frame at the start of `bytes`: returns the number of bytes it takes, 0 when it is incomplete, -1 when its
 * length is out of range. */
ssize_t frame_parse(uint8_t *bytes, size_t size, struct frame *frame);
/* Writes the header of a payload of `size` bytes. */
void frame_head(uint8_t head[FRAME_HEAD], enum frame_type type, uint32_t stream, size_t size);
/* Returns a random tag without a zero byte. */
bool frame_tag_fits(uint32_t tag);

#endif
