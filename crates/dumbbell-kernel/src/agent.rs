//! Commands to the agent in a guest (`python/dumbbell/kernel/agent.c`), and its answers.

use crate::frames::{self, ETHERNET};
use dumbbell_sim::transport::Shown;

/// Ethernet type of the frames between engine and agent.
const PROTOCOL: [u8; 2] = [0x88, 0xb5];

/// Size of an answer without what a connection shows, in bytes.
const ANSWER: usize = 16;

/// `tcpi_snd_ssthresh` while there is no threshold.
const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// Fields of `struct tcp_info`, each with its place and its size in bytes (`include/uapi/linux/tcp.h`).
const FIELDS: [(&str, usize, usize); 46] = [
    ("tcpi_state", 0, 1),
    ("tcpi_ca_state", 1, 1),
    ("tcpi_retransmits", 2, 1),
    ("tcpi_probes", 3, 1),
    ("tcpi_backoff", 4, 1),
    ("tcpi_options", 5, 1),
    ("tcpi_rto", 8, 4),
    ("tcpi_ato", 12, 4),
    ("tcpi_snd_mss", 16, 4),
    ("tcpi_rcv_mss", 20, 4),
    ("tcpi_unacked", 24, 4),
    ("tcpi_sacked", 28, 4),
    ("tcpi_lost", 32, 4),
    ("tcpi_retrans", 36, 4),
    ("tcpi_last_data_sent", 44, 4),
    ("tcpi_last_ack_sent", 48, 4),
    ("tcpi_last_data_recv", 52, 4),
    ("tcpi_last_ack_recv", 56, 4),
    ("tcpi_pmtu", 60, 4),
    ("tcpi_rcv_ssthresh", 64, 4),
    ("tcpi_rtt", 68, 4),
    ("tcpi_rttvar", 72, 4),
    ("tcpi_snd_ssthresh", 76, 4),
    ("tcpi_snd_cwnd", 80, 4),
    ("tcpi_advmss", 84, 4),
    ("tcpi_reordering", 88, 4),
    ("tcpi_rcv_rtt", 92, 4),
    ("tcpi_rcv_space", 96, 4),
    ("tcpi_total_retrans", 100, 4),
    ("tcpi_pacing_rate", 104, 8),
    ("tcpi_max_pacing_rate", 112, 8),
    ("tcpi_bytes_acked", 120, 8),
    ("tcpi_bytes_received", 128, 8),
    ("tcpi_segs_out", 136, 4),
    ("tcpi_segs_in", 140, 4),
    ("tcpi_notsent_bytes", 144, 4),
    ("tcpi_min_rtt", 148, 4),
    ("tcpi_delivery_rate", 160, 8),
    ("tcpi_busy_time", 168, 8),
    ("tcpi_rwnd_limited", 176, 8),
    ("tcpi_sndbuf_limited", 184, 8),
    ("tcpi_delivered", 192, 4),
    ("tcpi_delivered_ce", 196, 4),
    ("tcpi_dsack_dups", 216, 4),
    ("tcpi_reord_seen", 220, 4),
    ("tcpi_rcv_wnd", 232, 4),
];

/// A command: its letter, ports of sender and receiver, a number and a text.
#[derive(Clone, Debug, Default)]
pub struct Command<'a> {
    /// Its letter, see `python/dumbbell/kernel/agent.c`.
    pub kind: u8,
    /// 1 if more may be written later on a connection that is opened, or the number of a system call.
    pub detail: u8,
    /// Ports of sender and receiver.
    pub ports: (u16, u16),
    /// A number, which depends on the command.
    pub number: u64,
    /// A text, which depends on the command.
    pub text: &'a [u8],
}

impl Command<'_> {
    /// The frame of the command, to a hardware address.
    pub fn frame(&self, to: [u8; 6]) -> Vec<u8> {
        let mut frame = Vec::new();
        frames::begin(&mut frame, to, PROTOCOL);
        frame.extend([self.kind, self.detail]);
        frame.extend(self.ports.0.to_le_bytes());
        frame.extend(self.ports.1.to_le_bytes());
        frame.extend([0; 2]);
        frame.extend(self.number.to_le_bytes());
        frame.extend(self.text);
        frame
    }
}

/// An answer of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its letter, that of the command.
    pub kind: u8,
    /// Port of the sender of its connection.
    pub port: u16,
    /// An error, or bytes that a receiver has read.
    pub number: u64,
    /// `struct tcp_info` of a connection.
    pub info: Vec<u8>,
}

