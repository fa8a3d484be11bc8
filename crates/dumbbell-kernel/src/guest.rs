//! The process of a guest, and the sockets through which it gets time and frames.
//!
//! Nothing of a guest is left behind, however this process ends: the program that starts it names its socket for an
//! instant, and ends it when this process is gone (`python/dumbbell/kernel/launch.c`); its memory file has no name.
//!
//! A guest that ends, hangs or floods is an error that says so, with the last line that its kernel has printed.

use crate::calendar::{self, Answer, Calendar};
use crate::link::{FROM_GUEST, Link, TO_GUEST};
use crate::vhost::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
};
use rustix::net::{SocketType, socket_with};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// Devices of a guest: that of the sender, that of the receiver, and that of commands.
pub const DEVICES: usize = 3;

/// The device of the sender, that of the receiver, and that of commands.
pub const SENDER: usize = 0;
/// See [`SENDER`].
pub const RECEIVER: usize = 1;
/// See [`SENDER`].
pub const CONTROL: usize = 2;

/// The socket that guests know, see `python/dumbbell/kernel/launch.c`.
const SOCKET: &str = "/proc/self/fd/9";

/// Most bytes that a guest prints, and most of them in which its last line is looked for.
const MOST_PRINTED: u64 = 1 << 20;
const LAST_PRINTED: u64 = 1 << 14;

/// Most letters that are shown of what a guest has printed.
const MOST_SHOWN: usize = 300;

/// What a guest prints is looked at when it has done nothing for this long, and after so many messages.
const SLICE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const BETWEEN_LOOKS: u64 = 1024;

/// Most messages of a guest in a millisecond of simulated time, five times as many as a flow of 100 Gbit/s causes, and most
/// frames that it sends at once.
const MOST_MESSAGES: u64 = 1 << 18;
const MOST_FRAMES: usize = 1 << 17;
const SPAN: u64 = 1_000_000;

/// What the starter adds to the number of the signal that has ended a guest.
const SIGNALED: i32 = 128;

/// Begin of the line with which a kernel ends.
const PANIC: &str = "Kernel panic - not syncing: ";

/// How a guest is started.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// The folder of the kernel, with `linux`, `launch` and `root`.
    pub kernel: &'a Path,
    /// Decides what the guest draws at random.
    pub seed: u64,
    /// The guest is given up when it does nothing for this long.
    pub limit: Duration,
}

/// A running guest. See the [module](self).
#[derive(Debug)]
pub struct Guest {
    child: Child,
    /// The guest lives as long as this is open.
    life: UnixStream,
    /// What the guest prints.
    printed: File,
    clock: UnixStream,
    /// Times that calendar and guest share.
    shared: File,
    links: Vec<Link>,
    calendar: Calendar,
    /// It has just got the shared memory.
    is_new: bool,
    limit: Duration,
    /// Messages of the guest, and when the present millisecond began, with the messages before.
    messages: u64,
    span: (u64, u64),
    /// Frames that it has sent, each with its device.
    frames: VecDeque<(usize, Vec<u8>)>,
    buffer: Vec<u8>,
}

/// Waits until one of these can be read.
fn wait(
    descriptors: &[BorrowedFd<'_>],
    limit: &Timespec,
    ready: &mut [bool; DEVICES + 2],
) -> Result<bool, Errno> {
    ready.fill(false);
    let mut polled: [PollFd<'_>; DEVICES + 2] = std::array::from_fn(|at| {
        PollFd::from_borrowed_fd(*descriptors.get(at).unwrap_or(&descriptors[0]), PollFlags::IN)
    });
    let polled = &mut polled[..descriptors.len()];
    loop {
        match poll(polled, Some(limit)) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
            Ok(0) => return Ok(false),
            Ok(_) => break,
        }
    }
    for (ready, polled) in ready.iter_mut().zip(polled) {
        *ready = !polled.revents().is_empty();
    }
    Ok(true)
}

/// What the system says about a file or a process.
fn failed(what: &str) -> impl Fn(io::Error) -> String {
    move |error| format!("{what}: {error}")
}

