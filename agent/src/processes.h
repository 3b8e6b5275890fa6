/* What /proc says about the processes around us. */
#ifndef SVC_PROCESSES_H
#define SVC_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
	pid_t pid, parent, session;
	bool alive;  /* not a zombie */
	bool marked; /* for whoever looks through them */
};

struct processes {
	struct process *at;
	size_t count, room;
};

/* All processes that can be seen; 0, or -1 without /proc or memory. To be freed by processes_free(). */
int processes_read(struct processes *all);
void processes_free(struct processes *all);

#endif
