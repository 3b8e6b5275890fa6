/* The one session: what was said in HELLO, and the queue to the host. Sending never fails for the caller: when it
 * cannot be done, the session is broken, says nothing more, and ends after the event at hand. */
#ifndef SVC_SESSION_H
#define SVC_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

/* A connection that a session may be on. */
struct conn;

/* The agent starts now: the bytes that tell this start from another. */
void session_init(void);
/* Milliseconds since then. */
uint64_t uptime_ms(void);
/* Begins with a HELLO on `conn`, ending the session before it; -1 when the frame is none. */
int session_start(struct conn *conn, const struct frame *hello);
/* A frame after HELLO; -1: it breaks the rules, the session is to be ended. */
int session_take(const struct frame *frame);
/* Its streams and their attached execs end. Safe without a session. */
void session_end(const char *reason);
/* The connection it is on, NULL when there is none. */
struct conn *session_conn(void);
bool session_is_broken(void);
/* Something waits to be written. */
bool session_has_output(void);
/* Writes to the transport; -1 when that is broken. */
int session_write(int fd);

/* ---- for streams */

/* Processes may be read: the queue is not full. */
bool session_has_room(void);
/* Payload that fits the memory at hand. */
size_t session_tail_room(void);
/* Memory for a payload of `size` bytes, sent by session_commit_data() with the bytes behind its first (the channel).
 * NULL: none, and the session is broken. */
uint8_t *session_reserve(size_t size);
void session_commit_data(uint32_t stream, uint8_t channel, size_t size);
void session_send(enum frame_type type, uint32_t stream, const uint8_t *payload, size_t size);

#endif
