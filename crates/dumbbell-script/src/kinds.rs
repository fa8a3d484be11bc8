//! Kinds of conversations: what happens in each is drawn from a seed.

use crate::converse::{Conditions, Transmission};
use dumbbell_units::{Stream, Time};

/// Payload of a full segment, with timestamps.
const SEGMENT: u64 = 1448;

/// The same without timestamps.
const LONGER_SEGMENT: u64 = 1460;

/// Transmissions of a segment of which each is drawn whether it is lost.
const TRANSMISSIONS: u32 = 4;

/// Room for everything that waits before a bottleneck.
const WITHOUT_LOSS: u64 = 10_000;

/// A kind of conversations.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What happens, in a sentence.
    pub summary: &'static str,
    draw: fn(&mut Draw) -> Conditions,
}

impl Kind {
    /// A conversation of this kind.
    pub fn conditions(&self, seed: u64) -> Conditions {
        let mut draw = Draw(Stream::new(seed, 0, self.name));
        (self.draw)(&mut draw)
    }

    /// The kind of a name.
    pub fn named(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == name)
    }
}

/// What conversations are made of.
struct Draw(Stream);

impl Draw {
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + (self.0.uniform() * (high - low) as f64) as u64
    }

    /// A time without a whole number of milliseconds, so that nothing happens together by chance.
    fn time(&mut self, low_ms: u64, high_ms: u64) -> Time {
        Time(self.between(low_ms * 1_000_000, high_ms * 1_000_000) | 1)
    }

    fn one_of<'a>(&mut self, names: &[&'a str]) -> &'a str {
        names[self.between(0, names.len() as u64) as usize]
    }

    /// A transfer of some segments by Reno or CUBIC.
    fn transfer(&mut self, low: u64, high: u64) -> (Conditions, u64) {
        let segments = self.between(low, high);
        let conditions = Conditions {
            congestion: self.one_of(&["reno", "cubic"]).into(),
            rtt: self.time(10, 120),
            bottleneck: Some((Time(self.between(10_000, 40_000) | 1), WITHOUT_LOSS)),
            writes: vec![(Time(1_000_000), segments * SEGMENT)],
            ..Conditions::default()
        };
        (conditions, segments)
    }

    /// A few segments at times, as of an application that waits.
    fn requests(&mut self, count: u64, low: u64, high: u64, pause_ms: (u64, u64)) -> (Conditions, u64) {
        let (mut conditions, _) = self.transfer(1, 2);
        conditions.writes.clear();
        let (mut at, mut segments) = (Time(1_000_000), 0);
        for _ in 0..count {
            let size = self.between(low, high);
            conditions.writes.push((at, size * SEGMENT));
            segments += size;
            at += self.time(pause_ms.0, pause_ms.1);
        }
        (conditions, segments)
    }

    /// Transmissions of the segments up to `segments`, each with this probability.
    fn some(&mut self, segments: u64, probability: f64) -> Vec<Transmission> {
        let all = (0..segments).flat_map(|segment| (0..TRANSMISSIONS).map(move |sent| (segment, sent)));
        all.filter(|_| self.0.chance(probability)).collect()
    }

    /// Numbers up to a limit, each with this probability.
    fn numbers(&mut self, limit: u64, probability: f64) -> Vec<u64> {
        (0..limit).filter(|_| self.0.chance(probability)).collect()
    }
}

