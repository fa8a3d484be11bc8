//! The state of a TCP socket as the kernel tells it (`TCP_INFO`).
//!
//! The structure grows from release to release, and the kernel fills as much of it as it knows. What a kernel does not
//! know reads as zero.

use nix::errno::Errno;
use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsFd, AsRawFd};

/// Size of the structure up to the last field that is read, in bytes.
const SIZE: usize = 248;

/// Threshold of a connection that has not left slow start by a loss.
const UNLIMITED: u32 = 0x7fff_ffff;

/// Most bytes that a receiver can offer [RFC 7323 §2.3].
const MOST_OUTSTANDING: u64 = 1 << 30;

/// States of a connection whose peer has sent its last byte, as the kernel numbers them: TIME_WAIT, CLOSE, CLOSE_WAIT,
/// LAST_ACK and CLOSING.
const AFTER_FIN: [u8; 5] = [6, 7, 8, 9, 11];

/// The fields of `struct tcp_info` that are used, by their offset in bytes.
mod offset {
    pub const STATE: usize = 0;
    pub const RTO: usize = 8;
    pub const SND_MSS: usize = 16;
    pub const UNACKED: usize = 24;
    pub const RTT: usize = 68;
    pub const SND_SSTHRESH: usize = 76;
    pub const SND_CWND: usize = 80;
    pub const TOTAL_RETRANS: usize = 100;
    pub const PACING_RATE: usize = 104;
    pub const BYTES_ACKED: usize = 120;
    pub const BYTES_RECEIVED: usize = 128;
    pub const NOTSENT_BYTES: usize = 144;
    pub const MIN_RTT: usize = 148;
    pub const DATA_SEGS_OUT: usize = 156;
    pub const BYTES_SENT: usize = 200;
    pub const BYTES_RETRANS: usize = 208;
    pub const TOTAL_RTO: usize = 240;
}

/// The state of a socket.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    bytes: [u8; SIZE],
}

