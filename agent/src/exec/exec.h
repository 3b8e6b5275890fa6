/* Execs: the request of the host, the process that runs it, and its end. */
#ifndef SVC_EXEC_H
#define SVC_EXEC_H

#include "agent.h"
#include "base/pipe-room.h"
#include "base/reap.h"
#include "base/ring.h"
#include "exec/console.h"
#include "exec/kill.h"
#include "exec/pty.h"
#include "wire/stream.h"
#include "wire/fd-writer.h"

#define EXEC_PTY 1
#define EXEC_DETACH 2
#define EXEC_STDIN 4
#define EXEC_KEYED 8
#define EXEC_KEEP 16
#define EXEC_ID_MAX 128
#define EXEC_LABEL_MAX 1024
#define EXEC_BODY_MAX 64
#define EXEC_NOTE_MAX 1024

/* The arguments of an exec; everything points into the message, or into `room`. (exec-plan.c) */
struct exec_plan {
	uint32_t flags, timeout_ms;
	const char *id, *workdir, *label;
	const char *note; /* of one that is kept: what `execs` tells of it; NULL otherwise */
	const char *body; /* what a repeat of its key must equal; NULL without a key */
	uint16_t rows, cols;
	char **argv, **env; /* NULL-terminated; `env` includes the defaults that the request does not set */
	void *room;         /* to be freed */
};

/* Returns 0 or a positive errno. */
int exec_plan_read(struct exec_plan *plan, struct reader *arguments, char *const *defaults);

/* The descriptors of the child. (exec-child.c) */
struct exec_ends {
	int in, out, err;   /* -1 with a terminal */
	int status;         /* close-on-exec: EOF means that the program runs, otherwise a u32 errno follows */
	int foreground;     /* see foreground.h; -1 where the kernel sends the signals */
	const char *terminal;
	const char *default_workdir;
	uid_t uid;          /* uid to change to, see user.h */
	const char *account; /* user of the sandbox to become, see account.h; "": none */
	bool ignores_owners; /* see agent.h */
};

/* Answers 0 to calls of this process and its children that change owners or identities, without doing anything. -1 with
 * errno. (ignore-owners.c) */
int ignore_owners(void);

_Noreturn void exec_child(const struct exec_plan *plan, const struct exec_ends *ends);

struct exec;
/* Starts the process of an exec whose callbacks are set, as `account` unless that is "". Returns 0, or a positive errno and leaves nothing behind.
 * (exec-start.c) */
int exec_start(struct exec *exec, const struct exec_plan *plan, const char *account, const struct serve_options *options);

/* One of the outputs of an exec. (exec-output.c) */
struct output {
	struct watch watch; /* fd -1: ended */
	uint8_t channel;
	bool bounded;       /* the program has ended; only `left` bytes are still its own */
	size_t left;
	struct pipe_room room;
	struct timer rest;  /* while it is set, the pipe fills up */
	struct console_lines *lines; /* of a detached exec */
};

struct exec {
	struct exec *next;     /* list in the order of their start (execs.c) */
	uint64_t number;       /* number in that order */
	uint64_t ended_number; /* number in the order of their ends */
	char id[EXEC_ID_MAX + 1];
	char label[EXEC_LABEL_MAX + 1];
	char body[EXEC_BODY_MAX + 1]; /* for an exec with a key, otherwise empty */
	struct child child;
	struct kill kill;
	struct stream *stream; /* the stream of the host that waits for it */
	struct watch status;
	struct output outputs[2];
	struct fd_writer in;
	int in_fd;             /* pipe to its standard input; -1 without one */
	int master;            /* terminal, the same as the first output's; -1 without one */
	int slave;             /* held open while the program runs, see pty.h */
	int foreground;        /* while the program runs, see foreground.h; -1 without one */
	bool line_is_open;     /* the terminal's input does not end in a newline */
	struct timer deadline, grace;
	bool detached; /* detached, its output is kept; also every exec with a key, and one that was left */
	char *note;    /* of one that is kept: it lives on when its stream ends, and is then `detached`; NULL otherwise */
	bool speaks;   /* its name on the console */
	bool started, refused, cancelled, timed_out, ended;
	struct ring tail;
	size_t views;          /* attached streams */
	uint64_t started_us, started_ms, ended_us, ended_ms, duration_us;
};

#define EXEC_RESULT_SIZE 17
/* The exit code of an exec that its deadline ended, as with timeout(1). */
#define EXEC_TIMED_OUT 124

/* Creates an exec that is yet to be started; NULL without memory. */
struct exec *exec_make(const struct exec_plan *plan);
/* Returns how it ended as in agent/PROTOCOL.md; -1 and zeros while it runs. */
void exec_result(const struct exec *exec, uint8_t result[EXEC_RESULT_SIZE]);
int exec_exit_code(const struct exec *exec);
uint32_t exec_signal(const struct exec *exec);

/* ---- exec-output.c */
void output_open(struct output *output, int fd, uint8_t channel);
bool outputs_are_open(const struct exec *exec);
/* From now on only what is already in the pipes is read. */
void outputs_bound(struct exec *exec);
void outputs_close(struct exec *exec);
/* Call when an output or the exec ends: finishes the exec when all have ended. (exec.c) */
void exec_settle(struct exec *exec);

/* ---- output-ring.c: the kept output of detached execs */
void output_rings_init(uint64_t budget);
void output_ring_put(struct exec *exec, uint8_t channel, const uint8_t *bytes, size_t size);
void output_ring_drop(struct exec *exec);
/* The view that read up to `place` was the last one: what it has seen is not shown again. */
void output_ring_seen(struct exec *exec, const struct ring_place *place);

/* ---- exec-stream.c */
void exec_init(const struct serve_options *options);

extern const struct stream_kind exec_kind;

/* Input from the exec's own stream, or from that of a view. May end `from`. */
void exec_input(struct exec *exec, struct stream *from, const uint8_t *bytes, size_t size);
void exec_input_end(struct exec *exec);
/* Frees an exec that is in no list. (execs.c) */
void exec_free(struct exec *exec);

/* Answers the repeat of a key on `stream`, which does not become an exec. Returns 0, or a positive errno: EEXIST when
 * the first request differs. (exec-key.c) */
int exec_repeat(struct stream *stream, const struct exec *first, const struct exec_plan *plan);

#endif
