/* All execs of the agent: those that run, the last 256 that ended, and as many more of those with a key. */
#ifndef SVC_EXECS_H
#define SVC_EXECS_H

#include "exec/exec.h"

#define ENDED_MAX 256
/* How long a key is valid after the end of its exec. */
#define KEY_KEPT_US (24 * 3600 * 1000000ULL)
#define DETACHED_MAX 256
/* Limit on the running execs, including those of lost sessions that are being killed: what one event loop can watch. */
#define RUNNING_MAX 768

struct exec *execs_first(void);
struct exec *execs_find(const char *id);
/* The same for a tenant, who cannot see those of others; uid 0 finds all. */
struct exec *execs_find_for(const char *id, uid_t uid);
/* Finds an exec with a key that is still valid. */
struct exec *execs_find_kept(const char *id, uid_t uid);
/* Returns 0, or a positive errno if another exec may not run now under this name. An ended exec of the same name is
 * forgotten. */
int execs_admit(const char *id, bool detached);
void execs_add(struct exec *exec);
/* Records its end. */
void execs_end(struct exec *exec);
/* Removes and frees an exec that never ran. */
void execs_forget(struct exec *exec);
/* A tenant has left: forgets its ended execs, except those with a view attached. */
void execs_forget_user(uid_t uid);
/* Call when an exec has ended or a view was closed: forgets the oldest beyond the limit. */
void execs_trim(void);
uint32_t execs_running(void);

extern const struct stream_kind execs_kind, attach_kind, resume_kind;

#endif
