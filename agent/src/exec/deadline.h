/* The times at which the agent ends the sandbox, or all processes of one tenant of a pool. The host sets them; nothing
 * in the sandbox and no change of a clock moves them. */
#ifndef SVC_DEADLINE_H
#define SVC_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/stream.h"

/* Deadlines at once: the sandbox's, and one for each tenant. */
#define DEADLINES_MAX 4096

/* Starts the clock. `life_ms` is the time that the sandbox has left, 0 for no end. -1 with errno. */
int deadline_init(uint64_t life_ms);
/* Returns whether the time of the sandbox is over. */
bool deadline_has_passed(void);
/* Forgets the deadline of a tenant that has left. Idempotent. */
void deadline_forget(uid_t uid);
/* Reports the result of users_end(); after a failure it is called again. */
void deadline_user_ended(uid_t uid, bool is_done);

extern const struct stream_kind deadline_kind;

#endif
