/* Streams of the session: one OPEN or CALL each, until its RESULT or ERROR. The stream's kind does the work; this part
 * manages numbers, limits and credit. */
#ifndef SVC_STREAM_H
#define SVC_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/account.h"
#include "wire/frame.h"
#include "wire/wire.h"

#define STREAMS_MAX 256
#define CALLS_MAX 1024
/* Connections out of the sandbox have a budget of their own, or they would leave none for execs. */
#define ACCEPTS_MAX 256
#define FIRST_CREDIT 262144
/* Window of a stream with much input, and how many streams may have one: the host's input waits in memory. */
#define WIDE_CREDIT (4 * FIRST_CREDIT)
#define WIDE_MAX 8

struct stream;

/* The functions of a kind; each except open may be NULL. Each may end the stream, which is then freed. */
struct stream_kind {
	/* Parses the arguments (valid only during the call) and starts. A positive errno refuses. */
	int (*open)(struct stream *stream, struct reader *arguments);
	void (*data)(struct stream *stream, const uint8_t *bytes, size_t size);
	void (*eof)(struct stream *stream);
	/* Leads to stream_fail(ECANCELED), at once (also without this function) or when its process has ended. Called
	 * once. */
	void (*cancel)(struct stream *stream);
	/* Sends what is ready, as far as there is room; called often. */
	void (*pump)(struct stream *stream);
	/* The session has ended; the stream is freed after this. Also the last call when the stream ends by itself. */
	void (*gone)(struct stream *stream);
	bool is_accept; /* counts as a connection out of the sandbox */
	bool not_for_users; /* concerns the entire sandbox: refused to a tenant of a pool */
	bool takes_account; /* may be done as a user of the sandbox (base/account.h) */
};

struct stream {
	struct stream *next;
	uint32_t id;
	const struct stream_kind *kind;
	void *work;          /* the kind's */
	uid_t uid;           /* the tenant it is for (user.h); 0: the owner of the sandbox */
	char account[ACCOUNT_NAME + 1]; /* the user of the sandbox that it is done as; "": the agent's own */
	uint32_t credit;     /* bytes that may still be sent */
	uint32_t host_credit, owed; /* bytes that were taken and not yet credited to the host */
	uint32_t taken;      /* total, counted up to the limit for widening */
	bool is_call, cancelled, is_wide;
};

/* The kinds of OPEN and the methods of CALL, by their numbers; NULL where unassigned. */
const struct stream_kind *kind_of_open(uint8_t number);
const struct stream_kind *kind_of_call(uint8_t number);

/* ---- for kinds */

/* Returns the bytes of DATA that may be sent now: within the credit, and 0 while the queue to the host is full. */
size_t stream_room(const struct stream *stream);
/* Returns memory for the bytes of one DATA frame, at least 2 KiB and at most `*size`, and sets `*size`. NULL: none. */
uint8_t *stream_reserve(struct stream *stream, size_t *size);
/* Sends the first `size` of the reserved bytes; 0 sends nothing. */
void stream_commit(struct stream *stream, uint8_t channel, size_t size);
/* Copies and sends as much as fits; returns the number of bytes. */
size_t stream_send(struct stream *stream, uint8_t channel, const uint8_t *bytes, size_t size);
void stream_started(struct stream *stream, uint32_t number);
void stream_eof(struct stream *stream, uint8_t channel);
/* The consumer took bytes of the host's input: returns the credit. */
void stream_took(struct stream *stream, size_t size);
/* Sends the last frame and frees the stream. */
void stream_result(struct stream *stream, const uint8_t *bytes, size_t size);
void stream_fail(struct stream *stream, int error);

/* ---- for the session */

/* Handles a frame of the host for a stream; -1 when it violates the protocol. (stream-take.c) */
int streams_take(const struct frame *frame);
void streams_pump(void);
/* Ends all streams with the session. */
void streams_drop(void);

/* ---- stream-table.c */

/* Returns NULL when no stream has the number. */
struct stream *stream_find(uint32_t id);
bool streams_are_full(const struct stream_kind *kind, bool is_call);
/* Returns NULL without memory. The number must be free. */
struct stream *stream_begin(uint32_t id, const struct stream_kind *kind, bool is_call);
/* Widens the stream's window, once it has taken as much and while few enough streams have a wide one. */
void stream_widen(struct stream *stream);
/* Removes it without a frame to the host. */
void stream_end(struct stream *stream);
/* Sends the last frame of a stream that was never started. (stream.c) */
void stream_refuse(uint32_t id, int error);

#endif
