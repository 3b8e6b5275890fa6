/* Tenants of a pool: several uids in one sandbox. What the agent does for one of them is done by a child that has taken
 * its uid first, signals among it: the agent holds no right over other uids (no CAP_KILL, no CAP_DAC_OVERRIDE). */
#ifndef SVC_USER_H
#define SVC_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Processes and threads of one tenant. */
#define USER_PROCESSES 256

/* In a child: becomes the tenant for good, without groups, capabilities, new privileges or message queues, and with
 * bounds of its own; nothing for uid 0. 0, or -1 with errno. What is to be sent to it when its parent dies must be asked
 * for after this. prctl(2) */
int user_take(uid_t uid);

/* Sends a signal to a process or, negative, to a group, all of them of that uid (0: the agent's own). A child that is
 * still on its way to the uid is reached as well. 0, or -1 with errno; of what a tenant's child does nothing is known. */
int user_kill(uid_t uid, pid_t target, int number);

/* The same for many; those that are gone are passed over. */
void user_kill_each(uid_t uid, const pid_t *targets, size_t count, int number);

#endif
