//! The window of a congestion control, and what happens to it where the algorithm decides nothing else.

use crate::{Context, Growth, RecoveryExit, Setup, Undo, UnusedWindow, WindowRules, WindowValidation};

/// A congestion window and its threshold. [`Control`](crate::Control) passes it the events that an algorithm does not
/// take itself.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The window in bytes, at least one segment.
    pub cwnd: f64,
    /// The slow-start threshold in bytes, possibly infinite.
    pub ssthresh: f64,
    /// The window at the start of the connection, in bytes.
    initial: f64,
    /// True if it is reduced while it is not used. Linux does so whatever the algorithm, unless it follows a model
    /// [linux6 tcp_output.c].
    is_reduced_unused: bool,
    /// True if thresholds are whole segments.
    is_whole: bool,
    /// True if a recovery that does not keep all inflation sets the threshold to two segments when it ends.
    has_late_threshold: bool,
}

impl Window {
    /// The window at the start of a connection.
    pub fn new(setup: &Setup) -> Self {
        Window {
            cwnd: setup.initial_window,
            ssthresh: setup.initial_ssthresh,
            initial: setup.initial_window,
            is_reduced_unused: setup.rules.validation == WindowValidation::Linux,
            is_whole: setup.rules.growth == Growth::Segments,
            has_late_threshold: false,
        }
    }

    /// The same window, which is reduced while it is not used.
    #[must_use]
    pub fn reduced_unused(mut self) -> Self {
        self.is_reduced_unused = true;
        self
    }

    /// The same window, whose threshold the end of a recovery sets to two segments if `is_late`, unless the recovery
    /// keeps all inflation.
    #[must_use]
    pub fn with_late_threshold(mut self, is_late: bool) -> Self {
        self.has_late_threshold = is_late;
        self
    }

    /// A fast recovery ended: adds the inflation that it keeps.
    pub fn on_recovery_exit(&mut self, context: &Context, exit: &RecoveryExit) {
        self.cwnd += exit.kept_inflation;
        if self.has_late_threshold && exit.kept_inflation < context.inflation {
            self.ssthresh = 2.0 * context.mss;
        }
    }

    /// A reaction was spurious: restores window and threshold unless they are larger now.
    pub fn on_undo(&mut self, undo: &Undo) {
        self.cwnd = self.cwnd.max(undo.cwnd);
        self.ssthresh = self.ssthresh.max(undo.ssthresh);
    }

    /// The connection was idle: limits the window to the initial window (RFC 5681 §4.1).
    pub fn on_restart(&mut self) {
        self.cwnd = self.cwnd.min(self.initial);
    }

    /// The window is not used: continues with a smaller one. False if it is kept.
    pub fn on_unused(&mut self, context: &Context, unused: &UnusedWindow) -> bool {
        if self.is_reduced_unused {
            self.ssthresh = if self.is_whole {
                WindowRules::remembered_segments(self.cwnd, self.ssthresh, context.mss)
            } else {
                WindowRules::remembered(self.cwnd, self.ssthresh)
            };
            self.cwnd = self.cwnd.min(unused.window);
        }
        self.is_reduced_unused
    }
}

/// The methods of [`Control`](crate::Control) for an algorithm whose [`Window`] is this field, or in it: window and
/// threshold are those of the field, and it takes all events that the algorithm does not.
#[macro_export]
macro_rules! window_in {
    ($($field:ident).+) => {
        #[inline]
        fn cwnd(&self) -> f64 {
            self.$($field).+.cwnd
        }

        #[inline]
        fn ssthresh(&self) -> f64 {
            self.$($field).+.ssthresh
        }

        #[inline]
        fn window(&mut self) -> Option<&mut $crate::Window> {
            Some(&mut self.$($field).+)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use dumbbell_units::Time;

    const MSS: f64 = 1000.0;

    fn window(cwnd: f64, ssthresh: f64) -> Window {
        Window::new(&Setup::new(Time::ZERO, MSS, cwnd * MSS).with_initial_ssthresh(ssthresh * MSS))
    }

    fn segments(window: &Window) -> (f64, f64) {
        (window.cwnd / MSS, window.ssthresh / MSS)
    }

    #[test]
    fn an_undo_restores_the_window_unless_it_is_larger_now() {
        let undo = Undo::new(Signal::Timeout, 20.0 * MSS, 30.0 * MSS);
        let mut window = window(1.0, 10.0);
        window.on_undo(&undo);
        assert_eq!(segments(&window), (20.0, 30.0));
        window.cwnd = 21.0 * MSS;
        window.on_undo(&undo);
        assert_eq!(segments(&window), (21.0, 30.0));
    }

    #[test]
    fn the_threshold_remembers_three_quarters_of_a_window_that_is_not_used() {
        let context = Context::new(Time::ZERO, MSS);
        let mut reduced = window(20.0, 10.0).reduced_unused();
        assert!(reduced.on_unused(&context, &UnusedWindow::new(12.0 * MSS)));
        assert_eq!(segments(&reduced), (12.0, 15.0));
        assert!(reduced.on_unused(&context, &UnusedWindow::new(10.0 * MSS)));
        assert_eq!(segments(&reduced), (10.0, 15.0));
    }

    #[test]
    fn a_window_that_is_not_used_is_kept_unless_it_says_otherwise() {
        let context = Context::new(Time::ZERO, MSS);
        let mut kept = window(20.0, 10.0);
        assert!(!kept.on_unused(&context, &UnusedWindow::new(12.0 * MSS)));
        assert_eq!(segments(&kept), (20.0, 10.0));
    }

    #[test]
    fn an_idle_connection_restarts_from_the_initial_window() {
        let mut window = window(4.0, 10.0);
        window.cwnd = 9.0 * MSS;
        window.on_restart();
        assert_eq!(segments(&window), (4.0, 10.0));
        window.cwnd = 2.0 * MSS;
        window.on_restart();
        assert_eq!(segments(&window), (2.0, 10.0));
    }

    #[test]
    fn a_late_threshold_is_set_when_a_recovery_ends_without_all_inflation() {
        let after = |is_late: bool, kept: f64| {
            let mut window = window(8.0, 40.0).with_late_threshold(is_late);
            let context = Context::new(Time::ZERO, MSS).with_inflation(3.0 * MSS);
            window.on_recovery_exit(&context, &RecoveryExit::new(kept * MSS));
            segments(&window)
        };
        assert_eq!(after(false, 0.0), (8.0, 40.0));
        assert_eq!(after(false, 2.0), (10.0, 40.0));
        assert_eq!(after(true, 2.0), (10.0, 2.0));
        assert_eq!(after(true, 3.0), (11.0, 40.0));
    }
}
