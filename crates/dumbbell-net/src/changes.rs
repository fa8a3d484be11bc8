//! What changes a link while a run lasts: its rate and delay, and outages.

use dumbbell_units::{Rate, Time, choice, params};

params! {
    /// A change of a link while the simulation runs.
    pub struct LinkChange requires [at] {
        /// Time of the change; a packet in transmission continues at the new rate.
        at: Time = Time::ZERO, "s", "-";
        /// Rate from then on; unchanged if not given.
        rate: Option<Rate> = None, "bit/s", "-",
            |rate| rate.is_none_or(|rate| rate.0 > 0), "a rate above 0, such as \"1.6 Mbit/s\"";
        /// Propagation delay of packets that are transmitted completely at this time or later; unchanged if not given.
        delay: Option<Time> = None, "s", "-";
    }
}

impl LinkChange {
    /// True if it gives neither a rate nor a delay.
    pub(crate) fn is_empty(&self) -> bool {
        self.rate.is_none() && self.delay.is_none()
    }
}

choice! {
    /// What happens to packets while a link is down.
    pub enum Downtime {
        /// The transmitter stops, and continues with the same packet afterwards; the queue fills meanwhile.
        Hold = "hold",
        /// Packets whose transmission ends in the meantime are lost.
        Drop = "drop",
    }
}

params! {
    /// A time in which a link is down.
    pub struct Outage requires [from, until] {
        /// Beginning.
        from: Time = Time::ZERO, "s", "-";
        /// End: packets pass again from this time on.
        until: Time = Time::ZERO, "s", "-";
        /// What happens to packets. With `hold`, opportunities within the outage are unused.
        packets: Downtime = Downtime::Drop, "-", "-";
    }
}

impl Outage {
    /// True if outages are in order, disjoint, and last for a time.
    pub(crate) fn are_ordered(outages: &[Outage]) -> bool {
        outages.iter().all(|outage| outage.from < outage.until && outage.until < Time::NEVER)
            && outages.windows(2).all(|pair| pair[0].until <= pair[1].from)
    }

    /// Beginnings and ends of the outages that hold packets, in order.
    pub(crate) fn holding(outages: &[Outage]) -> Vec<(Time, Time)> {
        Outage::of_kind(outages, Downtime::Hold)
    }

    /// Beginnings and ends of the outages that lose packets, in order.
    pub(crate) fn losing(outages: &[Outage]) -> Vec<(Time, Time)> {
        Outage::of_kind(outages, Downtime::Drop)
    }

    fn of_kind(outages: &[Outage], kind: Downtime) -> Vec<(Time, Time)> {
        outages.iter().filter(|outage| outage.packets == kind).map(|o| (o.from, o.until)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_are_in_order_disjoint_and_last_for_a_time() {
        let are_ordered = |times: &[(u64, u64)]| {
            let outage =
                |&(from, until)| Outage { from: Time(from), until: Time(until), ..Outage::default() };
            Outage::are_ordered(&times.iter().map(outage).collect::<Vec<_>>())
        };
        assert!(are_ordered(&[(0, 1), (1, 3), (5, 6)]));
        for wrong in
            [[(2, 2), (3, 4)], [(2, 1), (3, 4)], [(0, 2), (1, 3)], [(3, 4), (0, 1)], [(0, 1), (2, u64::MAX)]]
        {
            assert!(!are_ordered(&wrong), "{wrong:?}");
        }
    }
}
