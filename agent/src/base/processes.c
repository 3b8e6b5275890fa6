/* Reads /proc. A process can end at any time; it is then left out. */
#define _GNU_SOURCE
#include "base/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_MAX 131072

static bool read_line(int proc, const char *name, char *line, size_t room)
{
	char path[64];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "%.20s/stat", name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, line, room - 1);
	close(fd);
	line[size > 0 ? size : 0] = '\0';
	return size > 0;
}

/* "pid (name) state ppid pgrp session … num_threads itrealvalue starttime". The name may hold any byte, so parsing
 * starts after its last parenthesis. A zombie with more than one thread is a process of which only the first thread has
 * ended. proc(5) */
static bool parse(const char *line, struct process *process)
{
	const char *rest = strrchr(line, ')');
	int parent, group, session;
	long threads;
	char state;

	if (!rest || sscanf(rest + 1, " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu",
		&state, &parent, &group, &session, &threads, &process->start) != 6)
		return false;
	process->parent = parent;
	process->group = group;
	process->session = session;
	process->alive = (state != 'Z' && state != 'X') || threads > 1;
	process->stopped = state == 'T' || state == 't';
	process->marked = false;
	return true;
}

static struct process *more(struct processes *all)
{
	if (all->count == all->room) {
		size_t room = all->room ? all->room * 2 : 64;
		struct process *grown = room <= COUNT_MAX ? realloc(all->at, room * sizeof(*grown)) : NULL;

		if (!grown)
			return NULL;
		all->at = grown;
		all->room = room;
	}
	return &all->at[all->count];
}

static int read_all(DIR *proc, struct processes *all)
{
	struct dirent *entry;
	char line[1024];

	while ((entry = readdir(proc))) {
		struct process *process;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		if (!read_line(dirfd(proc), entry->d_name, line, sizeof(line)))
			continue;
		process = more(all);
		if (!process)
			return -1;
		process->pid = (pid_t)atoi(entry->d_name);
		all->count += parse(line, process);
	}
	return 0;
}

static int by_number(const void *left, const void *right)
{
	const struct process *one = left, *other = right;

	return (one->pid > other->pid) - (one->pid < other->pid);
}

int processes_read(struct processes *all)
{
	DIR *proc = opendir("/proc");
	int status = proc ? read_all(proc, all) : -1;

	if (proc)
		closedir(proc);
	if (status)
		processes_free(all);
	else if (all->count)
		qsort(all->at, all->count, sizeof(*all->at), by_number);
	return status;
}

const struct process *processes_find(const struct processes *all, pid_t pid)
{
	struct process key = { .pid = pid };

	return all->count ? bsearch(&key, all->at, all->count, sizeof(key), by_number) : NULL;
}

void processes_free(struct processes *all)
{
	free(all->at);
	*all = (struct processes){ 0 };
}
