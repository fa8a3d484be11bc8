//! The traffic of wide-area TCP conversations as measured around 1990 [danzig1991].
//!
//! Conversations arrive as a Poisson process. Each is TELNET, FTP, NNTP or SMTP, with sizes and gaps drawn from
//! empirical tables, and has its own TCP connection. The mix consists of the normalized mean shares of the
//! applications; shares do not vary between runs.
//!
//! Tables: tcplib 0.9, P. Danzig and S. Jamin, University of Southern California. See the notice beside the data.

use dumbbell_units::{Bytes, Stream, Time, params};
use std::sync::LazyLock;

params! {
    /// Share of each application among new conversations.
    pub struct Mix {
        /// Interactive terminals.
        telnet: f64 = 0.130_713, "-", "[danzig1991 §3]", |share| *share >= 0.0, "a share, at least 0";
        /// File transfers.
        ftp: f64 = 0.046_134, "-", "[danzig1991 §3]", |share| *share >= 0.0, "a share, at least 0";
        /// News.
        nntp: f64 = 0.011_961, "-", "[danzig1991 §3]", |share| *share >= 0.0, "a share, at least 0";
        /// Mail.
        smtp: f64 = 0.811_192, "-", "[danzig1991 §3]", |share| *share >= 0.0, "a share, at least 0";
    }
}

params! {
    /// Conversations of the tcplib mix.
    pub struct TcplibSource {
        /// Mean time between new conversations.
        interarrival: Time = Time(100_000_000), "s", "[hengartner2000 §V]", |gap| gap.0 > 0, "a time above 0";
        /// Maximum size of one conversation; the tails of the tables exceed a gigabyte.
        conversation_cap: Option<Bytes> = None, "bytes", "-";
        /// Factor applied to the sizes of file transfers, news and mail.
        size_multiplier: f64 = 1.0, "-", "-", |factor| *factor > 0.0, "a number above 0";
        /// Share of each application; normalized to add up to 1.
        mix: Mix = Mix::default(), "-", "[danzig1991 §3]",
            |mix| mix.telnet + mix.ftp + mix.nntp + mix.smtp > 0.0, "shares that are not all 0";
    }
}

/// An empirical distribution.
#[derive(Debug)]
struct Table {
    rows: Vec<Row>,
    /// Index for [`draw`](Self::draw): the first possible row for each of [`PARTS`] equal ranges of probability.
    starts: Vec<u16>,
}

/// A range of values.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Cumulative probability of its upper end.
    cdf: f64,
    /// Its lower end; `None` if it is a single value.
    low: Option<f64>,
    high: f64,
}

/// Number of ranges in the index of a table: more than there are rows, so that a draw finds its row immediately.
const PARTS: usize = 1024;

impl Table {
    /// Reads ascending values with their cumulative probabilities.
    fn read(text: &str) -> Table {
        let mut rows: Vec<Row> = Vec::new();
        for line in text.lines() {
            if let Some((value, cdf)) = line.split_once(',')
                && let (Ok(high), Ok(cdf)) = (value.trim().parse(), cdf.trim().parse())
            {
                rows.push(Row { cdf, low: rows.last().map(|row| row.high), high });
            }
        }
        if let Some(&last) = rows.last() {
            rows.push(Row { cdf: f64::INFINITY, low: None, ..last });
        }
        let start = |part: usize| rows.partition_point(|row| row.cdf < part as f64 / PARTS as f64) as u16;
        Table { starts: (0..PARTS).map(start).collect(), rows }
    }

    /// Draws a value as tcplib does: uniform between two adjacent values, selected by a uniform random number between
    /// their cumulative probabilities.
    fn draw(&self, random: &mut Stream) -> f64 {
        let p = random.uniform();
        let start = usize::from(self.starts.get((p * PARTS as f64) as usize).copied().unwrap_or(0));
        match self.rows.iter().skip(start).find(|row| row.cdf >= p) {
            Some(&Row { low: Some(low), high, .. }) => random.uniform_between(low, high),
            Some(row) => row.high,
            None => 0.0,
        }
    }
}

macro_rules! tables {
    ($($NAME:ident = $file:literal;)+) => {
        $( static $NAME: LazyLock<Table> =
            LazyLock::new(|| Table::read(include_str!(concat!("../data/tcplib/", $file)))); )+
    };
}

tables! {
    TELNET_PACKET = "telnet_pktsize.csv";
    TELNET_GAP = "telnet_interarrival.csv";
    TELNET_DURATION = "telnet_duration.csv";
    FTP_ITEMS = "ftp_nitems.csv";
    FTP_ITEM = "ftp_itemsize.csv";
    FTP_CONTROL = "ftp_ctlsize.csv";
    NNTP_ITEMS = "nntp_nitems.csv";
    NNTP_ITEM = "nntp_itemsize.csv";
    SMTP_ITEM = "smtp_itemsize.csv";
}

/// The writes of the application in one conversation.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Bytes written at the start.
    pub first_write: u64,
    /// The rest of the conversation, for TELNET.
    pub telnet: Option<Telnet>,
}

/// The writes of one TELNET conversation.
#[derive(Clone, Debug)]
pub struct Telnet {
    random: Stream,
    ends: Time,
    bytes_left: u64,
}

