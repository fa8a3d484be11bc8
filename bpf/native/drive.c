/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Drives one twin in user space as the stack does, to compare it with its algorithm: reads events, one a line, and
 * prints the window in segments, the threshold, the window with its fraction in 2^-24 segments, and the probes.
 *
 *   parameter NAME VALUE
 *   handshake NOW RTT      the SYN is acknowledged, before the algorithm is initialized
 *   init NOW MSS UNA NXT CWND SSTHRESH
 *   ack NOW UNA NXT ACKED RTT IS_LIMITED DELIVERED RECOVERY QUEUEING ECHO
 *                          RTT and QUEUEING: -1 for none; RECOVERY: 1 within one, 2 if the ACK ends it
 *   duplicate NOW DELIVERED
 *   react NOW STATE        the stack asks for a threshold and enters the state; 4, a timeout, leaves one segment
 *   miss NOW STATE SSTHRESH
 *                          the same, but the kernel leaves out the programs and takes this threshold
 *   enter NOW STATE        it enters the state without asking
 *   open                   the state after a timeout ends
 *   undo                   a reaction was spurious
 *
 * Compiled with TWIN defined as the path of the source.
 */
#include TWIN

#include <stdio.h>
#include <stdlib.h>

static struct tcp_sock socket_;
static u32 prior_ssthresh;

extern const struct parameter __start_parameters[] __attribute__((weak));
extern const struct parameter __stop_parameters[] __attribute__((weak));

static void set_parameter(const char *name, s64 value)
{
	for (const struct parameter *known = __start_parameters; known < __stop_parameters; known++) {
		if (strcmp(known->name, name))
			continue;
		memcpy(known->value, &value, known->size);
		return;
	}
	fprintf(stderr, "%s is no parameter\n", name);
	exit(1);
}

static void enter(int state)
{
	struct sock *sk = (struct sock *)&socket_;

	if (state == TCP_CA_Loss)
		socket_.snd_cwnd = 1;
	if (congestion_control.set_state)
		congestion_control.set_state(sk, state);
	socket_.inet_conn.icsk_ca_state = state;
}

/* Lets the socket hear the option of a segment, if the twin has one. */
static void hear_option(s32 queueing, s32 echo)
{
#ifdef AQT_KIND
	struct bpf_sock_ops ops = {.op = BPF_SOCK_OPS_PARSE_HDR_OPT_CB, .sk = (void *)&socket_};

	memset(native_received, 0, sizeof(native_received));
	if (queueing >= 0) {
		native_received[0] = AQT_KIND;
		native_received[1] = AQT_LENGTH;
		for (int byte = 0; byte < 3; byte++) {
			native_received[2 + byte] = queueing >> (16 - 8 * byte);
			native_received[5 + byte] = echo >> (16 - 8 * byte);
		}
	}
	options(&ops);
#endif
}

static void print(void)
{
	printf("%u %u %llu", socket_.snd_cwnd, socket_.snd_ssthresh,
	       (unsigned long long)*(u64 *)inet_csk_ca((struct sock *)&socket_));
#ifdef PROBES_H
	const s64 *probes = (const s64 *)&((struct record *)native_record)->probes;

	for (unsigned long index = 0; index < sizeof(struct probes) / sizeof(s64); index++)
		printf(" %lld", (long long)probes[index]);
#endif
	printf("\n");
}

int main(void)
{
	struct sock *sk = (struct sock *)&socket_;
	char line[256], name[64];
	unsigned long long now;
	int state;

#ifdef PROBES_H
	is_probing = 1;
	for (unsigned long index = 0; index < sizeof(struct probes) / sizeof(s64); index++)
		((s64 *)&((struct record *)native_record)->probes)[index] = ABSENT;
#endif
	memcpy(native_congestion, congestion_control.name, sizeof(native_congestion));
	while (fgets(line, sizeof(line), stdin)) {
		struct tcp_sock *tp = &socket_;
		struct ack_sample sample = {};
		long long value;
		int limited, recovery, queueing, echo;

		if (sscanf(line, "parameter %63s %lld", name, &value) == 2) {
			set_parameter(name, value);
			continue;
		}
		if (sscanf(line, "handshake %llu %d", &now, &sample.rtt_us) == 2) {
			tp->tcp_mstamp = now;
			tp->snd_una = 1;
			tp->delivered = 1;
			if (congestion_control.pkts_acked)
				congestion_control.pkts_acked(sk, &sample);
			/* What is delivered counts from here. */
			tp->delivered = 0;
			continue;
		}
		if (sscanf(line, "init %llu %u %u %u %u %u", &now, &tp->mss_cache, &tp->snd_una, &tp->snd_nxt,
			   &tp->snd_cwnd, &tp->snd_ssthresh) == 6) {
			tp->tcp_mstamp = now;
			tp->snd_cwnd_clamp = ~0U;
			if (congestion_control.init)
				congestion_control.init(sk);
		} else if (sscanf(line, "ack %llu %u %u %u %d %d %u %d %d %d", &now, &tp->snd_una, &tp->snd_nxt,
				  &sample.pkts_acked, &sample.rtt_us, &limited, &tp->delivered, &recovery, &queueing,
				  &echo) == 10) {
			tp->tcp_mstamp = now;
			tp->is_cwnd_limited = limited;
			hear_option(queueing, echo);
			if (congestion_control.pkts_acked)
				congestion_control.pkts_acked(sk, &sample);
			if (recovery == 2) {
				/* The stack tells the state first, and then sets the window. */
				enter(TCP_CA_Open);
				tp->snd_cwnd = tp->snd_ssthresh;
			}
			if (recovery != 1)
				congestion_control.cong_avoid(sk, tp->snd_una, sample.pkts_acked);
		} else if (sscanf(line, "duplicate %llu %u", &now, &tp->delivered) == 2) {
			tp->tcp_mstamp = now;
			sample.rtt_us = -1;
			if (congestion_control.pkts_acked)
				congestion_control.pkts_acked(sk, &sample);
		} else if (sscanf(line, "react %llu %d", &now, &state) == 2) {
			tp->tcp_mstamp = now;
			tp->prior_cwnd = tp->snd_cwnd;
			prior_ssthresh = tp->snd_ssthresh;
			tp->snd_ssthresh = congestion_control.ssthresh(sk);
			enter(state);
		} else if (sscanf(line, "miss %llu %d %u", &now, &state, &tp->snd_ssthresh) == 3) {
			tp->tcp_mstamp = now;
			tp->prior_cwnd = tp->snd_cwnd;
			tp->inet_conn.icsk_ca_state = state;
			/* A recovery moves the window towards the threshold at once. */
			tp->snd_cwnd = state == TCP_CA_Loss ? 1 : most(tp->snd_cwnd, tp->snd_ssthresh / tp->prior_cwnd);
		} else if (sscanf(line, "enter %llu %d", &now, &state) == 2) {
			tp->tcp_mstamp = now;
			enter(state);
		} else if (!strcmp(line, "open\n")) {
			enter(TCP_CA_Open);
		} else if (!strcmp(line, "undo\n")) {
			tp->snd_cwnd = congestion_control.undo_cwnd(sk);
			if (prior_ssthresh > tp->snd_ssthresh)
				tp->snd_ssthresh = prior_ssthresh;
			enter(TCP_CA_Open);
		} else {
			fprintf(stderr, "unknown event: %s", line);
			return 1;
		}
		print();
	}
	return 0;
}
