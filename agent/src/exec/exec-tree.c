/* Finds the processes of an exec. One scan is not a snapshot: it may miss a process that is forked meanwhile, so
 * callers that need all of them scan again (kill.c). */
#define _GNU_SOURCE
#include "exec/exec-tree.h"

#include <stdlib.h>
#include <unistd.h>

/* A pid alone may have been reused. */
struct exec_tree_member {
	pid_t pid;
	unsigned long long start;
};

static bool knows_session(const struct exec_tree *tree, pid_t session)
{
	for (size_t i = 0; i < tree->session_count; i++)
		if (tree->sessions[i] == session)
			return true;
	return false;
}

static void keep_session(struct exec_tree *tree, pid_t session)
{
	/* A process that was just forked may still be in the agent's session. */
	if (session <= 0 || session == getsid(0) || knows_session(tree, session))
		return;
	if (tree->session_count < EXEC_TREE_SESSIONS)
		tree->sessions[tree->session_count++] = session;
}

static int by_number(const void *left, const void *right)
{
	const struct exec_tree_member *one = left, *other = right;

	return (one->pid > other->pid) - (one->pid < other->pid);
}

static bool knows(const struct exec_tree *tree, const struct process *process)
{
	struct exec_tree_member key = { .pid = process->pid };
	const struct exec_tree_member *found = NULL;

	if (tree->member_count)
		found = bsearch(&key, tree->members, tree->member_count, sizeof(key), by_number);
	return found && found->start == process->start;
}

static bool belongs(const struct exec_tree *tree, const struct processes *all, const struct process *process)
{
	const struct process *parent;

	if (process->pid == tree->leader || knows_session(tree, process->session) || knows(tree, process))
		return true;
	parent = processes_find(all, process->parent);
	return parent && parent->marked;
}

/* Marks one more generation; returns false when there is none. */
static bool mark_more(struct exec_tree *tree, struct processes *all)
{
	bool found = false;

	for (size_t i = 0; i < all->count; i++) {
		struct process *process = &all->at[i];

		if (process->marked || process->pid == getpid() || !belongs(tree, all, process))
			continue;
		process->marked = found = true;
		keep_session(tree, process->session);
	}
	return found;
}

/* Members that were not seen have ended. */
static int remember(struct exec_tree *tree, const struct processes *all)
{
	struct exec_tree_member *members = calloc(all->count + 1, sizeof(*members));

	if (!members)
		return -1;
	free(tree->members);
	tree->members = members;
	tree->member_count = 0;
	for (size_t i = 0; i < all->count; i++)
		if (all->at[i].marked)
			members[tree->member_count++] = (struct exec_tree_member){ all->at[i].pid, all->at[i].start };
	return 0;
}

int exec_tree_scan(struct exec_tree *tree, struct processes *all)
{
	keep_session(tree, tree->leader);
	if (processes_read(all))
		return -1;
	while (mark_more(tree, all))
		;
	if (remember(tree, all) == 0)
		return 0;
	processes_free(all);
	return -1;
}

/* All members of a group are in one session. */
pid_t exec_tree_signal_target(const struct exec_tree *tree, const struct process *process)
{
	return process->group > 1 && knows_session(tree, process->session) ? -process->group : process->pid;
}

void exec_tree_free(struct exec_tree *tree)
{
	free(tree->members);
	*tree = (struct exec_tree){ .leader = tree->leader };
}
