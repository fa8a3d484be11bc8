// The first process of a guest: opens TCP connections between two network namespaces as it is told, and reports on them.
//
// The engine sends commands as Ethernet frames to the third device, and gets answers there. `eth0` is the sending host
// and `eth1` the receiving one, each in a namespace of its own. Connections are distinguished by their ports. The
// receiver reads everything as it comes, in the kernel: a thread for each connection waits for more than will ever come, and
// what has arrived is discarded without a return to this program. Nothing here reads a clock, so that commands cost no
// simulated time.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// Protocol number of the frames between engine and agent: the first one for local experiments.
#define PROTOCOL 0x88b5
#define SENDER "10.0.0.1"
#define RECEIVER "10.0.0.2"
#define PORTS 65536
// Bytes that a read may discard at once, and that a write may take.
#define READ_BYTES (1 << 30)
#define WRITE_BYTES (1 << 16)
// Most threads that read at the same time. Further connections are read when something has arrived, which takes longer.
#define READERS 128

// Commands, and the answers to them.
enum kind {
	READY = 'R', // answer only: the agent awaits commands
	MODULE = 'M', // text: folder, NUL, file name
	SYSCTL = 'Y', // text: name with slashes, NUL, value
	CONGESTION = 'K', // text: name of a congestion control that is to be there
	HOSTS = 'H', // number: MTU; makes the namespaces of sender and receiver
	SEGMENTS = 'D', // number: segments of which the device of the sending host takes one packet, see GSO
	OPEN = 'O', // a connection
	WRITE = 'W', // number: further bytes of a connection
	CLOSE = 'C', // nothing follows on a connection
	SHOW = 'S', // what a connection shows
	GIVEN_UP = 'G', // answer only: number is the error
	CALL = 'X', // a system call on a socket of the sending host, by its descriptor, with the bytes of its argument
};

// System calls of scripts.
enum call { CALL_SOCKET, CALL_BIND, CALL_LISTEN, CALL_ACCEPT, CALL_CONNECT, CALL_SET, CALL_WRITE, CALL_READ, CALL_SHUTDOWN,
	    CALL_CLOSE, CALL_INFO };

struct command {
	uint8_t kind;
	uint8_t is_kept; // or the system call
	uint16_t from, to; // ports of sender and receiver, or a descriptor, and a port or the size of an argument
	uint16_t unused;
	uint64_t number;
	char text[]; // name of the congestion control, an argument, or as above
} __attribute__((packed));

struct answer {
	uint8_t kind;
	uint8_t unused;
	uint16_t from;
	uint32_t info_bytes;
	uint64_t number; // error, or bytes that the receiver had read at its end
	uint8_t info[256]; // struct tcp_info
} __attribute__((packed));

// An end of a connection, by the port of its sender.
struct end {
	int socket; // 0: none
	uint64_t number; // bytes to be sent, or that were read
	bool is_endless, is_kept, is_connected, is_shut;
};

enum role { CONTROL, SENDING, RECEIVING, LISTENING };

static int control, polled, control_index, namespaces[3], namespace_count, reader_count;
static struct end senders[PORTS], receivers[PORTS];
static int listeners[PORTS];
// What connections showed last that are closed now.
static struct answer *closed[PORTS];
static char zeros[WRITE_BYTES];

static void answer_with(const struct answer *answer)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(PROTOCOL), .sll_ifindex = control_index };

	to.sll_halen = ETH_ALEN;
	sendto(control, answer, offsetof(struct answer, info) + answer->info_bytes, 0, (void *)&to, sizeof(to));
}

static void answer_number(enum kind kind, uint16_t from, uint64_t number)
{
	struct answer answer = { .kind = kind, .from = from, .number = number };

	answer_with(&answer);
}

static int watch(int descriptor, enum role role, uint16_t port, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u64 = (uint64_t)role << 32 | port };

	return epoll_ctl(polled, EPOLL_CTL_ADD, descriptor, &event);
}

static struct sockaddr_in address_of(const char *host, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, host, &address.sin_addr);
	return address;
}

