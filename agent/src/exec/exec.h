/* Execs: what the host asked for, the process that came of it, and its end. */
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
#define EXEC_ID_MAX 128
#define EXEC_LABEL_MAX 1024
#define EXEC_BODY_MAX 64

/* The arguments of an exec; everything points into the message, or into `room`. (exec-plan.c) */
struct exec_plan {
	uint32_t flags, timeout_ms;
	const char *id, *workdir, *label;
	const char *body; /* what a repeat of its key must say; NULL without one */
	uint16_t rows, cols;
	char **argv, **env; /* NULL-terminated; `env` with the defaults that were not given */
	void *room;         /* to be freed */
};

/* 0 or a positive errno. */
int exec_plan_read(struct exec_plan *plan, struct reader *arguments, char *const *defaults);

/* The descriptors of the child. (exec-child.c) */
struct exec_ends {
	int in, out, err;   /* -1 with a terminal */
	int status;         /* close-on-exec: nothing means the program runs, else a u32 errno */
	int foreground;     /* see foreground.h; -1: the kernel does it */
	const char *terminal;
	const char *default_workdir;
	uid_t uid;          /* to be taken, see user.h */
};

_Noreturn void exec_child(const struct exec_plan *plan, const struct exec_ends *ends);

struct exec;
/* Starts the process of an exec whose callbacks are set. 0, or a positive errno and nothing left. (exec-start.c) */
int exec_start(struct exec *exec, const struct exec_plan *plan, const char *default_workdir);

/* One of the outputs of an exec. (exec-output.c) */
struct output {
	struct watch watch; /* fd -1: at its end */
	uint8_t channel;
	bool bounded;       /* the program has ended: only `left` bytes are still its own */
	size_t left;
	struct pipe_room room;
	struct console_lines *lines; /* of a detached exec */
};

struct exec {
	struct exec *next;     /* in the order of their start (execs.c) */
	uint64_t number;       /* of that order */
	uint64_t ended_number; /* of the order of their ends */
	char id[EXEC_ID_MAX + 1];
	char label[EXEC_LABEL_MAX + 1];
	char body[EXEC_BODY_MAX + 1]; /* of one with a key, else empty */
	struct child child;
	struct kill kill;
	struct stream *stream; /* of the host that waits for it */
	struct watch status;
	struct output outputs[2];
	struct fd_writer in;
	int in_fd;             /* the pipe to its standard input, -1: none */
	int master;            /* of its terminal, the same as the first output's; -1: none */
	int slave;             /* held open while the program runs, see pty.h */
	int foreground;        /* while the program runs, see foreground.h; -1: none */
	bool line_is_open;     /* the terminal's input does not end in a line end */
	struct timer deadline, grace;
	bool detached; /* runs on its own, its output kept: with a key, too */
	bool speaks;   /* on the console */
	bool started, refused, cancelled, timed_out, ended;
	struct ring tail;
	size_t views;          /* attach streams that look at it */
	uint64_t started_us, started_ms, ended_us, ended_ms, duration_us;
};

#define EXEC_RESULT_SIZE 17
/* The exit code of what its deadline ended, as with timeout(1). */
#define EXEC_TIMED_OUT 124

/* One that is yet to be started; NULL without memory. */
struct exec *exec_make(const struct exec_plan *plan);
/* How it ended as in agent/PROTOCOL.md; -1 and zeros while it runs. */
void exec_result(const struct exec *exec, uint8_t result[EXEC_RESULT_SIZE]);
int exec_exit_code(const struct exec *exec);
uint32_t exec_signal(const struct exec *exec);

/* ---- exec-output.c */
void output_open(struct output *output, int fd, uint8_t channel);
bool outputs_are_open(const struct exec *exec);
/* From now on only what lies in the pipes. */
void outputs_bound(struct exec *exec);
void outputs_close(struct exec *exec);
/* An output came to its end, or the exec itself: finishes it when everything has. (exec.c) */
void exec_settle(struct exec *exec);

/* ---- tails.c: the kept output of detached execs */
void output_rings_init(uint64_t budget);
void output_ring_put(struct exec *exec, uint8_t channel, const uint8_t *bytes, size_t size);
void output_ring_drop(struct exec *exec);

/* ---- exec-stream.c */
void exec_init(const struct serve_options *options);

extern const struct stream_kind exec_kind;

/* Answers the repeat of a key on `stream`, which then is no exec of its own. 0, or a positive errno: EEXIST when the first
 * one said something else. (exec-key.c) */
int exec_repeat(struct stream *stream, const struct exec *first, const struct exec_plan *plan);

#endif
