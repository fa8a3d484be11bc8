//! The two ends of the link: a TUN device in a network namespace of the program, and one in the namespace of the calling
//! thread.
//!
//! Every shell takes a block of addresses from 100.64.0.0/10, which is not routed on the Internet (RFC 6598). The first
//! three hosts of a block are this host, the program's, and an alias for the loopback address of this host. A shell inside a shell takes a part of the block of the outer one, so that packets of the inner program
//! find their way back through both links, without translated addresses.

use crate::space::{DEVICE, DEVICE_QUEUE, SpaceError, TUN, ip, set, trying};
use dumbbell_units::Value;
use nix::sched::{CloneFlags, unshare};
use std::fmt;
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::thread;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// All addresses of shells.
const ALL: Block = Block { network: Ipv4Addr::new(100, 64, 0, 0), prefix: 10 };

/// Length of the prefix of a shell that is not inside another one; 64 of them fit.
const OUTERMOST: u8 = 16;

/// Bits of the prefix that each level of nesting adds; 15 shells fit into one.
const LEVEL: u8 = 4;

/// Beginning of the alias of devices inside, which states the block.
const ALIAS: &str = "dumbbell shell ";

/// A block of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    network: Ipv4Addr,
    prefix: u8,
}

impl fmt::Display for Block {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.network, self.prefix)
    }
}

impl Block {
    /// Reads a block written as `100.64.0.0/16`.
    fn parse(text: &str) -> Option<Block> {
        let (network, prefix) = text.split_once('/')?;
        Some(Block {
            network: network.parse().ok()?,
            prefix: prefix.parse().ok().filter(|&prefix| prefix <= 30)?,
        })
    }

    fn address(&self, host: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.network) + host)
    }

    /// Address of the host from which the shell was started.
    pub fn host(&self) -> Ipv4Addr {
        self.address(1)
    }

    /// Address of the program.
    pub fn program(&self) -> Ipv4Addr {
        self.address(2)
    }

    /// Address by which the program reaches what listens on 127.0.0.1 of the host.
    pub fn loopback(&self) -> Ipv4Addr {
        self.address(3)
    }

    /// The parts from which shells within this block choose, in order. Inside a shell, the first part contains the
    /// addresses of its own link.
    fn parts(self) -> impl Iterator<Item = Block> {
        let (prefix, first) = if self == ALL { (OUTERMOST, 0) } else { (self.prefix + LEVEL, 1) };
        let count = if prefix <= 28 { 1 << (prefix - self.prefix) } else { 0 };
        let part = move |number: u32| self.address(number << (32 - u32::from(prefix)));
        (first..count).map(move |number| Block { network: part(number), prefix })
    }

    /// Name of the device of the host, unique in its namespace and at most 15 characters long.
    fn device(&self) -> String {
        format!("dbshell-{:x}", u32::from(self.network) >> (32 - u32::from(self.prefix)))
    }

    fn contains(&self, address: Ipv4Addr) -> bool {
        (u32::from(address) ^ u32::from(self.network)) >> (32 - u32::from(self.prefix)) == 0
    }
}

/// The addresses of a namespace, and the block of the shell that it belongs to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Neighbourhood {
    addresses: Vec<Ipv4Addr>,
    shell: Option<Block>,
}

impl Neighbourhood {
    /// Reads the output of `ip -json -details address`.
    fn parse(text: &[u8]) -> Neighbourhood {
        let mut found = Neighbourhood::default();
        let devices: Value = serde_json::from_slice(text).unwrap_or_default();
        for device in devices.as_array().into_iter().flatten() {
            let addresses = device["addr_info"].as_array().into_iter().flatten();
            let addresses = addresses.filter_map(|info| info["local"].as_str()?.parse::<Ipv4Addr>().ok());
            found.addresses.extend(addresses);
            let alias = device["ifalias"].as_str().and_then(|alias| alias.strip_prefix(ALIAS));
            found.shell = alias.and_then(Block::parse).or(found.shell);
        }
        found
    }

    fn of_this_thread() -> Result<Neighbourhood, SpaceError> {
        let output = trying(
            "run the command ip of iproute2",
            Command::new("ip").args(["-json", "-details", "address"]).output(),
        )?;
        Ok(Neighbourhood::parse(&output.stdout))
    }
}

/// The ends of a link.
pub struct Ends {
    /// The addresses.
    pub block: Block,
    /// Name of the device in the namespace of the host.
    pub device: String,
    /// The network namespace of the program.
    pub namespace: File,
    /// What the program sends and receives.
    pub inside: SyncDevice,
    /// What this host sends to the program, and receives from it.
    pub outside: SyncDevice,
    /// Held by one shell in the namespace; gone with the process.
    _claim: UnixListener,
}

