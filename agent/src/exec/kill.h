/* Ends all processes of an exec: stops all of them, so that none escapes during the scan, sends TERM to the leader's
 * group and continues all; after 2 s stops all again and sends KILL, until none is left. */
#ifndef SVC_KILL_H
#define SVC_KILL_H

#include "base/loop.h"
#include "base/reap.h"
#include "exec/exec-tree.h"

enum kill_stage { KILL_FREEZES, KILL_WAITS, KILL_FORCES };

struct kill {
	struct child *leader; /* held, so that its pid is not reused */
	/* Called when the leader and all others have ended. */
	void (*done)(struct kill *kill);
	bool active;
	bool asked; /* TERM was sent; KILL comes next */
	enum kill_stage stage;
	struct timer timer;
	uint64_t force_at, frozen_by;
	unsigned looks, quiet;
	struct exec_tree tree;
};

/* Starts; does nothing if it has started. */
void kill_start(struct kill *kill);
/* The leader has ended; it may have been the last process. */
void kill_look(struct kill *kill);
/* Signals the group of a process just forked, which may not have made its group yet. -1 with errno. */
int kill_group(const struct child *leader, int number);
/* Sends KILL to every descendant of this process, and as process 1 to all others too. */
void kill_everything(void);

#endif