/// The kinds.
pub const KINDS: &[Kind] = &[
    Kind { name: "single-loss", summary: "one segment of a transfer is lost", draw: single_loss },
    Kind { name: "burst-loss", summary: "segments in a row are lost", draw: burst_loss },
    Kind {
        name: "random-loss",
        summary: "one to five percent of all transmissions are lost",
        draw: random_loss,
    },
    Kind {
        name: "small-window",
        summary: "losses in a receive window of 3 to 9 segments",
        draw: small_window,
    },
    Kind { name: "tail-loss", summary: "the last segments of a transfer are lost", draw: tail_loss },
    Kind {
        name: "lost-retransmission",
        summary: "a segment and its first retransmissions are lost",
        draw: lost_retransmission,
    },
    Kind { name: "lost-acks", summary: "acknowledgements are lost, and some data", draw: lost_acks },
    Kind { name: "repeated-timeouts", summary: "everything is lost for a while", draw: repeated_timeouts },
    Kind {
        name: "spurious-timeouts",
        summary: "the bottleneck stops for longer than a timeout",
        draw: spurious_timeouts,
    },
    Kind { name: "reordering", summary: "some segments are late by several milliseconds", draw: reordering },
    Kind {
        name: "reordering-and-loss",
        summary: "some segments are late, and some are lost",
        draw: reordering_and_loss,
    },
    Kind { name: "application-limited", summary: "bursts of an application with pauses", draw: limited },
    Kind {
        name: "application-limited-and-loss",
        summary: "bursts of an application with pauses, and losses",
        draw: limited_and_loss,
    },
    Kind { name: "thin", summary: "one to four segments at a time", draw: thin },
    Kind { name: "idle", summary: "transfers after silence of up to some timeouts", draw: idle },
    Kind { name: "bulk", summary: "a transfer through a bottleneck whose buffer overflows", draw: bulk },
    Kind { name: "ecn", summary: "segments are marked (RFC 3168)", draw: ecn },
    Kind { name: "ecn-and-loss", summary: "segments are marked, and some are lost", draw: ecn_and_loss },
    Kind { name: "dctcp", summary: "DCTCP with marks", draw: dctcp },
    Kind {
        name: "delayed-acks",
        summary: "every second segment is acknowledged, with losses",
        draw: delayed,
    },
    Kind { name: "no-timestamps", summary: "losses without timestamps", draw: no_timestamps },
    Kind {
        name: "partial-segment",
        summary: "losses of a transfer whose last segment is not full",
        draw: partial_segment,
    },
    Kind { name: "no-sack", summary: "losses without selective acknowledgements", draw: no_sack },
    Kind { name: "controls", summary: "losses with the other congestion controls", draw: controls },
    Kind { name: "bbr", summary: "BBR with losses", draw: bbr },
    Kind { name: "bbr-ecn", summary: "BBR with marks (RFC 3168), and some losses", draw: bbr_ecn },
    Kind { name: "receiver", summary: "data arrives, with losses and duplicates", draw: receiver },
];

fn single_loss(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(20, 200);
    Conditions { lost: [(draw.between(0, segments), 0)].into(), ..conditions }
}

fn burst_loss(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(30, 200);
    let (first, count) = (draw.between(0, segments), draw.between(2, 20));
    Conditions { lost: (first..first + count).map(|segment| (segment, 0)).collect(), ..conditions }
}

fn random_loss(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(50, 300);
    let probability = draw.0.uniform_between(0.01, 0.05);
    Conditions { lost: draw.some(segments, probability).into_iter().collect(), ..conditions }
}

fn small_window(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(20, 100);
    let window = draw.between(3, 9) * SEGMENT;
    Conditions { window, lost: draw.some(segments, 0.03).into_iter().collect(), ..conditions }
}

fn tail_loss(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(1, 60);
    let count = draw.between(1, 6).min(segments);
    Conditions { lost: (segments - count..segments).map(|segment| (segment, 0)).collect(), ..conditions }
}

fn lost_retransmission(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(30, 200);
    let (segment, times) = (draw.between(0, segments), draw.between(2, 4) as u32);
    let mut lost: Vec<Transmission> = (0..times).map(|sent| (segment, sent)).collect();
    lost.extend(draw.some(segments, 0.01).into_iter().filter(|(_, sent)| *sent == 0));
    Conditions { lost: lost.into_iter().collect(), ..conditions }
}

fn lost_acks(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(30, 200);
    let (probability, lost) = (draw.0.uniform_between(0.05, 0.4), draw.some(segments, 0.01));
    let lost_acks = draw.numbers(2 * segments, probability).into_iter().collect();
    Conditions { lost: lost.into_iter().collect(), lost_acks, ..conditions }
}

fn repeated_timeouts(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(10, 100);
    let (first, times) = (draw.between(0, segments), draw.between(2, 5) as u32);
    let lost = (first..segments).flat_map(|segment| {
        let times = if segment == first { times } else { 1 };
        (0..times).map(move |sent| (segment, sent))
    });
    Conditions { lost: lost.collect(), ..conditions }
}

fn spurious_timeouts(draw: &mut Draw) -> Conditions {
    let (conditions, _) = draw.transfer(30, 150);
    let from = Time(draw.between(1_000_000, 5 * conditions.rtt.0));
    Conditions { pause: (from, draw.time(250, 900)), ..conditions }
}

fn reordering(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(50, 300);
    let probability = draw.0.uniform_between(0.01, 0.1);
    let late = draw.some(segments, probability);
    Conditions { late: late.into_iter().map(|sent| (sent, draw.time(1, 30))).collect(), ..conditions }
}

fn reordering_and_loss(draw: &mut Draw) -> Conditions {
    let conditions = reordering(draw);
    let lost = draw.some(300, 0.01);
    Conditions { lost: lost.into_iter().collect(), ..conditions }
}