// Changes a device of this namespace: gives it to another one, or sets how it takes packets.
static int change_device(const char *name, int attribute, int value)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg device;
		struct rtattr attribute;
		int value;
	} request = {
		.header = { .nlmsg_len = sizeof(request), .nlmsg_type = RTM_NEWLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.device = { .ifi_index = if_nametoindex(name) },
		.attribute = { .rta_len = RTA_LENGTH(sizeof(int)), .rta_type = attribute },
		.value = value,
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[256];
	} reply = { 0 };
	int netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (send(netlink, &request, sizeof(request), 0) < 0 || recv(netlink, &reply, sizeof(reply), 0) < 0)
		return errno;
	close(netlink);
	return -reply.error.error;
}

// Sets up a device of this namespace; without an address if `host` is NULL. It asks nobody for hardware addresses.
static int bring_up(const char *name, const char *host, int mtu)
{
	struct ifreq request = { 0 };
	int handle = socket(AF_INET, SOCK_DGRAM, 0);

	strncpy(request.ifr_name, name, IFNAMSIZ - 1);
	if (mtu) {
		request.ifr_mtu = mtu;
		if (ioctl(handle, SIOCSIFMTU, &request))
			return errno;
	}
	if (host) {
		*(struct sockaddr_in *)&request.ifr_addr = address_of(host, 0);
		if (ioctl(handle, SIOCSIFADDR, &request))
			return errno;
		*(struct sockaddr_in *)&request.ifr_netmask = address_of("255.255.255.0", 0);
		if (ioctl(handle, SIOCSIFNETMASK, &request))
			return errno;
	}
	request.ifr_flags = IFF_UP | IFF_NOARP;
	if (ioctl(handle, SIOCSIFFLAGS, &request))
		return errno;
	close(handle);
	return 0;
}

static int make_hosts(int mtu)
{
	const char *const devices[] = { NULL, "eth0", "eth1" }, *const hosts[] = { NULL, SENDER, RECEIVER };
	int error;

	for (int host = 1; host < 3; host++) {
		if (unshare(CLONE_NEWNET) || (namespaces[host] = open("/proc/self/ns/net", O_RDONLY)) < 0)
			return errno;
		if (setns(namespaces[0], CLONE_NEWNET))
			return errno;
		if ((error = change_device(devices[host], IFLA_NET_NS_FD, namespaces[host])))
			return error;
		if (setns(namespaces[host], CLONE_NEWNET))
			return errno;
		if ((error = bring_up(devices[host], hosts[host], mtu)))
			return error;
		namespace_count++;
	}
	return 0;
}

// Writes a setting in each namespace that has it.
static int set(const char *name, const char *value)
{
	char path[256];
	int error = ENOENT, is_set = 0;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	for (int host = 0; host < namespace_count; host++) {
		setns(namespaces[host], CLONE_NEWNET);
		int file = open(path, O_WRONLY);
		if (file >= 0 && write(file, value, strlen(value)) >= 0)
			is_set = 1;
		else
			error = errno;
		if (file >= 0)
			close(file);
	}
	return is_set ? 0 : error;
}

static int load(const char *folder, const char *name)
{
	int module;

	if (mount("none", "/mnt", "hostfs", 0, folder) || chdir("/mnt"))
		return errno;
	if ((module = open(name, O_RDONLY)) < 0 || syscall(SYS_finit_module, module, "", 0))
		return errno;
	close(module);
	return 0;
}

static int check(const char *congestion)
{
	int handle = socket(AF_INET, SOCK_STREAM, 0);
	int error = setsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, congestion, strlen(congestion)) ? errno : 0;

	close(handle);
	return error;
}

static void give_up(uint16_t from, int error)
{
	answer_number(GIVEN_UP, from, error);
}

static struct answer shown(uint16_t from)
{
	struct answer answer = { .kind = SHOW, .from = from, .number = receivers[from].number };
	socklen_t length = sizeof(answer.info);

	if (senders[from].socket && !getsockopt(senders[from].socket, IPPROTO_TCP, TCP_INFO, answer.info, &length))
		answer.info_bytes = length;
	return answer;
}

static void end_sender(uint16_t from)
{
	closed[from] = malloc(sizeof(struct answer));
	*closed[from] = shown(from);
	close(senders[from].socket);
	senders[from].socket = 0;
}

static void write_more(uint16_t from)
{
	struct end *end = &senders[from];

	if (!end->socket || !end->is_connected || end->is_shut)
		return;
	while (end->is_endless || end->number) {
		size_t size = end->is_endless || end->number > WRITE_BYTES ? WRITE_BYTES : end->number;
		ssize_t written = send(end->socket, zeros, size, MSG_NOSIGNAL);
		if (written < 0)
			return;
		if (!end->is_endless)
			end->number -= written;
		if ((size_t)written < size)
			return;
	}
	if (!end->is_kept) {
		// Shutting down is an event of its own socket.
		end->is_shut = true;
		shutdown(end->socket, SHUT_WR);
	}
}

