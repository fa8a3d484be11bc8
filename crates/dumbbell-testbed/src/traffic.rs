//! The connections of the flows: threads on their hosts that send and receive, and what the kernel counts about them.
//!
//! A flow has one thread on each of its hosts. Its connections stay open until the end of the run, so that the counters
//! of the kernel can be read at any time.

use crate::clock::RunClock;
use crate::plan::{DATAGRAM_HEADERS, FlowPlan, Period, TcpPlan};
use crate::tcp_info::TcpInfo;
use dumbbell_net::SourceSpec;
use dumbbell_units::{Stream, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, SockAddr, Socket, Type};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Longest time for which a thread does not look whether the run has ended.
const LONGEST_WAIT: Time = Time(50_000_000);

/// Bytes of one write, and of one read.
const WRITE: usize = 1 << 16;
const READ: usize = 1 << 18;

/// How often a sender looks whether everything is acknowledged.
const ACKED_PERIOD: Time = Time(1_000_000);

/// The counters of TCP and IP in a network namespace.
const NETSTAT: &str = "/proc/thread-self/net/netstat";
const SNMP: &str = "/proc/thread-self/net/snmp";

/// Name of the counters of wrong checksums, in each protocol.
const WRONG_CHECKSUMS: &str = "InCsumErrors";

/// Data is counters and lists that are complete between any two statements, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The clock of a run, and its end.
#[derive(Debug)]
pub struct Course {
    /// Time since its beginning.
    pub clock: RunClock,
    /// True once the run has ended.
    pub has_ended: AtomicBool,
    turn: Mutex<()>,
    ended: Condvar,
}

impl Course {
    /// A run that begins now.
    ///
    /// # Errors
    ///
    /// The kernel has no monotonic clock.
    pub fn begin() -> io::Result<Course> {
        Ok(Course {
            clock: RunClock::start()?,
            has_ended: AtomicBool::new(false),
            turn: Mutex::new(()),
            ended: Condvar::new(),
        })
    }

