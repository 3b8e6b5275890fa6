/* `usage`: what this sandbox says of itself: memory and network of its kernel, processes, and how full its file systems are. A
 * child reads it, so that a file system that hangs holds up nobody else. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "files/filework.h"

#define KNOWS_MEMORY 1
#define KNOWS_PROCESSES 2
#define KNOWS_NETWORK 4

/* Opens a file of /proc; NULL when the sandbox has no /proc. */
static FILE *proc(const char *path)
{
	int fd = file_open(path, O_RDONLY);

	return fd < 0 ? NULL : fdopen(fd, "r");
}

static int read_memory(uint64_t *used, uint64_t *total)
{
	FILE *file = proc("/proc/meminfo");
	uint64_t all = 0, available = UINT64_MAX;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		(void)!sscanf(line, "MemTotal: %" SCNu64, &all);
		(void)!sscanf(line, "MemAvailable: %" SCNu64, &available);
	}
	if (file)
		fclose(file);
	if (all == 0 || available > all)
		return 0;
	*used = (all - available) * 1024;
	*total = all * 1024;
	return KNOWS_MEMORY;
}

static int count_processes(uint32_t *count)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		*count += isdigit((unsigned char)entry->d_name[0]) != 0;
	if (folder)
		closedir(folder);
	return *count > 0 ? KNOWS_PROCESSES : 0;
}

/* All interfaces but the loopback. */
static int read_network(uint64_t *rx, uint64_t *tx)
{
	FILE *file = proc("/proc/net/dev");
	char line[512], name[64];
	uint64_t received, sent;

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, " %63[^:]: %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, name, &received, &sent) != 3)
			continue;
		if (strcmp(name, "lo") == 0)
			continue;
		*rx += received;
		*tx += sent;
	}
	fclose(file);
	return KNOWS_NETWORK;
}

static uint32_t put_disks(struct file_bytes *bytes)
{
	static const char *const mounts[] = { "/", "/workspace", "/tmp" };
	unsigned long seen[sizeof(mounts) / sizeof(mounts[0])];
	uint32_t count = 0;

	for (size_t at = 0; at < sizeof(mounts) / sizeof(mounts[0]); at++) {
		struct statvfs disk;
		struct stat facts;
		bool again = false;

		if (stat(mounts[at], &facts) || statvfs(mounts[at], &disk) || disk.f_blocks == 0)
			continue;
		for (uint32_t known = 0; known < count; known++)
			again = again || seen[known] == facts.st_dev;
		if (again)
			continue;
		seen[count++] = facts.st_dev;
		file_put_str(bytes, mounts[at], strlen(mounts[at]));
		file_put_u64(bytes, (uint64_t)(disk.f_blocks - disk.f_bfree) * disk.f_frsize);
		file_put_u64(bytes, (uint64_t)disk.f_blocks * disk.f_frsize);
	}
	return count;
}

_Noreturn void file_usage(void)
{
	uint64_t used = 0, total = 0, rx = 0, tx = 0;
	struct file_bytes bytes = { 0 }, disks = { 0 };
	uint32_t processes = 0;
	uint32_t count = put_disks(&disks);
	int known = read_memory(&used, &total) | count_processes(&processes) | read_network(&rx, &tx);

	file_put_u32(&bytes, (uint32_t)known);
	file_put_u64(&bytes, used);
	file_put_u64(&bytes, total);
	/* This process is none of the sandbox's. */
	file_put_u32(&bytes, processes > 0 ? processes - 1 : 0);
	file_put_u64(&bytes, rx);
	file_put_u64(&bytes, tx);
	file_put_u32(&bytes, count);
	if (disks.size > 0)
		file_put_bytes(&bytes, disks.at, disks.size);
	file_finish(&bytes);
}
