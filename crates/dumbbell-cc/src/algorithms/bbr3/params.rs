//! The parameters of BBR version 3 [bbr2026], [bbr2023].

use dumbbell_units::{Bytes, Time, choice, params};

choice! {
    /// The text that BBR version 3 follows where there are two.
    pub enum Form {
        /// The draft of August 2026.
        Draft = "draft",
        /// The branch of the Linux kernel of 2023.
        Kernel = "kernel",
    }
}

params! {
    /// Parameters of BBR version 3.
    pub struct Bbr3Params {
        /// The text it follows where draft and kernel differ.
        form: Form = Form::Draft, "-", "[bbr2026]";
        /// Gain of the rate in Startup: 4 ln 2.
        startup_gain: f64 = 2.77, "-", "[bbr2026]", |gain| *gain > 1.0, "a number above 1";
        /// Gain of the rate in Drain; by default 0.5, and 88/256 in the kernel.
        drain_gain: Option<f64> = None, "-", "[bbr2026]",
            |gain| gain.is_none_or(|gain| gain > 0.0 && gain < 1.0), "a fraction above 0 and below 1";
        /// Gain of the rate in DOWN; by default 0.90, and 0.91 in the kernel.
        down_gain: Option<f64> = None, "-", "[bbr2026]",
            |gain| gain.is_none_or(|gain| gain > 0.0 && gain < 1.0), "a fraction above 0 and below 1";
        /// Gain of the rate in UP.
        up_gain: f64 = 1.25, "-", "[bbr2026]", |gain| *gain > 1.0, "a number above 1";
        /// Gain of the window, except in UP and ProbeRTT.
        cwnd_gain: f64 = 2.0, "-", "[bbr2026]", |gain| *gain >= 1.0, "a number, at least 1";
        /// Gain of the window in UP.
        up_cwnd_gain: f64 = 2.25, "-", "[bbr2026]", |gain| *gain >= 1.0, "a number, at least 1";
        /// Gain of the window in ProbeRTT.
        probe_rtt_gain: f64 = 0.5, "-", "[bbr2026]", |gain| *gain > 0.0, "a number above 0";
        /// Fraction of losses above which a probe is too high.
        loss_threshold: f64 = 0.02, "-", "[bbr2026]",
            |loss| *loss > 0.0 && *loss < 1.0, "a fraction above 0 and below 1";
        /// Factor by which a round with losses reduces bounds at most.
        beta: f64 = 0.7, "-", "[bbr2026]", |beta| *beta > 0.0 && *beta < 1.0, "a fraction above 0 and below 1";
        /// Part of the long-term bound that CRUISE leaves free.
        headroom: f64 = 0.15, "-", "[bbr2026]",
            |part| *part >= 0.0 && *part < 1.0, "a fraction, at least 0 and below 1";
        /// Least window.
        min_window: f64 = 4.0, "segments", "[bbr2026]", |window| *window >= 1.0, "a number of segments, at least 1";
        /// What the rate is below the bandwidth times the gain.
        pacing_margin: f64 = 0.01, "-", "[bbr2026]",
            |margin| *margin >= 0.0 && *margin < 1.0, "a fraction, at least 0 and below 1";
        /// Growth of the bandwidth below which a round counts as one that has filled the pipe.
        full_growth: f64 = 1.25, "-", "[bbr2026]", |growth| *growth >= 1.0, "a number, at least 1";
        /// Such rounds before the pipe counts as full.
        full_rounds: u64 = 3, "rounds", "[bbr2026]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Ranges lost in a round that end Startup if the losses are above the threshold.
        full_losses: u64 = 6, "-", "[bbr2026]", |losses| *losses >= 1, "a whole number, at least 1";
        /// Rounds after which Drain ends in any case; not in the kernel.
        drain_rounds: u64 = 3, "rounds", "[bbr2026]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Window of the maximum of ACK aggregation after Startup; one round in Startup.
        extra_acked_rounds: u64 = 10, "rounds", "[bbr2026]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Window of the round-trip time's minimum.
        min_rtt_window: Time = Time(10_000_000_000), "s", "[bbr2026]";
        /// Time without a new minimum after which ProbeRTT begins.
        probe_rtt_interval: Time = Time(5_000_000_000), "s", "[bbr2026]";
        /// Duration of ProbeRTT, at least a round.
        probe_rtt_duration: Time = Time(200_000_000), "s", "[bbr2026]";
        /// Least time from one DOWN to the next probe.
        probe_wait: Time = Time(2_000_000_000), "s", "[bbr2026]";
        /// Largest random addition to it.
        probe_wait_random: Time = Time(1_000_000_000), "s", "[bbr2026]";
        /// Most rounds from one UP to the next probe; fewer if the pipe holds fewer segments.
        probe_rounds: u64 = 63, "rounds", "[bbr2026]", |rounds| *rounds >= 1, "a whole number, at least 1";
        /// Length of a burst at the rate.
        burst_time: Time = Time(1_000_000), "s", "[bbr2026]";
        /// Most bytes of a burst.
        burst_bytes: Bytes = Bytes(65_536), "bytes", "[bbr2026]";
        /// Bursts for which the window provides at least.
        burst_budget: f64 = 3.0, "-", "[bbr2026]", |bursts| *bursts >= 0.0, "a number, at least 0";
        /// Send such bursts, of at least two segments, instead of segments one by one.
        bursts: bool = false, "-", "[bbr2026]";
        /// React to marks as the kernel does.
        ecn: bool = false, "-", "[bbr2023]";
        /// Largest minimum round-trip time with which marks count.
        ecn_max_rtt: Time = Time(5_000_000), "s", "[bbr2023]";
        /// Weight of a round in the smoothed fraction of marks.
        ecn_gain: f64 = 0.0625, "-", "[bbr2023]", |gain| *gain > 0.0 && *gain <= 1.0, "a fraction above 0, at most 1";
        /// Part of that fraction by which a round with marks reduces the short-term bound.
        ecn_factor: f64 = 1.0 / 3.0, "-", "[bbr2023]",
            |factor| *factor >= 0.0 && *factor <= 1.0, "a fraction, at least 0, at most 1";
        /// Fraction of marks above which a probe is too high.
        ecn_threshold: f64 = 0.5, "-", "[bbr2023]",
            |part| *part > 0.0 && *part <= 1.0, "a fraction above 0, at most 1";
        /// Such rounds that end Startup.
        ecn_full_rounds: u64 = 2, "rounds", "[bbr2023]", |rounds| *rounds >= 1, "a whole number, at least 1";
    }
}