impl Ends {
    /// Makes both ends, with packets of at most `mtu` bytes. They are not yet connected.
    ///
    /// # Errors
    ///
    /// The process may not make namespaces or devices (it needs root), `ip` is missing, or no addresses are left. Nothing
    /// is left then.
    pub fn new(mtu: u16) -> Result<Ends, SpaceError> {
        // Missing device nodes are not created: that would outlive the process.
        trying(format!("open {TUN}, which needs root"), File::open(TUN).map(drop))?;
        let neighbourhood = Neighbourhood::of_this_thread()?;
        let (block, claim) = claim(&neighbourhood)?;
        let device = block.device();
        let outside = make(&device, mtu)?;
        // Loopback addresses are valid on this device only, and the setting vanishes with it.
        set(&format!("ipv4/conf/{device}/route_localnet"), "1")?;
        let (host, program, prefix) = (block.host(), block.program(), block.prefix);
        ip(&format!("address add {host}/{prefix} dev {device}\nlink set dev {device} up\n"))?;
        if neighbourhood.shell.is_some() {
            // This namespace is that of an outer shell, and forwards what comes from the inner one.
            set("ipv4/ip_forward", "1")?;
        }
        let made = thread::scope(|scope| {
            let setup = || {
                trying("make a network namespace, which needs root", unshare(CloneFlags::CLONE_NEWNET))?;
                let namespace = trying("open the namespace", File::open("/proc/thread-self/ns/net"))?;
                // Otherwise devices send router solicitations when they come up.
                set("ipv6/conf/default/disable_ipv6", "1")?;
                let inside = make(DEVICE, mtu)?;
                ip(&format!(
                    "address add {program}/{prefix} dev {DEVICE}\n\
                     link set dev {DEVICE} alias \"{ALIAS}{block}\" up\n\
                     link set dev lo up\nroute add default via {host} dev {DEVICE}\n"
                ))?;
                Ok((namespace, inside))
            };
            scope.spawn(setup).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let (namespace, inside) = made?;
        Ok(Ends { block, device, namespace, inside, outside, _claim: claim })
    }
}

/// Chooses a free part of the addresses, and keeps other shells of this namespace from it.
fn claim(neighbourhood: &Neighbourhood) -> Result<(Block, UnixListener), SpaceError> {
    let whole = neighbourhood.shell.unwrap_or(ALL);
    for block in whole.parts() {
        if neighbourhood.addresses.iter().any(|&address| block.contains(address)) {
            continue;
        }
        // Abstract names belong to a network namespace, and vanish with the process.
        let name = SocketAddr::from_abstract_name(format!("{ALIAS}{block}"));
        match name.and_then(|name| UnixListener::bind_addr(&name)) {
            Ok(claim) => return Ok((block, claim)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return trying("claim addresses", Err(error)),
        }
    }
    let cause = io::Error::other(format!("no part of {whole} is free for another shell"));
    Err(SpaceError { action: "choose addresses".into(), cause })
}

/// Makes a device in the namespace of the calling thread.
fn make(name: &str, mtu: u16) -> Result<SyncDevice, SpaceError> {
    let builder = DeviceBuilder::new().name(name).layer(Layer::L3).mtu(mtu).enable(false);
    let device = trying("make a TUN device, which needs root", builder.build_sync())?;
    trying("make the device non-blocking", device.set_nonblocking(true))?;
    set(&format!("ipv6/conf/{name}/disable_ipv6"), "1")?;
    ip(&format!("link set dev {name} txqueuelen {DEVICE_QUEUE} gso_max_segs 1\n"))?;
    Ok(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Block {
        Block::parse(text).expect("a block")
    }

    #[test]
    fn every_level_of_nesting_has_blocks_of_its_own() {
        let outermost: Vec<Block> = ALL.parts().collect();
        assert_eq!((outermost.len(), outermost[1]), (64, block("100.65.0.0/16")));
        let nested: Vec<Block> = outermost[1].parts().collect();
        // The first part would contain the addresses of the outer link.
        assert_eq!((nested.len(), nested[0]), (15, block("100.65.16.0/20")));
        assert_eq!(nested[0].parts().next(), Some(block("100.65.17.0/24")));
        assert_eq!(block("100.65.17.0/24").parts().last(), Some(block("100.65.17.240/28")));
        assert_eq!(block("100.65.17.240/28").parts().next(), None);
        let smallest = block("100.65.17.240/28");
        assert_eq!((smallest.device().as_str(), nested[0].device().len()), ("dbshell-644111f", 13));
        assert_eq!(smallest.loopback(), Ipv4Addr::new(100, 65, 17, 243));
        assert!(smallest.contains(smallest.host()) && !smallest.contains(Ipv4Addr::new(100, 65, 17, 239)));
    }

    #[test]
    fn addresses_and_the_outer_shell_are_found() {
        let text = br#"[{"ifname":"lo","addr_info":[{"family":"inet","local":"127.0.0.1"},{"local":"::1"}]},
            {"ifname":"tun0","ifalias":"dumbbell shell 100.64.0.0/16","addr_info":[{"local":"100.64.0.2"}]}]"#;
        let found = Neighbourhood::parse(text);
        assert_eq!(found.addresses, [Ipv4Addr::LOCALHOST, Ipv4Addr::new(100, 64, 0, 2)]);
        assert_eq!(found.shell, Some(block("100.64.0.0/16")));
        assert_eq!(Neighbourhood::parse(b""), Neighbourhood::default());
    }
}
