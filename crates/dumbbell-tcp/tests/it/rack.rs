//! Detection of losses by time [RFC 8985], tail loss probes, and proportional rate reduction [RFC 9937; RFC 6937 §3.1].

use crate::common::{self, MS, MSS};
use dumbbell_tcp::{AckSegment, Sender};
use dumbbell_units::{Time, Value};
use serde_json::json;

/// A segment that was sent: its number, and whether it is a retransmission.
type Sent = (u64, bool);

/// A sender with a window of so many segments, all of them sent at 0 ms.
struct Host(Sender);

impl Host {
    fn new(recovery: Value, window: u64, segments: u64) -> Self {
        Host::with(recovery, window, segments, false)
    }

    fn with(recovery: Value, window: u64, segments: u64, timestamps: bool) -> Self {
        let rules = json!({
            "recovery": recovery, "mss": "1000 bytes", "initial_window": format!("{window} segments"),
            "initial_ssthresh": format!("{window} segments"), "receive_buffer": "unlimited",
            "timestamps": timestamps,
        });
        let mut host = Host::of(&rules);
        host.0.write(segments.saturating_mul(MSS));
        host.0.finish();
        assert_eq!(host.poll(0).len() as u64, window.min(segments));
        host
    }

    /// A sender with these rules that has nothing to send yet.
    fn of(rules: &Value) -> Self {
        Host(common::sender(rules))
    }

    fn poll(&mut self, at_ms: u64) -> Vec<Sent> {
        std::iter::from_fn(|| self.0.poll_transmit(Time(at_ms * MS)))
            .map(|segment| (segment.seq / MSS, segment.is_retransmission))
            .collect()
    }

    /// What is sent after an ACK of all segments below `next` that reports ranges of segments above it.
    fn ack(&mut self, at_ms: u64, next: u64, reported: &[(u64, u64)]) -> Vec<Sent> {
        self.ack_with(at_ms, next, reported, None)
    }

    /// The same with a segment that arrived twice.
    fn ack_with(&mut self, at_ms: u64, next: u64, reported: &[(u64, u64)], twice: Option<u64>) -> Vec<Sent> {
        let mut ack = AckSegment::of(next * MSS);
        if let Some(segment) = twice {
            ack.sack.push_duplicate(next * MSS, segment * MSS, MSS as u32);
        }
        for (from, until) in reported {
            ack.sack.push(((from - next) * MSS) as u32, ((until - from) * MSS) as u32);
        }
        self.0.on_ack(Time(at_ms * MS), &ack, Time::ZERO);
        self.poll(at_ms)
    }

    /// What is sent after the next deadline, which must be this.
    fn expire(&mut self, at_ms: u64) -> Vec<Sent> {
        assert_eq!(self.0.next_deadline(), Time(at_ms * MS));
        self.0.on_deadline(Time(at_ms * MS));
        self.poll(at_ms)
    }

    /// The same with an echoed time.
    fn ack_echo(&mut self, at_ms: u64, next: u64, echo_ms: u64) -> Vec<Sent> {
        let ack = AckSegment { timestamp_echo: Time(echo_ms * MS), ..AckSegment::of(next * MSS) };
        self.0.on_ack(Time(at_ms * MS), &ack, Time::ZERO);
        self.poll(at_ms)
    }

    fn window(&self) -> f64 {
        self.0.cwnd() / MSS as f64
    }
}

