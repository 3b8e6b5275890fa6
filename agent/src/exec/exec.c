/* The life of an exec: started, reported to the host, running, ended when its process and its outputs have ended. */
#define _GNU_SOURCE
#include "exec/exec.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "exec/execs.h"

#define GRACE_US 200000

int exec_exit_code(const struct exec *exec)
{
	if (!exec->ended)
		return -1;
	if (exec->timed_out)
		return EXEC_TIMED_OUT;
	if (WIFEXITED(exec->child.status))
		return WEXITSTATUS(exec->child.status);
	return 128 + WTERMSIG(exec->child.status);
}

uint32_t exec_signal(const struct exec *exec)
{
	return exec->ended && WIFSIGNALED(exec->child.status) ? (uint32_t)WTERMSIG(exec->child.status) : 0;
}

void exec_result(const struct exec *exec, uint8_t result[EXEC_RESULT_SIZE])
{
	struct writer writer = writer_to(result, EXEC_RESULT_SIZE);

	write_number(&writer, (uint32_t)exec_exit_code(exec), 4);
	write_number(&writer, exec_signal(exec), 4);
	write_number(&writer, exec->ended && exec->timed_out, 1);
	write_number(&writer, exec->ended ? exec->duration_us : 0, 8);
}

/* Sends the stream's last frame; the stream is then released. */
static void tell(struct exec *exec)
{
	struct stream *stream = exec->stream;
	uint8_t result[EXEC_RESULT_SIZE];

	if (!stream)
		return;
	if (exec->cancelled) {
		stream_fail(stream, ECANCELED);
		return;
	}
	exec_result(exec, result);
	stream_result(stream, result, sizeof(result));
}

static void finish(struct exec *exec)
{
	fd_writer_stop(&exec->in);
	close_end(&exec->in_fd);
	timer_stop(&exec->deadline);
	timer_stop(&exec->grace);
	child_release(&exec->child);
	if (exec->refused) {
		execs_forget(exec);
		return;
	}
	execs_end(exec);
	if (exec->speaks)
		log_line("exec %s ended with %d", exec->id, exec_exit_code(exec));
	tell(exec);
	execs_trim();
}

void exec_settle(struct exec *exec)
{
	if (exec->ended || !exec->child.ended || exec->kill.active || exec->status.fd >= 0 || outputs_are_open(exec))
		return;
	finish(exec);
}

static void on_grace(struct timer *timer)
{
	struct exec *exec = container_of(timer, struct exec, grace);

	outputs_bound(exec);
	exec_settle(exec);
}

static void on_child_end(struct child *child)
{
	struct exec *exec = container_of(child, struct exec, child);

	exec->duration_us = now_us() - exec->started_us;
	timer_stop(&exec->deadline);
	close_end(&exec->slave);
	close_end(&exec->foreground);
	if (exec->kill.active)
		kill_look(&exec->kill);
	else
		timer_set(&exec->grace, GRACE_US);
	exec_settle(exec);
}

static void on_killed(struct kill *kill)
{
	struct exec *exec = container_of(kill, struct exec, kill);

	timer_set(&exec->grace, GRACE_US);
	exec_settle(exec);
}

static void on_deadline(struct timer *timer)
{
	struct exec *exec = container_of(timer, struct exec, deadline);

	exec->timed_out = true;
	kill_start(&exec->kill);
}

/* ---- the exec runs, or cannot */

static void never_ran(struct exec *exec, int error)
{
	struct stream *stream = exec->stream;
	bool cancelled = exec->cancelled;

	outputs_close(exec);
	exec->stream = exec->in.stream = NULL;
	exec->refused = true;
	/* The name is free again before the process is reaped. */
	exec->id[0] = '\0';
	if (stream) {
		stream->work = NULL;
		stream_fail(stream, cancelled ? ECANCELED : error);
	}
}

static void now_runs(struct exec *exec)
{
	uint8_t result[EXEC_RESULT_SIZE];
	struct stream *stream = exec->stream;

	exec->started = true;
	if (!stream || exec->cancelled)
		return;
	stream_started(stream, (uint32_t)exec->child.pid);
	if (!exec->detached)
		return;
	exec_result(exec, result);
	stream_result(stream, result, sizeof(result));
}

static short want_status(struct watch *watch)
{
	(void)watch;
	return POLLIN;
}

static void on_status(struct watch *watch, short events)
{
	struct exec *exec = container_of(watch, struct exec, status);
	uint8_t report[4];
	ssize_t got = read(watch->fd, report, sizeof(report));

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	watch_remove(watch);
	close_end(&watch->fd);
	if (got == sizeof(report))
		never_ran(exec, (int)load_u32(report));
	else
		now_runs(exec);
	exec_settle(exec);
}

static void input_done(struct fd_writer *writer, int error)
{
	(void)error;
	close_end(&container_of(writer, struct exec, in)->in_fd);
}

struct exec *exec_make(const struct exec_plan *plan)
{
	struct exec *exec = calloc(1, sizeof(*exec));

	if (!exec)
		return NULL;
	memcpy(exec->id, plan->id, strlen(plan->id));
	memcpy(exec->label, plan->label, strnlen(plan->label, EXEC_LABEL_MAX));
	if (plan->note && !(exec->note = strdup(plan->note))) {
		free(exec);
		return NULL;
	}
	if (plan->body)
		memcpy(exec->body, plan->body, strlen(plan->body));
	exec->detached = (plan->flags & (EXEC_DETACH | EXEC_KEYED)) != 0;
	exec->speaks = (plan->flags & EXEC_DETACH) != 0;
	exec->child.held = true;
	exec->status.want = want_status;
	exec->status.ready = on_status;
	exec->in.done = input_done;
	exec->child.on_end = on_child_end;
	exec->kill.leader = &exec->child;
	exec->kill.done = on_killed;
	exec->deadline.fire = on_deadline;
	exec->grace.fire = on_grace;
	exec->started_ms = wall_ms();
	exec->started_us = now_us();
	return exec;
}
