/* Frames: a length is checked before it is used. */
#include "wire/frame.h"

#include "wire/wire.h"

ssize_t frame_parse(uint8_t *bytes, size_t size, struct frame *frame)
{
	size_t length;

	if (size < 4)
		return 0;
	length = load_u32(bytes);
	if (length < FRAME_MIN || length > FRAME_MAX)
		return -1;
	if (size < 4 + length)
		return 0;
	frame->type = bytes[4];
	frame->stream = load_u32(bytes + 5);
	frame->payload = bytes + FRAME_HEAD;
	frame->size = length - FRAME_MIN;
	frame->tag = load_u32(frame->payload + frame->size);
	return (ssize_t)(4 + length);
}

void frame_head(uint8_t head[FRAME_HEAD], enum frame_type type, uint32_t stream, size_t size)
{
	store_u32(head, (uint32_t)(FRAME_MIN + size));
	head[4] = (uint8_t)type;
	store_u32(head + 5, stream);
}

bool frame_tag_fits(uint32_t tag)
{
	for (int i = 0; i < 4; i++)
		if ((tag >> (8 * i) & 0xff) == 0)
			return false;
	return true;
}