/// RFC 6937 §3.1, figure 1: of 20 segments, segment 0 is lost. The segments sent in response to the reports of 1 to 19.
#[test]
fn one_loss_of_twenty_is_reduced_to_ten_by_sending_after_every_second_ack() {
    for prr in ["rfc9937", "ssrb", "crb"] {
        let mut host = Host::new(json!({ "kind": "rack", "prr": prr }), 20, u64::MAX / MSS);
        let mut responses = Vec::new();
        for n in 1..20 {
            let sent = host.ack(100, 0, &[(1, n + 1)]);
            responses.extend(sent.into_iter().map(|sent| (n, sent)));
        }
        // Two by limited transmit, the retransmission, and then half of what is delivered: at the nth report after it, the
        // next whole number of n / 2. After 19 reports, 22 + 8 - 1 - 19 = 10 are in the network.
        let expected = [
            (1, (20, false)),
            (2, (21, false)),
            (3, (0, true)),
            (5, (22, false)),
            (7, (23, false)),
            (9, (24, false)),
            (11, (25, false)),
            (13, (26, false)),
            (15, (27, false)),
            (17, (28, false)),
        ];
        assert_eq!(responses, expected, "{prr}");
        assert_eq!(host.window(), 10.0, "{prr}");
        // The retransmission arrives, after the last segment before it: the recovery ends at the threshold, and the window
        // grows again by 1 / 10.
        host.ack(200, 22, &[]);
        assert_eq!((host.window(), host.0.congestion().ssthresh()), (10.1, 10_000.0), "{prr}");
        assert_eq!(host.0.stats().fast_retransmits, 1);
    }
}

/// RFC 6937 §3.1, figure 2: of 20 segments, 0 to 14 are lost. The reports of 15 to 19 find 4 in the network.
#[test]
fn fifteen_losses_of_twenty_are_repaired_by_the_reduction_bound() {
    for (prr, per_ack) in [("ssrb", 2), ("crb", 1), ("rfc9937", 1)] {
        let mut host = Host::new(json!({ "kind": "rack", "prr": prr }), 20, u64::MAX / MSS);
        assert_eq!(host.ack(100, 0, &[(15, 16)]), [(20, false)]);
        assert_eq!(host.ack(100, 0, &[(15, 17)]), [(21, false)]);
        // RFC 9937 adds a segment only if an ACK acknowledges new data, which these do not.
        let mut next = 0;
        for n in 17..20 {
            let expected: Vec<Sent> = (next..next + per_ack).map(|segment| (segment, true)).collect();
            assert_eq!(host.ack(100, 0, &[(15, n + 1)]), expected, "{prr}");
            next += per_ack;
        }
    }
}

#[test]
fn progress_without_a_further_loss_sends_one_segment_more_than_is_delivered() {
    // Of 20 segments, 0 to 14 are lost: far fewer are in the network than the ten of the threshold.
    let mut host = Host::new(json!("rack"), 20, 20);
    let sent = (15..20).map(|n| host.ack(100, 0, &[(15, n + 1)]).len()).collect::<Vec<_>>();
    // Each acknowledges one of the retransmissions.
    let more = (1..4).map(|n| host.ack(200, n, &[(15, 20)]).len()).collect::<Vec<_>>();
    assert_eq!((sent, more), (vec![0, 0, 1, 1, 1], vec![2, 2, 2]));
}

#[test]
fn fewer_than_three_reports_wait_a_quarter_of_the_round_trip_time() {
    let mut host = Host::new(json!("rack"), 10, u64::MAX / MSS);
    // Sent at 0, reported at 100 ms: the first is lost at 100 + 25 ms, if nothing else arrives.
    assert_eq!(host.ack(100, 0, &[(1, 2)]), [(10, false)]);
    assert_eq!(host.ack(100, 0, &[(1, 3)]), [(11, false)]);
    assert_eq!(host.expire(125)[0], (0, true));
    // The third report needs no wait.
    let mut host = Host::new(json!("rack"), 10, u64::MAX / MSS);
    host.ack(100, 0, &[(1, 3)]);
    assert_eq!(host.ack(101, 0, &[(1, 4)])[0], (0, true));
    // Linux waits 2 ms longer.
    let mut host = Host::new(json!({ "kind": "rack", "reo_timer_slack": "2 ms" }), 10, u64::MAX / MSS);
    host.ack(100, 0, &[(1, 3)]);
    assert_eq!(host.expire(127)[0], (0, true));
}

