//! The rule of Linux for a window that is not used: it is halved for each timeout that the connection was idle, and
//! approaches what is used while the application limits the sender, as in `tcp_cwnd_restart` and
//! `tcp_cwnd_application_limited` [linux6].

use dumbbell_cc::Restart;
use dumbbell_units::Time;
use dumbbell_units::math::real;

/// What was used of the window since it last limited the sender.
#[derive(Clone, Debug)]
pub(in crate::sender) struct Use {
    initial_window: f64,
    /// When the window last limited the sender or might have grown, and what was in use since it limited it, in bytes.
    limited_at: Time,
    used: u64,
}

impl Use {
    pub(in crate::sender) fn new(initial_window: f64, now: Time) -> Self {
        Use { initial_window, limited_at: now, used: 0 }
    }

    /// The window limits the sender, or was reduced.
    pub(in crate::sender) fn begin(&mut self, now: Time) {
        (self.limited_at, self.used) = (now, 0);
    }

    /// An ACK may have raised the window, whether it did or not (`tcp_cong_avoid`).
    #[inline]
    pub(in crate::sender) fn on_growth(&mut self, now: Time) {
        self.limited_at = now;
    }

    /// So many bytes are in use.
    pub(in crate::sender) fn on_use(&mut self, bytes: u64) {
        self.used = self.used.max(bytes);
    }

    /// When the window last limited the sender or might have grown.
    pub(in crate::sender) fn limited_at(&self) -> Time {
        self.limited_at
    }

    /// The window halfway to what was used, in whole segments; `None` if all of it was used, or if losses or reordering
    /// keep the window. What is used counts anew.
    pub(in crate::sender) fn approach(
        &mut self,
        now: Time,
        cwnd: f64,
        mss: f64,
        is_open: bool,
    ) -> Option<f64> {
        let used = real(self.used).max(self.initial_window);
        if !is_open {
            self.on_growth(now);
            return None;
        }
        self.begin(now);
        (used < cwnd).then(|| ((cwnd + used) / 2.0 / mss).floor() * mss)
    }

    /// The window after an idle period: half of it for each timeout, in whole segments, down to the initial window.
    pub(in crate::sender) fn after_idle(&mut self, now: Time, cwnd: f64, mss: f64, restart: &Restart) -> f64 {
        self.begin(now);
        let least = self.initial_window.min(cwnd);
        let mut window = cwnd;
        let mut rest = restart.idle.0;
        while rest > restart.timeout.0 && window > least {
            rest -= restart.timeout.0;
            window = (window / 2.0 / mss).floor() * mss;
        }
        window.max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_halved_for_each_timeout_of_idleness() {
        let after = |cwnd, idle| {
            let restart = Restart::new(Time(idle), Time(1000));
            Use::new(10_000.0, Time::ZERO).after_idle(Time::ZERO, cwnd, 1000.0, &restart)
        };
        // 45 segments, then 22, 11, and no less than the initial 10.
        let windows = [1000, 1500, 2500, 3500, 9000].map(|idle| after(45_000.0, idle));
        assert_eq!(windows, [45e3, 22e3, 11e3, 10e3, 10e3]);
        // A window below the initial one is not raised.
        assert_eq!(after(4000.0, 5000), 4000.0);
    }
}