impl Answer {
    /// Reads a frame of the agent.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let (header, rest) = frame.split_first_chunk::<ETHERNET>()?;
        let (answer, info) = rest.split_first_chunk::<ANSWER>()?;
        let [kind, _, p0, p1, _, _, _, _, number @ ..] = *answer;
        let is_answer = header.ends_with(&PROTOCOL);
        let port = u16::from_le_bytes([p0, p1]);
        is_answer.then(|| Answer { kind, port, number: u64::from_le_bytes(number), info: info.to_vec() })
    }

    /// A number in `struct tcp_info`; `None` if the kernel does not have it.
    fn word<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.info.get(at..at + N)?.try_into().ok()
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.word(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.word(at).map(u64::from_le_bytes)
    }

    /// The value of a field of `struct tcp_info`, as `tcpi_snd_cwnd`; `None` if the kernel or this list does not have it.
    pub fn field(&self, name: &str) -> Option<i64> {
        let (at, size) =
            FIELDS.iter().find(|(known, _, _)| *known == name).map(|(_, at, size)| (*at, *size))?;
        match size {
            1 => self.word::<1>(at).map(|[byte]| byte.into()),
            4 => self.u32(at).map(i64::from),
            _ => self.u64(at).map(u64::cast_signed),
        }
    }

    /// What the connection shows, as far as `struct tcp_info` says it (`include/uapi/linux/tcp.h`).
    pub fn shown(&self) -> Shown {
        let seconds = |micros: u32| f64::from(micros) / 1e6;
        let mss = self.u32(16).unwrap_or(0);
        let in_flight = || {
            let [unacked, sacked, lost, retrans] =
                [self.u32(24)?, self.u32(28)?, self.u32(32)?, self.u32(36)?];
            let packets = u64::from(unacked) + u64::from(retrans);
            Some(packets.saturating_sub(u64::from(sacked) + u64::from(lost)) * u64::from(mss))
        };
        let bytes = |segments: u32| f64::from(segments) * f64::from(mss);
        Shown {
            mss,
            cwnd: self.u32(80).map(bytes),
            ssthresh: self.u32(76).map(
                |segments| {
                    if segments >= NO_SSTHRESH { f64::INFINITY } else { bytes(segments) }
                },
            ),
            in_flight: in_flight(),
            srtt: self.u32(68).map(seconds),
            min_rtt: self.u32(148).filter(|least| *least < u32::MAX).map(seconds),
            rto: self.u32(8).map(seconds),
            pacing_rate: self.u64(104).filter(|rate| *rate < u64::MAX).map(|rate| rate as f64 * 8.0),
            segments_sent: self.u32(156).map(u64::from),
            segments_retransmitted: self.u32(100).map(u64::from),
            bytes_retransmitted: self.u64(208),
            timeouts: self.word(240).map(|count| u16::from_le_bytes(count).into()),
            ..Shown::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_its_numbers_and_its_text() {
        let command = Command { kind: b'O', detail: 1, ports: (0x102, 5000), number: 9, text: b"reno" };
        let frame = command.frame([2, 0, 0, 0, 0, 2]);
        assert_eq!(frame[12..14], PROTOCOL);
        assert_eq!(frame[14..22], [b'O', 1, 2, 1, 0x88, 0x13, 0, 0]);
        assert_eq!(frame[22..], *b"\x09\0\0\0\0\0\0\0reno");
    }

    #[test]
    fn an_old_kernel_shows_less() {
        let mut frame = Vec::new();
        frames::begin(&mut frame, [0; 6], PROTOCOL);
        frame.extend([b'S', 0, 2, 1, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        let mut info = vec![0; 240];
        info[16..20].copy_from_slice(&1000_u32.to_le_bytes());
        info[24..28].copy_from_slice(&5_u32.to_le_bytes());
        info[28..32].copy_from_slice(&2_u32.to_le_bytes());
        info[76..80].copy_from_slice(&NO_SSTHRESH.to_le_bytes());
        info[80..84].copy_from_slice(&10_u32.to_le_bytes());
        info[148..152].copy_from_slice(&41_000_u32.to_le_bytes());
        frame.extend(&info);
        let answer = Answer::parse(&frame).expect("an answer");
        assert_eq!((answer.kind, answer.port, answer.number), (b'S', 0x102, 7));
        let shown = answer.shown();
        assert_eq!((shown.cwnd, shown.in_flight, shown.timeouts), (Some(10_000.0), Some(3000), None));
        assert_eq!((shown.ssthresh, shown.min_rtt), (Some(f64::INFINITY), Some(0.041)));
        assert_eq!(Answer::parse(&frame[..20]), None);
    }
}
