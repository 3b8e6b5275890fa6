/* The identity of this guest: guests from the same image would otherwise share it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm/vm.h"

#define ID_BYTES 16

/* The image has none. */
static bool hosts_are_ours;

static int write_machine_id(void)
{
	uint8_t bytes[ID_BYTES];
	char text[2 * ID_BYTES + 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return fail("machine id");
	for (int i = 0; i < ID_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	strcat(text, "\n");
	return vm_write("/etc/machine-id", text) ? fail("machine id") : 0;
}

/* Exporting a container leaves these files empty. */
static int write_hosts(const char *name)
{
	char text[256];
	struct stat facts;

	if (!hosts_are_ours && stat("/etc/hosts", &facts) == 0 && facts.st_size > 0)
		return 0;
	hosts_are_ours = true;
	snprintf(text, sizeof(text), "127.0.0.1 localhost %s\n::1 localhost\n", name);
	return vm_write("/etc/hosts", text) ? fail("/etc/hosts") : 0;
}

int vm_name(const char *name)
{
	char line[128];

	snprintf(line, sizeof(line), "%s\n", name);
	mkdir("/etc", 0755);
	if (sethostname(name, strlen(name)) || vm_write("/etc/hostname", line))
		return fail("host name");
	return write_hosts(name) || write_machine_id() ? -1 : 0;
}

int vm_identity(const struct settings *s)
{
	const char *name = settings_get(s, "hostname");

	return vm_name(name ? name : "sandbox");
}
