/* Only a process in the terminal's session can ask for the foreground group, and no process can join a session later.
 * So one helper stays in the session from before the program starts; it has its own group, so signals to the program do
 * not reach it. */
#define _GNU_SOURCE
#include "exec/foreground.h"

#include <errno.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/descriptors.h"

#define TERMINAL_FD 0
#define ORDERS_FD 1
/* A terminal buffers 4096 bytes, at worst as many lines. */
#define LINE_MAX 4096
#define LINES_MAX 4096

/* Linux answers this for the session behind the master; a kernel that cannot does not send the signals either. */
bool foreground_is_ours(int master)
{
	return tcgetpgrp(master) < 0 && errno == ENOTTY;
}

static _Noreturn void obey(int orders, int terminal)
{
	uint8_t number;

	setpgid(0, 0);
	if (dup2(terminal, TERMINAL_FD) < 0 || dup2(orders, ORDERS_FD) < 0 || chdir("/"))
		_exit(1);
	descriptors_close_from(ORDERS_FD + 1);
	while (read(ORDERS_FD, &number, 1) == 1) {
		pid_t group = tcgetpgrp(TERMINAL_FD);

		if (group > 0)
			kill(-group, number);
	}
	_exit(0);
}

/* The grandchild is an orphan: a program must not find a child that it did not start. */
void foreground_keep(int orders, int terminal)
{
	pid_t pid = fork();

	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (pid != 0)
		return;
	if (fork() == 0)
		obey(orders, terminal);
	_exit(0);
}

void foreground_signal(int orders, int number)
{
	uint8_t order = (uint8_t)number;

	while (write(orders, &order, 1) < 0 && errno == EINTR)
		;
}

void foreground_flush(int slave)
{
	uint8_t dropped[LINE_MAX];

	for (int lines = 0; lines < LINES_MAX && read(slave, dropped, sizeof(dropped)) > 0; lines++)
		;
}

struct foreground_keys foreground_keys(int master)
{
	struct termios terminal;

	if (tcgetattr(master, &terminal) || !(terminal.c_lflag & ISIG))
		return (struct foreground_keys){ 0 };
	return (struct foreground_keys){ terminal.c_cc[VINTR], terminal.c_cc[VQUIT], terminal.c_cc[VSUSP],
		(terminal.c_lflag & NOFLSH) != 0 };
}

int foreground_key_signal(const struct foreground_keys *keys, uint8_t byte)
{
	if (byte == 0)
		return 0;
	if (byte == keys->interrupt)
		return SIGINT;
	if (byte == keys->quit)
		return SIGQUIT;
	return byte == keys->suspend ? SIGTSTP : 0;
}
