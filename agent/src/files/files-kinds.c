/* The arguments of each kind of file work. */
#include <errno.h>

#include "files/files.h"

#define WITH_ATTRIBUTES 4 /* flag of write */

static int start(struct stream *stream, struct reader *arguments, const struct file_op *op)
{
	return reader_done(arguments) ? work_open(stream, op) : EINVAL;
}

/* The prefix of the extended attributes that the request is about, if it names one. */
static void read_prefix(struct reader *arguments, struct file_op *op)
{
	if (arguments->at != arguments->end)
		op->path2 = read_text(arguments);
}

static int open_read(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_READ, .path = read_text(arguments), .mode = UINT32_MAX };

	op.offset = read_u64(arguments);
	op.length = read_u64(arguments);
	return start(stream, arguments, &op);
}

static int open_write(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_WRITE, .path = read_text(arguments) };

	op.mode = read_u32(arguments);
	op.flag = read_u8(arguments);
	if (op.flag & WITH_ATTRIBUTES) {
		op.path2 = read_text(arguments);
		op.attributes = read_bytes(arguments, &op.attributes_size);
	}
	return start(stream, arguments, &op);
}

static int open_list(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_LIST, .path = read_text(arguments), .mode = UINT32_MAX };

	op.depth = read_u32(arguments);
	op.limit = read_u32(arguments);
	read_prefix(arguments, &op);
	return start(stream, arguments, &op);
}

static int open_glob(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_GLOB, .path = read_text(arguments), .mode = UINT32_MAX };

	op.limit = read_u32(arguments);
	return start(stream, arguments, &op);
}

static int open_watch(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_WATCH, .path = read_text(arguments), .mode = UINT32_MAX };

	op.flag = read_u8(arguments);
	return start(stream, arguments, &op);
}

static int open_pack(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_PACK, .path = read_text(arguments), .mode = UINT32_MAX };

	op.path2 = read_text(arguments);
	return start(stream, arguments, &op);
}

static int open_unpack(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_UNPACK, .path = read_text(arguments), .mode = UINT32_MAX };

	return start(stream, arguments, &op);
}

static int open_stat(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_STAT, .path = read_text(arguments), .mode = UINT32_MAX };

	read_prefix(arguments, &op);
	return start(stream, arguments, &op);
}

static int open_mkdir(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_MKDIR, .path = read_text(arguments) };

	op.mode = read_u32(arguments);
	op.flag = read_u8(arguments);
	return start(stream, arguments, &op);
}

static int open_move(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_MOVE, .path = read_text(arguments), .mode = UINT32_MAX };

	op.path2 = read_text(arguments);
	return start(stream, arguments, &op);
}

static int open_chmod(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_CHMOD, .path = read_text(arguments) };

	op.mode = read_u32(arguments);
	return start(stream, arguments, &op);
}

static int open_remove(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_REMOVE, .path = read_text(arguments), .mode = UINT32_MAX };

	op.flag = read_u8(arguments);
	return start(stream, arguments, &op);
}

static int open_usage(struct stream *stream, struct reader *arguments)
{
	struct file_op op = { .kind = FILE_USAGE, .path = "/", .mode = UINT32_MAX };

	return start(stream, arguments, &op);
}

#define READS(opens) \
	{ .open = (opens), .pump = work_pump, .cancel = work_cancel, .gone = work_gone, .takes_account = true }
#define WRITES(opens) \
	{ .open = (opens), .data = work_data, .eof = work_eof, .cancel = work_cancel, .gone = work_gone, .takes_account = true }
#define CALLS(opens) { .open = (opens), .cancel = work_cancel, .gone = work_gone, .takes_account = true }

const struct stream_kind file_read_kind = READS(open_read);
const struct stream_kind file_list_kind = READS(open_list);
const struct stream_kind file_glob_kind = READS(open_glob);
const struct stream_kind file_watch_kind = READS(open_watch);
const struct stream_kind file_pack_kind = READS(open_pack);
const struct stream_kind file_write_kind = WRITES(open_write);
const struct stream_kind file_unpack_kind = WRITES(open_unpack);
const struct stream_kind file_stat_kind = CALLS(open_stat);
const struct stream_kind file_mkdir_kind = CALLS(open_mkdir);
const struct stream_kind file_move_kind = CALLS(open_move);
const struct stream_kind file_chmod_kind = CALLS(open_chmod);
const struct stream_kind file_remove_kind = CALLS(open_remove);
const struct stream_kind file_usage_kind = {
	.open = open_usage, .cancel = work_cancel, .gone = work_gone, .not_for_users = true
};
