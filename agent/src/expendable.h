/* Forking what the kernel is to take before the agent when memory is short. */
#ifndef SVC_EXPENDABLE_H
#define SVC_EXPENDABLE_H

#include <stdbool.h>
#include <sys/types.h>

/* Before anything of a guest runs, since the agent is dumpable for its length; leaves it not dumpable,
 * unless it is traced.
 * 0, or -1 when that cannot be. Where the kernel knows no such wish, forks go without it. */
int expendable_init(bool is_traced);
/* As fork(). */
pid_t expendable_fork(void);

#endif
