// Starts a guest, and ends it when the engine goes away, however that happens.
//
// Standard input is a socket that the engine keeps open: its end is the end of the guest. Standard output takes what the
// guest prints. Standard error is a socket without a name. Here it gets a name in the folder that is the first argument,
// for as long as it takes to find it by a descriptor, because a guest connects by a path; the number of the descriptor
// never differs, because command lines decide what a guest draws at random. A byte then tells the engine that the socket
// listens. This process does that, so that no name is left when the engine is killed.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

// Descriptor of the socket in the guest.
#define SOCKET 9

// Lets the socket listen, and puts a descriptor of its place where the guest looks for it.
static int listen_in(const char *parent)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char folder[sizeof(address.sun_path) - 2];
	int place = -1;

	if (snprintf(folder, sizeof(folder), "%s/dumbbell-XXXXXX", parent) >= (int)sizeof(folder) || !mkdtemp(folder))
		return -1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
	if (!bind(2, (void *)&address, sizeof(address)) && !listen(2, SOMAXCONN))
		place = open(address.sun_path, O_PATH);
	unlink(address.sun_path);
	rmdir(folder);
	return place < 0 ? -1 : dup2(place, SOCKET);
}

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
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	dup2(nothing, 0);
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

	// The engine is interrupted from the keyboard, and this process with it: the end of the engine is what counts.
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (count < 3 || listen_in(arguments[1]) < 0 || write(0, "", 1) != 1)
		return 2;
	guest = fork();
	if (guest == 0)
		run(arguments + 2, parent);
	if (guest < 0)
		return 1;
	setpgid(guest, guest);
	awaited[1].fd = syscall(SYS_pidfd_open, guest, 0);
	close(2);
	while (poll(awaited, 2, -1) < 0 && errno == EINTR)
		;
	kill(-guest, SIGKILL);
	waitpid(guest, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
