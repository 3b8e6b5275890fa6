/* The processes of an exec: its leader, the descendants of a member, and all in a member's session. A member stays one
 * even if it starts a new session and its parent ends. */
#ifndef SVC_EXEC_TREE_H
#define SVC_EXEC_TREE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/processes.h"

#define EXEC_TREE_SESSIONS 64

struct exec_tree_member;

/* All zero except for the leader: no member is known yet. */
struct exec_tree {
	pid_t leader;
	struct exec_tree_member *members; /* as of the last scan, sorted by pid */
	size_t member_count;
	pid_t sessions[EXEC_TREE_SESSIONS];
	size_t session_count;
};

/* Reads /proc and marks the members. Returns 0, or -1 without /proc or memory. Free `all` with processes_free(). */
int exec_tree_scan(struct exec_tree *tree, struct processes *all);
/* Returns the pid to signal for a member: its group, negative, if the entire group belongs. The kernel signals a group
 * atomically, so no process escapes by forking. */
pid_t exec_tree_signal_target(const struct exec_tree *tree, const struct process *process);
/* Forgets all members. Idempotent. */
void exec_tree_free(struct exec_tree *tree);

#endif