fn limited(draw: &mut Draw) -> Conditions {
    let count = draw.between(5, 20);
    draw.requests(count, 1, 40, (20, 400)).0
}

fn limited_and_loss(draw: &mut Draw) -> Conditions {
    let count = draw.between(5, 15);
    let (conditions, segments) = draw.requests(count, 1, 30, (20, 400));
    Conditions { lost: draw.some(segments, 0.02).into_iter().collect(), ..conditions }
}

fn thin(draw: &mut Draw) -> Conditions {
    let count = draw.between(10, 60);
    let (conditions, segments) = draw.requests(count, 1, 5, (20, 200));
    Conditions { lost: draw.some(segments, 0.01).into_iter().collect(), ..conditions }
}

fn idle(draw: &mut Draw) -> Conditions {
    let count = draw.between(2, 6);
    draw.requests(count, 10, 60, (200, 3000)).0
}

fn bulk(draw: &mut Draw) -> Conditions {
    let (conditions, _) = draw.transfer(200, 800);
    let time = Time(draw.between(120_000, 2_400_000));
    Conditions { bottleneck: Some((time, draw.between(10, 100))), ..conditions }
}

fn ecn(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(50, 300);
    let marked = draw.some(segments, 0.02).into_iter().collect();
    Conditions { has_ecn: true, marked, ..conditions }
}

fn ecn_and_loss(draw: &mut Draw) -> Conditions {
    let conditions = ecn(draw);
    let lost = draw.some(300, 0.01);
    Conditions { lost: lost.into_iter().collect(), ..conditions }
}

fn dctcp(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(50, 300);
    let probability = draw.0.uniform_between(0.01, 0.2);
    let marked = draw.some(segments, probability).into_iter().collect();
    Conditions { has_ecn: true, is_exact: true, congestion: "dctcp".into(), marked, ..conditions }
}

fn delayed(draw: &mut Draw) -> Conditions {
    Conditions { acks_every: 2, ..random_loss(draw) }
}

fn no_timestamps(draw: &mut Draw) -> Conditions {
    let conditions = random_loss(draw);
    let writes = conditions.writes.iter().map(|(at, bytes)| (*at, bytes / SEGMENT * LONGER_SEGMENT));
    Conditions { has_timestamps: false, writes: writes.collect(), ..conditions }
}

fn partial_segment(draw: &mut Draw) -> Conditions {
    let mut conditions = random_loss(draw);
    let more = draw.between(1, SEGMENT);
    conditions.writes.iter_mut().for_each(|(_, bytes)| *bytes += more);
    conditions
}

fn no_sack(draw: &mut Draw) -> Conditions {
    Conditions { has_sack: false, ..random_loss(draw) }
}

fn controls(draw: &mut Draw) -> Conditions {
    let names =
        ["bic", "htcp", "highspeed", "hybla", "scalable", "veno", "yeah", "illinois", "westwood", "vegas"];
    let congestion = draw.one_of(&names).into();
    Conditions { congestion, ..random_loss(draw) }
}

fn bbr(draw: &mut Draw) -> Conditions {
    let (conditions, segments) = draw.transfer(100, 400);
    let time = Time(draw.between(120_000, 1_200_000));
    let lost = draw.some(segments, 0.01).into_iter().collect();
    Conditions { congestion: "bbr".into(), bottleneck: Some((time, WITHOUT_LOSS)), lost, ..conditions }
}

fn bbr_ecn(draw: &mut Draw) -> Conditions {
    let conditions = bbr(draw);
    Conditions { has_ecn: true, marked: draw.some(400, 0.02).into_iter().collect(), ..conditions }
}

fn receiver(draw: &mut Draw) -> Conditions {
    let (mut conditions, _) = draw.transfer(1, 2);
    conditions.writes.clear();
    let (mut at, mut waiting) = (Time(1_000_000), Vec::new());
    for segment in 0..draw.between(20, 150) {
        let longest = if draw.0.chance(0.1) { 60 } else { 3 };
        at += draw.time(0, longest);
        let arriving = (at, 1 + segment * SEGMENT, SEGMENT);
        if draw.0.chance(0.05) {
            waiting.push(arriving);
        } else {
            conditions.arriving.push(arriving);
        }
        if draw.0.chance(0.05) {
            conditions.arriving.push((at + draw.time(0, 1), arriving.1, SEGMENT));
        }
        if draw.0.chance(0.1) {
            let late = waiting.drain(..).map(|(_, from, bytes)| (at, from, bytes));
            conditions.arriving.extend(late);
        }
    }
    conditions.arriving.sort_by_key(|(at, ..)| *at);
    conditions
}
