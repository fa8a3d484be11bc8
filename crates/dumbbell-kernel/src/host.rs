//! The kernels of the cache as the transport `linux`.

use crate::guest::Start;
use crate::machine::Settings;
use crate::stack::Linux;
use dumbbell_sim::transport::{Carried, Started, TransportHost, TransportSpec};
use dumbbell_units::spec::{Field, Members, Node, Params, SpecError, catalogue, near_miss};
use dumbbell_units::{Stream, Value, params};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The name by which scenarios state it.
pub const NAME: &str = "linux";

/// A guest that does nothing for this long is given up.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Longest name of a congestion control, in bytes.
const LONGEST_NAME: usize = 15;

/// What every guest is told: hosts with plenty of memory, that remember nothing of one connection in the next. By the memory
/// of a guest, all its sockets together could hold a few megabytes: it would drop what arrives out of order beyond.
const SETTINGS: [(&str, &str); 4] = [
    ("net.ipv4.tcp_mem", "8192 10240 12288"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
];

/// Settings of a kernel by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sysctl(BTreeMap<String, String>);

impl Field for Sysctl {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        let setting = |(name, value): (&str, Node<'_>)| {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
            if !name.starts_with("net.") || !name.chars().all(is_name) {
                return Err(value.error("a name that begins with net., such as net.ipv4.tcp_rmem"));
            }
            let text = match value.value() {
                Value::Number(number) => number.to_string(),
                Value::Bool(is_on) => u8::from(*is_on).to_string(),
                _ => String::decode(&value)?,
            };
            if text.is_empty() || text.chars().any(|letter| letter.is_control()) {
                return Err(value.error("what the file in /proc/sys accepts"));
            }
            Ok((name.to_owned(), text))
        };
        node.members()?.into_iter().map(setting).collect::<Result<_, _>>().map(Sysctl)
    }
    fn encode(&self) -> Value {
        json!(self.0)
    }
    fn accepted() -> String {
        "a table of settings below /proc/sys/net, such as { \"net.ipv4.tcp_sack\" = 0 }".into()
    }
    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": { "type": ["string", "integer", "boolean"] } })
    }
}

params! {
    /// Parameters of the kernel.
    pub struct LinuxParams {
        /// The kernel: its version or the beginning of it, or what it was built from.
        tree: String = "6.12".to_owned(), "-", "assumed";
        /// Congestion control, by its name in the kernel.
        congestion: String = "cubic".to_owned(), "-", "assumed",
            |name| (1..=LONGEST_NAME).contains(&name.len()), "a name of at most 15 letters";
        /// Settings of both hosts, which otherwise have those of the kernel, with buffers for much memory and without
        /// metrics of earlier connections.
        sysctl: Sysctl = Sysctl::default(), "-", "-";
        /// Path of a module that the kernel loads, for instance with a congestion control. It runs with the rights of the
        /// user.
        module: Option<String> = None, "-", "-",
            |path| path.as_ref().is_none_or(|path| !path.is_empty()), "the path of a file";
        /// Ask for ECN on every connection.
        ecn: bool = false, "-", "RFC 3168 §6.1";
        /// Size of the largest IP packet.
        mtu: u64 = 1500, "bytes", "RFC 894", |mtu| (576..=1500).contains(mtu), "576 to 1500 bytes";
    }
}

/// A kernel of the cache, see `dumbbell kernel build`.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    folder: PathBuf,
    version: String,
    digest: String,
    tree: String,
    congestion: Vec<String>,
}

impl Kernel {
    /// The kernel in a folder, if it is one.
    fn in_folder(folder: PathBuf) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join("kernel.json")).ok()?;
        let stated: Value = text.parse().ok()?;
        let text = |member: &str| stated.get(member)?.as_str().map(str::to_owned);
        let (version, digest, tree) = (text("version")?, text("digest")?, text("tree")?);
        let names = stated.get("congestion")?.as_array()?;
        let congestion = names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        Some(Kernel { folder, version, digest, tree, congestion })
    }

    /// True if this is the kernel that a scenario means.
    pub fn is(&self, tree: &str) -> bool {
        let rest = self.version.strip_prefix(tree);
        self.tree == tree || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    }

    /// Its version as numbers, for the latest.
    fn order(&self) -> Vec<u32> {
        self.version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
    }
}

