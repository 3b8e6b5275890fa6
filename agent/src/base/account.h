/* The users of the sandbox's own /etc/passwd. An agent with the rights for it starts a command, or does file work, as one
 * of them: in a child, which gives up all that this user does not have. Any program of the sandbox may have written the
 * files, so only that child reads them. */
#ifndef SVC_ACCOUNT_H
#define SVC_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Bytes of a name. */
#define ACCOUNT_NAME 64
#define ACCOUNT_GROUPS 64

struct account {
	uid_t uid;
	gid_t gid, groups[ACCOUNT_GROUPS];
	size_t group_count;
};

/* Returns whether the agent may become any user and end the processes of all. */
bool accounts_are_possible(void);
/* Looks the name up. Returns 0, or -1 with errno: EUSERS when no user has it. */
int account_find(const char *name, struct account *account);
/* Gives a pipe to the user, who may then open it by name, where the kernel has owners of pipes. Other files stay as they are. */
void account_give(const struct account *account, int fd);
/* Call in a child: becomes the user permanently; nothing changes for the agent's own. Returns 0, or -1 with errno. Set the
 * parent-death signal after this call: changing the uid clears it. prctl(2) */
int account_take(const struct account *account);

#endif
