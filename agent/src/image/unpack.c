/* `svc-agent unpack`: unpacks the tar on standard input into the folder that is open as descriptor 3, and writes the
 * records of its entries to descriptor 4. With --merge it makes the tree of an image of unpacked layers instead; 3 is
 * then the store. Nothing of an archive is executed, and whatever it says stays below that folder. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"
#include "base/failure.h"
#include "image/fault.h"
#include "image/image.h"
#include "image/records.h"

/* Of records, for each entry that is allowed, and in addition: paths of distributions are a quarter as long. */
#define RECORD_BYTES 256
#define RECORDS_SPARE (1024 * 1024)

static struct tar tar;

static int report(const struct counts *counts, int failed)
{
	if (failed) {
		fprintf(stderr, "svc-agent: entry %" PRIu64 ": %s\n", counts->entries, failure);
		return fault_kind();
	}
	printf("{\"entries\":%" PRIu64 ",\"files\":%" PRIu64 ",\"folders\":%" PRIu64 ",\"links\":%" PRIu64
	       ",\"devices\":%" PRIu64 ",\"whiteouts\":%" PRIu64 ",\"opaque\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n",
	       counts->entries, counts->files, counts->folders, counts->links, counts->devices, counts->whiteouts,
	       counts->opaque, counts->bytes);
	return fflush(stdout) ? FAULT_SYSTEM : 0;
}

/* What gets its final name after this must be on the disk. */
static int settle(const char *made)
{
	int fd = open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int failed = fd < 0 || syncfs(fd);

	if (fd >= 0)
		close(fd);
	return failed ? fail_system("write to the disk") : 0;
}

static int unpack_all(const struct unpack_options *options, struct counts *counts)
{
	static struct tar_entry entry;
	int more;

	tar_open(&tar, STDIN_FILENO);
	/* Folders that no entry names have records, too: an entry may imply as many as its path has parts. */
	records_limit(options->max_entries, options->max_record_bytes);
	while ((more = tar_next(&tar, &entry)) > 0) {
		/* The server compares the digest of all bytes, or has seen the end. */
		tar.may_lack_end = true;
		if (++counts->entries > options->max_entries)
			return beyond("the archive holds more entries than allowed");
		if (entry_make(&tar, &entry, counts, options->max_bytes))
			return -1;
	}
	return more || records_flush() || settle("/") ? -1 : 0;
}

static int usage(void)
{
	fputs("usage: svc-agent unpack --max-bytes N --max-entries N [--uid N] [--merge TREE LAYER...]\n", stderr);
	return FAULT_USAGE;
}

/* The number after an option; -1 when it is not one. */
static int take_number(const char *text, uint64_t most, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno || end == text || *end || *text == '-' || *value > most ? -1 : 0;
}

static int take_option(struct unpack_options *options, const char *name, const char *value)
{
	uint64_t uid;

	if (strcmp(name, "--max-bytes") == 0)
		return take_number(value, INT64_MAX, &options->max_bytes);
	if (strcmp(name, "--max-entries") == 0)
		return take_number(value, UINT32_MAX, &options->max_entries);
	if (strcmp(name, "--uid") != 0 || take_number(value, UINT32_MAX - 1, &uid))
		return -1;
	options->uid = (uid_t)uid;
	return 0;
}

int unpack_main(int argc, char **argv)
{
	struct unpack_options options = { 0 };
	struct counts counts = { 0 };
	int at = 1;

	for (; at + 1 < argc && strcmp(argv[at], "--merge") != 0; at += 2)
		if (take_option(&options, argv[at], argv[at + 1]))
			return usage();
	if (!options.max_bytes || !options.max_entries || (at < argc && at + 2 >= argc))
		return usage();
	options.max_record_bytes = options.max_entries * RECORD_BYTES + RECORDS_SPARE;
	umask(0);
	if (confine(&options))
		return report(&counts, -1);
	if (at == argc)
		return report(&counts, unpack_all(&options, &counts));
	return report(&counts, merge(argv[at + 1], argv + at + 2, (size_t)(argc - at - 2)) || settle(argv[at + 1]));
}
