/* Reads and writes small files of the kernel and of the image. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm/vm.h"

static bool is_as_made(const struct stat *facts)
{
	return facts->st_mode == (S_IFREG | 0644) && facts->st_nlink == 1 && facts->st_uid == 0;
}

/* An existing regular file is overwritten in place: in a guest that was just restored, creating a file takes ten times
 * as long. A link of the image is replaced, not followed: its target may not be writable yet. */
static int open_over(const char *path)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat facts;

	if (fd >= 0 && fstat(fd, &facts) == 0 && is_as_made(&facts))
		return fd;
	if (fd >= 0)
		close(fd);
	unlink(path);
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

int vm_write(const char *path, const char *text)
{
	size_t size = strlen(text);
	struct stat facts;
	ssize_t put;
	int fd = open_over(path), cut;

	if (fd < 0)
		return -1;
	put = write(fd, text, size);
	cut = fstat(fd, &facts) || facts.st_size != (off_t)size ? ftruncate(fd, (off_t)size) : 0;
	close(fd);
	return put == (ssize_t)size && cut == 0 ? 0 : -1;
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
