/* Terminals. The slave is opened by name, because gVisor lacks TIOCGPTPEER. */
#define _GNU_SOURCE
#include "exec/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define CONTROL_D 4

int pty_resize(int master, uint16_t rows, uint16_t cols)
{
	struct winsize size = { .ws_row = rows, .ws_col = cols };

	return ioctl(master, TIOCSWINSZ, &size);
}

int pty_open(uint16_t rows, uint16_t cols, char name[PTY_NAME])
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	int locked = 0;
	unsigned number;

	if (master < 0)
		return -1;
	if (ioctl(master, TIOCSPTLCK, &locked) || ioctl(master, TIOCGPTN, &number) ||
	    (rows && cols && pty_resize(master, rows, cols))) {
		int error = errno;

		close(master);
		errno = error;
		return -1;
	}
	snprintf(name, PTY_NAME, "/dev/pts/%u", number);
	return master;
}

int pty_hold(const char *name)
{
	return open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
}

/* Skipped if the opening already made it the controlling terminal: gVisor refuses to do so twice. */
int pty_take(const char *name)
{
	int slave = open(name, O_RDWR | O_NOCTTY);

	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0))
		return -1;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(slave, fd) < 0)
			return -1;
	return 0;
}

uint8_t pty_end_character(int master)
{
	struct termios terminal;

	return tcgetattr(master, &terminal) ? CONTROL_D : terminal.c_cc[VEOF];
}
