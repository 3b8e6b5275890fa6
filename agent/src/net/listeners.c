/* /proc/net/tcp and tcp6 list the listening sockets first, which bounds what is read. proc(5) */
#define _GNU_SOURCE
#include "net/listeners.h"

#include <stdio.h>
#include <string.h>

#define LISTENING 0x0A
#define LINES_MAX 65536

#define ESTABLISHED 0x01

/* "sl: local-address:port remote-address:port state queues timer retransmits uid …", all but the uid hexadecimal. */
static bool look(const char *path, uint16_t port, uid_t uid, size_t *found)
{
	FILE *list = fopen(path, "re");
	char line[512];
	size_t lines = 0;
	bool all = true;

	if (!list)
		return true;
	while (all && fgets(line, sizeof(line), list)) {
		unsigned local, state, owner;

		if (sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %u", &local, &state, &owner) != 3)
			continue;
		if (state != LISTENING)
			break;
		*found += local == port;
		all = (local != port || owner == uid) && ++lines < LINES_MAX;
	}
	fclose(list);
	return all;
}

bool listeners_are_of(uint16_t port, uid_t uid)
{
	size_t found = 0;

	return look("/proc/self/net/tcp", port, uid, &found) && look("/proc/self/net/tcp6", port, uid, &found) && found > 0;
}

/* A program that connected and ended at once has no socket any more: its uid is not found. */
static bool look_for(const char *path, uint16_t port, uint16_t to, uid_t *uid)
{
	FILE *list = fopen(path, "re");
	char line[512];
	bool found = false;

	if (!list)
		return false;
	for (size_t lines = 0; !found && lines < LINES_MAX && fgets(line, sizeof(line), list); lines++) {
		unsigned local, remote, state, owner;

		if (sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%x %x %*x:%*x %*x:%*x %*x %u", &local, &remote, &state, &owner) != 4)
			continue;
		found = local == port && remote == to && state == ESTABLISHED;
		if (found)
			*uid = owner;
	}
	fclose(list);
	return found;
}

/* A socket of IPv6 may connect to an address of IPv4. */
bool listed_owner(uint16_t port, uint16_t to, uid_t *uid)
{
	return look_for("/proc/self/net/tcp", port, to, uid) || look_for("/proc/self/net/tcp6", port, to, uid);
}
