//! The events of [hengartner2000 table III], fed to the engine's Vegas. A timeout makes the released code break its
//! invariant, expected at least actual; the corrected code keeps it.

use dumbbell_cc::algorithms::vegas::{Vegas, VegasParams};
use dumbbell_cc::{Ack, CongestionControl, Context, Control, Mechanisms, Setup};
use dumbbell_tcp::TcpParams;
use dumbbell_units::Time;

/// After an event: the numerators of the expected (eq. 3) and the actual rate (eq. 4) if a check was due, the first
/// segment of the round, the next segment to send, and the oldest unacknowledged one.
type Row = (Option<f64>, Option<f64>, u64, u64, u64);

struct Replay {
    vegas: Vegas,
    snd_nxt: u64,
    snd_una: u64,
    now: u64,
    rows: Vec<Row>,
}

impl Replay {
    fn context(&self) -> Context {
        Context::new(Time(self.now), 1.0)
            .with_sent(self.snd_una, self.snd_nxt)
            .with_max_window(1000.0)
            .with_loss_window(2.0)
    }

    fn acknowledge(&mut self, ack: u64) {
        self.now += 100_000_000;
        let acked = ack - self.snd_una;
        self.vegas.on_ack(&self.context(), &Ack::new(ack, acked));
        self.snd_una = ack;
        self.snd_nxt = self.snd_nxt.max(ack);
        self.row(true);
    }

    fn row(&mut self, checked: bool) {
        let check = self.vegas.last_check();
        self.rows.push((
            checked.then_some(check.window_size),
            checked.then_some(check.rtt_len),
            self.vegas.beg_seq(),
            self.snd_nxt,
            self.snd_una,
        ));
    }
}

/// Replays the table with the released Vegas or the corrected one.
fn replay(corrected: bool) -> Vec<Row> {
    let params = VegasParams {
        fix_timeout: corrected,
        fix_base_rtt: corrected,
        fix_invariant: corrected,
        ..VegasParams::default()
    };
    let setup = Setup::new(Time::ZERO, 1.0, 5.0)
        .with_initial_ssthresh(2.0)
        .with_rules(TcpParams::default().window)
        .with_mechanisms(Mechanisms::from_bits(0b1_1111_1111));
    let mut replay =
        Replay { vegas: Vegas::new(&params, &setup), snd_nxt: 5, snd_una: 0, now: 0, rows: Vec::new() };
    // Segments 0 to 4 are acknowledged, which begins a round at 5; 5 to 9 are sent and 5 is lost.
    replay.acknowledge(5);
    replay.rows.clear();
    replay.snd_nxt = 10;
    replay.row(false);
    // The sender goes back to 5 and retransmits 5 and 6.
    replay.snd_nxt = 7;
    replay.row(false);
    replay.acknowledge(10);
    replay.snd_nxt = 13;
    replay.row(false);
    replay.acknowledge(11);
    replay.rows
}

#[test]
fn the_released_vegas_breaks_its_invariant_as_printed() {
    assert_eq!(
        replay(false),
        [
            (None, None, 5, 10, 5),
            (None, None, 5, 7, 5),
            (Some(-2.0), Some(2.0), 7, 10, 10),
            (None, None, 7, 13, 10),
            (Some(3.0), Some(6.0), 13, 13, 11),
        ]
    );
}

#[test]
fn the_corrected_vegas_keeps_its_invariant() {
    let rows = replay(true);
    assert_eq!((rows[2].0, rows[2].1, rows[2].2), (Some(2.0), Some(2.0), 10));
    assert_eq!((rows[4].0, rows[4].1), (Some(3.0), Some(3.0)));
}
