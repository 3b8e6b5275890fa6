/* The gate for a runner that makes namespaces itself, and leaves nobody a right over them: both networks are made before
 * it starts, and it inherits the sockets. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "init/init.h"
#include "init/launch.h"
#include "net/gate-space.h"

/* The sockets were opened in order, so none is overwritten before it has moved. */
static int place(const int sockets[GATE_SOCKETS])
{
	for (int i = 0; i < GATE_SOCKETS; i++) {
		if (dup2(sockets[i], GATE_FD + i) < 0)
			return fail("gate: descriptors");
	}
	return 0;
}

int launch_gate(const struct settings *s)
{
	const char *maker = settings_get(s, "gate");
	int sockets[GATE_SOCKETS];

	if (!maker || strcmp(maker, "launcher") != 0)
		return 0;
	if (unshare(CLONE_NEWNET))
		return fail("gate: network namespace");
	return network_up() || gate_space_make(sockets) || place(sockets) ? -1 : 0;
}
