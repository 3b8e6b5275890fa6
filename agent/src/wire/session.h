/* The one session: the values of HELLO, and the output queue. Sending never fails for the caller: a session that cannot
 * send is broken, sends nothing more, and ends after the current event. */
#ifndef SVC_SESSION_H
#define SVC_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

/* What WELCOME announces: the agent keeps deadlines. */
#define CAPABLE_DEADLINES 1
/* It has the call `gate`, and `accept`. */
#define CAPABLE_GATE 2
/* It watches folders, and writes files in place. */
#define CAPABLE_WATCH 4
/* It packs and unpacks archives. */
#define CAPABLE_ARCHIVES 16
/* It has the call `trust`. */
#define CAPABLE_TRUST 32
/* It has the call `dial`, where it was started with a path of the host's socket. */
#define CAPABLE_DIAL 64
/* It tells and sets extended attributes, and tells owners. */
#define CAPABLE_ATTRIBUTES 128
/* It has the call `usage`. */
#define CAPABLE_USAGE 256
/* It has flag 16 of `exec`, the stream kind `resume`, and tells more of execs that are kept. */
#define CAPABLE_KEEP 512
/* Kinds may be done as a user of the sandbox: where the agent has the rights for it. */
#define CAPABLE_ACCOUNTS 1024
#define CAPABILITIES \
	(CAPABLE_DEADLINES | CAPABLE_GATE | CAPABLE_WATCH | CAPABLE_ARCHIVES | CAPABLE_TRUST | CAPABLE_ATTRIBUTES | \
	 CAPABLE_USAGE | CAPABLE_KEEP)

/* A connection that can carry the session. */
struct conn;

/* Starts the agent's counters: random bytes that identify this start. */
void session_init(void);
/* Returns the milliseconds since the start. */
uint64_t uptime_ms(void);
/* Starts a session with a HELLO on `conn` and ends the previous one; -1 when the frame is malformed. */
int session_start(struct conn *conn, const struct frame *hello);
/* Handles a frame after HELLO; -1 when it violates the protocol and the session must end. */
int session_take(const struct frame *frame);
/* Ends its streams and their attached execs. Idempotent. */
void session_end(const char *reason);
/* Returns its connection, or NULL without a session. */
struct conn *session_conn(void);
bool session_is_broken(void);
/* Returns whether output is queued. */
bool session_has_output(void);
/* Writes to the transport; -1 when that is broken. */
int session_write(int fd);

/* ---- for streams */

/* Returns whether process output may be read: the queue is not full. */
bool session_has_room(void);
/* Returns the payload size that fits into the current chunk. */
size_t session_tail_room(void);
/* Returns memory for a payload of `size` bytes, to be sent by session_commit_data(); the first byte is the channel.
 * NULL: no memory, and the session is broken. */
uint8_t *session_reserve(size_t size);
void session_commit_data(uint32_t stream, uint8_t channel, size_t size);
void session_send(enum frame_type type, uint32_t stream, const uint8_t *payload, size_t size);

#endif
