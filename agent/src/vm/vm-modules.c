/* Loads kernel modules. /modules/order names the files in the order of loading, a line each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vm/vm.h"

#define ORDER "/modules/order"

/* "/modules/virtio_net.ko" becomes virtio_net. */
static int is_named(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t length = strlen(name);

	return strncmp(base, name, length) == 0 && strcmp(base + length, ".ko") == 0;
}

static int is_wanted(const struct settings *s, const char *path)
{
	const char *name;
	size_t cursor = 0;

	while ((name = settings_each(s, "without", &cursor)))
		if (is_named(path, name))
			return 0;
	return 1;
}

static int load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long status;

	if (fd < 0)
		return fail("module %s", path);
	status = syscall(SYS_finit_module, fd, "", 0);
	close(fd);
	return status && errno != EEXIST ? fail("module %s", path) : 0;
}

int vm_modules(const struct settings *s)
{
	FILE *order = fopen(ORDER, "re");
	char path[256];
	int failed = 0;

	while (order && !failed && fgets(path, sizeof(path), order)) {
		path[strcspn(path, "\n")] = '\0';
		if (path[0] && is_wanted(s, path))
			failed = load(path);
		/* Returns its memory to the guest. */
		unlink(path);
	}
	if (order)
		fclose(order);
	return failed;
}
