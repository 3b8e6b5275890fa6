/* Streams of the session: one OPEN or CALL each, until its RESULT or ERROR. The kind of a stream does the work; this
 * part keeps numbers, limits and credit. */
#ifndef SVC_STREAM_H
#define SVC_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/frame.h"
#include "wire/wire.h"

#define STREAMS_MAX 256
#define CALLS_MAX 1024
#define FIRST_CREDIT 262144
/* What a stream that carries much may have under way, and how many may: what the host sends waits in memory. */
#define WIDE_CREDIT (4 * FIRST_CREDIT)
#define WIDE_MAX 8

struct stream;

/* What a kind does; every function but open may be NULL. Each may end the stream, after which it is gone. */
struct stream_kind {
	/* Reads its arguments (valid only during the call) and begins. A positive errno refuses. */
	int (*open)(struct stream *stream, struct reader *arguments);
	void (*data)(struct stream *stream, const uint8_t *bytes, size_t size);
	void (*eof)(struct stream *stream);
	/* Leads to stream_fail(ECANCELED), now (as without this function) or when its process is gone. Comes once. */
	void (*cancel)(struct stream *stream);
	/* Sends what it has, as far as there is room; called often. */
	void (*pump)(struct stream *stream);
	/* The session is over, the stream gone after this. Also called, last, when the stream ends by itself. */
	void (*gone)(struct stream *stream);
	bool not_for_users; /* concerns the whole sandbox: refused to a tenant of a pool */
};

struct stream {
	struct stream *next;
	uint32_t id;
	const struct stream_kind *kind;
	void *work;          /* the kind's */
	uid_t uid;           /* the tenant it is for (user.h); 0: whoever runs the sandbox */
	uint32_t credit;     /* bytes that may still be sent */
	uint32_t host_credit, owed; /* bytes that the host may still send; taken and not yet told */
	uint32_t taken;      /* in all, as far as it matters for widening */
	bool is_call, cancelled, is_wide;
};

/* The kinds of OPEN and the methods of CALL, by their numbers; NULL: there is none. */
const struct stream_kind *kind_of_open(uint8_t number);
const struct stream_kind *kind_of_call(uint8_t number);

/* ---- for kinds */

/* Bytes of DATA that may be sent now: within the credit, and 0 while the queue to the host is full. */
size_t stream_room(const struct stream *stream);
/* Memory for the bytes of one DATA frame, of which at least 1 KiB and at most `*size`: sets `*size`. NULL: none. */
uint8_t *stream_reserve(struct stream *stream, size_t *size);
/* Sends the first `size` of the bytes reserved; 0 sends nothing. */
void stream_commit(struct stream *stream, uint8_t channel, size_t size);
/* Copies what there is room for and sends it; the number of bytes. */
size_t stream_send(struct stream *stream, uint8_t channel, const uint8_t *bytes, size_t size);
void stream_started(struct stream *stream, uint32_t number);
void stream_eof(struct stream *stream, uint8_t channel);
/* The consumer took bytes that the host sent: gives the credit back. */
void stream_took(struct stream *stream, size_t size);
/* The last frame; the stream is gone. */
void stream_result(struct stream *stream, const uint8_t *bytes, size_t size);
void stream_fail(struct stream *stream, int error);

/* ---- for the session */

/* A frame of the host for a stream; -1 when it breaks the rules. (stream-take.c) */
int streams_take(const struct frame *frame);
void streams_pump(void);
/* The session is over. */
void streams_drop(void);

/* ---- stream-table.c */

/* NULL: there is none, or no more. */
struct stream *stream_find(uint32_t id);
bool streams_are_full(bool is_call);
/* NULL without memory. The number must be free. */
struct stream *stream_begin(uint32_t id, const struct stream_kind *kind, bool is_call);
/* Owes the host the credit of a wide stream, once it has taken as much and while there is a place among them. */
void stream_widen(struct stream *stream);
/* Without a word to the host. */
void stream_end(struct stream *stream);
/* The last frame of a stream that was never begun. (stream.c) */
void stream_refuse(uint32_t id, int error);

#endif
