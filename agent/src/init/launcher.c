/* `svc-agent launcher`: starts sandboxes for a server that keeps running. Forking this small process costs a tenth of what
 * fork and exec of the server cost. It runs until its standard input ends and the launches in progress are complete;
 * requests that nobody waits for are dropped. Its death ends its launches, and so does the end of its output.
 *
 * Request:  u32 length of what follows, u32 number, settings (settings.h). Empty settings cancel that number.
 * Answer:   u32 length of what follows, u32 number, u8 0 or 1, text (launch.h). One write each, short enough to be atomic. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "init/launch.h"
#include "wire/wire.h"

#define MAX_LAUNCHES 256
#define NUMBER_SIZE 4
#define HEAD_SIZE 9
#define ANSWER_SIZE 2048

/* Exit status of a launch that has answered; with any other status there was no answer. */
#define ANSWERED 0

static struct { pid_t pid; uint32_t number; } launches[MAX_LAUNCHES];
static struct settings settings;
static char text[ANSWER_SIZE];

static void answer(uint32_t number, uint8_t code)
{
	uint8_t bytes[HEAD_SIZE + ANSWER_SIZE];
	size_t size = strlen(text);

	store_u32(bytes, (uint32_t)(NUMBER_SIZE + 1 + size));
	store_u32(bytes + 4, number);
	bytes[8] = code;
	memcpy(bytes + HEAD_SIZE, text, size);
	if (write(STDOUT_FILENO, bytes, HEAD_SIZE + size) < 0)
		text[0] = '\0';
}

static int place_of(pid_t pid)
{
	for (int i = 0; i < MAX_LAUNCHES; i++)
		if (launches[i].pid == pid)
			return i;
	return -1;
}

/* Returns 1, or 0 at the end of input. */
static int read_whole(void *into, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = read(STDIN_FILENO, (char *)into + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		done += (size_t)got;
	}
	return 1;
}

static _Noreturn void run_launch(uint32_t number, const sigset_t *mask, pid_t launcher)
{
	uint8_t code;

	/* A server that has given up on the launcher ends it, and must be sure that its requests have no effect. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != launcher)
		_exit(1);
	/* After Ctrl-C at the server's terminal, or the end of the server, launches in progress are completed. */
	setsid();
	sigprocmask(SIG_SETMASK, mask, NULL);
	close(STDIN_FILENO);
	if (open("/dev/null", O_RDONLY) != STDIN_FILENO)
		_exit(1);
	code = (uint8_t)launch(&settings, text, sizeof(text));
	answer(number, code);
	_exit(ANSWERED);
}

static void begin(uint32_t number, const sigset_t *mask)
{
	int place = place_of(0);
	pid_t self = getpid(), pid = place < 0 ? -1 : fork();

	if (pid == 0)
		run_launch(number, mask, self);
	explicit_bzero(&settings, sizeof(settings));
	if (pid < 0) {
		snprintf(text, sizeof(text), "%s", place < 0 ? "too many launches at once" : "the launcher cannot fork");
		answer(number, 1);
		return;
	}
	launches[place].pid = pid;
	launches[place].number = number;
}

static void give_up(uint32_t number)
{
	for (int i = 0; i < MAX_LAUNCHES; i++)
		if (launches[i].pid > 0 && launches[i].number == number)
			kill(launches[i].pid, SIGTERM);
}

/* Reads one request. Returns 0 at the end of input, or when the server violates the format. */
static int take_request(const sigset_t *mask)
{
	uint8_t head[4 + NUMBER_SIZE];
	uint32_t length, number;

	if (!read_whole(head, sizeof(head)))
		return 0;
	length = load_u32(head);
	number = load_u32(head + 4);
	if (length < NUMBER_SIZE || length - NUMBER_SIZE > SETTINGS_MAX)
		return 0;
	settings.size = length - NUMBER_SIZE;
	if (!read_whole(settings.bytes, settings.size))
		return 0;
	if (settings.size)
		begin(number, mask);
	else
		give_up(number);
	return 1;
}

/* `options` of waitpid(2): 0 to wait until no launch is left. */
static void reap(int options)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, options)) > 0) {
		int place = place_of(pid);

		if (place < 0)
			continue;
		launches[place].pid = 0;
		if (WIFEXITED(status) && WEXITSTATUS(status) == ANSWERED)
			continue;
		snprintf(text, sizeof(text), "the launch was killed");
		answer(launches[place].number, 1);
	}
}

static void on_children(int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		;
	reap(WNOHANG);
}

int launcher_main(int argc, char **argv)
{
	struct pollfd watched[2] = { { .fd = STDIN_FILENO, .events = POLLIN | POLLRDHUP } };
	sigset_t children, before;

	(void)argv;
	if (argc > 1) {
		fputs("svc-agent launcher reads requests from standard input\n", stderr);
		return 2;
	}
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, &before);
	signal(SIGPIPE, SIG_IGN);
	descriptors_close_from(STDERR_FILENO + 1);
	watched[1] = (struct pollfd){ .fd = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC), .events = POLLIN };
	for (;;) {
		if (poll(watched, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (watched[1].revents)
			on_children(watched[1].fd);
		/* Nobody waits for the requests that are still unread. */
		if ((watched[0].revents & (POLLHUP | POLLRDHUP)) || (watched[0].revents && !take_request(&before)))
			break;
	}
	reap(0);
	return 0;
}