#[test]
fn a_lost_retransmission_is_repaired_without_a_timeout() {
    let mut host = Host::new(json!("rack"), 10, u64::MAX / MSS);
    host.ack(100, 0, &[(1, 3)]);
    assert_eq!(host.ack(101, 0, &[(1, 4)])[0], (0, true));
    let newest = (4..10).fold(0, |newest, n| {
        host.ack(101 + n, 0, &[(1, n + 1)]).last().map_or(newest, |(segment, _)| *segment)
    });
    assert!(newest > 10, "new data follows the retransmission: {newest}");
    // The retransmission is lost as well. A report of what was sent after it shows that, 100 ms after it.
    let sent = host.ack(215, 0, &[(1, newest + 1)]);
    assert_eq!(sent[0], (0, true));
    host.ack(315, newest + 1, &[]);
    assert_eq!((host.0.stats().timeouts, host.0.stats().fast_retransmits), (0, 1));
    assert_eq!(host.0.stats().segments_retransmitted, 2);
}

#[test]
fn losses_of_data_sent_in_a_recovery_begin_the_next() {
    let mut host = Host::new(json!("rack"), 10, u64::MAX / MSS);
    let mut sent = host.ack(100, 0, &[(1, 4)]);
    (4..10).for_each(|n| sent.extend(host.ack(100, 0, &[(1, n + 1)])));
    // Ten were sent before the recovery, 10 to 13 in it.
    let new: Vec<u64> = sent.iter().filter(|(_, again)| !again).map(|(segment, _)| *segment).collect();
    assert_eq!((new, host.0.congestion().ssthresh()), (vec![10, 11, 12, 13], 5000.0));
    // The report of 12 and 13 shows the loss of 11, which is repaired in the same recovery. After it, the window is reduced
    // again.
    let sent = host.ack(200, 0, &[(12, 14), (1, 11)]);
    assert!(sent.contains(&(11, true)), "{sent:?}");
    assert_eq!(host.0.stats().fast_retransmits, 1);
    host.ack(201, 11, &[(12, 14)]);
    let stats = host.0.stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts), (2, 0));
    assert!(host.0.congestion().ssthresh() < 5000.0);
}

#[test]
fn a_probe_before_the_timeout_finds_the_loss_of_the_last_segments() {
    let mut host = Host::new(json!("rack"), 4, 10);
    // The first two arrive after 100 ms; 4 more are sent in their place. All of those and the two before them are lost.
    assert_eq!(host.ack(100, 2, &[]), [(4, false), (5, false)]);
    // Two round-trip times later, a new segment probes.
    assert_eq!(host.expire(300), [(6, false)]);
    assert_eq!(host.0.stats().timeouts, 0);
    // Its report shows the losses, after the wait for one report: sent at 0 and 100 ms, a quarter of 100 ms.
    let sent = host.ack(400, 2, &[(6, 7)]);
    assert_eq!(sent[0], (2, true));
    assert_eq!((host.0.stats().timeouts, host.0.stats().fast_retransmits), (0, 1));
}

#[test]
fn another_probe_is_sent_once_a_new_segment_that_probed_is_acknowledged() {
    let mut host = Host::new(json!("rack"), 4, 10);
    host.ack(100, 2, &[]);
    assert_eq!(host.expire(300), [(6, false)]);
    assert_eq!(host.ack(350, 7, &[]), [(7, false), (8, false), (9, false)]);
    // After samples of 100 and 250 ms, the smoothed time is 118.75 ms [RFC 6298 §2.3]: twice that after 350 ms.
    host.0.on_deadline(host.0.next_deadline());
    assert_eq!((host.poll(588), host.0.stats().timeouts), (vec![(9, true)], 0));
}

