/* The processes that end as children of the agent: its own, and as process 1 every orphan. */
#ifndef SVC_REAP_H
#define SVC_REAP_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	/* Ended. A held child is a zombie until child_release(): its number, and that of its group, cannot be given away. */
	bool held, ended;
	int status; /* as of waitpid(2) */
	void (*on_end)(struct child *child);
	struct child *next, **link;
};

/* Before the next wait: the process just forked. */
void child_add(struct child *child, pid_t pid);
/* Lets go of a held child that has ended. Safe twice. */
void child_release(struct child *child);
/* Takes all who have ended; after SIGCHLD. */
void reap(void);
/* After releases, when it is due. */
void reap_again(void);

#endif
