/* Starts the process of an exec: its pipes or terminal, the fork, and the ends that each side keeps. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/oom-score.h"
#include "exec/exec.h"
#include "exec/foreground.h"

struct ends {
	int status[2], out[2], err[2], in[2], foreground[2]; /* index 0: the agent's end; index 1: the child's */
	int master, slave;
	char terminal[PTY_NAME];
};

static int open_input(const struct exec_plan *plan, struct ends *ends)
{
	if (plan->flags & EXEC_STDIN)
		return pipe_to_child(ends->in);
	ends->in[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	/* For an image without /dev/null: a pipe without a writer reads as empty. */
	if (ends->in[1] < 0) {
		if (pipe_to_child(ends->in))
			return -1;
		close_end(&ends->in[0]);
	}
	return 0;
}

static int open_terminal(const struct exec_plan *plan, struct ends *ends)
{
	ends->master = pty_open(plan->rows, plan->cols, ends->terminal);
	ends->slave = ends->master < 0 ? -1 : pty_hold(ends->terminal);
	if (ends->slave < 0)
		return -1;
	return foreground_is_ours(ends->master) ? pipe_to_child(ends->foreground) : 0;
}

static int open_ends(const struct exec_plan *plan, struct ends *ends)
{
	*ends = (struct ends){ { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 }, -1, -1, "" };
	if (pipe_from_child(ends->status))
		return -1;
	if (plan->flags & EXEC_PTY)
		return open_terminal(plan, ends);
	return open_input(plan, ends) || pipe_from_child(ends->out) || pipe_from_child(ends->err) ? -1 : 0;
}

/* The exec's user opens it again by name, as programs do; others may not. */
static int give_terminal(const struct ends *ends, uid_t uid)
{
	return ends->slave >= 0 && uid ? fchown(ends->slave, uid, uid) : 0;
}

static void close_ends(struct ends *ends, int whose)
{
	close_end(&ends->status[whose]);
	close_end(&ends->out[whose]);
	close_end(&ends->err[whose]);
	close_end(&ends->in[whose]);
	close_end(&ends->foreground[whose]);
	if (whose == 0) {
		close_end(&ends->master);
		close_end(&ends->slave);
	}
}

/* The exec takes the agent's ends. */
static void adopt(struct exec *exec, struct ends *ends, bool has_stdin)
{
	exec->status.fd = ends->status[0];
	watch_add(&exec->status);
	exec->master = ends->master;
	exec->slave = ends->slave;
	exec->foreground = ends->foreground[0];
	exec->in_fd = has_stdin && ends->master < 0 ? ends->in[0] : -1;
	output_open(&exec->outputs[0], ends->master >= 0 ? ends->master : ends->out[0], 1);
	output_open(&exec->outputs[1], ends->err[0], 2);
	fd_writer_open(&exec->in, ends->master >= 0 ? ends->master : exec->in_fd);
}

int exec_start(struct exec *exec, const struct exec_plan *plan, const char *account, const struct serve_options *options)
{
	struct ends ends;
	struct exec_ends theirs;
	pid_t pid = -1;
	int error = open_ends(plan, &ends) || give_terminal(&ends, exec->child.uid) ? errno : 0;

	theirs = (struct exec_ends){ ends.in[1], ends.out[1], ends.err[1], ends.status[1], ends.foreground[1],
		plan->flags & EXEC_PTY ? ends.terminal : NULL, options->workdir, exec->child.uid, account,
		options->ignores_owners };
	if (!error)
		pid = oom_score_fork();
	if (pid == 0)
		exec_child(plan, &theirs);
	if (!error && pid < 0)
		error = errno;
	close_ends(&ends, 1);
	if (error) {
		close_ends(&ends, 0);
		return error;
	}
	child_add(&exec->child, pid);
	adopt(exec, &ends, (plan->flags & EXEC_STDIN) != 0);
	return 0;
}
