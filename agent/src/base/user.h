/* Tenants of a pool: several uids in one sandbox. A child that has changed to the tenant's uid does the agent's work
 * for that tenant, signals included: the agent has no rights over other uids (no CAP_KILL, no CAP_DAC_OVERRIDE). */
#ifndef SVC_USER_H
#define SVC_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Limit on the processes and threads of one tenant. */
#define USER_PROCESSES 256

/* Call in a child: changes to the tenant's uid permanently, without groups, capabilities, new privileges or message
 * queues, and with limits of its own. Does nothing for uid 0. Returns 0, or -1 with errno. Set the parent-death signal
 * after this call: changing the uid clears it. prctl(2) */
int user_take(uid_t uid);

/* Sends a signal to a process or, if negative, to a group whose members all have that uid (0: the agent's own). A child
 * that is still changing to the uid is reached too. Returns 0, or -1 with errno; the result of a tenant's signal is not
 * known. */
int user_kill(uid_t uid, pid_t target, int number);

/* The same for many; processes that have ended are skipped. */
void user_kill_each(uid_t uid, const pid_t *targets, size_t count, int number);

#endif
