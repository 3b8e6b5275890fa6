/* Tenants coming and going: `enter` makes a home, `leave` ends all that a tenant has and removes it. */
#ifndef SVC_USERS_H
#define SVC_USERS_H

#include "wire/stream.h"

#define HOME_MAX 256

/* ---- user-clean.c: in children, and each the end of one; 0 is success */
/* Ends every process of the uid, and nothing else: until none is left. */
_Noreturn void clean_processes(uid_t uid);
/* Removes what the uid has left: all in its home, whatever its modes, and its shared memory, semaphores and queues. */
_Noreturn void clean_belongings(uid_t uid, const char *home);

extern const struct stream_kind enter_kind, leave_kind;

#endif
