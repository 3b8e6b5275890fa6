/* Writes runtime.json, by which a later server finds this runtime. Start times detect a reused pid. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init/launch.h"

#define PATH_BYTES 4096
#define NEW "runtime.json.new"

/* Field 22 of /proc/<pid>/stat in clock ticks since boot; 0 when it cannot be read. proc(5) */
static unsigned long long start_time(pid_t pid)
{
	char path[64], text[1024];
	char *field;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	/* The name in field 2 may hold any byte, also spaces and parentheses: parsing starts after its last
	 * parenthesis. */
	field = strrchr(text, ')');
	for (int number = 2; field && number < 22; number++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field + 1, NULL, 10) : 0;
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t put = write(fd, bytes, size);

		if (put < 0)
			return -1;
		bytes += put;
		size -= (size_t)put;
	}
	return 0;
}

static const char *path_of(char path[PATH_BYTES], const char *run_dir, const char *name)
{
	snprintf(path, PATH_BYTES, "%s/%s", run_dir, name);
	return path;
}

int launch_record_open(const char *run_dir)
{
	char path[PATH_BYTES];
	int fd = open(path_of(path, run_dir, NEW), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? fail("make the record") : fd;
}

int launch_record(int fd, const char *run_dir, const char *record, const struct launched *processes)
{
	char text[8192], made[PATH_BYTES], final[PATH_BYTES], network[96] = "";
	size_t length = strlen(record);
	int size, failed;

	if (length < 2 || record[length - 1] != '}')
		return fail("record");
	if (processes->network)
		snprintf(network, sizeof(network), ",\"network_pid\":%d,\"network_start\":%llu", (int)processes->network,
			 start_time(processes->network));
	size = snprintf(text, sizeof(text), "%.*s,\"pid\":%d,\"pid_start\":%llu,\"runner_pid\":%d,\"runner_start\":%llu%s}\n",
			(int)length - 1, record, (int)processes->init, start_time(processes->init), (int)processes->runner,
			start_time(processes->runner), network);
	if (size < 0 || (size_t)size >= sizeof(text))
		return fail("record");
	failed = write_all(fd, text, (size_t)size);
	if (close(fd) || failed || rename(path_of(made, run_dir, NEW), path_of(final, run_dir, "runtime.json")))
		return fail("write the record");
	return 0;
}
