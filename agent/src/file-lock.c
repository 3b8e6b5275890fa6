/* `svc-agent lock-file`: takes flock(2) on files that the server has open. The lock belongs to that open file, so it lasts
 * as long as the server keeps its descriptor, and ends with the server however that dies. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

/* A child of a killed server holds its descriptors until it executes another program. */
#define TRIES 20
#define PAUSE_NS 10000000
#define IDLE_MS 5000
/* Since Linux 5.3 and 5.6; the same numbers on every architecture. */
#define PIDFD_OPEN_CALL 434
#define PIDFD_GETFD_CALL 438

enum answer { LOCKED = 0, TAKEN = 1, FAILED = 2, NO_ACCESS = 3 };

static enum answer lock(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return LOCKED;
	return errno == EWOULDBLOCK || errno == EINTR ? TAKEN : FAILED;
}

int lock_file_main(void)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };

	for (int i = 0; i < TRIES; i++) {
		enum answer answer = lock(STDIN_FILENO);

		if (answer == FAILED)
			perror("svc-agent: flock");
		if (answer != TAKEN)
			return answer;
		nanosleep(&pause, NULL);
	}
	return TAKEN;
}

static enum answer lock_of(int server, int number)
{
	int fd = (int)syscall(PIDFD_GETFD_CALL, server, number, 0);
	enum answer answer;

	if (fd < 0)
		return NO_ACCESS;
	answer = lock(fd);
	close(fd);
	return answer;
}

/* False at the end of the input, and when nobody has asked for a while: the server starts another one. */
static bool next_number(int *number)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, IDLE_MS) == 1 && read(STDIN_FILENO, number, sizeof(*number)) == sizeof(*number);
}

int lock_files_main(void)
{
	int server = (int)syscall(PIDFD_OPEN_CALL, getppid(), 0), number;

	while (next_number(&number)) {
		char answer = (char)('0' + (server < 0 ? NO_ACCESS : lock_of(server, number)));

		if (write(STDOUT_FILENO, &answer, 1) != 1)
			return FAILED;
	}
	return 0;
}