impl TcpInfo {
    /// Asks the kernel for the state of a TCP socket.
    ///
    /// # Errors
    ///
    /// It is not a TCP socket.
    #[allow(unsafe_code, reason = "no safe wrapper of this system call knows the whole structure")]
    pub fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
        let mut bytes = [0; SIZE];
        let mut length = size_of_val(&bytes) as nix::libc::socklen_t;
        let descriptor = socket.as_fd().as_raw_fd();
        // SAFETY: the descriptor is open during the call, and the kernel writes at most `length` bytes to `bytes`,
        // which is that long.
        let result = unsafe {
            nix::libc::getsockopt(
                descriptor,
                nix::libc::IPPROTO_TCP,
                nix::libc::TCP_INFO,
                (&raw mut bytes).cast(),
                &raw mut length,
            )
        };
        Errno::result(result)?;
        Ok(TcpInfo { bytes })
    }

    fn number<const N: usize>(&self, offset: usize) -> [u8; N] {
        let mut number = [0; N];
        number.copy_from_slice(&self.bytes[offset..offset + N]);
        number
    }

    fn u32(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.number(offset))
    }

    fn u64(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.number(offset))
    }

    fn seconds(&self, offset: usize) -> f64 {
        f64::from(self.u32(offset)) * 1e-6
    }

    /// Congestion window, in segments; `None` while it is more than a connection can use: a kernel that leaves out the
    /// programs of a twin shows an arbitrary window until the next ACK.
    pub fn cwnd(&self) -> Option<u32> {
        let segment = u64::from(self.u32(offset::SND_MSS));
        Some(self.u32(offset::SND_CWND)).filter(|cwnd| u64::from(*cwnd) * segment <= MOST_OUTSTANDING)
    }

    /// Slow-start threshold, in segments; `None` while it is unlimited.
    pub fn ssthresh(&self) -> Option<u32> {
        Some(self.u32(offset::SND_SSTHRESH)).filter(|ssthresh| *ssthresh < UNLIMITED)
    }

    /// Smoothed round-trip time, in seconds; `None` before the first sample.
    pub fn srtt(&self) -> Option<f64> {
        Some(self.seconds(offset::RTT)).filter(|srtt| *srtt > 0.0)
    }

    /// Minimum round-trip time of the last five minutes, in seconds; `None` before the first sample.
    pub fn min_rtt(&self) -> Option<f64> {
        Some(self.u32(offset::MIN_RTT))
            .filter(|rtt| *rtt > 0 && *rtt < u32::MAX)
            .map(|rtt| f64::from(rtt) * 1e-6)
    }

    /// Retransmission timeout, in seconds.
    pub fn rto(&self) -> f64 {
        self.seconds(offset::RTO)
    }

    /// Segments sent and not acknowledged.
    pub fn unacked(&self) -> u32 {
        self.u32(offset::UNACKED)
    }

    /// Bytes written and not yet sent.
    pub fn notsent_bytes(&self) -> u32 {
        self.u32(offset::NOTSENT_BYTES)
    }

    /// Pacing rate, in bit/s; `None` if the connection is not paced.
    pub fn pacing_rate(&self) -> Option<f64> {
        Some(self.u64(offset::PACING_RATE)).filter(|rate| *rate < u64::MAX).map(|rate| rate as f64 * 8.0)
    }

    /// Bytes acknowledged.
    pub fn bytes_acked(&self) -> u64 {
        self.u64(offset::BYTES_ACKED)
    }

    /// New bytes received in order. The kernel counts a FIN as a byte, which is not data.
    pub fn bytes_received(&self) -> u64 {
        let has_ended = AFTER_FIN.contains(&self.bytes[offset::STATE]);
        self.u64(offset::BYTES_RECEIVED).saturating_sub(u64::from(has_ended))
    }

    /// Payload bytes sent, including retransmissions.
    pub fn bytes_sent(&self) -> u64 {
        self.u64(offset::BYTES_SENT)
    }

    /// Payload bytes retransmitted.
    pub fn bytes_retransmitted(&self) -> u64 {
        self.u64(offset::BYTES_RETRANS)
    }

    /// Data segments sent, including retransmissions.
    pub fn segments_sent(&self) -> u64 {
        u64::from(self.u32(offset::DATA_SEGS_OUT))
    }

    /// Segments retransmitted.
    pub fn segments_retransmitted(&self) -> u64 {
        u64::from(self.u32(offset::TOTAL_RETRANS))
    }

    /// Expirations of the retransmission timer; zero before Linux 6.7.
    pub fn timeouts(&self) -> u64 {
        u64::from(u16::from_ne_bytes(self.number(offset::TOTAL_RTO)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_transfer_on_this_host_is_counted_on_both_sides() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut sender = TcpStream::connect(listener.local_addr().expect("an address")).expect("a peer");
        let (mut receiver, _) = listener.accept().expect("a peer");
        sender.write_all(&[7; 5000]).expect("room");
        receiver.read_exact(&mut [0; 5000]).expect("5000 bytes");
        let (sent, received) =
            (TcpInfo::of(&sender).expect("a socket"), TcpInfo::of(&receiver).expect("a socket"));
        assert_eq!((sent.bytes_sent(), received.bytes_received()), (5000, 5000));
        assert_eq!((sent.segments_retransmitted(), sent.timeouts(), sent.ssthresh()), (0, 0, None));
        drop(sender);
        assert_eq!(receiver.read(&mut [0; 1]).expect("the end"), 0);
        assert_eq!(TcpInfo::of(&receiver).expect("a socket").bytes_received(), 5000);
        assert!(sent.cwnd() >= Some(10) && sent.segments_sent() >= 1, "{:?}", sent.cwnd());
        assert!(sent.srtt().is_some_and(|srtt| srtt < 1.0) && sent.rto() < 10.0);
    }

    #[test]
    fn a_window_that_no_connection_can_use_is_not_shown() {
        let shown = |cwnd: u32| {
            let mut info = TcpInfo { bytes: [0; SIZE] };
            info.bytes[offset::SND_MSS..][..4].copy_from_slice(&1448_u32.to_ne_bytes());
            info.bytes[offset::SND_CWND..][..4].copy_from_slice(&cwnd.to_ne_bytes());
            info.cwnd()
        };
        assert_eq!([14, 741_000, 742_000, 154_666_163].map(shown), [Some(14), Some(741_000), None, None]);
    }
}
