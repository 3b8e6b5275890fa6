/* Forking what the kernel is to take before the agent when memory is short. */
#ifndef SVC_OOM_SCORE_H
#define SVC_OOM_SCORE_H

#include <stdbool.h>
#include <sys/types.h>

/* Before anything of a guest runs, since the agent is dumpable for its length; leaves it not dumpable,
 * unless it is traced.
 * 0, or -1 when that cannot be. Where the kernel knows no such wish, forks go without it. */
int oom_score_init(bool is_traced);
/* As fork(). */
pid_t oom_score_fork(void);

#endif
