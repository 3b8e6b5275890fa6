/* Packs a folder into an archive, a folder before its content, names in byte order, so that a reader can continue after
 * the last entry that it got. Links stay links, hard links become files. What cannot be read, or is not a file, folder
 * or link, is named in a pax header at its position; an archive that breaks off has no end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "files/filework.h"

#define SMALL (64 * 1024)
#define OPEN_FILE (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

struct packing {
	int out;
	struct file_bytes buffer, left_out;
	uint64_t sent;
	const char *after;   /* entries up to this path are left to the caller, who has them; "" for none */
};

static void flush(struct packing *p)
{
	p->sent += p->buffer.size;
	file_flush(&p->buffer, p->out);
}

static void leave_out(struct packing *p, const char *path, int error)
{
	file_note_left_out(&p->left_out, path, error);
}

static void put_entry(struct packing *p, const struct file_entry *entry)
{
	file_put_left_out(&p->buffer, &p->left_out);
	file_put_entry(&p->buffer, entry);
}

/* ---- content */

/* Returns how much of the file was there. */
static uint64_t send_content(struct packing *p, int fd, uint64_t size)
{
	uint64_t done = 0;

	flush(p);
	while (done < size) {
		uint64_t left = size - done;
		ssize_t moved = sendfile(p->out, fd, NULL, left < (1 << 30) ? (size_t)left : 1 << 30);

		if (moved < 0 && errno == EPIPE)
			file_quit();
		if (moved <= 0)
			break;
		done += (uint64_t)moved;
	}
	p->sent += done;
	return done;
}

static uint64_t copy_content(struct packing *p, int fd, uint64_t done, uint64_t size)
{
	static char piece[SMALL];

	while (done < size) {
		uint64_t left = size - done;
		ssize_t got = read(fd, piece, left < sizeof(piece) ? (size_t)left : sizeof(piece));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		file_put_bytes(&p->buffer, piece, (size_t)got);
		done += (uint64_t)got;
		if (p->buffer.size > FILE_PIECE)
			flush(p);
	}
	return done;
}

static void fill(struct packing *p, uint64_t done, uint64_t size)
{
	static const uint8_t zeros[4096];

	while (done < size) {
		uint64_t left = size - done;
		size_t part = left < sizeof(zeros) ? (size_t)left : sizeof(zeros);

		file_put_bytes(&p->buffer, zeros, part);
		done += part;
		if (p->buffer.size > FILE_PIECE)
			flush(p);
	}
}

/* Kernel files report no size, so an archive cannot hold them. */
static int has_more(int fd)
{
	char byte;

	return read(fd, &byte, 1) > 0;
}

static void pack_open_file(struct packing *p, int fd, const char *path)
{
	struct file_entry entry = { .type = '0', .path = path };
	struct stat facts;
	uint64_t done = 0;

	if (fstat(fd, &facts) || !S_ISREG(facts.st_mode) || (facts.st_size == 0 && has_more(fd))) {
		leave_out(p, path, EINVAL);
		return;
	}
	entry.facts = &facts;
	entry.size = (uint64_t)facts.st_size;
	put_entry(p, &entry);
	if (entry.size > SMALL)
		done = send_content(p, fd, entry.size);
	done = copy_content(p, fd, done, entry.size);
	if (done < entry.size) {
		fill(p, done, entry.size);
		file_put_padding(&p->buffer, entry.size);
		leave_out(p, path, EIO);
		return;
	}
	file_put_padding(&p->buffer, entry.size);
}

static void pack_file(struct packing *p, int dir, const char *name, const char *path)
{
	int fd = file_open_at(dir, name, OPEN_FILE);

	if (fd < 0) {
		leave_out(p, path, errno);
		return;
	}
	pack_open_file(p, fd, path);
	close(fd);
}

static void pack_link(struct packing *p, int dir, const char *name, struct file_entry *entry)
{
	char target[PATH_MAX];
	ssize_t size = readlinkat(dir, name, target, sizeof(target) - 1);

	if (size < 0) {
		leave_out(p, entry->path, errno);
		return;
	}
	target[size] = 0;
	entry->type = '2';
	entry->target = target;
	put_entry(p, entry);
}

