/* Forks children that the kernel kills before the agent when memory is short. */
#ifndef SVC_OOM_SCORE_H
#define SVC_OOM_SCORE_H

#include <stdbool.h>
#include <sys/types.h>

/* Call before any program of the guest runs, because the agent is dumpable during this call; afterwards it is not
 * dumpable, unless it is traced. Returns 0, or -1 on failure. If the kernel does not support scores, forks keep the
 * agent's. */
int oom_score_init(bool is_traced);
/* As fork(). */
pid_t oom_score_fork(void);

#endif
