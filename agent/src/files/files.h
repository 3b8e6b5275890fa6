/* The agent's side of file work: each operation is a child that does it, watched under credit. */
#ifndef SVC_FILES_H
#define SVC_FILES_H

#include "agent.h"
#include "base/reap.h"
#include "wire/stream.h"
#include "wire/fd-writer.h"

#define MESSAGE_MAX 32768 /* above the longest: an `info` with two paths */

struct work {
	struct work *next;     /* of those that wait for their turn */
	struct file_op op;
	char *paths;           /* both, to be freed */
	struct stream *stream; /* NULL: nobody waits for it any more */
	struct child child;
	bool runs, cancelled;
	struct timer impatience;
	struct fd_writer in;      /* what is written */
	int in_fd;
	struct watch out, meta;
	uint8_t *message;      /* MESSAGE_MAX bytes: what came on meta and is not complete */
	size_t message_size;
	uint8_t *info;         /* what is sent on channel 0 before all content */
	size_t info_size, info_sent;
	uint8_t *last;         /* type and payload of the last message */
	size_t last_size;
};

/* ---- files-open.c */
/* Starts calls that waited for others to end, as far as they may. */
void files_start_waiting(void);
/* Begins an operation for a stream, or lets it wait for its turn; 0 or a positive errno. */
int work_open(struct stream *stream, const struct file_op *op);
/* One that waits will not run. */
void work_leave_queue(struct work *work);
/* One that ran has ended. */
void work_turn_over(const struct work *work);

/* ---- files-kinds.c */
extern const struct stream_kind file_read_kind, file_write_kind, file_list_kind, file_glob_kind;
extern const struct stream_kind file_stat_kind, file_mkdir_kind, file_move_kind, file_chmod_kind, file_remove_kind;

/* ---- files.c */
/* Starts the child; 0 or a positive errno. */
int work_begin(struct work *work);
/* Closes and frees all that belongs to it; its child has ended, or never was. */
void work_forget(struct work *work);
/* What the kinds share. */
void work_data(struct stream *stream, const uint8_t *bytes, size_t size);
void work_eof(struct stream *stream);
void work_cancel(struct stream *stream);
void work_pump(struct stream *stream);
void work_gone(struct stream *stream);

/* ---- files-start.c */
/* Forks the child, 0 or a positive errno. Ends of pipes that the kind needs are then in `work`. */
int work_fork(struct work *work);

/* ---- files-message.c */
/* Cuts messages out of what came; -1 when they are none. */
int work_messages(struct work *work);

#endif