impl Guest {
    /// Starts a guest, up to its first wait for time.
    ///
    /// # Errors
    ///
    /// It could not be started, or does not do what guests do.
    pub fn start(start: &Start<'_>) -> Result<Self, String> {
        let (life, ended) = UnixStream::pair().map_err(failed("a pair of sockets could not be made"))?;
        let file =
            || memfd_create("dumbbell-guest", MemfdFlags::CLOEXEC).map(File::from).map_err(io::Error::from);
        let printed = file().map_err(failed("no memory for what a guest prints"))?;
        let shared = file().map_err(failed("no memory for the times of a guest"))?;
        shared.write_all_at(&Calendar::shared(), 0).map_err(failed("no memory for the times of a guest"))?;
        let output = printed.try_clone().map_err(failed("no descriptor for what a guest prints"))?;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|error| failed("a socket could not be made")(error.into()))?;
        let to_listen = socket.try_clone().map_err(failed("a socket could not be made"))?;
        let mut command = Command::new(start.kernel.join("launch"));
        command
            .arg(std::env::temp_dir())
            .arg(start.kernel.join("linux"))
            .args(arguments(start.seed))
            .current_dir(start.kernel.join("root"))
            .env_clear()
            .stdin(OwnedFd::from(ended))
            .stdout(output)
            .stderr(to_listen);
        let program = start.kernel.join("launch").display().to_string();
        let child = command.spawn().map_err(failed(&format!("{program} could not be started")))?;
        drop(command);
        let (clock, other) = UnixStream::pair().map_err(failed("a pair of sockets could not be made"))?;
        drop(other);
        let mut guest = Guest {
            child,
            life,
            printed,
            clock,
            shared,
            links: Vec::new(),
            calendar: Calendar::default(),
            is_new: false,
            limit: start.limit,
            messages: 0,
            span: (0, 0),
            frames: VecDeque::new(),
            buffer: Vec::new(),
        };
        // Its socket listens from now on.
        let folder = std::env::temp_dir();
        guest
            .receive(guest.life.as_fd(), &mut [0])
            .map_err(|error| format!("{error}, before its socket was in {}", folder.display()))?;
        guest.connect(&UnixListener::from(socket))?;
        guest.serve()?;
        Ok(guest)
    }

    /// The guest connects for its clock first, and then for each device.
    fn connect(&mut self, listener: &UnixListener) -> Result<(), String> {
        self.clock = self.accept(listener)?;
        while self.links.len() < DEVICES {
            let next = self.links.len();
            // Devices connect one after the other while the guest runs.
            self.serve_until(Some(listener.as_fd()))?;
            let socket = self.accept(listener)?;
            self.links.push(Link::new(socket, [2, 0, 0, 0, 0, next as u8]));
        }
        Ok(())
    }

    fn accept(&self, listener: &UnixListener) -> Result<UnixStream, String> {
        self.wait(&[listener.as_fd()])?;
        listener.accept().map(|(socket, _)| socket).map_err(|error| self.broken(error))
    }

    /// The clock of the guest.
    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// The number of its process, for tests.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The next frame that the guest has sent, with its device.
    pub fn poll_frame(&mut self) -> Option<(usize, Vec<u8>)> {
        self.frames.pop_front()
    }

    /// Lets the guest run at the time of its request, until it waits again.
    ///
    /// # Errors
    ///
    /// It has failed.
    pub fn run(&mut self) -> Result<(), String> {
        self.grant()?;
        self.serve()
    }

    fn grant(&mut self) -> Result<(), String> {
        let granted = self.calendar.grant();
        self.share()?;
        self.tell(&granted)
    }

    /// Writes the time where the guest looks for it. It puts its own requests over the end of the instant.
    fn share(&self) -> Result<(), String> {
        if !self.calendar.is_shared() {
            return Ok(());
        }
        let (position, bytes) = self.calendar.share();
        self.shared.write_all_at(&bytes, position).map_err(|error| self.broken(error))
    }

    /// Reads what the guest wants.
    fn read_shared(&mut self) -> Result<(), String> {
        let mut bytes = [0; calendar::GUEST_PART.1];
        self.shared.read_exact_at(&mut bytes, calendar::GUEST_PART.0).map_err(|error| self.broken(error))?;
        self.calendar.on_shared(&bytes).map_err(|error| self.broken(error))
    }

    /// Time passes up to `to`, in nanoseconds, while the guest does what it wants to do by then.
    ///
    /// # Errors
    ///
    /// It has failed.
    pub fn run_until(&mut self, to: u64) -> Result<(), String> {
        while self.calendar.request().is_some_and(|request| request <= to) {
            self.run()?;
        }
        self.pass(to)
    }

    /// Time passes up to `to`, in nanoseconds, at which or after which the guest wants to run.
    ///
    /// # Errors
    ///
    /// It has failed.
    pub fn pass(&mut self, to: u64) -> Result<(), String> {
        if self.calendar.now() >= to {
            return Ok(());
        }
        self.calendar.pass(to);
        self.share()
    }

    /// Hardware address of a device.
    pub fn mac(&self, device: usize) -> [u8; 6] {
        self.links[device].mac()
    }

    /// A frame reaches a device now. The guest wants to run at this time then.
    ///
    /// # Errors
    ///
    /// It has failed, or has no room for the frame.
    pub fn deliver(&mut self, device: usize, frame: &[u8]) -> Result<(), String> {
        let put = self.links[device].put(frame, &mut self.buffer);
        put.map_err(|error| self.broken(error))?;
        self.interrupt(device, TO_GUEST)
    }

    /// Tells the guest that buffers were given back. A signal lets it take note before it reads anything else. If what it
    /// wants then is not known, its clock is served until it has taken note.
    fn interrupt(&mut self, device: usize, ring: usize) -> Result<(), String> {
        let link = &self.links[device];
        if !link.wants_interrupt(ring) {
            return Ok(());
        }
        let Some(interrupts) = link.interrupts.clone() else {
            return Err(self.broken("it takes no interrupts"));
        };
        let is_known = self.calendar.interrupt();
        send(&interrupts, &vhost::interrupt(ring, !is_known)).map_err(|error| self.lost(error))?;
        if is_known {
            return Ok(());
        }
        // With shared memory, it says nothing else before its answer.
        while !self.calendar.is_shared() && !self.wait(&[interrupts.as_fd(), self.clock.as_fd()])?[0] {
            self.on_clock()?;
        }
        let mut answer = [0; vhost::INTERRUPT_ANSWER];
        self.receive(interrupts.as_fd(), &mut answer)?;
        vhost::check_interrupt_answer(&answer).map_err(|error| self.broken(error))?;
        if self.calendar.is_shared() { self.read_shared() } else { Ok(()) }
    }

    /// Serves the guest until it waits for time.
    fn serve(&mut self) -> Result<(), String> {
        self.serve_until(None)
    }

    /// Serves the guest until it waits for time, or until `other` can be read. While that has not happened, time passes
    /// as the guest wants.
    fn serve_until(&mut self, other: Option<BorrowedFd<'_>>) -> Result<(), String> {
        loop {
            if self.calendar.is_waiting() {
                if other.is_none() {
                    return Ok(());
                }
                if self.calendar.request().is_none() {
                    return Err(self.broken("it has no devices"));
                }
                self.grant()?;
            }
            let mut descriptors = [self.clock.as_fd(); DEVICES + 2];
            for (place, link) in descriptors[1..].iter_mut().zip(&self.links) {
                *place = link.socket.as_fd();
            }
            let count = 1 + self.links.len();
            if let Some(other) = other {
                descriptors[count] = other;
            }
            let ready = self.wait(&descriptors[..count + usize::from(other.is_some())])?;
            if ready[0] {
                self.on_clock()?;
            } else if let Some(device) = (0..self.links.len()).find(|device| ready[1 + device]) {
                self.on_device(device)?;
            } else {
                return Ok(());
            }
        }
    }

    fn wait(&self, descriptors: &[BorrowedFd<'_>]) -> Result<[bool; DEVICES + 2], String> {
        let mut ready = [false; DEVICES + 2];
        let slices = self.limit.as_nanos().div_ceil(SLICE.tv_nsec as u128);
        for _ in 0..slices {
            match wait(descriptors, &SLICE, &mut ready) {
                Ok(true) => return Ok(ready),
                Ok(false) => self.check_printed()?,
                Err(error) => return Err(self.broken(error)),
            }
        }
        let seconds = self.limit.as_secs_f64();
        Err(format!("the guest has done nothing for {seconds} s of real time{}", self.last_words()))
    }

    /// The guest has sent something: an error if it does not come to an end.
    fn count(&mut self) -> Result<(), String> {
        self.messages += 1;
        if self.calendar.now() - self.span.0 >= SPAN {
            self.span = (self.calendar.now(), self.messages);
        }
        if self.messages - self.span.1 > MOST_MESSAGES {
            let words = self.last_words();
            return Err(format!(
                "the guest floods: {MOST_MESSAGES} messages in a millisecond of its time{words}"
            ));
        }
        if self.messages.is_multiple_of(BETWEEN_LOOKS) { self.check_printed() } else { Ok(()) }
    }

    fn check_printed(&self) -> Result<(), String> {
        let printed = self.printed.metadata().map_err(|error| self.broken(error))?.len();
        if printed > MOST_PRINTED {
            let words = self.last_words();
            return Err(format!("the guest floods: it has printed more than {MOST_PRINTED} bytes{words}"));
        }
        Ok(())
    }

    /// A message of the clock, if there is one.
    fn on_clock(&mut self) -> Result<bool, String> {
        let mut bytes = [0; calendar::MESSAGE];
        match rustix::net::recv(&self.clock, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(self.has_ended()),
            Ok((received, _)) => self.receive(self.clock.as_fd(), &mut bytes[received..])?,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(error) => return Err(self.lost(error)),
        }
        self.count()?;
        if std::mem::take(&mut self.is_new) {
            // It has looked at the shared memory before it says anything further.
            self.read_shared()?;
        }
        match self.calendar.on_message(&bytes).map_err(|error| self.broken(error))? {
            Answer::None if self.calendar.is_waiting() => self.read_shared()?,
            Answer::None => {}
            Answer::Bytes(answer) => self.tell(&answer)?,
            Answer::First(answer) => {
                self.is_new = true;
                self.tell_first(&answer).map_err(|error| self.lost(error))?;
            }
        }
        Ok(true)
    }

    fn tell(&self, message: &[u8]) -> Result<(), String> {
        send(&self.clock, message).map_err(|error| self.lost(error))
    }

    /// The first answer of the clock. Linux 6.12 takes two descriptors from it without looking whether there are any:
    /// the shared memory, and a file for messages, which it does not use.
    fn tell_first(&self, message: &[u8]) -> Result<(), Errno> {
        let descriptors = [self.shared.as_fd(), self.printed.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        rustix::net::sendmsg(&self.clock, &[IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Receives all of `bytes`.
    fn receive(&self, from: BorrowedFd<'_>, bytes: &mut [u8]) -> Result<(), String> {
        let mut done = 0;
        while done < bytes.len() {
            match rustix::net::recv(from, &mut bytes[done..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(self.has_ended()),
                Ok((received, _)) => done += received,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.wait(&[from])?;
                }
                Err(error) => return Err(self.lost(error)),
            }
        }
        Ok(())
    }

    /// A device can be read: messages, of which the last one may be incomplete.
    fn on_device(&mut self, device: usize) -> Result<(), String> {
        let link = &mut self.links[device];
        match link.read() {
            Ok(0) => return Err(self.has_ended()),
            Ok(_) => {}
            Err(error) => return Err(self.lost(error)),
        }
        self.count()?;
        loop {
            let next = self.links[device].next_message();
            let Some((reply, event)) = next.map_err(|error| self.broken(error))? else { return Ok(()) };
            if event == Event::Kick(FROM_GUEST) {
                self.on_frames(device)?;
            }
            if let Some(reply) = reply {
                send(&self.links[device].socket, &reply).map_err(|error| self.lost(error))?;
            }
        }
    }

    /// The guest has put frames into the ring of a device.
    fn on_frames(&mut self, device: usize) -> Result<(), String> {
        let before = self.frames.len();
        let taken =
            self.links[device].take_frames(&mut self.buffer, |frame| self.frames.push_back((device, frame)));
        taken.map_err(|error| self.broken(error))?;
        if self.frames.len() == before {
            return Ok(());
        }
        if self.frames.len() > MOST_FRAMES {
            return Err(format!("the guest floods: {MOST_FRAMES} frames at once{}", self.last_words()));
        }
        // An interrupt while it waited has shortened the instant for which it needs not ask.
        self.share()?;
        self.interrupt(device, FROM_GUEST)
    }

    /// A socket of the guest is closed, which is its end.
    fn has_ended(&self) -> String {
        // Its starter ends now, too, and says how the guest has ended.
        let _ = self.life.shutdown(Shutdown::Both);
        let starter = Pid::from_child(&self.child);
        let status = waitid(WaitId::Pid(starter), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let status = status.ok().flatten().and_then(|status| status.exit_status()).unwrap_or(0);
        match self.last_words() {
            words if words.contains(PANIC) => format!("the kernel of the guest has panicked{words}"),
            words if status > SIGNALED => {
                format!("the guest was ended by signal {}{words}", status - SIGNALED)
            }
            words => format!("the guest has ended with status {status}{words}"),
        }
    }

    /// A socket of the guest has an error.
    fn lost(&self, error: Errno) -> String {
        match error {
            Errno::PIPE | Errno::CONNRESET => self.has_ended(),
            error => self.broken(error),
        }
    }

    fn broken(&self, error: impl std::fmt::Display) -> String {
        format!("the guest does not do what a guest does: {error}{}", self.last_words())
    }

    /// The last line that the guest has printed, or that of its panic, after that of the reason if there is one.
    fn last_words(&self) -> String {
        let begin = self.printed.metadata().map_or(0, |file| file.len()).saturating_sub(LAST_PRINTED);
        let mut bytes = vec![0; LAST_PRINTED as usize];
        let read = self.printed.read_at(&mut bytes, begin).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..read]);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let panic = lines.iter().position(|line| line.contains(PANIC));
        let Some(last) = panic.or(lines.len().checked_sub(1)) else { return String::new() };
        let has_reason = last > 0 && panic.is_some() && lines[last - 1].starts_with("BUG: ");
        let words = lines[last - usize::from(has_reason)..=last].join("; ");
        let shown: String = words.chars().filter(|letter| !letter.is_control()).take(MOST_SHOWN).collect();
        format!("; it said: {shown}")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Its starter ends it now, and waits for it.
        let _ = self.life.shutdown(Shutdown::Both);
        let _ = self.child.wait();
    }
}

fn send(to: &UnixStream, bytes: &[u8]) -> Result<(), Errno> {
    // Messages are far smaller than the buffer of a socket, and the guest waits for each of them.
    match rustix::net::send(to, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
        Ok(sent) if sent == bytes.len() => Ok(()),
        Ok(_) => Err(Errno::AGAIN),
        Err(error) => Err(error),
    }
}

/// The command line of a guest. It never names a path that could differ, because it decides what the guest draws.
fn arguments(seed: u64) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "mem=64M",
        "umid=guest",
        // It can make no folder there, and needs none.
        "uml_dir=/proc/",
        "root=hostfs",
        "rootfstype=hostfs",
        "rootflags=/proc/self/cwd/.",
        "rw",
        "init=/init",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        // Warnings, such as the place of a bug.
        "loglevel=5",
        "panic=-1",
        "random.trust_cpu=1",
        // Since Linux 6.16, programs of the guest need not be traced; others do not know the word.
        "seccomp=auto",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("time-travel=ext:1:{SOCKET}"));
    arguments.extend((0..DEVICES).map(|_| format!("virtio_uml.device={SOCKET}:1")));
    arguments.push(format!("seed={seed:016x}"));
    arguments
}
