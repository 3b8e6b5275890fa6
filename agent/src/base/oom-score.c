/* A child cannot set its own score: the file belongs to root until the process is dumpable, and from then on the guest
 * could read its memory and take its descriptors, which are still the agent's. So the agent raises its own score for
 * the duration of the fork, and the child inherits it. proc(5) */
#define _GNU_SOURCE
#include "base/oom-score.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SCORE "500"

static int score_fd = -1;
static char own[16];

static void set_score(const char *score)
{
	if (score_fd >= 0 && pwrite(score_fd, score, strlen(score), 0) < 0) {
		close(score_fd);
		score_fd = -1;
	}
}

/* An agent whose score is already as high passes it on, so nothing needs to be done. */
static int open_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && read(fd, own, sizeof(own) - 1) > 0 && atoi(own) < atoi(SCORE))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int oom_score_init(bool is_traced)
{
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	score_fd = open_score();
	/* The tracer reads the memory of the agent and of its children. */
	return is_traced ? 0 : prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

pid_t oom_score_fork(void)
{
	pid_t pid;
	int error;

	set_score(SCORE);
	pid = fork();
	if (pid == 0)
		return 0;
	error = errno;
	set_score(own);
	errno = error;
	return pid;
}
