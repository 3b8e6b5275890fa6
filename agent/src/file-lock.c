/* `svc-agent lock-file`: takes flock(2) on the file that is its standard input, which the server opened. The lock belongs
 * to that opening, so it lasts as long as the server keeps its descriptor, and goes with it however it dies. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

/* A child of a server that was just killed holds its descriptors until it has become another program. */
#define TRIES 20
#define PAUSE_NS 10000000

int lock_file_main(void)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };

	for (int i = 0; i < TRIES; i++) {
		if (flock(STDIN_FILENO, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR) {
			perror("svc-agent: flock");
			return 2;
		}
		nanosleep(&pause, NULL);
	}
	return 1;
}
