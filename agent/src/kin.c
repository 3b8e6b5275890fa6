/* Finding who belongs to an exec. One look is no picture of one moment: whoever forks meanwhile may be missed, so those
 * who want all of them look again (kill.c). */
#define _GNU_SOURCE
#include "kin.h"

#include <stdlib.h>
#include <unistd.h>

/* A number alone may be another's by now. */
struct kin_member {
	pid_t pid;
	unsigned long long start;
};

static bool knows_session(const struct kin *kin, pid_t session)
{
	for (size_t i = 0; i < kin->session_count; i++)
		if (kin->sessions[i] == session)
			return true;
	return false;
}

static void keep_session(struct kin *kin, pid_t session)
{
	/* A process that was just forked may still be in ours. */
	if (session <= 0 || session == getsid(0) || knows_session(kin, session))
		return;
	if (kin->session_count < KIN_SESSIONS)
		kin->sessions[kin->session_count++] = session;
}

static int by_number(const void *left, const void *right)
{
	const struct kin_member *one = left, *other = right;

	return (one->pid > other->pid) - (one->pid < other->pid);
}

static bool knows(const struct kin *kin, const struct process *process)
{
	struct kin_member key = { .pid = process->pid };
	const struct kin_member *found = NULL;

	if (kin->member_count)
		found = bsearch(&key, kin->members, kin->member_count, sizeof(key), by_number);
	return found && found->start == process->start;
}

static bool belongs(const struct kin *kin, const struct processes *all, const struct process *process)
{
	const struct process *parent;

	if (process->pid == kin->leader || knows_session(kin, process->session) || knows(kin, process))
		return true;
	parent = processes_find(all, process->parent);
	return parent && parent->marked;
}

/* Marks one more generation; false when there is none. */
static bool mark_more(struct kin *kin, struct processes *all)
{
	bool found = false;

	for (size_t i = 0; i < all->count; i++) {
		struct process *process = &all->at[i];

		if (process->marked || process->pid == getpid() || !belongs(kin, all, process))
			continue;
		process->marked = found = true;
		keep_session(kin, process->session);
	}
	return found;
}

/* Those who are not seen are gone. */
static int remember(struct kin *kin, const struct processes *all)
{
	struct kin_member *members = calloc(all->count + 1, sizeof(*members));

	if (!members)
		return -1;
	free(kin->members);
	kin->members = members;
	kin->member_count = 0;
	for (size_t i = 0; i < all->count; i++)
		if (all->at[i].marked)
			members[kin->member_count++] = (struct kin_member){ all->at[i].pid, all->at[i].start };
	return 0;
}

int kin_look(struct kin *kin, struct processes *all)
{
	keep_session(kin, kin->leader);
	if (processes_read(all))
		return -1;
	while (mark_more(kin, all))
		;
	if (remember(kin, all) == 0)
		return 0;
	processes_free(all);
	return -1;
}

/* A group lies within one session. */
pid_t kin_target(const struct kin *kin, const struct process *process)
{
	return process->group > 1 && knows_session(kin, process->session) ? -process->group : process->pid;
}

void kin_forget(struct kin *kin)
{
	free(kin->members);
	*kin = (struct kin){ .leader = kin->leader };
}
