/* `svc-agent lock-file`: takes flock(2) on the file that the server opened as standard input. The lock belongs to that
 * open file, so it lasts as long as the server keeps its descriptor, and ends with the server however that dies. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

/* A child of a killed server holds its descriptors until it executes another program. */
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
