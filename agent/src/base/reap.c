/* Reaping. The agent looks at a process before it reaps it (WNOWAIT), so a process whose pid is still needed stays a
 * zombie. Such a zombie hides all others from a wait for any child; then the agent waits for each child by pid, and
 * finds orphans in the kernel's list of children. */
#define _GNU_SOURCE
#include "base/reap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST_PIECE 4096

static struct child *children;
static bool due;

void child_add(struct child *child, pid_t pid)
{
	child->pid = pid;
	child->ended = false;
	child->next = children;
	child->link = &children;
	if (children)
		children->link = &child->next;
	children = child;
}

bool children_of(uid_t uid)
{
	const struct child *child = children;

	while (child && (child->ended || child->uid != uid))
		child = child->next;
	return child != NULL;
}

static void take_out(struct child *child)
{
	*child->link = child->next;
	if (child->next)
		child->next->link = child->link;
	child->link = NULL;
}

void child_forget(struct child *child)
{
	if (child->link)
		take_out(child);
}

void child_release(struct child *child)
{
	if (!child->link)
		return;
	take_out(child);
	waitpid(child->pid, NULL, WNOHANG | __WALL);
	due = true;
}

static struct child *find(pid_t pid)
{
	struct child *child = children;

	while (child && child->pid != pid)
		child = child->next;
	return child;
}

/* Returns the pid of a process that has ended and is not reaped yet, or 0. */
static pid_t look(idtype_t type, pid_t pid, siginfo_t *info)
{
	info->si_pid = 0;
	if (waitid(type, (id_t)pid, info, WEXITED | WNOHANG | WNOWAIT | __WALL))
		return 0;
	return info->si_pid;
}

static void note(struct child *child, const siginfo_t *info)
{
	child->ended = true;
	child->status = info->si_code == CLD_EXITED ? (info->si_status & 0xff) << 8 : info->si_status & 0x7f;
	if (!child->held)
		child_release(child);
	child->on_end(child);
}

static bool note_one_of_ours(void)
{
	siginfo_t info;

	for (struct child *child = children; child; child = child->next)
		if (!child->ended && look(P_PID, child->pid, &info)) {
			note(child, &info);
			return true;
		}
	return false;
}

static void take_orphan(pid_t pid)
{
	if (pid > 0 && !find(pid))
		waitpid(pid, NULL, WNOHANG | __WALL);
}

/* Pids, each followed by a space. Reaping while reading may hide others until the next call, which is acceptable. */
static void take_orphans(void)
{
	char path[64], list[LIST_PIECE];
	ssize_t size;
	pid_t pid = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (size = read(fd, list, sizeof(list))) > 0)
		for (ssize_t i = 0; i < size; i++) {
			if (list[i] >= '0' && list[i] <= '9') {
				pid = pid * 10 + (list[i] - '0');
				continue;
			}
			take_orphan(pid);
			pid = 0;
		}
	if (fd >= 0)
		close(fd);
}

void reap(void)
{
	siginfo_t info;
	pid_t pid;

	due = false;
	while ((pid = look(P_ALL, 0, &info))) {
		struct child *child = find(pid);

		if (!child) {
			waitpid(pid, NULL, WNOHANG | __WALL);
			continue;
		}
		if (!child->ended) {
			note(child, &info);
			continue;
		}
		while (note_one_of_ours())
			;
		take_orphans();
		return;
	}
}

void reap_again(void)
{
	if (due)
		reap();
}
