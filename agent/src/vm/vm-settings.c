/* Settings come through QEMU's fw_cfg (otherwise vm-drive.c), read by its two ports: this needs no module, and keeps
 * them out of the kernel command line, which every process of the guest can read. (QEMU docs/specs/fw_cfg) */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "vm/vm.h"

#define NAME "opt/svc/settings"

#if defined(__x86_64__)
#include <sys/io.h>

#define SELECTOR 0x510
#define DATA 0x511
#define DIRECTORY 0x19
#define FILES_MAX 4096

/* The layout of the device, numbers big endian. */
struct file {
	uint8_t size[4], key[2], reserved[2];
	char name[56];
};

static void take(void *bytes, size_t size)
{
	insb(DATA, bytes, size);
}

static uint32_t big_endian(const uint8_t *bytes, int count)
{
	uint32_t number = 0;

	for (int i = 0; i < count; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* Returns the size and selects the file for reading; 0 when there is no such file. */
static size_t find(void)
{
	struct file file;
	uint8_t count[4];

	outw(DIRECTORY, SELECTOR);
	take(count, sizeof(count));
	for (uint32_t left = big_endian(count, 4); left > 0 && left < FILES_MAX; left--) {
		take(&file, sizeof(file));
		if (strncmp(file.name, NAME, sizeof(file.name)) != 0)
			continue;
		outw((unsigned short)big_endian(file.key, 2), SELECTOR);
		return big_endian(file.size, 4);
	}
	return 0;
}

/* Returns 1 also for a QEMU without that file. */
static int read_settings(struct settings *s)
{
	uint8_t signature[4];

	if (ioperm(SELECTOR, 2, 1))
		return -1;
	outw(0, SELECTOR);
	take(signature, sizeof(signature));
	s->size = memcmp(signature, "QEMU", sizeof(signature)) == 0 ? find() : 0;
	errno = EINVAL;
	if (s->size > SETTINGS_MAX)
		return -1;
	take(s->bytes, s->size);
	return ioperm(SELECTOR, 2, 0) ? -1 : s->size == 0;
}
#else
static int read_settings(struct settings *s)
{
	s->size = 0;
	return 1;
}
#endif

int vm_settings(struct settings *s)
{
	int status = read_settings(s);

	return status < 0 || (status == 0 && settings_check(s)) ? fail("settings of the monitor") : status;
}
