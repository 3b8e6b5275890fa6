/* The root of a sandbox from an image: an overlay keeps the image as it is, and private changes in memory. Files that
 * every sandbox has of its own lie in the upper layer before the overlay is mounted, when no link of the image can
 * lead a path elsewhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/init.h"
#include "net/gate-space.h"

#define PATH_BYTES 4200
#define USERS_MAX (1024 * 1024)
#define NO_NAMES "Names do not resolve: the image has no file /etc/resolv.conf.\n"
#define READ (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* Whether a line of passwd(5) or group(5) has the id in its third field. */
static int has_id(const char *text, unsigned id)
{
	char field[32];
	size_t length;

	snprintf(field, sizeof(field), ":%u:", id);
	length = strlen(field);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *colon;

		line += *line == '\n';
		colon = line + strcspn(line, ":\n");
		if (*colon == ':')
			colon += 1 + strcspn(colon + 1, ":\n");
		if (strncmp(colon, field, length) == 0)
			return 1;
	}
	return 0;
}

/* The content with a NUL at its end, nothing where the image has no such file; NULL when it is not a file of reasonable
 * size. */
static char *read_users(int etc, const char *name)
{
	int fd = openat(etc, name, READ);
	struct stat facts;
	char *text = NULL;
	ssize_t got = -1;

	if (fd < 0 && errno == ENOENT)
		return strdup("");
	if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size <= USERS_MAX)
		text = malloc((size_t)facts.st_size + 1);
	if (text)
		got = read(fd, text, (size_t)facts.st_size);
	if (fd >= 0)
		close(fd);
	if (got >= 0)
		text[got] = '\0';
	if (got >= 0 && strlen(text) == (size_t)got)
		return text;
	free(text);
	return NULL;
}

static int write_upper(const char *name, const char *text, const char *line)
{
	char path[64];
	const char *end = *text && text[strlen(text) - 1] != '\n' ? "\n" : "";
	int fd, failed;

	snprintf(path, sizeof(path), "/upper/etc/%s", name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return fail("write /etc/%s", name);
	failed = dprintf(fd, "%s%s%s", text, end, line) < 0;
	close(fd);
	return failed ? fail("write /etc/%s", name) : 0;
}

/* An image that has the id already keeps its own name for it. */
static int add_user(int etc, const char *name, unsigned id, const char *line)
{
	char *text = read_users(etc, name);
	int failed = text && !has_id(text, id) ? write_upper(name, text, line) : 0;

	free(text);
	return failed;
}

/* apt gives its work to the user _apt, which cannot be had. */
static int write_apt(int etc)
{
	static const char path[] = "/upper/etc/apt/apt.conf.d/99svc";
	int apt = openat(etc, "apt", READ | O_DIRECTORY), fd, failed;

	if (apt < 0)
		return 0;
	close(apt);
	if (mkdir("/upper/etc/apt", 0755) || mkdir("/upper/etc/apt/apt.conf.d", 0755))
		return fail("make /etc/apt");
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	failed = fd < 0 || dprintf(fd, "APT::Sandbox::User \"root\";\n") < 0;
	if (fd >= 0)
		close(fd);
	return failed ? fail("write /etc/apt") : 0;
}

static int write_users(const struct settings *s, int etc)
{
	unsigned id = (unsigned)settings_number(s, "inside_uid", 1000);
	const char *host = settings_get(s, "hostname");
	char passwd[128], group[64];

	snprintf(passwd, sizeof(passwd), "sandbox:x:%u:%u:sandbox:/workspace:/bin/sh\n", id, id);
	snprintf(group, sizeof(group), "sandbox:x:%u:\n", id);
	return add_user(etc, "passwd", id, passwd) || add_user(etc, "group", id, group) ||
	       (host && write_upper("hostname", host, ""));
}

static int write_own_files(const struct settings *s)
{
	int etc = open("/lower/etc", READ | O_DIRECTORY), failed;

	if (etc < 0)
		return 0;
	failed = mkdir("/upper/etc", 0755) ? fail("make /etc") : 0;
	if (!failed && settings_get(s, "tree"))
		failed = write_users(s, etc);
	if (!failed && settings_get(s, "ignore_owners"))
		failed = write_apt(etc);
	if (!failed && (settings_get(s, "gate") || settings_get(s, "resolver")))
		failed = write_upper("resolv.conf", settings_get(s, "gate") ? GATE_RESOLVER : "", "");
	close(etc);
	return failed;
}

/* Shows a file of the host where the image has none to cover. */
static int show_resolver(const struct settings *s)
{
	const char *resolver = settings_get(s, "resolver");
	char source[PATH_BYTES];

	if (!resolver)
		return 0;
	snprintf(source, sizeof(source), "/old%s", resolver);
	return bind_read_only(source, "/new/etc/resolv.conf") ? fail("show /etc/resolv.conf") : 0;
}

static void warn_of_owner(void)
{
	struct stat facts;

	if (stat("/lower", &facts) == 0 && facts.st_uid != 0)
		snprintf(warnings, sizeof(warnings),
			 "Files of the image cannot be changed: this kernel has no idmapped mounts here.\n");
}

int root_image(const struct settings *s, const char *image)
{
	static const char options[] = "lowerdir=/lower,upperdir=/upper,workdir=/work,userxattr";
	int is_tree = settings_get(s, "tree") != NULL;
	char source[PATH_BYTES];

	snprintf(source, sizeof(source), "/old%s", image);
	if (mkdir("/lower", 0755) || mkdir("/upper", 0755) || mkdir("/work", 0755))
		return 0;
	if (mount(source, "/lower", NULL, MS_BIND | MS_REC, NULL))
		return 0;
	if ((is_tree || settings_get(s, "gate") || settings_get(s, "resolver")) && write_own_files(s))
		return -1;
	if (mount("overlay", "/new", "overlay", MS_NOSUID | MS_NODEV, options) == 0) {
		if (is_tree)
			warn_of_owner();
		return show_resolver(s) ? -1 : 1;
	}
	snprintf(warnings, sizeof(warnings), "The image is read-only: this kernel refuses an overlay here.\n%s",
		 settings_get(s, "resolver") ? NO_NAMES : "");
	return 0;
}