#[test]
fn the_last_segment_is_repeated_and_the_repair_or_the_duplicate_is_told_apart() {
    for (is_lost, reductions) in [(true, 1), (false, 0)] {
        let mut host = Host::new(json!("rack"), 4, 6);
        assert_eq!(host.ack(100, 2, &[]), [(4, false), (5, false)]);
        assert_eq!(host.expire(300), [(5, true)]);
        let ssthresh = host.0.congestion().ssthresh();
        host.ack(310, if is_lost { 5 } else { 6 }, &[]);
        // The last segment arrived twice, or was lost and is repaired.
        host.ack_with(400, 6, &[], Some(5).filter(|_| !is_lost));
        host.0.write(10 * MSS);
        let next = host.poll(500);
        host.ack(600, 6 + next.len() as u64, &[]);
        let is_reduced = host.0.congestion().ssthresh() < ssthresh;
        assert_eq!(u64::from(is_reduced), reductions, "{is_lost}");
        assert_eq!((host.0.stats().timeouts, host.0.stats().fast_retransmits), (0, 0));
    }
}

#[test]
fn a_timeout_repeats_what_is_lost_and_nothing_that_was_reported() {
    let mut host = Host::new(json!({ "kind": "rack", "tlp": false }), 10, 10);
    host.ack(100, 0, &[(5, 6)]);
    // The wait of a quarter of 100 ms shows the loss of 0 to 4. With 4 in the network and nothing delivered, one is repaired;
    // it is lost too, as are 6 to 9.
    assert_eq!(host.expire(125), [(0, true)]);
    let timeout = host.0.next_deadline().0 / MS;
    assert_eq!(host.expire(timeout), [(0, true)]);
    let mut repeated = vec![0];
    let mut at = timeout;
    for _ in 0..10 {
        at += 100;
        let next = repeated.iter().max().map_or(0, |last| if *last == 4 { 6 } else { last + 1 });
        repeated.extend(host.ack(at, next, &[]).into_iter().map(|(segment, _)| segment));
    }
    repeated.sort_unstable();
    assert_eq!(repeated, [0, 1, 2, 3, 4, 6, 7, 8, 9]);
}

/// A delay spike of three seconds: nothing is lost, and there is new data. The retransmissions that a spurious timeout of
/// ten segments causes, and the window after it.
fn spike(rules: Value) -> (u64, f64) {
    let mut host = Host::new(rules, 10, u64::MAX / MSS);
    let timeout = host.0.next_deadline().0 / MS;
    assert_eq!(host.expire(timeout), [(0, true)]);
    assert_eq!(host.window(), 1.0);
    // The ACKs of the ten segments arrive late, 10 ms apart, without timestamps. The first still acknowledges what was sent
    // again.
    (1..=10).for_each(|n| drop(host.ack(3000 + 10 * n, n, &[])));
    (host.0.stats().segments_retransmitted, host.window())
}

#[test]
fn a_spurious_timeout_is_undone_and_repeats_a_single_segment() {
    // After the first ACK two new segments are sent. The second shows that a segment sent once arrived: the window of ten is
    // restored, and grows by at most the ACKs that follow.
    for frto in ["rfc5682", "linux"] {
        let (retransmitted, window) = spike(json!({ "kind": "rack", "tlp": false, "frto": frto }));
        assert_eq!(retransmitted, 1, "{frto}");
        assert!((10.0..12.0).contains(&window), "{frto}: {window}");
    }
    // Without it, slow start repeats all ten, but for those that are acknowledged before their turn: each ACK lets two
    // segments go.
    let (retransmitted, window) = spike(json!({ "kind": "rack", "tlp": false, "frto": "off" }));
    assert_eq!(retransmitted, 10);
    assert!(window < 10.0, "{window}");
}