/// The kernels of a cache as a host of the engine.
#[derive(Clone, Debug)]
pub struct LinuxHost {
    cache: Option<PathBuf>,
    limit: Duration,
}

impl LinuxHost {
    /// That of the user, to be shared.
    pub fn shared() -> Arc<dyn TransportHost> {
        Arc::new(Self::user())
    }

    /// The host of the kernels in the user's cache: `DUMBBELL_KERNELS`, or `dumbbell/kernels` in the usual folder.
    pub fn user() -> Self {
        let folder =
            |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
        let home = || folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
        let cache = folder("DUMBBELL_KERNELS").or_else(|| Some(home()?.join("dumbbell").join("kernels")));
        LinuxHost { cache, limit: LIMIT }
    }

    /// The host of the kernels in a folder.
    pub fn new(cache: PathBuf) -> Self {
        LinuxHost { cache: Some(cache), limit: LIMIT }
    }

    /// Gives guests up after this long without progress.
    pub fn with_limit(self, limit: Duration) -> Self {
        LinuxHost { limit, ..self }
    }

    /// The kernels that are built, the latest version first.
    pub fn kernels(&self) -> Vec<Kernel> {
        let entries = self.cache.as_ref().and_then(|cache| std::fs::read_dir(cache).ok());
        let folders = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut kernels: Vec<Kernel> = folders.filter_map(Kernel::in_folder).collect();
        kernels.sort_by(|a, b| (b.order(), &b.digest).cmp(&(a.order(), &a.digest)));
        kernels
    }

    /// The kernel and the parameters of a flow.
    fn read(&self, flow: &str, spec: &TransportSpec) -> Result<(Kernel, String, LinuxParams), SpecError> {
        let params: LinuxParams = spec.read(flow)?;
        let error = |member: &str, value: &str, accepted: String, suggestion| SpecError {
            field: format!("flows.{flow}.transport.{member}"),
            value: format!("\"{value}\""),
            accepted,
            suggestion,
        };
        let module = match &params.module {
            None => None,
            Some(path) => Some(std::fs::read(path).map_err(|problem| {
                error("module", path, format!("a file with a module of the kernel ({problem})"), None)
            })?),
        };
        let all = self.kernels();
        let meant: Vec<&Kernel> = all.iter().filter(|kernel| kernel.is(&params.tree)).collect();
        if meant.is_empty() {
            let built: Vec<&str> = all.iter().map(|kernel| kernel.version.as_str()).collect();
            let built = if built.is_empty() { "none is".into() } else { format!("{} are", built.join(", ")) };
            let accepted =
                format!("a kernel that is built, and {built}: run `dumbbell kernel build {}`", params.tree);
            return Err(error("tree", &params.tree, accepted, None));
        }
        let has = |kernel: &Kernel| {
            let digest = identity(kernel, module.as_deref());
            let is_same = |stated: &str, is: &str| stated.is_empty() || stated == is;
            (is_same(&spec.version, &kernel.version) && is_same(&spec.digest, &digest)).then_some(digest)
        };
        let Some((kernel, digest)) = meant.iter().find_map(|kernel| Some((*kernel, has(kernel)?))) else {
            let versions: Vec<String> = meant
                .iter()
                .map(|kernel| {
                    format!("{} with digest {}", kernel.version, identity(kernel, module.as_deref()))
                })
                .collect();
            let is_other =
                meant.iter().all(|kernel| !spec.version.is_empty() && kernel.version != spec.version);
            let (member, value) =
                if is_other { ("version", &spec.version) } else { ("digest", &spec.digest) };
            let accepted = format!("that of a kernel that is built: {}", versions.join(", "));
            return Err(error(member, value, accepted, None));
        };
        if module.is_none() && !kernel.congestion.contains(&params.congestion) {
            let names: Vec<&str> = kernel.congestion.iter().map(String::as_str).collect();
            let accepted = format!("a congestion control of Linux {}: {}", kernel.version, names.join(", "));
            return Err(error(
                "congestion",
                &params.congestion,
                accepted,
                near_miss(&params.congestion, &names),
            ));
        }
        Ok((kernel.clone(), digest, params))
    }
}

