/* Maps the numbers of OPEN and CALL to their kinds. */
#include "exec/calls.h"
#include "exec/console.h"
#include "exec/deadline.h"
#include "exec/execs.h"
#include "exec/users.h"
#include "files/files.h"
#include "net/connect.h"
#include "net/gate.h"
#include "net/trust.h"
#include "wire/dial.h"

static const struct stream_kind *const opens[] = {
	[1] = &exec_kind, [2] = &attach_kind, [3] = &file_read_kind, [4] = &file_write_kind, [5] = &file_list_kind,
	[6] = &file_glob_kind, [7] = &execs_kind, [8] = &connect_kind, [9] = &console_kind, [10] = &accept_kind,
	[11] = &file_watch_kind,
	[14] = &file_pack_kind, [15] = &file_unpack_kind, [16] = &resume_kind,
};

static const struct stream_kind *const calls[] = {
	[1] = &ping_kind, [2] = &file_stat_kind, [3] = &file_mkdir_kind, [4] = &file_move_kind, [5] = &file_chmod_kind,
	[6] = &file_remove_kind, [7] = &signal_kind, [8] = &resize_kind, [9] = &seed_kind, [10] = &shutdown_kind,
	[11] = &enter_kind, [12] = &leave_kind, [13] = &gate_kind, [14] = &trust_kind, [15] = &dial_kind,
	[18] = &deadline_kind, [19] = &file_usage_kind,
};

const struct stream_kind *kind_of_open(uint8_t number)
{
	return number < sizeof(opens) / sizeof(opens[0]) ? opens[number] : NULL;
}

const struct stream_kind *kind_of_call(uint8_t number)
{
	return number < sizeof(calls) / sizeof(calls[0]) ? calls[number] : NULL;
}