/* ---- the walk */

/* Whether the caller has the entry already, and for a folder that is left out also its content. */
static int is_before(const char *path, const char *after)
{
	while (*path && *path == *after) {
		path++;
		after++;
	}
	/* `/` sorts before every other byte, as the walk finishes a folder before the next name. */
	if (!*path || !*after)
		return !*path;
	if (*path == '/' || *after == '/')
		return *path == '/';
	return (unsigned char)*path < (unsigned char)*after;
}

/* The folder of the last entry has content that the caller does not have. */
static int is_above(const char *path, const char *after)
{
	size_t size = strlen(path);

	return strncmp(path, after, size) == 0 && (after[size] == '/' || after[size] == 0);
}

/* Kernel file systems: a part of them would be endless, or have effects. */
static int is_kernel(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 && (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC);
}

static void enter(struct packing *p, struct file_walk *walk, const char *name, const char *path)
{
	dev_t dev = file_walk_top(walk)->dev;
	struct file_frame *frame = file_walk_enter(walk, name, 0);

	if (!frame) {
		leave_out(p, path, errno);
		return;
	}
	if (frame->dev != dev && is_kernel(frame->fd)) {
		file_walk_leave(walk);
		leave_out(p, path, EXDEV);
	} else if (file_names_read(&frame->names, frame->fd, SIZE_MAX / 4)) {
		int error = errno;
		file_walk_leave(walk);
		leave_out(p, path, error);
	}
}

static void pack_entry(struct packing *p, struct file_walk *walk, const char *name)
{
	const char *path = walk->path + 1;
	int had = *p->after && is_before(path, p->after);
	int dir = file_walk_top(walk)->fd;
	struct stat facts;
	struct file_entry entry = { .path = path, .facts = &facts };

	if (had && !is_above(path, p->after))
		return;
	if (fstatat(dir, name, &facts, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT)
			leave_out(p, path, errno);
		return;
	}
	if (S_ISDIR(facts.st_mode)) {
		entry.type = '5';
		if (!had)
			put_entry(p, &entry);
		enter(p, walk, name, path);
	} else if (had) {
		return;
	} else if (S_ISREG(facts.st_mode)) {
		pack_file(p, dir, name, path);
	} else if (S_ISLNK(facts.st_mode)) {
		pack_link(p, dir, name, &entry);
	} else {
		leave_out(p, path, ENODEV);
	}
}

static void pack_folder(struct packing *p, int fd, const struct stat *facts)
{
	struct file_entry root = { .type = '5', .path = "./", .facts = facts };
	struct file_walk walk;
	struct file_frame *frame = file_walk_start(&walk, fd, "");
	const char *entry;

	if (!frame || file_names_read(&frame->names, frame->fd, SIZE_MAX / 4))
		file_refuse(errno);
	if (!*p->after)
		put_entry(p, &root);
	while ((entry = file_walk_next(&walk))) {
		pack_entry(p, &walk, file_name_text(entry));
		if (p->buffer.size > FILE_PIECE)
			flush(p);
	}
}

static void announce(const char *path, const struct stat *facts)
{
	struct file_bytes info = { 0 };

	file_put_info(&info, path, -1, "", facts);
	file_send(&info);
}

_Noreturn void file_pack(const struct file_op *op, int out_fd)
{
	struct packing p = { .out = out_fd, .after = op->path2 };
	struct file_bytes result = { 0 };
	int fd = file_open(op->path, O_PATH);
	struct stat facts;

	if (fd < 0 || fstat(fd, &facts))
		file_refuse(errno);
	if (!S_ISDIR(facts.st_mode))
		file_refuse(ENOTDIR);
	if (faccessat(fd, ".", R_OK, 0))
		file_refuse(errno);
	announce(op->path, &facts);
	fcntl(out_fd, F_SETPIPE_SZ, 1 << 20);
	pack_folder(&p, fd, &facts);
	file_put_left_out(&p.buffer, &p.left_out);
	file_put_end(&p.buffer);
	flush(&p);
	file_put_u64(&result, p.sent);
	file_finish(&result);
}
