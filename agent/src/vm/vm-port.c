/* The serial port to the host, found by its name. The kernel receives ports and their names in messages, so both appear
 * shortly after the driver. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "vm/vm.h"

#define NAME "svc.agent"
#define PORTS "/sys/class/virtio-ports"
#define PAUSE_NS 2000000
#define LOOKS 2500

static int is_ours(const char *port)
{
	char path[320], name[64];

	snprintf(path, sizeof(path), PORTS "/%s/name", port);
	return port[0] != '.' && vm_read(path, name, sizeof(name)) == 0 && strcmp(name, NAME) == 0;
}

static int open_ours(void)
{
	DIR *ports = opendir(PORTS);
	struct dirent *entry;
	char node[320];
	int fd = -1;

	errno = ENODEV;
	while (ports && fd < 0 && (entry = readdir(ports))) {
		if (!is_ours(entry->d_name))
			continue;
		snprintf(node, sizeof(node), "/dev/%s", entry->d_name);
		fd = open(node, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	}
	if (ports)
		closedir(ports);
	return fd;
}

int vm_port(void)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };
	int fd = open_ours();

	for (int looks = 0; fd < 0 && looks < LOOKS; looks++) {
		nanosleep(&pause, NULL);
		fd = open_ours();
	}
	return fd < 0 ? fail("the port to the host") : fd;
}