/// Digest of a kernel, and of a module that it loads.
fn identity(kernel: &Kernel, module: Option<&[u8]>) -> String {
    match module {
        None => kernel.digest.clone(),
        Some(module) => {
            let hash = Sha256::new().chain_update(&kernel.digest).chain_update(Sha256::digest(module));
            format!("{:x}", hash.finalize())
        }
    }
}

/// Flows that share a guest.
struct Group {
    kernel: Kernel,
    params: LinuxParams,
    congestion: BTreeMap<u32, String>,
    seed: u64,
}

impl Group {
    fn start(self, limit: Duration) -> Result<Started, String> {
        let Group { kernel, params, congestion, seed } = self;
        let mut sysctl: BTreeMap<&str, &str> = SETTINGS.into();
        if params.ecn {
            sysctl.insert("net.ipv4.tcp_ecn", "1");
        }
        sysctl.extend(params.sysctl.0.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        // The guest does not follow links of the machine.
        let module = params.module.as_ref().map(std::fs::canonicalize).transpose();
        let module = module.map_err(|error| format!("the path of a module: {error}"))?;
        let settings = Settings {
            sysctl: sysctl.into_iter().collect(),
            module: module.as_deref(),
            mtu: params.mtu as u32,
        };
        let flows = congestion.keys().copied().collect();
        let stack = Linux::start(&Start { kernel: &kernel.folder, seed, limit }, &settings, congestion)
            .map_err(|error| format!("Linux {}: {error}", kernel.version))?;
        Ok(Started { stack: Box::new(stack), flows })
    }
}

/// A number from the stream of a flow.
fn draw(random: &mut Stream) -> u64 {
    (random.uniform() * (1_u64 << 53) as f64) as u64
}

impl TransportHost for LinuxHost {
    fn name(&self) -> &'static str {
        NAME
    }

    fn entry(&self) -> Value {
        json!({
            "name": NAME,
            "summary": "The TCP of an unmodified Linux kernel, which `dumbbell kernel build` makes.",
            "version": self.kernels().first().map_or("", |kernel| &kernel.version),
            "parameters": catalogue(&LinuxParams::infos()),
        })
    }

    fn complete(&self, flow: &str, spec: &TransportSpec) -> Result<TransportSpec, SpecError> {
        let (kernel, digest, params) = self.read(flow, spec)?;
        let parameters: Members =
            params.members().into_iter().filter(|(_, value)| !value.is_null()).collect();
        Ok(TransportSpec { name: NAME.into(), version: kernel.version, digest, parameters })
    }

    fn start(&self, flows: Vec<Carried<'_>>) -> Result<Vec<Started>, String> {
        let mut groups: Vec<Group> = Vec::new();
        for mut carried in flows {
            let (kernel, _, mut params) =
                self.read(carried.name, carried.spec).map_err(|error| error.to_string())?;
            let congestion = std::mem::take(&mut params.congestion);
            let seed = draw(&mut carried.random);
            let known = groups.iter_mut().find(|group| group.kernel == kernel && group.params == params);
            match known {
                Some(group) => {
                    group.seed = group.seed.rotate_left(11) ^ seed;
                    group.congestion.insert(carried.flow, congestion);
                }
                None => {
                    let congestion = BTreeMap::from([(carried.flow, congestion)]);
                    groups.push(Group { kernel, params, congestion, seed });
                }
            }
        }
        groups.into_iter().map(|group| group.start(self.limit)).collect()
    }
}

