/* Looks up users of the sandbox and becomes them. The tables are parsed here: the C library would ask name services. */
#define _GNU_SOURCE
#include "base/account.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TABLE_MAX (256 * 1024)
#define BIT(capability) (1U << (capability))
/* To become a user, to give terminals away, to read and write what belongs to anyone, and to end what any user runs. */
#define NEEDED (BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_KILL) | BIT(CAP_SETGID) | BIT(CAP_SETUID))

static char table[TABLE_MAX];

bool accounts_are_possible(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct held[2] = { { 0 }, { 0 } };

	return geteuid() == 0 && syscall(SYS_capget, &header, held) == 0 && (held[0].effective & NEEDED) == NEEDED;
}

/* Reads a regular file that fits, as text; whatever else has the name is an error. */
static int read_table(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), error = 0;
	struct stat facts;
	size_t size = 0;
	ssize_t got = 1;

	table[0] = '\0';
	if (fd < 0)
		return -1;
	if (fstat(fd, &facts) || !S_ISREG(facts.st_mode))
		error = EINVAL;
	while (!error && got > 0 && size < TABLE_MAX) {
		got = read(fd, table + size, TABLE_MAX - size);
		error = got < 0 ? errno : 0;
		size += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	/* A number that is cut is another user's. */
	if (!error && size == TABLE_MAX)
		error = EFBIG;
	table[error ? 0 : size] = '\0';
	errno = error;
	return error ? -1 : 0;
}

/* The next field of a line; "" behind the last one. */
static const char *next_field(char **line)
{
	const char *field = strsep(line, ":");

	return field ? field : "";
}

/* A number of passwd(5) or group(5); 2^32-1 is none. */
static bool read_id(const char *text, uint32_t *id)
{
	uint64_t value = 0;

	if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 10)
		return false;
	for (; *text; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	*id = (uint32_t)value;
	return value < UINT32_MAX;
}

static bool find_user(const char *name, struct account *account)
{
	char *rest = table, *line;

	while ((line = strsep(&rest, "\n"))) {
		if (strcmp(next_field(&line), name) != 0)
			continue;
		next_field(&line);
		if (read_id(next_field(&line), &account->uid) && read_id(next_field(&line), &account->gid))
			return true;
	}
	return false;
}

static bool lists(const char *members, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = members; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == size && strncmp(at, name, size) == 0)
			return true;
	return false;
}

static void find_groups(const char *name, struct account *account)
{
	char *rest = table, *line;
	uint32_t gid;

	while (account->group_count < ACCOUNT_GROUPS && (line = strsep(&rest, "\n"))) {
		const char *number;

		next_field(&line);
		next_field(&line);
		number = next_field(&line);
		if (lists(next_field(&line), name) && read_id(number, &gid))
			account->groups[account->group_count++] = gid;
	}
}

int account_find(const char *name, struct account *account)
{
	*account = (struct account){ 0 };
	if (read_table("/etc/passwd") && errno != ENOENT)
		return -1;
	if (!find_user(name, account)) {
		errno = EUSERS;
		return -1;
	}
	account->groups[account->group_count++] = account->gid;
	/* A user without further groups is still that user. */
	if (read_table("/etc/group") == 0)
		find_groups(name, account);
	return 0;
}

void account_give(const struct account *account, int fd)
{
	struct stat facts;

	if (account->uid != geteuid() && fstat(fd, &facts) == 0 && S_ISFIFO(facts.st_mode) &&
	    fchown(fd, account->uid, (gid_t)-1))
		return;
}

int account_take(const struct account *account)
{
	if (account->uid == geteuid())
		return 0;
	/* Leaving uid 0 takes all capabilities away. capabilities(7) */
	if (setgroups(account->group_count, account->groups) || setresgid(account->gid, account->gid, account->gid) ||
	    setresuid(account->uid, account->uid, account->uid))
		return -1;
	/* Until it executes a program, the child holds the agent's memory, and the change of uid may have opened that to
	 * the user. */
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
