//! A trace of video frames: frames at fixed intervals, divided into packets that are sent together.

use super::{Codepoint, Datagrams, Emission, Packets, packet_count};
use dumbbell_units::{Bytes, Stream, Time, params};

params! {
    /// Frames of given sizes at a constant frame rate; the sequence repeats.
    pub struct Frames {
        /// Size of each frame on the wire.
        sizes: Vec<Bytes> = vec![Bytes(1000)], "bytes", "-",
            |sizes| sizes.iter().any(|size| size.0 > 0), "sizes that are not all 0";
        /// Frames per second.
        frame_rate: f64 = 24.0, "1/s", "[garrett1994 §2]", |rate| (1e-3..=1e6).contains(rate), "a number from 0.001 to 1000000";
        /// Maximum packet size on the wire.
        packet: Bytes = Bytes(1000), "bytes", "-", |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// First frame to send, counted from 0.
        start_frame: u64 = 0, "frames", "-";
        /// ECN codepoint of the packets.
        ecn: Codepoint = Codepoint::NotEct, "-", "RFC 9331 §4.1";
    }
}

impl Datagrams for Frames {
    /// Number of frames so far, including empty ones.
    type State = u64;

    fn start(&self, _random: &mut Stream) -> u64 {
        0
    }

    fn packets(&self) -> Packets {
        Packets { size: self.packet, ecn: self.ecn, rate: None }
    }

    fn largest_emission(&self) -> u64 {
        packet_count(self.sizes.iter().map(|size| size.0).max().unwrap_or_default() as f64, self.packet)
    }

    fn next(&self, passed: &mut u64, _random: &mut Stream) -> Option<Emission> {
        loop {
            let after_start = Time::from_secs(*passed as f64 / self.frame_rate);
            let at = self.start_frame.wrapping_add(*passed) % self.sizes.len() as u64;
            let bytes = self.sizes[at as usize].0;
            *passed += 1;
            if bytes > 0 {
                return Some(Emission { after_start, bytes, packet: self.packet.0 as u32 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_sent_at_fixed_times_and_empty_frames_are_skipped() {
        let sizes = vec![Bytes(1500), Bytes(0), Bytes(700)];
        let source = Frames { sizes, frame_rate: 10.0, start_frame: 2, ..Frames::default() };
        let (mut passed, mut random) = (0, Stream::new(1, 0, "frames"));
        let mut next = || {
            let emission = source.next(&mut passed, &mut random).unwrap();
            (emission.after_start.0 / 1_000_000, emission.bytes)
        };
        assert_eq!([next(), next(), next(), next()], [(0, 700), (100, 1500), (300, 700), (400, 1500)]);
    }

    #[test]
    fn the_largest_emission_is_the_largest_frame_in_whole_packets() {
        let largest = |sizes: &[u64]| {
            let sizes = sizes.iter().map(|&size| Bytes(size)).collect();
            Frames { sizes, packet: Bytes(1000), ..Frames::default() }.largest_emission()
        };
        assert_eq!(largest(&[700, 2500, 0]), 3);
        assert_eq!(largest(&[2000]), 2);
    }
}
