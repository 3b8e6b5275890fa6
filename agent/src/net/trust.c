/* `trust`: certificates that programs of this sandbox trust beside those that they trust already. They lie in a folder of
 * their own: ca.pem has them alone, roots.pem has those of the system as well. A runner, or the host, may have put
 * them there before; a virtual machine also shows roots.pem at the system's own place. */
#define _GNU_SOURCE
#include "net/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "vm/vm.h"

#define FOLDER "/.svc-trust"
#define ALONE FOLDER "/ca.pem"
#define ALL FOLDER "/roots.pem"
#define FILE_MAX (2 * 1024 * 1024)
#define DID_FILES 1
#define DID_SYSTEM 2

struct text {
	char *bytes;
	size_t size;
};

/* Where distributions keep the certificates of the system. */
static const char *const systems[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/cert.pem",
	"/etc/ssl/ca-bundle.pem",
};

/* A regular file of a sane size, whatever programs have made of the path. */
static struct text read_file(const char *path, int more)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | more);
	struct text text = { 0 };
	struct stat facts;
	ssize_t got = -1;

	if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size <= FILE_MAX)
		text.bytes = malloc((size_t)facts.st_size + 1);
	if (text.bytes)
		got = read(fd, text.bytes, (size_t)facts.st_size);
	if (got < 0) {
		free(text.bytes);
		text.bytes = NULL;
	} else {
		text.size = (size_t)got;
	}
	close_end(&fd);
	return text;
}

static bool has(const char *path, const struct text *wanted)
{
	struct text found = read_file(path, O_NOFOLLOW);
	bool is_there = found.bytes && memmem(found.bytes, found.size, wanted->bytes, wanted->size);

	free(found.bytes);
	return is_there;
}

static struct text copy_of(const struct text *text)
{
	struct text copy = { .bytes = malloc(text->size + 1) };

	if (copy.bytes) {
		memcpy(copy.bytes, text->bytes, text->size);
		copy.size = text->size;
	}
	return copy;
}

static struct text system_roots(const struct text *otherwise)
{
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		struct text found = read_file(systems[i], 0);

		if (found.bytes && found.size > 0)
			return found;
		free(found.bytes);
	}
	return copy_of(otherwise);
}

static bool put(int fd, const struct text *text)
{
	return text->size == 0 || write(fd, text->bytes, text->size) == (ssize_t)text->size;
}

/* Adds to the file; a new one begins with `first`. */
static bool add(const char *path, const struct text *first, const struct text *wanted)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	struct stat facts;
	bool done = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size < FILE_MAX &&
		    (facts.st_size > 0 || put(fd, first)) && put(fd, wanted);

	close_end(&fd);
	return done;
}

static bool add_both(const struct text *wanted, const struct text *otherwise)
{
	static const struct text nothing;
	struct text first = system_roots(otherwise);
	bool done = add(ALL, &first, wanted) && add(ALONE, &nothing, wanted);

	free(first.bytes);
	return done;
}

/* Whether a file of the system is roots.pem, where it exists. */
static bool is_shown(const char *path, bool may_mount)
{
	struct stat ours, theirs;

	if (stat(ALL, &ours) || stat(path, &theirs) || !S_ISREG(theirs.st_mode))
		return false;
	if (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)
		return true;
	return may_mount && mount(ALL, path, NULL, MS_BIND, NULL) == 0;
}

static bool show_to_system(void)
{
	bool any = false;

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		any |= is_shown(systems[i], vm_is_guest());
	return any;
}

static int open_trust(struct stream *stream, struct reader *arguments)
{
	struct text wanted, otherwise;
	uint8_t answer[4];

	wanted.bytes = (char *)read_bytes(arguments, &wanted.size);
	otherwise.bytes = (char *)read_bytes(arguments, &otherwise.size);
	if (!reader_done(arguments) || wanted.size == 0)
		return EINVAL;
	if (vm_is_guest())
		mkdir(FOLDER, 0755);
	store_u32(answer, 0);
	if (has(ALONE, &wanted) || add_both(&wanted, &otherwise))
		store_u32(answer, DID_FILES | (show_to_system() ? DID_SYSTEM : 0));
	stream_result(stream, answer, sizeof(answer));
	return 0;
}

const struct stream_kind trust_kind = { .open = open_trust, .not_for_users = true };