impl Telnet {
    /// Time and bytes of the next write after `now`; `None` at the end of the conversation.
    pub fn next_write(&mut self, now: Time) -> Option<(Time, u64)> {
        let at = now + Time::from_secs(TELNET_GAP.draw(&mut self.random) * 1e-3);
        let bytes = whole_bytes(TELNET_PACKET.draw(&mut self.random)).min(self.bytes_left);
        self.bytes_left -= bytes;
        (at < self.ends && bytes > 0).then_some((at, bytes))
    }
}

fn whole_bytes(value: f64) -> u64 {
    (value as u64).max(1)
}

impl TcplibSource {
    /// Time to the next conversation.
    pub fn next_gap(&self, random: &mut Stream) -> Time {
        Time::from_secs(random.exponential(self.interarrival.secs()))
    }

    /// The conversation that starts at `now`.
    pub fn conversation(&self, now: Time, random: &mut Stream) -> Conversation {
        let Mix { telnet, ftp, nntp, smtp } = self.mix;
        let mut own = random.fork();
        let choice = own.uniform() * (telnet + ftp + nntp + smtp);
        let cap = self.conversation_cap.map_or(u64::MAX, |cap| cap.0.max(1));
        let bulk = |bytes: f64| Conversation {
            first_write: whole_bytes(bytes * self.size_multiplier).min(cap),
            telnet: None,
        };
        let items = |number: &Table, size: &Table, before: Option<&Table>, own: &mut Stream| {
            let number = whole_bytes(number.draw(own));
            let one = |own: &mut Stream| size.draw(own) + before.map_or(0.0, |t| t.draw(own));
            (0..number).map(|_| one(own)).sum::<f64>()
        };
        if choice < telnet {
            let ends = now + Time::from_secs(TELNET_DURATION.draw(&mut own) * 1e-3);
            let first_write = whole_bytes(TELNET_PACKET.draw(&mut own)).min(cap);
            let telnet = Telnet { random: own, ends, bytes_left: cap - first_write };
            Conversation { first_write, telnet: Some(telnet) }
        } else if choice < telnet + ftp {
            bulk(items(&FTP_ITEMS, &FTP_ITEM, Some(&FTP_CONTROL), &mut own))
        } else if choice < telnet + ftp + nntp {
            bulk(items(&NNTP_ITEMS, &NNTP_ITEM, None, &mut own))
        } else {
            bulk(SMTP_ITEM.draw(&mut own))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(table: &Table) -> f64 {
        let mut random = Stream::new(1, 0, "table");
        (0..400_000).map(|_| table.draw(&mut random)).sum::<f64>() / 400_000.0
    }

    #[test]
    fn tables_have_their_published_means() {
        // Means by the sampling rule of tcplib, within the sampling error.
        let close = |table: &Table, expected: f64, tolerance: f64| {
            let mean = mean(table);
            assert!((mean / expected - 1.0).abs() < tolerance, "{mean} against {expected}");
        };
        close(&TELNET_PACKET, 25.2, 0.05);
        close(&FTP_ITEMS, 7.12, 0.05);
        close(&FTP_CONTROL, 28.2, 0.02);
        close(&NNTP_ITEM, 2023.0, 0.05);
        close(&NNTP_ITEMS, 383.0, 0.05);
        close(&SMTP_ITEM, 1674.0, 0.15);
    }

    #[test]
    fn conversations_are_of_the_kinds_of_the_mix() {
        let mean = |mix: Mix| {
            let source = TcplibSource { mix, ..TcplibSource::default() };
            let mut random = Stream::new(1, 0, "mix");
            let of: Vec<Conversation> =
                (0..4000).map(|_| source.conversation(Time::ZERO, &mut random)).collect();
            let telnet = of.iter().filter(|conversation| conversation.telnet.is_some()).count();
            (telnet, of.iter().map(|conversation| conversation.first_write as f64).sum::<f64>() / 4000.0)
        };
        let none = Mix { telnet: 0.0, ftp: 0.0, nntp: 0.0, smtp: 0.0 };
        assert_eq!(mean(Mix { telnet: 1.0, ..none.clone() }).0, 4000);
        // A quarter, with a standard error of 27.
        let (telnet, _) = mean(Mix { telnet: 1.0, smtp: 3.0, ..none.clone() });
        assert!((900..1100).contains(&telnet), "{telnet}");
        // A mail has 1.7 kB on average, and news have 383 items of 2 kB.
        let (telnet, mail) = mean(Mix { smtp: 1.0, ..none.clone() });
        assert!(telnet == 0 && (1200.0..2500.0).contains(&mail), "{telnet} {mail}");
        let (telnet, news) = mean(Mix { nntp: 1.0, ..none.clone() });
        assert!(telnet == 0 && (600e3..1000e3).contains(&news), "{telnet} {news}");
        let (telnet, files) = mean(Mix { ftp: 1.0, ..none });
        assert!(telnet == 0 && files > 2.0 * mail && files != news, "{telnet} {files}");
    }

    #[test]
    fn the_cap_limits_every_conversation() {
        let source = TcplibSource { conversation_cap: Some(Bytes(5000)), ..TcplibSource::default() };
        let mut random = Stream::new(1, 0, "cap");
        for _ in 0..2000 {
            let mut conversation = source.conversation(Time::ZERO, &mut random);
            let mut total = conversation.first_write;
            let mut now = Time::ZERO;
            while let Some((at, bytes)) = conversation.telnet.as_mut().and_then(|t| t.next_write(now)) {
                now = at;
                total += bytes;
            }
            assert!(total <= 5000);
        }
    }
}
