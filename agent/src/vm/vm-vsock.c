/* The port to the host where the monitor has a vsock: the host connects, any number of times. vsock(7) */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <linux/vm_sockets.h>
#include <unistd.h>

#include "vm/vm.h"

#define WAITING 16

int vm_vsock(unsigned port)
{
	struct sockaddr_vm address = { .svm_family = AF_VSOCK, .svm_port = port, .svm_cid = VMADDR_CID_ANY };
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, WAITING) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return fail("the port to the host");
}