#[test]
fn a_timeout_that_lost_everything_is_not_undone() {
    for frto in ["rfc5682", "linux", "off"] {
        let mut host = Host::new(json!({ "kind": "rack", "tlp": false, "frto": frto }), 10, u64::MAX / MSS);
        let timeout = host.0.next_deadline().0 / MS;
        assert_eq!(host.expire(timeout), [(0, true)]);
        // Only what is sent again arrives, after 100 ms each, and new data above the holes.
        let mut received = [false; 64];
        let mut at = timeout;
        let mut sent = vec![(0, true)];
        for _ in 0..20 {
            at += 100;
            let mut next_sent = Vec::new();
            for (segment, _) in sent {
                received[segment as usize] = true;
                let next = received.iter().position(|arrived| !arrived).unwrap() as u64;
                let above = (segment > next).then_some((segment, segment + 1));
                next_sent.extend(host.ack(at, next, above.as_slice()));
            }
            sent = next_sent;
            if received[..10].iter().all(|arrived| *arrived) {
                break;
            }
        }
        assert!(received[..10].iter().all(|arrived| *arrived), "{frto}");
        let stats = host.0.stats();
        assert_eq!((stats.timeouts, stats.segments_retransmitted), (1, 10), "{frto}");
        assert_eq!(host.0.congestion().ssthresh(), 5000.0, "{frto}");
    }
}

#[test]
fn a_second_timeout_of_the_same_segment_keeps_the_threshold() {
    for base in ["flight", "whole-window"] {
        let rules = json!({
            "recovery": { "kind": "rack", "tlp": false, "frto": "off" }, "mss": "1000 bytes",
            "initial_window": "20 segments", "receive_buffer": "unlimited", "window": { "reduction_base": base },
        });
        let mut host = Host::of(&rules);
        host.0.write(u64::MAX);
        assert_eq!(host.poll(0).len(), 20);
        let expire = |host: &mut Host| {
            let at = host.0.next_deadline().0 / MS;
            assert_eq!(host.expire(at), [(0, true)], "{base}");
            (at, host.window(), host.0.congestion().ssthresh())
        };
        // Half of 20 segments, and no more for a second and a third timeout.
        let (first, second, third) = (expire(&mut host), expire(&mut host), expire(&mut host));
        assert_eq!(
            [first, second, third].map(|(_, window, ssthresh)| (window, ssthresh)),
            [(1.0, 10_000.0); 3]
        );
        assert_eq!(third.0 - second.0, 2 * (second.0 - first.0));
        // The segment arrives, and the next one is lost again: a new reason to reduce the threshold. What is acknowledged
        // are 2 segments in the window, and 19 in flight.
        host.ack(third.0 + 100, 1, &[]);
        let at = host.0.next_deadline().0 / MS;
        assert_eq!(host.expire(at)[0], (1, true), "{base}");
        assert!(host.0.congestion().ssthresh() < 10_000.0, "{base}");
    }
}

#[test]
fn a_recovery_is_undone_when_everything_repeated_has_arrived_twice() {
    let mut host = Host::new(json!("rack"), 10, u64::MAX / MSS);
    host.ack(100, 0, &[(2, 4)]);
    // Segments 0 and 1 are late, not lost.
    assert_eq!(host.ack(101, 0, &[(2, 5)])[0], (0, true));
    let mut repeated = 1;
    for n in 5..10 {
        repeated += host.ack(102, 0, &[(2, n + 1)]).iter().filter(|(_, again)| *again).count();
    }
    assert_eq!((repeated, host.0.congestion().ssthresh()), (2, 5000.0));
    // Their originals end the recovery, and then the repetitions arrive: the second report undoes the reduction.
    host.ack(110, 12, &[]);
    host.ack_with(200, 12, &[], Some(0));
    assert!(host.window() < 10.0, "{}", host.window());
    host.ack_with(200, 12, &[], Some(1));
    assert_eq!((host.window(), host.0.congestion().ssthresh()), (10.0, 10_000.0));
}