    /// Ends the run for all its threads.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        let _turn = lock(&self.turn);
        self.ended.notify_all();
    }

    fn is_over(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Waits until a time of the run. False if the run ended before.
    ///
    /// # Errors
    ///
    /// The kernel has no monotonic clock.
    pub fn wait_until(&self, at: Time) -> io::Result<bool> {
        let mut turn = lock(&self.turn);
        loop {
            if self.is_over() {
                return Ok(false);
            }
            let left = at.since(self.clock.now()?);
            if left == Time::ZERO {
                return Ok(true);
            }
            let waited = self.ended.wait_timeout(turn, Duration::from_nanos(left.0));
            turn = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until a descriptor is ready, a time of the run, or its end. True if it is ready.
    fn wait_ready(&self, descriptor: &impl AsFd, event: PollFlags, until: Time) -> io::Result<bool> {
        loop {
            let left = until.since(self.clock.now()?);
            if left == Time::ZERO || self.is_over() {
                return Ok(false);
            }
            let milliseconds = left.min(LONGEST_WAIT).0.div_ceil(1_000_000) as u16;
            let mut polled = [PollFd::new(descriptor.as_fd(), event)];
            match poll(&mut polled, PollTimeout::from(milliseconds)) {
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Counters of a flow. They only grow, so the value within a window is a difference.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Data segments sent, including retransmissions, or datagrams.
    pub segments_sent: u64,
    /// Their bytes, without headers.
    pub bytes_sent: u64,
    /// Segments retransmitted.
    pub segments_retransmitted: u64,
    /// Payload bytes retransmitted.
    pub bytes_retransmitted: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries.
    pub fast_retransmits: u64,
    /// New bytes received in order; for datagrams, bytes on the wire.
    pub bytes_delivered: u64,
    /// Connections opened.
    pub connections: u64,
    /// Connections given up.
    pub connections_given_up: u64,
}

impl Counts {
    /// The difference since `before`.
    pub fn since(&self, before: &Counts) -> Counts {
        Counts {
            segments_sent: self.segments_sent.saturating_sub(before.segments_sent),
            bytes_sent: self.bytes_sent.saturating_sub(before.bytes_sent),
            segments_retransmitted: self.segments_retransmitted.saturating_sub(before.segments_retransmitted),
            bytes_retransmitted: self.bytes_retransmitted.saturating_sub(before.bytes_retransmitted),
            timeouts: self.timeouts.saturating_sub(before.timeouts),
            fast_retransmits: self.fast_retransmits.saturating_sub(before.fast_retransmits),
            bytes_delivered: self.bytes_delivered.saturating_sub(before.bytes_delivered),
            connections: self.connections.saturating_sub(before.connections),
            connections_given_up: self.connections_given_up.saturating_sub(before.connections_given_up),
        }
    }
}

/// A flow while it runs, as seen by both of its threads and by those that sample it.
#[derive(Debug, Default)]
pub struct Live {
    /// Connections of the sender and of the receiver, oldest first.
    senders: Mutex<Vec<Arc<TcpStream>>>,
    receivers: Mutex<Vec<Arc<TcpStream>>>,
    connections: AtomicU64,
    connections_given_up: AtomicU64,
    datagrams_sent: AtomicU64,
    datagram_bytes_sent: AtomicU64,
    datagram_bytes_received: AtomicU64,
    /// Counters of the sender's namespace.
    netstat: OnceLock<File>,
    /// Counters of both namespaces.
    protocols: Mutex<Vec<File>>,
    /// When the receiver had everything of a connection.
    ended: Mutex<Vec<Time>>,
    completed: Mutex<Option<Time>>,
}

impl Live {
    /// The state of the newest connection of the sender; `None` before the first and after a reset.
    pub fn sender(&self) -> Option<TcpInfo> {
        lock(&self.senders).last().and_then(|stream| TcpInfo::of(&**stream).ok())
    }

    /// Bytes that have arrived in order; for datagrams, bytes on the wire.
    pub fn bytes_delivered(&self) -> u64 {
        let infos = |streams: &Vec<Arc<TcpStream>>| -> u64 {
            let infos = streams.iter().filter_map(|stream| TcpInfo::of(&**stream).ok());
            infos.map(|info| info.bytes_received()).sum()
        };
        infos(&lock(&self.receivers)) + self.datagram_bytes_received.load(Ordering::Relaxed)
    }

    /// The counters of all connections, and of datagrams.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            segments_sent: self.datagrams_sent.load(Ordering::Relaxed),
            bytes_sent: self.datagram_bytes_sent.load(Ordering::Relaxed),
            bytes_delivered: self.bytes_delivered(),
            connections: self.connections.load(Ordering::Relaxed),
            connections_given_up: self.connections_given_up.load(Ordering::Relaxed),
            fast_retransmits: self.netstat.get().and_then(fast_recoveries).unwrap_or_default(),
            ..Counts::default()
        };
        for info in lock(&self.senders).iter().filter_map(|stream| TcpInfo::of(&**stream).ok()) {
            counts.segments_sent += info.segments_sent();
            counts.bytes_sent += info.bytes_sent();
            counts.segments_retransmitted += info.segments_retransmitted();
            counts.bytes_retransmitted += info.bytes_retransmitted();
            counts.timeouts += info.timeouts();
        }
        counts
    }

    /// Minimum round-trip time of its connections, in seconds.
    pub fn rtt_min(&self) -> Option<f64> {
        let senders = lock(&self.senders);
        senders.iter().filter_map(|stream| TcpInfo::of(&**stream).ok()?.min_rtt()).reduce(f64::min)
    }

    /// Packets whose checksum one of its hosts found wrong, whatever the protocol.
    pub fn checksum_errors(&self) -> u64 {
        lock(&self.protocols).iter().filter_map(wrong_checksums).sum()
    }

    /// Opens the counters of the namespace of the calling thread.
    fn open_counters(&self) -> io::Result<()> {
        let files = [File::open(NETSTAT)?, File::open(SNMP)?];
        lock(&self.protocols).extend(files);
        Ok(())
    }

    /// When everything was acknowledged, if it is a transfer and has completed.
    pub fn completed(&self) -> Option<Time> {
        *lock(&self.completed)
    }

    /// When the receiver had everything of each connection that was closed.
    pub fn ended(&self) -> Vec<Time> {
        lock(&self.ended).clone()
    }
}

/// Fast recoveries in a namespace, with and without SACK.
fn fast_recoveries(netstat: &File) -> Option<u64> {
    Some(sum_of(&table(netstat)?, |name| ["TCPRenoRecovery", "TCPSackRecovery"].contains(&name)))
}

/// Packets with a wrong checksum, of all protocols in a table of counters.
fn wrong_checksums(file: &File) -> Option<u64> {
    Some(sum_of(&table(file)?, |name| name == WRONG_CHECKSUMS))
}

fn table(file: &File) -> Option<String> {
    let mut bytes = vec![0; 1 << 14];
    let length = file.read_at(&mut bytes, 0).ok()?;
    bytes.truncate(length);
    String::from_utf8(bytes).ok()
}

/// The sum of some counters of a table, in which a line of names precedes each line of values.
fn sum_of(table: &str, is_wanted: impl Fn(&str) -> bool) -> u64 {
    let lines: Vec<&str> = table.lines().collect();
    let pairs = lines
        .chunks_exact(2)
        .flat_map(|lines| lines[0].split_ascii_whitespace().zip(lines[1].split_ascii_whitespace()).skip(1));
    pairs.filter(|(name, _)| is_wanted(name)).filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
}

/// Accepts the connections of a flow, or receives its datagrams, on its host. Made before the clock starts.
#[derive(Debug)]
pub enum Acceptor {
    /// Connections.
    Stream(TcpListener),
    /// Datagrams.
    Datagrams(UdpSocket),
}

impl Acceptor {
    /// Opens the port of a flow. Call it in a thread of the receiving host.
    ///
    /// # Errors
    ///
    /// The port cannot be opened.
    pub fn new(flow: &FlowPlan) -> io::Result<Acceptor> {
        let address = SocketAddrV4::new(flow.receiver.address, flow.port);
        if flow.tcp.is_some() {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(Acceptor::Stream(listener))
        } else {
            let socket = UdpSocket::bind(address)?;
            socket.set_nonblocking(true)?;
            Ok(Acceptor::Datagrams(socket))
        }
    }

    /// Reads what arrives until the end of the run.
    ///
    /// # Errors
    ///
    /// A socket or the clock failed.
    pub fn receive(self, live: &Live, course: &Course) -> io::Result<()> {
        live.open_counters()?;
        match self {
            Acceptor::Stream(listener) => {
                while course.wait_ready(&listener, PollFlags::POLLIN, Time::NEVER)? {
                    let (stream, _) = match listener.accept() {
                        Err(error) if is_transient(&error) => continue,
                        accepted => accepted?,
                    };
                    stream.set_nonblocking(true)?;
                    let stream = Arc::new(stream);
                    lock(&live.receivers).push(Arc::clone(&stream));
                    if receive_stream(&stream, course)? {
                        lock(&live.ended).push(course.clock.now()?);
                    }
                }
            }
            Acceptor::Datagrams(socket) => {
                let mut bytes = vec![0; READ];
                while course.wait_ready(&socket, PollFlags::POLLIN, Time::NEVER)? {
                    match socket.recv(&mut bytes) {
                        Err(error) if is_transient(&error) => {}
                        received => {
                            let size = received? as u64 + u64::from(DATAGRAM_HEADERS);
                            live.datagram_bytes_received.fetch_add(size, Ordering::Relaxed);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Reads a connection. True if the sender has closed it.
fn receive_stream(mut stream: &TcpStream, course: &Course) -> io::Result<bool> {
    let mut bytes = vec![0; READ];
    while course.wait_ready(stream, PollFlags::POLLIN, Time::NEVER)? {
        match stream.read(&mut bytes) {
            Ok(0) => {
                stream.shutdown(std::net::Shutdown::Write)?;
                return Ok(true);
            }
            Ok(_) => {}
            Err(error) if is_transient(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// What the sending side of a flow needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'a> {
    /// The flow and its hosts.
    pub flow: &'a FlowPlan,
    /// Its name.
    pub name: &'a str,
    /// Its source.
    pub source: &'a SourceSpec,
    /// Name of the congestion control in the kernel.
    pub control: &'a str,
    /// Seed and run, for the draws of datagrams.
    pub seed: (u64, u64),
}

impl Sending<'_> {
    /// Sends in the periods of the flow until the end of the run. Call it in a thread of the sending host.
    ///
    /// # Errors
    ///
    /// A socket or the clock failed, or the kernel does not accept the congestion control.
    pub fn send(&self, live: &Live, course: &Course) -> io::Result<()> {
        live.open_counters()?;
        match &self.flow.tcp {
            Some(tcp) => {
                let _ = live.netstat.set(File::open(NETSTAT)?);
                for period in &self.flow.periods {
                    if !course.wait_until(period.start)? {
                        break;
                    }
                    self.send_stream(tcp, period, live, course)?;
                }
                Ok(())
            }
            None => self.send_datagrams(live, course),
        }
    }

    /// Opens a connection and writes to it until the period ends.
    fn send_stream(&self, tcp: &TcpPlan, period: &Period, live: &Live, course: &Course) -> io::Result<()> {
        live.connections.fetch_add(1, Ordering::Relaxed);
        let Some(stream) = self.connect(tcp, live, course)? else { return Ok(()) };
        let stop = period.stop.unwrap_or(Time::NEVER);
        let size = match self.source {
            SourceSpec::Transfer(transfer) => transfer.size.0,
            _ => u64::MAX,
        };
        match write(&stream, size, stop, course) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                live.connections_given_up.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        if course.is_over() {
            return Ok(());
        }
        stream.shutdown(std::net::Shutdown::Write)?;
        if size < u64::MAX {
            let mut now = course.clock.now()?;
            while course.wait_until(now + ACKED_PERIOD)? {
                now = course.clock.now()?;
                let info = TcpInfo::of(&*stream)?;
                if info.unacked() == 0 && info.notsent_bytes() == 0 {
                    // A transfer that was stopped early has not completed.
                    *lock(&live.completed) = (info.bytes_acked() > size).then_some(now);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Opens a connection; `None` if the run ended before, or the kernel gave up.
    fn connect(&self, tcp: &TcpPlan, live: &Live, course: &Course) -> io::Result<Option<Arc<TcpStream>>> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_tcp_congestion(self.control.as_bytes())?;
        socket.set_tcp_nodelay(!tcp.nagle)?;
        // Nothing of the connection remains in the kernel when the run ends.
        socket.set_linger(Some(Duration::ZERO))?;
        socket.set_nonblocking(true)?;
        let address = SocketAddr::from(SocketAddrV4::new(self.flow.receiver.address, self.flow.port));
        match socket.connect(&SockAddr::from(address)) {
            Err(error) if error.raw_os_error() != Some(nix::libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let stream = Arc::new(TcpStream::from(socket));
        lock(&live.senders).push(Arc::clone(&stream));
        if !course.wait_ready(&*stream, PollFlags::POLLOUT, Time::NEVER)? {
            return Ok(None);
        }
        match stream.take_error()? {
            None => Ok(Some(stream)),
            Some(error) if error.kind() == io::ErrorKind::TimedOut => {
                live.connections_given_up.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
            Some(error) => Err(error),
        }
    }

    /// Sends datagrams at the times of their source.
    fn send_datagrams(&self, live: &Live, course: &Course) -> io::Result<()> {
        let socket = UdpSocket::bind(SocketAddrV4::new(self.flow.sender.address, 0))?;
        socket.connect(SocketAddrV4::new(self.flow.receiver.address, self.flow.port))?;
        let bytes = vec![0; 1 << 16];
        let (seed, run) = self.seed;
        let mut random = Stream::new(seed, run, &format!("flow:{}:traffic", self.name));
        for period in &self.flow.periods {
            let stop = period.stop.unwrap_or(Time::NEVER);
            let Some(mut state) = self.source.start_datagrams(&mut random) else { return Ok(()) };
            while let Some(emission) = self.source.next_datagrams(&mut state, &mut random) {
                let at = period.start + emission.after_start;
                if at >= stop {
                    break;
                }
                if !course.wait_until(at)? {
                    return Ok(());
                }
                for size in emission.sizes() {
                    // A packet smaller than its headers cannot be sent; it becomes as small as possible.
                    let payload = u64::from(size.saturating_sub(DATAGRAM_HEADERS));
                    socket.send(&bytes[..payload as usize])?;
                    live.datagrams_sent.fetch_add(1, Ordering::Relaxed);
                    live.datagram_bytes_sent.fetch_add(payload, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }
}

/// Writes this many bytes, or until a time of the run or its end.
fn write(mut stream: &TcpStream, size: u64, stop: Time, course: &Course) -> io::Result<()> {
    let bytes = vec![0; WRITE];
    let mut left = size;
    while left > 0 && course.wait_ready(stream, PollFlags::POLLOUT, stop)? {
        let length = left.min(WRITE as u64) as usize;
        match stream.write(&bytes[..length]) {
            Ok(count) => left -= count as u64,
            Err(error) if is_transient(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_in_tables_of_all_protocols() {
        let text = "Ip: Forwarding InCsumErrors\nIp: 1 2\nTcp: InErrs InCsumErrors\nTcp: 7 30\n\
                    TcpExt: TCPRenoRecovery TCPSackRecovery\nTcpExt: 4 5\n";
        assert_eq!(sum_of(text, |name| name == WRONG_CHECKSUMS), 32);
        assert_eq!(sum_of(text, |name| name.ends_with("Recovery")), 9);
        assert_eq!(sum_of("", |_| true), 0);
    }
}
