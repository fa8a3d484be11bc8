//! A guest that boots before the run: it is set up by commands to its agent, and then acts when something happens to it.
//!
//! Its clock is ahead by [`BOOT`]. It needs no time to run, so what it sends because of a datagram leaves when the datagram
//! arrives.

use crate::affinity::OnOneProcessor;
use crate::agent::{Answer, Command};
use crate::guest::{CONTROL, Guest, Start};
use dumbbell_units::Time;
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

/// Guest time at which a run begins, in nanoseconds.
pub const BOOT: u64 = 1_000_000_000;

/// Guest time in which a command is obeyed, in nanoseconds.
const OBEYED_IN: u64 = 100_000_000;

/// What distinguishes guests: all flows with the same settings share one.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings<'a> {
    /// Settings of the kernel, by their names.
    pub sysctl: Vec<(&'a str, &'a str)>,
    /// A module of the user.
    pub module: Option<&'a Path>,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
}

/// A guest with its agent. See the [module](self).
#[derive(Debug)]
pub struct Machine {
    guest: Guest,
    answers: VecDeque<Answer>,
    /// What its hosts have sent, each frame with its device.
    frames: VecDeque<(usize, Vec<u8>)>,
    failure: Option<String>,
    /// Guest and engine share a processor until the guest has ended.
    _processor: Option<OnOneProcessor>,
}

impl Machine {
    /// Starts a guest with these settings, whose hosts have these congestion controls.
    ///
    /// # Errors
    ///
    /// It could not be started or set up.
    pub fn start(
        start: &Start<'_>,
        settings: &Settings<'_>,
        congestion: &BTreeSet<&str>,
    ) -> Result<Self, String> {
        let processor = OnOneProcessor::here();
        let mut machine = Machine {
            guest: Guest::start(start)?,
            answers: VecDeque::new(),
            frames: VecDeque::new(),
            failure: None,
            _processor: processor,
        };
        machine.await_answer(b'R').map_err(|error| format!("the guest did not boot: {error}"))?;
        machine.set_up(settings, congestion)?;
        if machine.guest.calendar().now() > BOOT {
            return Err("the guest took too long to boot".into());
        }
        machine.guest.run_until(BOOT)?;
        Ok(machine)
    }

    /// The guest.
    pub fn guest(&self) -> &Guest {
        &self.guest
    }

    /// When the guest wants to run, in the time of the run.
    pub fn next_deadline(&self) -> Time {
        match self.guest.calendar().request() {
            Some(request) if self.failure.is_none() => Time(request.saturating_sub(BOOT)),
            _ => Time::NEVER,
        }
    }

    /// Why the guest has ended, if it has.
    pub fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    /// The next frame that a host has sent, with its device.
    pub fn poll_frame(&mut self) -> Option<(usize, Vec<u8>)> {
        self.frames.pop_front()
    }

    /// The next answer that nobody has waited for.
    pub fn poll_answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    fn set_up(&mut self, settings: &Settings<'_>, congestion: &BTreeSet<&str>) -> Result<(), String> {
        if let Some(module) = settings.module {
            let folder = module.parent().unwrap_or(Path::new("/"));
            let file = module.file_name().unwrap_or_default();
            let text = [folder.as_os_str().as_encoded_bytes(), b"\0", file.as_encoded_bytes()].concat();
            let problem = format!("the kernel does not load {}", module.display());
            self.order(&Command { kind: b'M', text: &text, ..Command::default() }, &problem)?;
        }
        let hosts = Command { kind: b'H', number: settings.mtu.into(), ..Command::default() };
        // Some settings hold for devices that are made later, others are those of a host.
        for is_made in [false, true] {
            for (name, value) in &settings.sysctl {
                let text = [name.replace('.', "/").as_bytes(), b"\0", value.as_bytes()].concat();
                let problem = format!("the kernel does not accept {name} = \"{value}\"");
                self.order(&Command { kind: b'Y', text: &text, ..Command::default() }, &problem)?;
            }
            if !is_made {
                for congestion in congestion {
                    let problem = format!("the kernel has no congestion control {congestion}");
                    let text = [congestion.as_bytes(), b"\0"].concat();
                    self.order(&Command { kind: b'K', text: &text, ..Command::default() }, &problem)?;
                }
                self.order(&hosts, "the hosts of the guest could not be made")?;
            }
        }
        Ok(())
    }

    /// Gives a command now, and waits until it was obeyed.
    ///
    /// # Errors
    ///
    /// The guest has failed, or says that it cannot; then with the problem before the reason.
    pub fn order(&mut self, command: &Command<'_>, problem: &str) -> Result<(), String> {
        self.command(command)?;
        match self.await_answer(command.kind)?.number {
            0 => Ok(()),
            error => {
                let error = std::io::Error::from_raw_os_error(error as i32);
                Err(format!("{problem}: {error}"))
            }
        }
    }

    /// Gives a command now.
    ///
    /// # Errors
    ///
    /// The guest has failed.
    pub fn command(&mut self, command: &Command<'_>) -> Result<(), String> {
        self.guest.deliver(CONTROL, &command.frame(self.guest.mac(CONTROL)))?;
        self.run()
    }

    /// Lets the guest do what it wants to do now, and takes what it has sent.
    ///
    /// # Errors
    ///
    /// It has failed.
    pub fn run(&mut self) -> Result<(), String> {
        self.guest.run_until(self.guest.calendar().now())?;
        self.take_frames();
        Ok(())
    }

    /// Lets time pass until the agent gives an answer of this kind.
    ///
    /// # Errors
    ///
    /// The guest has failed, or it gives none.
    pub fn await_answer(&mut self, kind: u8) -> Result<Answer, String> {
        let end = self.guest.calendar().now() + OBEYED_IN;
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer.kind == kind) {
                return self.answers.remove(at).ok_or_else(String::new);
            }
            if self.guest.calendar().request().is_none_or(|request| request > end) {
                return Err("it gave no answer to a command".into());
            }
            self.guest.run()?;
            self.take_frames();
        }
    }

    /// Takes what the guest has sent.
    fn take_frames(&mut self) {
        while let Some((device, frame)) = self.guest.poll_frame() {
            if device == CONTROL {
                self.answers.extend(Answer::parse(&frame));
            } else {
                self.frames.push_back((device, frame));
            }
        }
    }

    /// A frame reaches a host now, which does what it does because of it.
    ///
    /// # Errors
    ///
    /// The guest has failed.
    pub fn deliver(&mut self, device: usize, frame: &[u8]) -> Result<(), String> {
        self.guest.deliver(device, frame)?;
        self.run()
    }

    /// The guest does something at this time; what fails ends it.
    pub fn at(&mut self, now: Time, act: impl FnOnce(&mut Self) -> Result<(), String>) {
        if self.failure.is_some() {
            return;
        }
        let to = now.0.saturating_add(BOOT).max(self.guest.calendar().now());
        // What it wants to do at the same time comes after what happens to it.
        let done = self.guest.run_until(to - 1).and_then(|()| {
            self.guest.pass(to)?;
            act(self)
        });
        self.failure = done.err();
        self.take_frames();
    }
}