static int listen_at(uint16_t to, const char *congestion)
{
	struct sockaddr_in local = address_of(RECEIVER, to);

	if (listeners[to])
		return 0;
	setns(namespaces[2], CLONE_NEWNET);
	listeners[to] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (setsockopt(listeners[to], IPPROTO_TCP, TCP_CONGESTION, congestion, strlen(congestion)) ||
	    bind(listeners[to], (void *)&local, sizeof(local)) || listen(listeners[to], 65535) ||
	    watch(listeners[to], LISTENING, to, EPOLLIN))
		return errno;
	return 0;
}

static int open_connection(const struct command *command)
{
	struct sockaddr_in local = address_of(SENDER, command->from), remote = address_of(RECEIVER, command->to);
	struct end *end = &senders[command->from];
	int is_true = 1, error = listen_at(command->to, command->text);

	if (error)
		return error;
	if (end->socket)
		return EADDRINUSE;
	setns(namespaces[1], CLONE_NEWNET);
	*end = (struct end){ .number = command->number, .is_kept = command->is_kept };
	end->is_endless = command->number == UINT64_MAX;
	receivers[command->from].number = 0;
	free(closed[command->from]);
	closed[command->from] = NULL;
	end->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(end->socket, SOL_SOCKET, SO_REUSEADDR, &is_true, sizeof(is_true));
	if (setsockopt(end->socket, IPPROTO_TCP, TCP_CONGESTION, command->text, strlen(command->text)) ||
	    bind(end->socket, (void *)&local, sizeof(local)) ||
	    watch(end->socket, SENDING, command->from, EPOLLOUT | EPOLLRDHUP | EPOLLET))
		return errno;
	if (connect(end->socket, (void *)&remote, sizeof(remote)) && errno != EINPROGRESS)
		return errno;
	return 0;
}

// What a system call of a script returns. Sockets never block: a script knows when something is there.
static int64_t call(const struct command *command, struct answer *answer)
{
	struct sockaddr_in local = address_of(SENDER, command->to), remote = address_of(RECEIVER, command->to);
	socklen_t length = sizeof(answer->info);
	int descriptor = command->from, is_true = 1;

	switch ((enum call)command->is_kept) {
	case CALL_SOCKET:
		setns(namespaces[1], CLONE_NEWNET);
		descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &is_true, sizeof(is_true));
		return descriptor;
	case CALL_BIND:
		return bind(descriptor, (void *)&local, sizeof(local));
	case CALL_LISTEN:
		return listen(descriptor, command->number);
	case CALL_ACCEPT:
		return accept4(descriptor, NULL, NULL, SOCK_NONBLOCK);
	case CALL_CONNECT:
		return connect(descriptor, (void *)&remote, sizeof(remote));
	case CALL_SET:
		return setsockopt(descriptor, command->number >> 32, (int32_t)command->number, command->text, command->to);
	case CALL_WRITE: {
		int64_t written = 0;
		while ((uint64_t)written < command->number) {
			uint64_t left = command->number - written;
			ssize_t more = send(descriptor, zeros, left > WRITE_BYTES ? WRITE_BYTES : left,
					    MSG_NOSIGNAL | (left > WRITE_BYTES ? MSG_MORE : 0));
			if (more < 0)
				return written ?: -1;
			written += more;
		}
		return written;
	}
	case CALL_READ:
		return recv(descriptor, NULL, command->number, MSG_TRUNC);
	case CALL_SHUTDOWN:
		return shutdown(descriptor, command->number);
	case CALL_CLOSE:
		return close(descriptor);
	case CALL_INFO:
		if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, answer->info, &length))
			return -1;
		answer->info_bytes = length;
		return 0;
	}
	errno = ENOSYS;
	return -1;
}

