/* The processes that /proc shows. */
#ifndef SVC_PROCESSES_H
#define SVC_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
	pid_t pid, parent, group, session;
	unsigned long long start; /* start time in kernel ticks; with the pid it identifies one process */
	bool alive;   /* not a zombie */
	bool stopped; /* or stopped by its tracer: it makes no progress by itself */
	bool marked;  /* free for the caller's use */
};

struct processes {
	struct process *at;
	size_t count, room;
};

/* Reads all visible processes, sorted by pid. Returns 0, or -1 without /proc or memory. Free the result with
 * processes_free(). */
int processes_read(struct processes *all);
/* Returns NULL if the process was not seen. */
const struct process *processes_find(const struct processes *all, pid_t pid);
void processes_free(struct processes *all);

#endif
