/* The processes that end as children of the agent: its own, and as process 1 every orphan. */
#ifndef SVC_REAP_H
#define SVC_REAP_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	uid_t uid; /* the tenant's, see user.h; set before child_add() */
	/* Ended. A held child is a zombie until child_release(): its number, and that of its group, cannot be given away. */
	bool held, ended;
	int status; /* as of waitpid(2) */
	void (*on_end)(struct child *child);
	struct child *next, **link;
};

/* Before the next wait: the process just forked. */
void child_add(struct child *child, pid_t pid);
/* It may live on, and is reaped like an orphan. Safe twice. */
void child_forget(struct child *child);
/* Lets go of a held child that has ended. Safe twice. */
void child_release(struct child *child);
/* Whether one of this uid has been added that has not ended, even if it has yet to take the uid. */
bool children_of(uid_t uid);
/* Takes all who have ended; after SIGCHLD. */
void reap(void);
/* After releases, when it is due. */
void reap_again(void);

#endif
