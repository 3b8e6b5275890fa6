/* Handles the host's frames for streams: open, data, credit and cancel. All of them may be hostile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/fragments.h"
#include "wire/stream.h"

#define CREDIT_MAX 0x7fffffffU

/* With this bit in the number of a kind or method, the arguments begin with the tenant's uid. */
#define FOR_USER 0x80
/* With this one they begin with the name of a user of the sandbox. */
#define AS_ACCOUNT 0x40

/* Returns 0 or a positive errno. */
static int read_user(struct stream *stream, const struct frame *frame, struct reader *arguments)
{
	if (!(frame->payload[0] & FOR_USER))
		return 0;
	stream->uid = read_u32(arguments);
	if (arguments->bad || stream->uid == 0 || stream->uid == (uid_t)-1)
		return EINVAL;
	return stream->kind->not_for_users ? EPERM : 0;
}

/* Returns 0 or a positive errno. */
static int read_account(struct stream *stream, const struct frame *frame, struct reader *arguments)
{
	const uint8_t *name;
	size_t size;

	if (!(frame->payload[0] & AS_ACCOUNT))
		return 0;
	name = read_bytes(arguments, &size);
	if (arguments->bad || size == 0 || size > ACCOUNT_NAME || memchr(name, 0, size))
		return EINVAL;
	memcpy(stream->account, name, size);
	if (stream->uid || !stream->kind->takes_account)
		return EINVAL;
	return accounts_are_possible() ? 0 : EPERM;
}

static void start(const struct frame *frame, const struct stream_kind *kind, struct reader *arguments)
{
	bool is_call = frame->type == FRAME_CALL;
	bool full = kind && streams_are_full(kind, is_call);
	struct stream *stream = kind && !full ? stream_begin(frame->stream, kind, is_call) : NULL;
	int error = full ? EAGAIN : kind ? ENOMEM : ENOSYS;

	if (!stream) {
		stream_refuse(frame->stream, error);
		return;
	}
	error = read_user(stream, frame, arguments);
	if (!error)
		error = read_account(stream, frame, arguments);
	if (!error)
		error = kind->open(stream, arguments);
	if (error)
		stream_fail(stream, error);
}

static int take_open(const struct frame *frame)
{
	const struct stream_kind *kind;
	struct parts parts;
	uint8_t number;

	if (frame->size < 1 || stream_find(frame->stream))
		return -1;
	number = frame->payload[0] & (uint8_t)~(FOR_USER | AS_ACCOUNT);
	kind = frame->type == FRAME_CALL ? kind_of_call(number) : kind_of_open(number);
	if (fragments_join(&parts, frame))
		return -1;
	start(frame, kind, &parts.arguments);
	free(parts.joined);
	return 0;
}

static int take_data(struct stream *stream, const struct frame *frame)
{
	size_t size = frame->size - 1;

	if (size > stream->host_credit)
		return -1;
	stream->host_credit -= (uint32_t)size;
	if (stream->cancelled)
		return 0;
	if (stream->kind->data)
		stream->kind->data(stream, frame->payload + 1, size);
	else
		stream_took(stream, size);
	return 0;
}

static int take_credit(struct stream *stream, const struct frame *frame)
{
	uint32_t more = load_u32(frame->payload);

	if (more > CREDIT_MAX || stream->credit + more > CREDIT_MAX)
		return -1;
	stream->credit += more;
	return 0;
}

static void take_cancel(struct stream *stream)
{
	if (stream->cancelled)
		return;
	stream->cancelled = true;
	if (stream->kind->cancel)
		stream->kind->cancel(stream);
	else
		stream_fail(stream, ECANCELED);
}

/* The format of a frame is checked even when its stream has ended. */
static bool is_well_formed(const struct frame *frame)
{
	switch (frame->type) {
	case FRAME_DATA:
		return frame->size >= 1 && frame->size <= 1 + DATA_MAX && frame->payload[0] == 0;
	case FRAME_EOF:
		return frame->size == 1 && frame->payload[0] == 0;
	case FRAME_CREDIT:
		return frame->size == 4;
	default:
		return frame->size == 0;
	}
}

static int take_known(const struct frame *frame)
{
	struct stream *stream = stream_find(frame->stream);

	if (!is_well_formed(frame))
		return -1;
	if (frame->type == FRAME_CANCEL)
		fragments_drop(frame->stream);
	if (!stream)
		return 0;
	if (frame->type == FRAME_DATA)
		return take_data(stream, frame);
	if (frame->type == FRAME_CREDIT)
		return take_credit(stream, frame);
	if (frame->type == FRAME_CANCEL)
		take_cancel(stream);
	else if (stream->kind->eof && !stream->cancelled)
		stream->kind->eof(stream);
	return 0;
}

int streams_take(const struct frame *frame)
{
	if (frame->stream == 0)
		return -1;
	switch (frame->type) {
	case FRAME_PART:
		return stream_find(frame->stream) ? -1 : fragments_take(frame);
	case FRAME_OPEN:
	case FRAME_CALL:
		return take_open(frame);
	case FRAME_DATA:
	case FRAME_EOF:
	case FRAME_CREDIT:
	case FRAME_CANCEL:
		return take_known(frame);
	default:
		return -1;
	}
}
