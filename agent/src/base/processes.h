/* What /proc says about the processes around us. */
#ifndef SVC_PROCESSES_H
#define SVC_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
	pid_t pid, parent, group, session;
	unsigned long long start; /* when, in a unit of the kernel's: with it the number is nobody else's */
	bool alive;   /* not a zombie */
	bool stopped; /* or waiting for who traces it: it does nothing by itself */
	bool marked;  /* for whoever looks through them */
};

struct processes {
	struct process *at;
	size_t count, room;
};

/* All processes that can be seen, in the order of their numbers; 0, or -1 without /proc or memory. To be freed by processes_free(). */
int processes_read(struct processes *all);
/* NULL: it was not seen. */
const struct process *processes_find(const struct processes *all, pid_t pid);
void processes_free(struct processes *all);

#endif
