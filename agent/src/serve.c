/* serve(): runs the agent until the host or a signal ends it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/oom-score.h"
#include "base/reap.h"
#include "base/secret.h"
#include "exec/calls.h"
#include "exec/console.h"
#include "exec/deadline.h"
#include "exec/execs.h"
#include "files/files.h"
#include "wire/dial.h"
#include "wire/link.h"
#include "wire/session.h"

#define FLUSH_MS 1000

static struct watch signals;
static bool stopped;

static short want_signals(struct watch *watch)
{
	(void)watch;
	return POLLIN;
}

static void on_signals(struct watch *watch, short events)
{
	struct signalfd_siginfo info;

	(void)events;
	while (read(watch->fd, &info, sizeof(info)) == sizeof(info))
		stopped |= info.ssi_signo != SIGCHLD;
	reap();
}

static int catch_signals(void)
{
	sigset_t caught;

	sigemptyset(&caught);
	sigaddset(&caught, SIGCHLD);
	sigaddset(&caught, SIGTERM);
	sigaddset(&caught, SIGINT);
	sigaddset(&caught, SIGHUP);
	sigprocmask(SIG_BLOCK, &caught, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* Reaching a file size limit of the sandbox must not end the agent. */
	signal(SIGXFSZ, SIG_IGN);
	signals = (struct watch){ .want = want_signals, .ready = on_signals };
	signals.fd = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals.fd < 0)
		return -1;
	watch_add(&signals);
	return 0;
}

/* If standard descriptors were closed, pipes would get their numbers and be taken for them. */
static void fill_standard_descriptors(void)
{
	int fd;

	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd < 3)
		;
	if (fd >= 0)
		close(fd);
}

/* A subreaper adopts orphans even when it is not process 1, so that a kill finds them. */
static int prepare(struct serve_options *options)
{
	log_set_sink(console_add);
	fill_standard_descriptors();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (oom_score_init(options->is_traced) || secret_keep(options->secret) || catch_signals())
		return -1;
	mkdir(options->workdir, 0755);
	session_init();
	exec_init(options);
	output_rings_init(options->ring_budget);
	if (deadline_init(options->life_ms))
		return -1;
	if (link_open(options))
		return -1;
	/* Before anything is read: what answers on the standard streams has tried this. */
	dial_first(options);
	return 0;
}

int serve(struct serve_options *options)
{
	if (prepare(options)) {
		log_line("cannot serve: %s", strerror(errno));
		return 1;
	}
	while (!stopped && !shutdown_is_due() && !deadline_has_passed()) {
		files_start_waiting();
		streams_pump();
		link_sweep();
		reap_again();
		loop_turn();
		link_sweep();
	}
	log_line(deadline_has_passed() ? "the time of the sandbox is over" : "shutting down");
	/* A host that does not read must not move the deadline. */
	if (!deadline_has_passed())
		link_flush(FLUSH_MS);
	kill_everything();
	return 0;
}
