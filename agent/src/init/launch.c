/* Starts one sandbox: runner, process 1, record. Each launch is a process of its own (launcher.c), because it adopts
 * the runner's orphans and waits for them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "init/launch.h"

#define DEFAULT_DEADLINE_MS 15000
#define KILL_TRIES 200

struct launch {
	struct settings settings;
	int listen_fd, record_fd;
	int control[2]; /* index 0: the agent's end; index 1: the child's */
	int output[2];  /* output of the runner before init is ready: read end, write end */
	int made[2];    /* a byte when the cgroups are made: read end, write end */
	struct start start;
	struct network network;
	pid_t runner, init;
	long deadline; /* monotonic ms */
	char said[512];
	size_t said_size;
	char warnings[PACKET_MAX];
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The server sends SIGTERM to give up. It is unblocked only during ppoll(), so that none arrives between the check of
 * `stopped` and the wait. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = stop };
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, NULL);

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int open_channels(struct launch *l)
{
	int on = 1;

	l->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->listen_fd < 0)
		return fail("socket");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, l->control) || pipe2(l->output, O_CLOEXEC) ||
	    pipe2(l->made, O_CLOEXEC))
		return fail("channels");
	/* Asks the kernel for the sender's pid in this namespace with each packet. unix(7) */
	if (setsockopt(l->control[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return fail("channels");
	fcntl(l->output[0], F_SETFL, O_NONBLOCK);
	if (send(l->control[0], l->settings.bytes, l->settings.size, 0) < 0)
		return fail("settings");
	return 0;
}

static int start_runner(struct launch *l)
{
	l->start = (struct start){
		.settings = &l->settings,
		.listen_fd = l->listen_fd,
		.control_fd = l->control[1],
		.output_fd = l->output[1],
		.cgroups_fd = l->made[0],
		.drop = settings_get(&l->settings, "uid") != NULL,
		.uid = (uid_t)settings_number(&l->settings, "uid", 0),
		.gid = (gid_t)settings_number(&l->settings, "gid", 0),
	};

	l->runner = fork();
	if (l->runner < 0)
		return fail("fork");
	if (l->runner == 0) {
		close(l->made[1]);
		launch_child(&l->start);
		dprintf(l->start.output_fd, "%s\n", failure);
		_exit(126);
	}
	close(l->control[1]);
	close(l->output[1]);
	close(l->made[0]);
	return 0;
}

/* Beside the child, which mounts meanwhile and waits for the cgroups. Without the child, await_ready() finds out why. */
static int make_places(struct launch *l)
{
	const char *run_dir = settings_get(&l->settings, "run_dir");

	if (cgroup_make(&l->settings))
		return -1;
	dprintf(l->made[1], "+");
	close(l->made[1]);
	l->record_fd = launch_socket(run_dir, l->listen_fd) ? -1 : launch_record_open(run_dir);
	close(l->listen_fd);
	return l->record_fd < 0 ? -1 : 0;
}

static void keep_output(struct launch *l)
{
	ssize_t got = read(l->output[0], l->said + l->said_size, sizeof(l->said) - 1 - l->said_size);

	if (got > 0)
		l->said_size += (size_t)got;
	l->said[l->said_size] = '\0';
	l->said[strcspn(l->said, "\n")] = '\0';
}

/* Reads the next packet of init, its sender, and the descriptor that came with it (else -1); 0 when init or the runner has
 * ended. */
static ssize_t receive(struct launch *l, char *packet, struct ucred *sender, int *fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { .iov_base = packet, .iov_len = PACKET_MAX - 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t size = recvmsg(l->control[0], &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	int is_known = 0;

	*fd = -1;
	for (; header; header = CMSG_NXTHDR(&message, header)) {
		if (header->cmsg_type == SCM_CREDENTIALS) {
			memcpy(sender, CMSG_DATA(header), sizeof(*sender));
			is_known = 1;
		}
		if (header->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	}
	if (!is_known)
		return size < 0 ? -1 : 0;
	packet[size] = '\0';
	return size;
}

/* Returns 1 when a packet or the end is there, 0 to try again, -1 after the deadline or when the server gave up. */
static int wait_for(struct launch *l, int fd)
{
	struct pollfd control = { .fd = fd, .events = POLLIN };
	long left = l->deadline - now_ms();
	struct timespec most = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };
	sigset_t none;

	if (stopped || left <= 0) {
		errno = stopped ? EINTR : ETIMEDOUT;
		return fail("wait for the sandbox");
	}
	sigemptyset(&none);
	return ppoll(&control, 1, &most, &none) > 0;
}

/* Waits until init reports that the root is ready. */
static int await_ready(struct launch *l)
{
	char packet[PACKET_MAX];
	struct ucred sender;
	int there, fd;

	while ((there = wait_for(l, l->control[0])) >= 0) {
		if (!there)
			continue;
		if (receive(l, packet, &sender, &fd) <= 0) {
			keep_output(l);
			errno = 0;
			return fail("%s", l->said[0] ? l->said : "the runner exited without a message");
		}
		l->init = sender.pid;
		if (fd >= 0) {
			l->network.space = fd;
			if (launch_network(&l->start, &l->network))
				return -1;
		}
		if (packet[0] == PACKET_FAILED) {
			errno = 0;
			return fail("%s", packet + 1);
		}
		if (packet[0] == PACKET_READY) {
			snprintf(l->warnings, sizeof(l->warnings), "%s", packet + 1);
			return 0;
		}
	}
	return -1;
}

/* The program starts while init builds the root. */
static int await_network(struct launch *l)
{
	int there = 0;

	if (!l->network.pid)
		return 0;
	while (there == 0)
		there = wait_for(l, l->network.ready);
	return there < 0 ? -1 : launch_network_routes(&l->start, &l->network);
}

/* The record is written before the agent can answer any host. */
static int let_go(struct launch *l)
{
	const char *run_dir = settings_get(&l->settings, "run_dir");
	const char *record = settings_get(&l->settings, "record");
	struct launched processes = { .init = l->init, .runner = l->runner, .network = l->network.pid };

	if (launch_record(l->record_fd, run_dir, record, &processes))
		return -1;
	if (packet_send(l->control[0], PACKET_GO, "", l->network.pid ? l->network.end : -1))
		return fail("start the agent");
	return 0;
}

/* This process is a subreaper and adopts the killed runner's children, so ECHILD means that none is left. */
static void undo(struct launch *l)
{
	struct timespec pause = { .tv_nsec = 2000000 };

	if (l->init > 1)
		kill(l->init, SIGKILL);
	/* Starts a session and so a process group. A bubblewrap that dies before it has mapped its child's users leaves
	 * that child waiting for ever; a fork in progress fails when its group is signalled (fork(2)). */
	if (l->runner > 1 && kill(-l->runner, SIGKILL) < 0)
		kill(l->runner, SIGKILL);
	if (l->network.pid > 1)
		kill(l->network.pid, SIGKILL);
	close(l->control[0]);
	for (int i = 0; l->runner > 1 && i < KILL_TRIES; i++) {
		pid_t ended = waitpid(-1, NULL, WNOHANG);

		if (ended < 0 && errno == ECHILD)
			break;
		if (ended == 0)
			nanosleep(&pause, NULL);
	}
	cgroup_remove(&l->settings);
}

static int prepare(struct launch *l)
{
	const struct settings *s = &l->settings;

	if (settings_check(s) || !settings_get(s, "run_dir") || !settings_get(s, "runner") || !settings_get(s, "record")) {
		errno = EINVAL;
		return fail("settings");
	}
	l->deadline = now_ms() + (long)settings_number(s, "deadline_ms", DEFAULT_DEADLINE_MS);
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int launch(const struct settings *settings, char *answer, size_t size)
{
	static struct launch l;

	l.settings = *settings;
	catch_signals();
	if (prepare(&l) || open_channels(&l) || start_runner(&l) || make_places(&l) || await_ready(&l) ||
	    await_network(&l) || let_go(&l)) {
		snprintf(answer, size, "%s", failure);
		undo(&l);
		return 1;
	}
	snprintf(answer, size, "%s", l.warnings);
	return 0;
}
