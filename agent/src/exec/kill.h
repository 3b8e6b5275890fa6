/* Ending everything that an exec started: all of it is stopped, so that nobody gets away while we look; TERM to its
 * group, and all go on; after 2 s all are stopped again and get KILL, until none is left. */
#ifndef SVC_KILL_H
#define SVC_KILL_H

#include "base/loop.h"
#include "base/reap.h"
#include "exec/exec-tree.h"

enum kill_stage { KILL_FREEZES, KILL_WAITS, KILL_FORCES };

struct kill {
	struct child *leader; /* held, so that its number stays its own */
	/* The leader and all others have ended. */
	void (*done)(struct kill *kill);
	bool active;
	bool asked; /* TERM was sent: what comes next is KILL */
	enum kill_stage stage;
	struct timer timer;
	uint64_t force_at, frozen_by;
	unsigned looks, quiet;
	struct exec_tree tree;
};

/* Begins; nothing when it has begun. */
void kill_start(struct kill *kill);
/* The leader has ended: perhaps that was the last. */
void kill_look(struct kill *kill);
/* A signal to the group of a process just forked, which may not have made its group yet. -1 with errno. */
int kill_group(const struct child *leader, int number);
/* KILL to every process that descends from this one, and to all others too as process 1. */
void kill_everything(void);

#endif
