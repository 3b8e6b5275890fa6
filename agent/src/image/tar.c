/* The entries of a tar archive. A header describes itself, or the entry after it (pax's x, GNU's L and K); content
 * follows only the header of a file. */
#define _GNU_SOURCE
#include "image/tar.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "image/fault.h"

#define NO_SIZE UINT64_MAX

/* What the headers before an entry say about it; NULL or NO_SIZE where they say nothing. pax(1) */
struct overlay {
	struct tar_entry entry;
	uint64_t size;
	bool is_awaited; /* a header that must be followed by its entry */
};

void tar_open(struct tar *tar, int fd)
{
	tar->fd = fd;
	tar->at = tar->end = tar->extension_size = 0;
	tar->content = tar->padding = 0;
	tar->may_lack_end = false;
}

/* Reads more input when none is left: 1, 0 at its end, -1. */
static int fill(struct tar *tar)
{
	ssize_t got;

	if (tar->at < tar->end)
		return 1;
	do
		got = read(tar->fd, tar->input, sizeof(tar->input));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return fail_system("read the archive");
	tar->at = 0;
	tar->end = (size_t)got;
	return got > 0;
}

static int cut_off(void)
{
	return refuse("the archive is cut off");
}

int tar_take(struct tar *tar, void *to, uint64_t size)
{
	uint8_t *next = to;

	while (size > 0) {
		int filled = fill(tar);
		size_t part = tar->end - tar->at;

		if (filled <= 0)
			return filled < 0 ? -1 : cut_off();
		part = part < size ? part : (size_t)size;
		if (next) {
			memcpy(next, tar->input + tar->at, part);
			next += part;
		}
		tar->at += part;
		size -= part;
	}
	return 0;
}

int64_t tar_content(struct tar *tar, const uint8_t **part)
{
	size_t size;
	int filled;

	if (tar->content == 0)
		return 0;
	filled = fill(tar);
	if (filled <= 0)
		return filled < 0 ? -1 : cut_off();
	size = tar->end - tar->at;
	size = size < tar->content ? size : (size_t)tar->content;
	*part = tar->input + tar->at;
	tar->at += size;
	tar->content -= size;
	return (int64_t)size;
}

static uint64_t padding_of(uint64_t size)
{
	return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* Anything else would be left out silently: a second archive, as `cat` puts them together. */
static int expect_end(struct tar *tar)
{
	size_t filled = 0;
	int more;

	while ((more = fill(tar)) > 0) {
		filled += tar->end - tar->at;
		if (filled > TAR_FILLING_MAX || !is_zero(tar->input + tar->at, tar->end - tar->at))
			return refuse("the archive contains data after its end");
		tar->at = tar->end;
	}
	return more;
}

static bool is_extension(int type)
{
	return type == 'x' || type == 'g' || type == 'L' || type == 'K' || type == 'V';
}

/* Reads a header about the next entry. It is kept in one buffer with the others, because the overlay points into it. */
static int take_extension(struct tar *tar, int type, uint64_t size, struct overlay *overlay)
{
	char *text = tar->extension + tar->extension_size;

	if (size > TAR_EXTENSION_MAX - TAR_BLOCK || tar->extension_size + size + TAR_BLOCK > TAR_EXTENSION_MAX)
		return refuse("an entry has too much metadata");
	if (tar_take(tar, text, size) || tar_take(tar, NULL, padding_of(size)))
		return -1;
	/* The block of the header counts, so that empty ones end as well. */
	tar->extension_size += (size_t)size + TAR_BLOCK;
	overlay->is_awaited |= type != 'g' && type != 'V';
	text[size] = '\0';
	if (type == 'L')
		overlay->entry.path = text;
	if (type == 'K')
		overlay->entry.target = text;
	return type == 'x' ? tar_pax(text, (size_t)size, &overlay->entry, &overlay->size) : 0;
}

static int check_texts(const struct tar_entry *entry)
{
	bool is_link = entry->type == TAR_LINK || entry->type == TAR_HARD_LINK;

	if (strlen(entry->path) > 4095)
		return refuse("an entry has a path that is too long");
	if (is_link && (!*entry->target || strlen(entry->target) > 4095))
		return refuse("an entry has a link without a valid target");
	return 0;
}

/* The header's own values, replaced by those of the headers before it. */
static int apply(struct tar *tar, struct tar_entry *entry, uint64_t size, const struct overlay *overlay)
{
	const struct tar_entry *over = &overlay->entry;
	size_t length;

	size = overlay->size == NO_SIZE ? size : overlay->size;
	if (size > INT64_MAX - TAR_BLOCK)
		return refuse("an entry has an impossible size");
	entry->path = over->path ? over->path : entry->header_path;
	entry->target = over->target ? over->target : entry->header_target;
	entry->uid = over->uid == UINT32_MAX ? entry->uid : over->uid;
	entry->gid = over->gid == UINT32_MAX ? entry->gid : over->gid;
	entry->mtime_ns = over->mtime_ns == INT64_MIN ? entry->mtime_ns : over->mtime_ns;
	memcpy(entry->attributes, over->attributes, over->attribute_count * sizeof(over->attributes[0]));
	entry->attribute_count = over->attribute_count;
	/* Only files have content; some programs give a size to links, too. */
	tar->content = entry->size = entry->type == TAR_FILE ? size : 0;
	tar->padding = padding_of(tar->content);
	/* Before ustar, a folder was a file whose name ends so. */
	length = strlen(entry->path);
	if (entry->type == TAR_FILE && length > 0 && entry->path[length - 1] == '/') {
		entry->type = TAR_FOLDER;
		entry->size = 0;
	}
	return check_texts(entry) ? -1 : 1;
}

static int read_header(struct tar *tar, struct tar_entry *entry, uint64_t *size)
{
	uint8_t block[TAR_BLOCK];

	return tar_take(tar, block, sizeof(block)) ? -1 : tar_header(block, entry, size);
}

int tar_next(struct tar *tar, struct tar_entry *entry)
{
	static struct overlay overlay;
	uint64_t size;
	int type;

	if (tar_take(tar, NULL, tar->content) || tar_take(tar, NULL, tar->padding))
		return -1;
	tar->content = tar->padding = tar->extension_size = 0;
	overlay.entry.path = overlay.entry.target = NULL;
	overlay.entry.uid = overlay.entry.gid = UINT32_MAX;
	overlay.entry.mtime_ns = INT64_MIN;
	overlay.entry.attribute_count = 0;
	overlay.size = NO_SIZE;
	overlay.is_awaited = false;
	if (tar->may_lack_end && fill(tar) == 0)
		return 0;
	while (is_extension(type = read_header(tar, entry, &size)))
		if (take_extension(tar, type, size, &overlay))
			return -1;
	if (type > 0)
		return apply(tar, entry, size, &overlay);
	if (type == 0 && overlay.is_awaited)
		return cut_off();
	return type < 0 ? -1 : expect_end(tar);
}
