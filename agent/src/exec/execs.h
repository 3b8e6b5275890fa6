/* All execs that the agent knows: those that run, and the last 256 that ended, of those with a key as many more. */
#ifndef SVC_EXECS_H
#define SVC_EXECS_H

#include "exec/exec.h"

#define ENDED_MAX 256
/* How long a key counts after the end of its exec. */
#define KEY_KEPT_US (24 * 3600 * 1000000ULL)
#define DETACHED_MAX 256
/* All that run, those of lost sessions that are being killed among them: what one loop can watch. */
#define RUNNING_MAX 768

struct exec *execs_first(void);
struct exec *execs_find(const char *id);
/* The same for a tenant, to whom those of others do not exist; uid 0 finds all. */
struct exec *execs_find_for(const char *id, uid_t uid);
/* One with a key that still counts. */
struct exec *execs_find_kept(const char *id, uid_t uid);
/* 0, or a positive errno when one more may not run now under this name. An ended one of the same name is forgotten. */
int execs_admit(const char *id, bool detached);
void execs_add(struct exec *exec);
/* It has ended. */
void execs_end(struct exec *exec);
/* Takes out and frees one that never ran. */
void execs_forget(struct exec *exec);
/* A tenant has left: those of its execs that have ended are forgotten, unless somebody looks at them. */
void execs_forget_user(uid_t uid);
/* One more has ended, or is looked at no more: forgets the oldest beyond the limit. */
void execs_trim(void);
uint32_t execs_running(void);

extern const struct stream_kind execs_kind, attach_kind;

#endif
