/* The agent's side of file work: a child does each operation; its output is sent within the stream's credit. */
#ifndef SVC_FILES_H
#define SVC_FILES_H

#include "agent.h"
#include "base/reap.h"
#include "wire/stream.h"
#include "wire/fd-writer.h"

#define MESSAGE_MAX 32768 /* more than the longest: an `info` with two paths */

struct work {
	struct work *next;     /* link in the queue */
	struct file_op op;
	char *paths;           /* paths, to be freed */
	struct stream *stream; /* NULL: nobody waits for the result any more */
	struct child child;
	char account[ACCOUNT_NAME + 1]; /* as in the stream */
	bool runs, cancelled;
	struct timer impatience;
	struct fd_writer in;      /* content of a write */
	int in_fd;
	struct watch out, meta;
	uint8_t *message;      /* MESSAGE_MAX bytes: the incomplete message from meta_fd */
	size_t message_size;
	uint8_t *info;         /* sent on channel 0 before all content */
	size_t info_size, info_sent;
	uint8_t *last;         /* type and payload of the last message */
	size_t last_size;
};

/* ---- files-open.c */
/* Starts queued calls as far as the limits allow. */
void files_start_waiting(void);
/* Starts an operation for a stream, or queues it; returns 0 or a positive errno. */
int work_open(struct stream *stream, const struct file_op *op);
/* Removes a queued operation. */
void work_leave_queue(struct work *work);
/* Call when a running operation has ended. */
void work_turn_over(const struct work *work);

/* ---- files-kinds.c */
extern const struct stream_kind file_read_kind, file_write_kind, file_list_kind, file_glob_kind, file_watch_kind;
extern const struct stream_kind file_pack_kind, file_unpack_kind;
extern const struct stream_kind file_stat_kind, file_mkdir_kind, file_move_kind, file_chmod_kind, file_remove_kind;
extern const struct stream_kind file_usage_kind;

/* ---- files.c */
/* Starts the child; returns 0 or a positive errno. */
int work_begin(struct work *work);
/* Closes and frees everything of the operation; its child has ended or was never started. */
void work_forget(struct work *work);
/* Shared by the kinds. */
void work_data(struct stream *stream, const uint8_t *bytes, size_t size);
void work_eof(struct stream *stream);
void work_cancel(struct stream *stream);
void work_pump(struct stream *stream);
void work_gone(struct stream *stream);

/* ---- files-start.c */
/* Forks the child; returns 0 or a positive errno. The pipe ends that the kind needs are then in `work`. */
int work_fork(struct work *work);

/* ---- files-message.c */
/* Splits the received bytes into messages; -1 when they are malformed. */
int work_messages(struct work *work);

#endif
