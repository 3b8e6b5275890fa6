/* Tenants of a pool: `enter` creates a home, `leave` ends all processes of a tenant and removes its files. */
#ifndef SVC_USERS_H
#define SVC_USERS_H

#include "wire/stream.h"

#define HOME_MAX 256

/* Ends all processes of the tenant, and reports that to deadline_user_ended(). Its files stay until `leave`. */
void users_end(uid_t uid);

/* ---- user-clean.c: for use in children, as their last call; returns 0 on success */
/* Ends every process of the uid, until none is left. */
_Noreturn void clean_processes(uid_t uid);
/* Removes what the uid has left: everything in its home, whatever its modes, and its shared memory, semaphores and
 * queues. */
_Noreturn void clean_belongings(uid_t uid, const char *home);

extern const struct stream_kind enter_kind, leave_kind;

#endif
