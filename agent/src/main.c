/* svc-agent: parses the arguments and starts one of its roles. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent.h"
#include "version.h"
#include "vm/vm.h"
#include "wire/wire.h"

#define DEFAULT_WORKDIR "/workspace"
#define DEFAULT_RING_BUDGET (8 * 1024 * 1024)
#define SETTINGS_SIZE (SECRET_SIZE + 8)

static const char help[] =
	"svc-agent " SVC_BUILD ": the first process of a sandbox\n"
	"\n"
	"  svc-agent serve [--dial PATH] --settings-fd N [--workdir PATH]\n"
	"      Serves on standard input and output. Descriptor N gives 16 bytes of secret (none of them\n"
	"      zero) and the bytes for kept output as a 64-bit little-endian number; frames may follow\n"
	"      them when it is standard input. With --dial, which comes first, 16 bytes of a nonce follow\n"
	"      the number, and the agent connects to that Unix socket and sends the nonce.\n"
	"  svc-agent serve --listen PATH --secret-hex HEX [--workdir PATH]\n"
	"      For tests and development: serves a Unix socket; every user of the machine can read the secret.\n"
	"  svc-agent launcher  Starts sandboxes for the server; requests on standard input.\n"
	"  svc-agent init      First process of a sandbox that the launcher started.\n"
	"  svc-agent clock-rate  kHz of this machine's time stamp counter.\n"
	"  svc-agent unpack      Unpacks a layer of an image for the server, or merges layers.\n"
	"  svc-agent lock-file   Locks the file that is standard input.\n"
	"  svc-agent lock-files  Locks files that the server has open, as long as it asks.\n"
	"  svc-agent version\n";

static int usage(const char *why)
{
	fprintf(stderr, "svc-agent: %s\n%s", why, help);
	return 2;
}

static bool is_secret(const uint8_t secret[SECRET_SIZE])
{
	return memchr(secret, 0, SECRET_SIZE) == NULL;
}

static int read_settings(struct serve_options *options, const char *number)
{
	uint8_t bytes[SETTINGS_SIZE + sizeof(options->nonce)];
	size_t wanted = options->host_path ? sizeof(bytes) : SETTINGS_SIZE;
	size_t size = 0;
	ssize_t got = 1;
	int fd = atoi(number);
	struct reader reader = reader_of(bytes + SECRET_SIZE, 8);

	while (size < wanted && got > 0) {
		got = read(fd, bytes + size, wanted - size);
		size += got > 0 ? (size_t)got : 0;
	}
	/* Standard input stays the transport. */
	if (fd != STDIN_FILENO)
		close(fd);
	memcpy(options->secret, bytes, SECRET_SIZE);
	options->ring_budget = read_u64(&reader);
	if (options->host_path)
		memcpy(options->nonce, bytes + SETTINGS_SIZE, sizeof(options->nonce));
	explicit_bzero(bytes, sizeof(bytes));
	return size == wanted ? 0 : -1;
}

static int read_hex(uint8_t secret[SECRET_SIZE], const char *text)
{
	for (int i = 0; i < SECRET_SIZE; i++) {
		unsigned byte;

		if (strspn(text, "0123456789abcdefABCDEF") < 2 || sscanf(text, "%2x", &byte) != 1)
			return -1;
		secret[i] = (uint8_t)byte;
		text += 2;
	}
	return *text ? -1 : 0;
}

/* The name appears only when connections are accepted. */
static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int size = snprintf(address.sun_path, sizeof(address.sun_path), "%s.new", path);
	mode_t mask = umask(0177);
	bool listens = false;

	if (size < (int)sizeof(address.sun_path)) {
		unlink(address.sun_path);
		listens = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 16) == 0 &&
			rename(address.sun_path, path) == 0;
	}
	umask(mask);
	return listens ? fd : -1;
}

/* Parses one option with its value; -1 when it is unknown. */
static int take_option(struct serve_options *options, const char *name, const char *value)
{
	if (strcmp(name, "--workdir") == 0) {
		options->workdir = value;
		return 0;
	}
	if (strcmp(name, "--dial") == 0) {
		options->host_path = value;
		return 0;
	}
	if (strcmp(name, "--settings-fd") == 0)
		return read_settings(options, value);
	if (strcmp(name, "--secret-hex") == 0)
		return read_hex(options->secret, value);
	if (strcmp(name, "--listen") == 0)
		return (options->listen_fd = listen_at(value)) < 0 ? -1 : 0;
	return -1;
}

static int serve_main(int argc, char **argv)
{
	struct serve_options options = {
		.listen_fd = -1, .in_fd = STDIN_FILENO, .out_fd = STDOUT_FILENO,
		.workdir = DEFAULT_WORKDIR, .env = environ, .ring_budget = DEFAULT_RING_BUDGET,
	};

	for (int i = 0; i < argc; i += 2)
		if (i + 1 == argc || take_option(&options, argv[i], argv[i + 1]))
			return usage("serve has an unknown or invalid option");
	if (!is_secret(options.secret))
		return usage("serve needs a secret without zero bytes");
	umask(022);
	return serve(&options);
}

int main(int argc, char **argv)
{
	const char *role = argc > 1 ? argv[1] : "";

	/* The arguments are kernel parameters that the kernel did not recognise. */
	if (vm_is_init(argc, argv))
		vm_main();
	if (strcmp(role, "serve") == 0)
		return serve_main(argc - 2, argv + 2);
	if (strcmp(role, "launcher") == 0)
		return launcher_main(argc - 1, argv + 1);
	if (strcmp(role, "init") == 0)
		return init_main(argc - 1, argv + 1);
	if (strcmp(role, "clock-rate") == 0)
		return clock_rate_main();
	if (strcmp(role, "lock-file") == 0)
		return lock_file_main();
	if (strcmp(role, "lock-files") == 0)
		return lock_files_main();
	if (strcmp(role, "unpack") == 0)
		return unpack_main(argc - 1, argv + 1);
	if (strcmp(role, "version") == 0 || strcmp(role, "--version") == 0)
		return puts(SVC_BUILD) < 0;
	if (strcmp(role, "help") == 0 || strcmp(role, "--help") == 0)
		return fputs(help, stdout) < 0;
	return usage("no role given");
}
