/* The user-mode network of a sandbox: slirp4netns connects for it, a process of the host with the sandbox's uid and cgroups. It
 * ends with process 1 of the sandbox, which holds the other end of a pipe. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "init/launch.h"
#include "net/user-routes.h"

/* Descriptors of the program, after the three of every program. */
#define SPACE "3"
#define END "4"
#define READY "5"
#define PROGRAM_FDS 6

static const char *const ARGUMENTS[] = { "slirp4netns", "--configure", "--mtu=65520", "--cidr=" USER_NETWORK,
	"--disable-host-loopback", "--disable-dns", "--enable-sandbox", "--enable-seccomp", "--exit-fd=" END,
	"--ready-fd=" READY, "--netns-type=path", "/proc/self/fd/" SPACE, USER_LINK, NULL };

static int place(const int sources[PROGRAM_FDS])
{
	int high[PROGRAM_FDS];

	for (int i = 0; i < PROGRAM_FDS; i++) {
		high[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, 2 * PROGRAM_FDS);
		if (high[i] < 0)
			return -1;
	}
	for (int i = 0; i < PROGRAM_FDS; i++) {
		if (dup2(high[i], i) < 0)
			return -1;
	}
	descriptors_close_from(PROGRAM_FDS);
	return 0;
}

static int leave_host(const struct start *start, const struct network *network)
{
	return launch_drop(start) || setns(network->owner, CLONE_NEWUSER) ? -1 : 0;
}

/* It has rights over the sandbox's first user namespace alone, which it needs to close itself in, and keeps the network of the
 * host. Its messages after the start go nowhere: nobody reads them, and they must not end it. */
static _Noreturn void become_program(const struct start *start, const struct network *network, int end, int ready)
{
	static const char *const environment[] = { NULL };
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	int sources[PROGRAM_FDS] = { nothing, nothing, start->output_fd, network->space, end, ready };

	umask(022);
	if (nothing < 0 || cgroup_join(start->settings) || setsid() < 0 || chdir("/") || leave_host(start, network) ||
	    place(sources))
		_exit(126);
	launch_default_signals();
	signal(SIGPIPE, SIG_IGN);
	execve(settings_get(start->settings, "network"), (char *const *)ARGUMENTS, (char *const *)environment);
	dprintf(STDERR_FILENO, "%s\n", strerror(errno));
	_exit(127);
}

int launch_network(struct start *start, struct network *network)
{
	int end[2], ready[2], said[2];
	/* Whoever has the sandbox's uid has all rights in its first user namespace. */
	int owner = ioctl(network->space, NS_GET_USERNS);

	if (owner < 0 || pipe2(end, O_CLOEXEC) || pipe2(ready, O_CLOEXEC) || pipe2(said, O_CLOEXEC))
		return fail("network");
	start->output_fd = said[1];
	network->owner = owner;
	network->pid = fork();
	if (network->pid < 0)
		return fail("network: fork");
	if (network->pid == 0)
		become_program(start, network, end[0], ready[1]);
	close(end[0]);
	close(ready[1]);
	close(said[1]);
	network->end = end[1];
	network->ready = ready[0];
	network->said = said[0];
	return 0;
}

/* Its last line, which is the reason. */
static int fail_as_said(const struct network *network)
{
	char text[512];
	ssize_t size = read(network->said, text, sizeof(text) - 1);
	char *line;

	text[size > 0 ? size : 0] = '\0';
	while (size > 0 && text[size - 1] == '\n')
		text[--size] = '\0';
	line = strrchr(text, '\n');
	errno = 0;
	return fail("slirp4netns: %s", text[0] == '\0' ? "ended without a message" : line ? line + 1 : text);
}

int launch_network_routes(const struct start *start, const struct network *network)
{
	char one;
	int status;
	pid_t pid;

	if (read(network->ready, &one, 1) != 1)
		return fail_as_said(network);
	close(network->said);
	pid = fork();
	if (pid == 0)
		_exit(leave_host(start, network) || setns(network->space, CLONE_NEWNET) || user_routes(start->settings) ? errno :
														       0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return fail("network: routes");
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return errno ? fail("network: routes") : 0;
}
