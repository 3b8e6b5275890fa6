/* Copies the kernel log to the console. A guest that writes to the log is treated like any other source: the console
 * keeps the last lines. A record is "priority,number,time,flags;text" and lines that begin with a blank. (Linux
 * Documentation/ABI/testing/dev-kmsg) */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "exec/console.h"
#include "vm/vm.h"

#define RECORD_MAX 8192

static struct watch records;

static short want_records(struct watch *watch)
{
	(void)watch;
	return POLLIN;
}

static void on_record(struct watch *watch, short events)
{
	char record[RECORD_MAX];
	ssize_t got = read(watch->fd, record, sizeof(record));
	const char *text = got > 0 ? memchr(record, ';', (size_t)got) : NULL, *end;

	(void)events;
	/* EPIPE: the kernel dropped older records before they were read. */
	if (got < 0 && errno != EAGAIN && errno != EINTR && errno != EPIPE && errno != EINVAL)
		watch_remove(watch);
	if (!text)
		return;
	text++;
	end = memchr(text, '\n', (size_t)(record + got - text));
	console_add("kernel", text, (size_t)((end ? end : record + got) - text));
}

void vm_kernel_log(void)
{
	records = (struct watch){ .want = want_records, .ready = on_record };
	records.fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (records.fd >= 0)
		watch_add(&records);
}
