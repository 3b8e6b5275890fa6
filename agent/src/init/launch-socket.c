/* The listening socket of a sandbox. Its file is made by the server's user, so that only that user can connect. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "init/launch.h"

int launch_socket(const char *run_dir, int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int bound;

	if (mkdir(run_dir, 0711) && errno != EEXIST)
		return fail("make the run folder");
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/agent.sock", run_dir) >=
	    sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return fail("socket path");
	}
	mask = umask(0177);
	bound = bind(fd, (struct sockaddr *)&address, sizeof(address));
	umask(mask);
	return bound || listen(fd, 16) ? fail("listen") : 0;
}