#[test]
fn an_echo_older_than_the_retransmission_undoes_the_recovery() {
    for (echo, ssthresh) in [(0, 10_000.0), (101, 5000.0)] {
        let rules = json!({ "kind": "rack" });
        let mut host = Host::with(rules, 10, u64::MAX / MSS, true);
        host.ack(100, 0, &[(1, 3)]);
        assert_eq!(host.ack(101, 0, &[(1, 4)])[0], (0, true));
        host.ack_echo(150, 4, echo);
        assert_eq!(host.0.congestion().ssthresh(), ssthresh);
    }
}

#[test]
fn an_echo_of_a_retransmission_of_the_recovery_before_undoes_nothing() {
    let mut host = Host::with(json!({ "kind": "rack", "prr": "off" }), 10, u64::MAX / MSS, true);
    host.ack(100, 0, &[(1, 10)]);
    // Segment 10, sent in the recovery, is lost as well and retransmitted.
    assert_eq!(host.ack(110, 0, &[(1, 10), (11, 14)])[..2], [(0, true), (10, true)]);
    // The recovery ends, and with the hole at 10 another begins: half of the 7 segments outstanding.
    host.ack_echo(200, 10, 110);
    assert_eq!(host.0.congestion().ssthresh(), 3500.0);
    // The retransmission of the first recovery arrives. It was sent before anything of the second.
    host.ack_echo(210, 14, 110);
    assert_eq!(host.0.congestion().ssthresh(), 3500.0);
}

#[test]
fn no_probe_is_sent_while_data_is_reported() {
    // The time that reordering may take ends at 125 ms, its timer expires 300 ms later, and a probe would follow at 300 ms.
    let rules = json!({ "kind": "rack", "reo_timer_slack": "300 ms" });
    let mut host = Host::new(rules, 6, u64::MAX / MSS);
    host.ack(100, 2, &[(3, 4)]);
    assert_eq!(host.expire(425)[0], (2, true));
}

#[test]
fn a_probe_is_sent_no_later_than_the_timeout_and_takes_its_place() {
    let rules = json!({
        "recovery": "rack", "mss": "1000 bytes", "initial_window": "2 segments",
        "timer": { "kind": "rfc6298", "minimum": "100 ms", "initial": "1 s" },
    });
    let mut host = Host::of(&rules);
    host.0.write(2 * MSS);
    host.0.finish();
    assert_eq!(host.poll(0), [(0, false), (1, false)]);
    // 100 ms, give or take 50 ms: a timeout of 300 ms. A probe of a single segment would wait for 2 * 100 + 200 ms.
    host.ack(100, 1, &[]);
    assert_eq!(host.expire(400), [(1, true)]);
    assert_eq!((host.0.stats().timeouts, host.window() >= 2.0), (0, true));
}

#[test]
fn a_mark_after_the_reaction_keeps_the_window_from_being_restored() {
    for is_marked in [false, true] {
        let rules = json!({
            "recovery": "rack", "mss": "1000 bytes", "initial_window": "10 segments",
            "initial_ssthresh": "10 segments", "receive_buffer": "unlimited", "ecn": "classic",
        });
        let mut host = Host::of(&rules);
        host.0.write(u64::MAX);
        assert_eq!(host.poll(0).len(), 10);
        // Segment 0 is late, not lost.
        host.ack(100, 0, &[(1, 3)]);
        assert_eq!(host.ack(101, 0, &[(1, 4)])[0], (0, true));
        host.ack(150, 12, &[]);
        assert_eq!(host.0.congestion().ssthresh(), 5000.0);
        // Data sent after the reaction is acknowledged.
        let ack = AckSegment { is_ece: is_marked, ..AckSegment::of(13 * MSS) };
        host.0.on_ack(Time(250 * MS), &ack, Time::ZERO);
        host.poll(250);
        let before = host.0.congestion().ssthresh();
        assert_eq!(before < 5000.0, is_marked);
        // The retransmission arrives as well.
        host.ack_with(260, 13, &[], Some(0));
        let restored = if is_marked { before } else { 10_000.0 };
        assert_eq!(host.0.congestion().ssthresh(), restored);
    }
}
