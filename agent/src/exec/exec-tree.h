/* Who belongs to an exec: its process, whoever descends from one that belongs, and whoever is in a session of such a
 * one. Who once belonged still does, whatever it has made of itself since: a new session, and its parent gone. */
#ifndef SVC_EXEC_TREE_H
#define SVC_EXEC_TREE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/processes.h"

#define EXEC_TREE_SESSIONS 64

struct exec_tree_member;

/* All zero but for the leader: nobody is known yet. */
struct exec_tree {
	pid_t leader;
	struct exec_tree_member *members; /* as of the last look, in the order of their numbers */
	size_t member_count;
	pid_t sessions[EXEC_TREE_SESSIONS];
	size_t session_count;
};

/* Reads /proc and marks those who belong. 0, or -1 without /proc or memory. `all` is to be freed by processes_free(). */
int exec_tree_scan(struct exec_tree *tree, struct processes *all);
/* Whom to signal for one of them: its whole group, negative, when all of that belongs. A group is signalled in one piece,
 * so that nobody in it escapes by forking and going. */
pid_t exec_tree_signal_target(const struct exec_tree *tree, const struct process *process);
/* Nobody is known any more. Safe twice. */
void exec_tree_free(struct exec_tree *tree);

#endif
