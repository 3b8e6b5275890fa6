/* `seed`: after a restore from a snapshot, guests share the same secret, entropy, time and host name. Steps that the
 * kernel refuses are left out of the answer. The boot id needs nothing: the kernel makes it when it is first read,
 * which happens later. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/secret.h"
#include "exec/calls.h"
#include "vm/vm.h"

#define DONE_SECRET 1
#define DONE_ENTROPY 2
#define DONE_CLOCK 4
#define DONE_NAME 8
#define DONE_RESEEDED 16
#define DONE_IDENTITY 32
#define ENTROPY_MAX 512
#define NAME_MAX_SIZE 64

static bool add_entropy(const uint8_t *bytes, size_t size)
{
	union {
		struct rand_pool_info info;
		uint8_t bytes[sizeof(struct rand_pool_info) + ENTROPY_MAX];
	} pool;
	int fd, status;

	if (size == 0 || size > ENTROPY_MAX)
		return false;
	fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	pool.info.entropy_count = (int)size * 8;
	pool.info.buf_size = (int)size;
	memcpy(pool.bytes + sizeof(pool.info), bytes, size);
	status = ioctl(fd, RNDADDENTROPY, &pool);
	/* Without the privilege to credit the entropy, it is mixed in. */
	if (status && write(fd, bytes, size) < 0)
		status = -1;
	explicit_bzero(&pool, sizeof(pool));
	close(fd);
	return status == 0;
}

/* The kernel's generator takes new entropy only at its next reseed, minutes later; this forces a reseed now. A guest
 * without that privilege is not a restored one. */
static bool reseed(void)
{
	int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC), status;

	if (fd < 0)
		return false;
	status = ioctl(fd, RNDRESEEDCRNG);
	close(fd);
	return status == 0;
}

static uint32_t take_name(const uint8_t *bytes, size_t size)
{
	char name[NAME_MAX_SIZE + 1] = "";

	memcpy(name, bytes, size);
	if (vm_is_guest())
		return vm_name(name) ? 0 : DONE_NAME | DONE_IDENTITY;
	return sethostname(name, size) ? 0 : DONE_NAME;
}

static bool set_clock(uint64_t ms)
{
	struct timespec time = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };

	return ms > 0 && clock_settime(CLOCK_REALTIME, &time) == 0;
}

static int seed(struct stream *stream, struct reader *arguments)
{
	size_t secret_size, entropy_size, name_size;
	uint8_t *secret = read_bytes(arguments, &secret_size);
	const uint8_t *entropy = read_bytes(arguments, &entropy_size);
	uint64_t clock_ms = read_u64(arguments);
	const uint8_t *name = read_bytes(arguments, &name_size);
	uint8_t answer[4];
	uint32_t done = 0;

	if (!reader_done(arguments) || (secret_size && secret_size != SECRET_SIZE) || name_size > NAME_MAX_SIZE)
		return EINVAL;
	if (secret_size && !secret_replace(secret))
		return EINVAL;
	explicit_bzero(secret, secret_size);
	done |= secret_size ? DONE_SECRET : 0;
	if (add_entropy(entropy, entropy_size))
		done |= DONE_ENTROPY | (reseed() ? DONE_RESEEDED : 0);
	done |= set_clock(clock_ms) ? DONE_CLOCK : 0;
	done |= name_size ? take_name(name, name_size) : 0;
	store_u32(answer, done);
	stream_result(stream, answer, sizeof(answer));
	return 0;
}

const struct stream_kind seed_kind = { .open = seed, .not_for_users = true };
