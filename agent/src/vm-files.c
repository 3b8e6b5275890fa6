/* Small files of the kernel and of the image. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "vm.h"

int vm_write(const char *path, const char *text)
{
	size_t size = strlen(text);
	ssize_t put;
	int fd;

	/* A link of the image is replaced, not followed: it may lead to where nothing can be written yet. */
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	put = write(fd, text, size);
	close(fd);
	return put == (ssize_t)size ? 0 : -1;
}

int vm_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	if (got < 0)
		return -1;
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 0;
}