static void obey(const struct command *command, const char *end)
{
	const char *second = command->text + strnlen(command->text, end - command->text) + 1;
	int error;

	switch (command->kind) {
	case MODULE:
		answer_number(MODULE, 0, second < end ? load(command->text, second) : EINVAL);
		break;
	case SYSCTL:
		answer_number(SYSCTL, 0, second < end ? set(command->text, second) : EINVAL);
		break;
	case CONGESTION:
		answer_number(CONGESTION, 0, check(command->text));
		break;
	case HOSTS:
		answer_number(HOSTS, 0, make_hosts(command->number));
		break;
	case SEGMENTS:
		setns(namespaces[1], CLONE_NEWNET);
		answer_number(SEGMENTS, 0, change_device("eth0", IFLA_GSO_MAX_SEGS, command->number));
		break;
	case OPEN:
		if ((error = open_connection(command)))
			give_up(command->from, error);
		break;
	case WRITE:
		senders[command->from].number += command->number;
		write_more(command->from);
		break;
	case CLOSE:
		if (senders[command->from].is_endless)
			senders[command->from].number = 0;
		senders[command->from].is_endless = senders[command->from].is_kept = false;
		write_more(command->from);
		break;
	case CALL: {
		struct answer answer = { .kind = CALL, .from = command->from };
		int64_t result = call(command, &answer);
		answer.number = result < 0 ? -errno : result;
		answer_with(&answer);
		break;
	}
	case SHOW: {
		struct answer now = shown(command->from);
		answer_with(closed[command->from] ?: &now);
		break;
	}
	default:
		break;
	}
}

static void on_sender(uint16_t from, uint32_t events)
{
	struct end *end = &senders[from];
	int error = 0;
	socklen_t length = sizeof(error);

	if (!end->socket)
		return;
	if (events & EPOLLERR) {
		getsockopt(end->socket, SOL_SOCKET, SO_ERROR, &error, &length);
		end_sender(from);
		give_up(from, error);
	} else if (events & (EPOLLHUP | EPOLLRDHUP)) {
		end_sender(from);
	} else {
		end->is_connected = true;
		write_more(from);
	}
}

// Reads from a connection; false if it has ended. MSG_TRUNC: what is read is discarded, without a copy.
static bool read_from(struct end *end, int flags)
{
	ssize_t got = recv(end->socket, NULL, READ_BYTES, MSG_TRUNC | flags);

	if (got > 0) {
		end->number += got;
	} else if (got == 0 || errno != EAGAIN) {
		close(end->socket);
		end->socket = 0;
	}
	return end->socket;
}

static void *read_until_end(void *end)
{
	while (read_from(end, MSG_WAITALL))
		;
	reader_count--;
	return NULL;
}

static bool start_reader(struct end *end)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (reader_count == READERS)
		return false;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	if (pthread_create(&thread, &attributes, read_until_end, end))
		return false;
	reader_count++;
	return true;
}

static void on_listener(uint16_t to)
{
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);
	int socket = accept(listeners[to], (void *)&peer, &length);
	struct end *end = &receivers[ntohs(peer.sin_port)];

	if (socket < 0)
		return;
	end->socket = socket;
	if (!start_reader(end))
		watch(socket, RECEIVING, ntohs(peer.sin_port), EPOLLIN);
}

static void on_control(void)
{
	_Alignas(8) char buffer[4096];
	ssize_t length = recv(control, buffer, sizeof(buffer) - 1, 0);

	if (length < (ssize_t)sizeof(struct command))
		return;
	buffer[length] = 0;
	obey((struct command *)buffer, buffer + length);
}

int main(void)
{
	struct epoll_event events[64];

	if (mount("proc", "/proc", "proc", 0, NULL))
		return 2;
	namespaces[0] = open("/proc/self/ns/net", O_RDONLY);
	namespace_count = 1;
	polled = epoll_create1(0);
	control = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(PROTOCOL));
	control_index = if_nametoindex("eth2");
	if (namespaces[0] < 0 || polled < 0 || control < 0 || bring_up("eth2", NULL, 0) ||
	    watch(control, CONTROL, 0, EPOLLIN))
		return 3;
	answer_number(READY, 0, 0);
	for (;;) {
		int count = epoll_wait(polled, events, 64, -1);
		for (int event = 0; event < count; event++) {
			uint16_t port = events[event].data.u64;
			switch ((enum role)(events[event].data.u64 >> 32)) {
			case CONTROL:
				on_control();
				break;
			case SENDING:
				on_sender(port, events[event].events);
				break;
			case RECEIVING:
				read_from(&receivers[port], MSG_DONTWAIT);
				break;
			case LISTENING:
				on_listener(port);
				break;
			}
		}
	}
}
