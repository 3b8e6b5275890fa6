/* The agent's child processes, and as process 1 every orphan. */
#ifndef SVC_REAP_H
#define SVC_REAP_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	uid_t uid; /* the tenant's uid, see user.h; set before child_add() */
	/* Called at its end. A held child stays a zombie until child_release(), so that its pid and process group
	 * cannot be reused. */
	bool held, ended;
	int status; /* status as of waitpid(2) */
	void (*on_end)(struct child *child);
	struct child *next, **link;
};

/* Registers a process just forked; call before the next wait. */
void child_add(struct child *child, pid_t pid);
/* Forgets the child; if it still runs, it is reaped like an orphan. Idempotent. */
void child_forget(struct child *child);
/* Releases a held child that has ended. Idempotent. */
void child_release(struct child *child);
/* Returns whether a child added with this uid still runs, even if it has yet to change to the uid. */
bool children_of(uid_t uid);
/* Reaps all processes that have ended; call after SIGCHLD. */
void reap(void);
/* Reaps again if a release made it necessary. */
void reap_again(void);

#endif