/// The folder of a kernel, for tests.
impl AsRef<Path> for Kernel {
    fn as_ref(&self) -> &Path {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache with kernels of these versions, whose programs are missing.
    fn cache(versions: &[&str]) -> (tempfile::TempDir, LinuxHost) {
        let folder = tempfile::tempdir().expect("a folder");
        for version in versions {
            let kernel = folder.path().join(format!("{version}-abc"));
            std::fs::create_dir(&kernel).expect("a folder");
            let stated = json!({
                "version": version, "digest": format!("d{version}"), "tree": "6.12", "congestion": ["reno", "cubic"],
            });
            std::fs::write(kernel.join("kernel.json"), stated.to_string()).expect("a file");
        }
        let host = LinuxHost::new(folder.path().to_owned());
        (folder, host)
    }

    fn spec(parameters: Value) -> TransportSpec {
        let parameters = parameters.as_object().expect("a table").clone();
        TransportSpec { name: NAME.into(), parameters, ..TransportSpec::default() }
    }

    fn refusal(host: &LinuxHost, spec: &TransportSpec) -> String {
        host.complete("f", spec).expect_err("a refusal").to_string()
    }

    #[test]
    fn defaults_are_filled_in_and_stay() {
        let (_folder, host) = cache(&["6.12.9", "6.12.117"]);
        let stated = spec(json!({ "sysctl": { "net.ipv4.tcp_sack": 0 } }));
        let completed = host.complete("f", &stated).expect("accepted");
        assert_eq!((completed.version.as_str(), completed.digest.as_str()), ("6.12.117", "d6.12.117"));
        let expected = json!({
            "tree": "6.12", "congestion": "cubic", "sysctl": { "net.ipv4.tcp_sack": "0" }, "ecn": false, "mtu": 1500,
        });
        assert_eq!(Value::Object(completed.parameters.clone()), expected);
        assert_eq!(host.complete("f", &completed), Ok(completed));
    }

    #[test]
    fn an_earlier_kernel_is_found_by_its_version() {
        let (_folder, host) = cache(&["6.12.9", "6.12.117"]);
        let completed = host.complete("f", &spec(json!({ "tree": "6.12.9" }))).expect("accepted");
        assert_eq!(completed.version, "6.12.9");
        let stated = TransportSpec { version: "6.12.9".into(), ..spec(json!({})) };
        assert_eq!(host.complete("f", &stated).map(|completed| completed.digest), Ok("d6.12.9".into()));
    }

    #[test]
    fn what_does_not_run_here_is_refused_in_a_sentence() {
        let (_folder, host) = cache(&["6.12.117"]);
        let text = refusal(&host, &spec(json!({ "tree": "6.1" })));
        assert!(text.starts_with("flows.f.transport.tree: \"6.1\" is not accepted"), "{text}");
        assert!(text.contains("6.12.117 are: run `dumbbell kernel build 6.1`"), "{text}");
        let text = refusal(&host, &spec(json!({ "congestion": "cubik" })));
        assert!(
            text.contains("congestion control of Linux 6.12.117: reno, cubic (did you mean `cubic`?)"),
            "{text}"
        );
        let text = refusal(&host, &spec(json!({ "congestoin": "cubic" })));
        assert!(text.contains("did you mean `congestion`?"), "{text}");
        let text = refusal(&host, &TransportSpec { version: "6.12.1".into(), ..spec(json!({})) });
        assert!(text.contains(".version: \"6.12.1\"") && text.contains("6.12.117"), "{text}");
        let text = refusal(&host, &TransportSpec { digest: "other".into(), ..spec(json!({})) });
        assert!(text.contains(".digest: \"other\"") && text.contains("d6.12.117"), "{text}");
        let text = refusal(&host, &spec(json!({ "sysctl": { "kernel.core_pattern": "x" } })));
        assert!(text.contains("begins with net."), "{text}");
        let text = refusal(&host, &spec(json!({ "module": "/nowhere.ko" })));
        assert!(text.contains(".module: \"/nowhere.ko\""), "{text}");
        let (_folder, empty) = cache(&[]);
        let text = refusal(&empty, &spec(json!({})));
        assert!(text.ends_with("none is: run `dumbbell kernel build 6.12`"), "{text}");
    }
}
