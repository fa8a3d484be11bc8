// Starts a guest, and ends it when the engine goes away, however that happens.
//
// Standard input is a socket that the engine keeps open: its end is the end of the guest. Standard output takes what the
// guest prints. Standard error is the socket, by its path, to which the guest connects; the guest finds it under a
// descriptor whose number never differs, because command lines decide what a guest draws at random.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Descriptor of the socket in the guest.
#define SOCKET 9

static void run(char **arguments, pid_t parent)
{
	const struct rlimit no_core = { 0, 0 };
	// The guest moves the path. Since Linux 6.13, it finds the top of its addresses by a variable that stays.
	char *const environment[] = { "PATH=/nowhere", "HOME=/nowhere", NULL };
	int nothing = open("/dev/null", O_RDWR);

	// The guest must not outlive this process, and its addresses must be the same every time. Its own processes, which
	// a guest of Linux 6.1 leaves behind, are in its group.
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	personality(ADDR_NO_RANDOMIZE);
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(nothing, 0);
	dup2(2, SOCKET);
	dup2(1, 2);
	close_range(3, SOCKET - 1, 0);
	close_range(SOCKET + 1, ~0U, 0);
	execve(arguments[0], arguments, environment);
	_exit(127);
}

int main(int count, char **arguments)
{
	pid_t parent = getpid(), guest;
	struct pollfd awaited[2] = { { .fd = 0, .events = POLLIN }, { .events = POLLIN } };
	int status;

	if (count < 2)
		return 2;
	guest = fork();
	if (guest == 0)
		run(arguments + 1, parent);
	if (guest < 0)
		return 1;
	setpgid(guest, guest);
	awaited[1].fd = syscall(SYS_pidfd_open, guest, 0);
	close(2);
	while (poll(awaited, 2, -1) < 0 && errno == EINTR)
		;
	kill(-guest, SIGKILL);
	waitpid(guest, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
