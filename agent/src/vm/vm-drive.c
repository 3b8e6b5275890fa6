/* Settings from a small read-only disk, for a monitor without fw_cfg: a header, the length as a 32-bit little-endian
 * number, the settings. Root in the guest could read that disk again, so it is detached after reading; the host also
 * empties its file before any program of a user runs, because a disk can be attached again. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "vm/vm.h"
#include "wire/wire.h"

#define HEAD "svc-settings-v1\n"
#define HEAD_SIZE (sizeof(HEAD) - 1)
#define DRIVER "/sys/bus/virtio/drivers/virtio_blk/unbind"

static ssize_t read_whole(int fd, void *bytes, size_t size)
{
	size_t done = 0;
	ssize_t got = 1;

	while (done < size && got > 0) {
		got = read(fd, (char *)bytes + done, size - done);
		done += got > 0 ? (size_t)got : 0;
	}
	return got < 0 ? -1 : (ssize_t)done;
}

/* Returns 0, 1 when the disk holds something else, -1. */
static int read_settings(int fd, struct settings *s)
{
	uint8_t head[HEAD_SIZE + 4];
	struct reader length = reader_of(head + HEAD_SIZE, 4);

	if (read_whole(fd, head, sizeof(head)) != (ssize_t)sizeof(head) || memcmp(head, HEAD, HEAD_SIZE) != 0)
		return 1;
	s->size = read_u32(&length);
	errno = EINVAL;
	if (s->size == 0 || s->size > SETTINGS_MAX)
		return -1;
	return read_whole(fd, s->bytes, s->size) == (ssize_t)s->size ? 0 : -1;
}

static int look_at(const char *name, struct settings *s)
{
	char node[300];
	int fd, status;

	snprintf(node, sizeof(node), "/dev/%s", name);
	fd = open(node, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 1;
	status = read_settings(fd, s);
	close(fd);
	return status;
}

/* Unbinds its driver: the disk, its node and the kernel's cached blocks disappear. */
static int take_off(const char *name)
{
	char path[300], device[300], *last;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/sys/block/%s/device", name);
	size = readlink(path, device, sizeof(device) - 1);
	if (size < 0)
		return -1;
	device[size] = '\0';
	last = strrchr(device, '/');
	last = last ? last + 1 : device;
	fd = open(DRIVER, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size = write(fd, last, strlen(last));
	close(fd);
	snprintf(path, sizeof(path), "/dev/%s", name);
	errno = size < 0 ? errno : EBUSY;
	return size < 0 || access(path, F_OK) == 0 ? -1 : 0;
}

int vm_drive(struct settings *s)
{
	DIR *disks = opendir("/sys/block");
	struct dirent *entry;
	int status = 1;

	while (disks && status == 1 && (entry = readdir(disks))) {
		if (!vm_disk_is(entry->d_name, true))
			continue;
		status = look_at(entry->d_name, s);
		if (status == 0 && take_off(entry->d_name))
			status = -1;
	}
	if (disks)
		closedir(disks);
	if (status == 1)
		errno = ENOENT;
	return status || settings_check(s) ? fail("settings of the monitor") : 0;
}
