/* Finds disks by their serial numbers, or by whether they are writable: names depend on the order in which the kernel
 * finds them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "vm/vm.h"

static int has_serial(const char *name, const char *serial)
{
	char path[300], text[64];

	snprintf(path, sizeof(path), "/sys/block/%s/serial", name);
	return vm_read(path, text, sizeof(text)) == 0 && strcmp(text, serial) == 0;
}

bool vm_disk_is(const char *name, bool is_read_only)
{
	char path[300], text[8];

	if (strncmp(name, "vd", 2) != 0)
		return false;
	snprintf(path, sizeof(path), "/sys/block/%s/ro", name);
	return vm_read(path, text, sizeof(text)) == 0 && strcmp(text, is_read_only ? "1" : "0") == 0;
}

int vm_disk(const struct settings *s, const struct vm_disk_kind *kind, char *node, size_t size)
{
	bool is_unnamed = settings_get(s, "unnamed_disks") != NULL;
	DIR *disks = opendir("/sys/block");
	struct dirent *entry;
	int missing = 1;

	if (!disks)
		return fail("list the disks");
	while (missing && (entry = readdir(disks))) {
		if (is_unnamed ? !vm_disk_is(entry->d_name, kind->is_read_only) :
				 !has_serial(entry->d_name, kind->serial))
			continue;
		snprintf(node, size, "/dev/%s", entry->d_name);
		missing = 0;
	}
	closedir(disks);
	return missing;
}
