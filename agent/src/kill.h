/* Ending everything that an exec started: TERM to its group, KILL after 2 s, then every process whose session or
 * ancestor is the exec's, until none is left. */
#ifndef SVC_KILL_H
#define SVC_KILL_H

#include "loop.h"
#include "reap.h"

#define KILL_SESSIONS 64

struct kill {
	struct child *leader; /* held, so that its number stays its own */
	/* The leader and all others have ended. */
	void (*done)(struct kill *kill);
	bool active, forced;
	struct timer timer;
	uint64_t force_at;
	unsigned rounds;
	/* Sessions that processes of the exec have made for themselves: once their parents are gone, nothing else
	 * tells whose they were. */
	pid_t sessions[KILL_SESSIONS];
	size_t session_count;
};

/* Begins; nothing when it has begun. */
void kill_start(struct kill *kill);
/* Something ended: perhaps that was the last. */
void kill_look(struct kill *kill);
void kill_stop(struct kill *kill);
/* A signal to the group of a process just forked, which may not have made its group yet. -1 with errno. */
int kill_group(const struct child *leader, int number);
/* KILL to every process that descends from this one, and to all others too as process 1. */
void kill_everything(void);

#endif
