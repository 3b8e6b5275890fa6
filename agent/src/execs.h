/* All execs that the agent knows: those that run, and the last 256 that ended. */
#ifndef SVC_EXECS_H
#define SVC_EXECS_H

#include "exec.h"

#define ENDED_MAX 256
#define DETACHED_MAX 256
/* All that run, those of lost sessions that are being killed among them: what one loop can watch. */
#define RUNNING_MAX 768

struct exec *execs_first(void);
struct exec *execs_find(const char *id);
/* 0, or a positive errno when one more may not run now under this name. An ended one of the same name is forgotten. */
int execs_admit(const char *id, bool detached);
void execs_add(struct exec *exec);
/* It has ended. */
void execs_end(struct exec *exec);
/* Takes out and frees one that never ran. */
void execs_forget(struct exec *exec);
/* One more has ended, or is looked at no more: forgets the oldest beyond the limit. */
void execs_trim(void);
uint32_t execs_running(void);

extern const struct stream_kind execs_kind, attach_kind;

#endif
