/* Descriptors. */
#define _GNU_SOURCE
#include "base/descriptors.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLOSE_RANGE 436 /* since Linux 5.9; the same number on every architecture */
#define LAST 0x7fffffff  /* gVisor reads the arguments as signed numbers */
#define DESCRIPTORS_MAX 65536

int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int pipe_from_child(int ends[2])
{
	return pipe2(ends, O_CLOEXEC) ? -1 : set_nonblocking(ends[0]);
}

int pipe_to_child(int ends[2])
{
	int theirs;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	theirs = ends[0];
	ends[0] = ends[1];
	ends[1] = theirs;
	return set_nonblocking(ends[0]);
}

void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void descriptors_close_from(int first)
{
	long last = sysconf(_SC_OPEN_MAX);

	if (syscall(CLOSE_RANGE, first, LAST, 0) == 0)
		return;
	for (int fd = first; fd < (last < DESCRIPTORS_MAX ? last : DESCRIPTORS_MAX); fd++)
		close(fd);
}
