/* Preloaded into a server: its database's disk fails or is slow, and its wall clock is off, as the page that FAULTY_HOST
 * names says. The page is shared, so a test changes its mind while the server runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* In the order of FIELDS in faulty-host.ts. */
struct page {
	int32_t write_errno;
	int32_t sync_errno;
	int32_t sync_ms;
	int32_t clock_s;
	int32_t read_errno;
};

static volatile struct page *page;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAULTY_HOST");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (at != MAP_FAILED)
		page = at;
	if (fd >= 0)
		close(fd);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_database(int fd)
{
	char link[32], path[512];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	if (size <= 0)
		return 0;
	path[size] = 0;
	return strstr(path, ".db") != NULL;
}

/* -1 with errno set, or 0 when it goes through. */
static int refuses(int fd, int32_t error)
{
	if (error == 0 || !is_database(fd))
		return 0;
	errno = error;
	return -1;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	return page && refuses(fd, page->write_errno) ? -1 : REAL(write)(fd, bytes, size);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
	return page && refuses(fd, page->write_errno) ? -1 : REAL(pwrite64)(fd, bytes, size, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	return page && refuses(fd, page->write_errno) ? -1 : REAL(pwrite)(fd, bytes, size, at);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t at)
{
	return page && refuses(fd, page->read_errno) ? -1 : REAL(pread64)(fd, bytes, size, at);
}

int ftruncate64(int fd, off64_t size)
{
	return page && refuses(fd, page->write_errno) ? -1 : REAL(ftruncate64)(fd, size);
}

static int sync_faulty(int fd)
{
	if (!page)
		return 0;
	if (page->sync_ms > 0 && is_database(fd))
		usleep((useconds_t)page->sync_ms * 1000);
	return refuses(fd, page->sync_errno);
}

int fsync(int fd)
{
	return sync_faulty(fd) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
	return sync_faulty(fd) ? -1 : REAL(fdatasync)(fd);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = REAL(clock_gettime)(clock, now);

	if (page && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += page->clock_s;
	return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int result = REAL(gettimeofday)(now, zone);

	if (page)
		now->tv_sec += page->clock_s;
	return result;
}
