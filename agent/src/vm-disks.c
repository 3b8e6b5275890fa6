/* Disks by their serial numbers: names follow the order in which the kernel happens to find them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "vm.h"

static int has_serial(const char *name, const char *serial)
{
	char path[300], text[64];

	snprintf(path, sizeof(path), "/sys/block/%s/serial", name);
	return vm_read(path, text, sizeof(text)) == 0 && strcmp(text, serial) == 0;
}

int vm_disk(const char *serial, char *node, size_t size)
{
	DIR *disks = opendir("/sys/block");
	struct dirent *entry;
	int missing = 1;

	if (!disks)
		return fail("list the disks");
	while (missing && (entry = readdir(disks))) {
		if (!has_serial(entry->d_name, serial))
			continue;
		snprintf(node, size, "/dev/%s", entry->d_name);
		missing = 0;
	}
	closedir(disks);
	return missing;
}
