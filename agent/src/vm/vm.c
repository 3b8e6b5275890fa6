/* /init of a virtual machine: from the initramfs to an agent that serves in the image's root. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"
#include "net/gate.h"
#include "vm/vm.h"

#define MAX_ENVIRONMENT 64
#define MAX_OPEN_FILES 16384
#define MEBIBYTE (1024 * 1024)

static bool is_guest;

bool vm_is_guest(void)
{
	return is_guest;
}

int vm_is_init(int argc, char **argv)
{
	return argc > 0 && strcmp(argv[0], "/init") == 0 && getpid() == 1;
}

/* The monitor ends with its guest, and keeps the console's last lines for the host until then. */
static _Noreturn void end(const char *reason)
{
	dprintf(STDERR_FILENO, "svc-agent: %s\n", reason);
	sync();
	reboot(RB_AUTOBOOT);
	_exit(1);
}

/* Mounts needed to find devices, before there is a root. */
static int mount_first(void)
{
	mkdir("/dev", 0755);
	mkdir("/sys", 0755);
	if (mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755") && errno != EBUSY)
		return fail("mount /dev");
	return mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ? fail("mount /sys") : 0;
}

static int limits(void)
{
	struct rlimit files = { MAX_OPEN_FILES, MAX_OPEN_FILES }, core = { 0, 0 };

	return setrlimit(RLIMIT_NOFILE, &files) || setrlimit(RLIMIT_CORE, &core) ? fail("set a limit") : 0;
}

static int take_options(struct settings *s, struct serve_options *options)
{
	static const char *environment[MAX_ENVIRONMENT + 1];
	const char *entry;
	size_t cursor = 0;
	int count = 0;

	while (count < MAX_ENVIRONMENT && (entry = settings_each(s, "env", &cursor)))
		environment[count++] = entry;
	options->env = (char *const *)environment;
	options->workdir = settings_get(s, "workdir");
	options->ring_budget = settings_number(s, "ring_budget", MEBIBYTE);
	options->life_ms = settings_number(s, "life_ms", 0);
	if (!options->workdir)
		options->workdir = "/workspace";
	return settings_secret(s, options->secret) ? fail("secret") : 0;
}

/* A disk needs modules, and settings held by the monitor say which of them are not needed. */
static int learn(struct settings *s)
{
	int status = vm_settings(s);

	if (status < 0 || vm_modules(s))
		return -1;
	return status == 0 ? 0 : vm_drive(s);
}

/* The last step: the host takes an open port as the sign of a ready guest. */
static int open_port(const struct settings *s, struct serve_options *options)
{
	unsigned vsock = (unsigned)settings_number(s, "vsock_port", 0);

	if (vsock)
		options->listen_fd = vm_vsock(vsock);
	else
		options->in_fd = options->out_fd = vm_port();
	return options->listen_fd < 0 && options->in_fd < 0 ? -1 : 0;
}

/* The monitor's console is read only for guests that fail to start, and each character costs an interrupt. */
static void leave_console(void)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nowhere < 0)
		return;
	dup2(nowhere, STDERR_FILENO);
	close(nowhere);
}

static int boot(struct settings *s, struct serve_options *options)
{
	if (mount_first() || learn(s) || vm_root(s))
		return -1;
	if (vm_identity(s) || vm_network(s) || limits() || take_options(s, options))
		return -1;
	return open_port(s, options);
}

_Noreturn void vm_main(void)
{
	static struct settings settings;
	struct serve_options options = { .listen_fd = -1, .in_fd = -1, .out_fd = -1 };

	umask(022);
	if (boot(&settings, &options))
		end(failure);
	is_guest = true;
	leave_console();
	vm_kernel_log();
	gate_make_with(vm_gate);
	serve(&options);
	end("the agent ended");
}
