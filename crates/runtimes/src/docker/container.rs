//! What an engine is asked for: a container with our label, hardened unless a person said otherwise.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use bollard::models::{ContainerCreateBody, DeviceRequest, HostConfig, Mount, MountType, PortBinding};
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    engine::LABEL,
    hosts::Hosts,
    settings::{DockerSettings, Gpu, NetworkPolicy},
};
use crate::folders::FolderAccess;

/// Where the server listens in the container.
pub(super) const PORT: &str = "8888/tcp";
/// The folder of the server's socket, in the container.
const SOCKET_FOLDER: &str = "/run/sandbook";
/// The socket's name in its folder.
pub(super) const SOCKET: &str = "server.sock";
/// The name of the proxy's socket in the same folder, and the port of the container's own loopback that leads to it.
pub(super) const PROXY_SOCKET: &str = "proxy.sock";
const PROXY_PORT: u16 = 3128;
/// What opens that port.
const WAY_OUT: &str = include_str!("way_out.py");
/// Says of a container which hosts it may reach: an owner that comes later lets it reach the same.
pub(super) const HOSTS_LABEL: &str = "io.sandbook.hosts";
/// How many processes and threads a container may have, where nobody says otherwise.
const PROCESSES: u32 = 512;
/// As who code runs where the image says root, or nothing.
const NOBODY_SPECIAL: &str = "1000:1000";
/// Memory of a read-only container that it can write to.
const SCRATCH: &str = "rw,exec,nosuid,nodev,mode=1777";

/// A container before it is made.
pub(super) struct Plan<'a> {
    pub(super) settings: &'a DockerSettings,
    pub(super) environment: &'a BTreeMap<String, String>,
    pub(super) token: &'a SecretString,
    /// The id under which it is on record.
    pub(super) id: &'a str,
    /// The folder of this computer that it works in.
    pub(super) folder: Option<PathBuf>,
    /// Where the code runs.
    pub(super) working_directory: String,
    /// The image has what our Dockerfile puts into it: a home for everybody, a working folder for everybody.
    pub(super) is_our_image: bool,
    /// As who the image runs by itself.
    pub(super) image_user: String,
    /// The owner of the folder that is mounted.
    pub(super) folder_owner: Option<(u32, u32)>,
    /// The folder that holds the server's socket, where there is no network.
    pub(super) socket_folder: Option<&'a Path>,
}

impl Plan<'_> {
    /// As who the code runs: as the person says; else as the folder's owner, so that what is written is theirs; else as
    /// the image does. Root only if the person says so.
    fn user(&self) -> String {
        let owner = self.folder_owner.filter(|(user, _)| *user != 0);
        let image = (!is_root(&self.image_user)).then(|| self.image_user.clone());
        self.settings
            .user
            .clone()
            .or_else(|| owner.map(|(user, group)| format!("{user}:{group}")))
            .or(image)
            .unwrap_or_else(|| NOBODY_SPECIAL.to_owned())
    }

    fn command(&self, user: &str) -> Vec<String> {
        let mut words: Vec<String> =
            ["python3", "-m", "jupyter_server", "--ServerApp.open_browser=False"].map(Into::into).into();
        if self.socket_folder.is_some() {
            words.push(format!("--ServerApp.sock={SOCKET_FOLDER}/{SOCKET}"));
            // the folder around it lets in nobody but us
            words.push("--ServerApp.sock_mode=0666".into());
        } else {
            words.extend(
                ["--ServerApp.ip=0.0.0.0", "--ServerApp.port=8888", "--ServerApp.port_retries=0"]
                    .map(Into::into),
            );
        }
        words.extend(
            [
                // output is never thrown away: our reader does not block it
                "--ZMQChannelsWebsocketConnection.iopub_data_rate_limit=0",
                "--ZMQChannelsWebsocketConnection.iopub_msg_rate_limit=0",
                // a dead kernel is told after half a second, not three
                "--KernelRestarter.time_to_dead=0.5",
            ]
            .map(Into::into),
        );
        words.push(format!("--ServerApp.root_dir={}", self.working_directory));
        if is_root(user) {
            words.push("--allow-root".into());
        }
        if self.settings.network == NetworkPolicy::Allowlist {
            let way_out = [
                "python3",
                "-c",
                WAY_OUT,
                &PROXY_PORT.to_string(),
                &format!("{SOCKET_FOLDER}/{PROXY_SOCKET}"),
            ];
            words.splice(0..0, way_out.map(Into::into));
        }
        words
    }

    fn variables(&self) -> Vec<String> {
        let token = self.token.expose_secret();
        let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
        let mut variables = BTreeMap::from([("TOKEN", token), ("JUPYTER_TOKEN", token)]);
        if !self.is_our_image {
            // its own home may be closed to whom we run it as
            variables.insert("HOME", "/tmp");
        }
        if self.settings.network == NetworkPolicy::Allowlist {
            variables.extend(
                ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name, proxy.as_str())),
            );
            variables.extend(["no_proxy", "NO_PROXY"].map(|name| (name, "127.0.0.1,localhost,::1")));
        }
        variables.extend(self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        variables.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    fn mounts(&self) -> Vec<Mount> {
        let bind = |source: PathBuf, target: &str, read_only| Mount {
            typ: Some(MountType::BIND),
            source: Some(source.display().to_string()),
            target: Some(target.to_owned()),
            read_only: Some(read_only),
            ..Mount::default()
        };
        let settings = self.settings;
        let folder = self.folder.iter();
        let folder = folder.map(|folder| {
            bind(folder.clone(), &self.working_directory, settings.folder == FolderAccess::Read)
        });
        let more =
            settings.mounts.iter().map(|mount| bind(mount.source.clone(), &mount.target, mount.read_only));
        let socket = self.socket_folder.iter().map(|folder| bind(folder.to_path_buf(), SOCKET_FOLDER, false));
        folder.chain(more).chain(socket).collect()
    }

    fn labels(&self) -> HashMap<String, String> {
        let hosts = Hosts::read(self.settings.allowed_hosts.iter().map(String::as_str));
        let is_listed = self.settings.network == NetworkPolicy::Allowlist;
        let hosts = is_listed.then(|| (HOSTS_LABEL.to_owned(), hosts.to_string()));
        [(LABEL.to_owned(), self.id.to_owned())].into_iter().chain(hosts).collect()
    }

    /// What the engine is asked for.
    pub(super) fn body(&self) -> ContainerCreateBody {
        let settings = self.settings;
        let user = self.user();
        let cut_off = settings.is_cut_off();
        let loopback = PortBinding { host_ip: Some("127.0.0.1".into()), host_port: Some(String::new()) };
        let scratch = settings.read_only.then(|| {
            let mut folders = vec!["/tmp", "/home/sandbox"];
            if self.folder.is_none() {
                folders.push(&self.working_directory);
            }
            folders.into_iter().map(|folder| (folder.to_owned(), SCRATCH.to_owned())).collect()
        });
        let memory = settings.memory.map(|memory| i64::try_from(memory.in_bytes()).unwrap_or(i64::MAX));
        #[expect(clippy::cast_possible_truncation, reason = "cores were checked")]
        let nano_cpus = settings.cpu.map(|cores| (cores * 1e9) as i64);
        let limits = HostConfig {
            memory,
            // no more in the swap
            memory_swap: memory,
            nano_cpus,
            pids_limit: Some(i64::from(settings.processes.unwrap_or(PROCESSES))),
            device_requests: settings.gpu.map(|gpu| vec![graphics(gpu)]),
            mounts: Some(self.mounts()),
            network_mode: cut_off.then(|| "none".to_owned()),
            port_bindings: (!cut_off).then(|| HashMap::from([(PORT.to_owned(), Some(vec![loopback]))])),
            cap_drop: Some(vec!["ALL".into()]),
            security_opt: Some(vec!["no-new-privileges".into()]),
            readonly_rootfs: Some(settings.read_only),
            tmpfs: scratch,
            ..HostConfig::default()
        };
        ContainerCreateBody {
            image: Some(settings.image().to_owned()),
            cmd: Some(self.command(&user)),
            env: Some(self.variables()),
            user: Some(user),
            working_dir: Some(self.working_directory.clone()),
            exposed_ports: (!cut_off).then(|| vec![PORT.to_owned()]),
            labels: Some(self.labels()),
            host_config: Some(limits),
            ..ContainerCreateBody::default()
        }
    }
}

fn is_root(user: &str) -> bool {
    let name = user.split(':').next().unwrap_or_default();
    name.is_empty() || name == "root" || name.parse() == Ok(0)
}

fn graphics(gpu: Gpu) -> DeviceRequest {
    DeviceRequest {
        driver: None,
        count: Some(match gpu {
            Gpu::All => -1,
            Gpu::Count(count) => i64::from(count),
        }),
        capabilities: Some(vec![vec!["gpu".into()]]),
        ..DeviceRequest::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    fn body(settings: &DockerSettings, image_user: &str, owner: Option<(u32, u32)>) -> ContainerCreateBody {
        let plan = Plan {
            id: "0123",
            folder: None,
            settings,
            environment: &BTreeMap::from([("A".to_owned(), "b".to_owned())]),
            token: &"secret".to_owned().into(),
            working_directory: "/work".into(),
            is_our_image: true,
            image_user: image_user.into(),
            folder_owner: owner,
            socket_folder: settings.is_cut_off().then_some(Path::new("/run/s")),
        };
        plan.body()
    }

    #[test]
    fn a_container_is_hardened_unless_a_person_says_otherwise() {
        let body = body(&DockerSettings::default(), "", None);
        let host = body.host_config.unwrap();
        assert_eq!(host.cap_drop.unwrap(), ["ALL"]);
        assert_eq!(host.security_opt.unwrap(), ["no-new-privileges"]);
        assert_eq!(host.pids_limit, Some(512));
        let ports = host.port_bindings.unwrap();
        let bindings = ports.values().flatten().flatten();
        assert!(bindings.map(|binding| binding.host_ip.as_deref()).all(|ip| ip == Some("127.0.0.1")));
        assert_eq!(body.user.as_deref(), Some("1000:1000"));
        assert!(!body.cmd.unwrap().join(" ").contains("secret"), "arguments are seen by every process");
        assert_eq!(body.labels.unwrap()[LABEL], "0123");
    }

    #[test]
    fn code_runs_as_whom_the_folder_belongs_to_and_as_root_only_where_it_is_said() {
        let plain = DockerSettings::default();
        let told = DockerSettings { user: Some("0:0".into()), ..DockerSettings::default() };
        for (settings, image, owner, user) in [
            (&plain, "", Some((1234, 56)), "1234:56"),
            (&plain, "jovyan", Some((0, 0)), "jovyan"),
            (&plain, "root", Some((0, 0)), "1000:1000"),
            (&plain, "0:0", None, "1000:1000"),
            (&told, "jovyan", Some((1234, 56)), "0:0"),
        ] {
            let body = body(settings, image, owner);
            assert_eq!(body.user.as_deref(), Some(user), "{image} {owner:?}");
            assert_eq!(body.cmd.unwrap().contains(&"--allow-root".to_owned()), user == "0:0");
        }
    }

    #[test]
    fn a_container_without_a_network_has_no_port_and_a_socket_instead() {
        let settings = DockerSettings { network: NetworkPolicy::None, ..DockerSettings::default() };
        let body = body(&settings, "", None);
        let host = body.host_config.unwrap();
        assert_eq!((host.network_mode.as_deref(), host.port_bindings), (Some("none"), None));
        assert!(body.exposed_ports.is_none());
        assert!(body.cmd.unwrap().iter().any(|word| word.starts_with("--ServerApp.sock=")));
        assert_eq!(host.mounts.unwrap()[0].source.as_deref(), Some("/run/s"));
    }

    #[test]
    fn a_container_with_a_list_of_hosts_has_no_network_but_a_way_to_the_proxy() {
        let settings = DockerSettings {
            network: NetworkPolicy::Allowlist,
            allowed_hosts: vec!["pypi.org".into(), "*.example.org:8443".into()],
            ..DockerSettings::default()
        };
        let body = body(&settings, "", None);
        assert_eq!(body.host_config.unwrap().network_mode.as_deref(), Some("none"));
        assert_eq!(body.labels.unwrap()[HOSTS_LABEL], "pypi.org *.example.org:8443");
        assert!(body.env.unwrap().contains(&"https_proxy=http://127.0.0.1:3128".to_owned()));
        let command = body.cmd.unwrap();
        assert_eq!(command[3..8], ["3128", "/run/sandbook/proxy.sock", "python3", "-m", "jupyter_server"]);
    }

    #[test]
    fn limits_are_handed_on_in_the_engine_s_units_and_leave_no_swap() {
        let settings = DockerSettings {
            cpu: Some(1.5),
            memory: Some(Memory::bytes(1 << 30)),
            read_only: true,
            gpu: Some(Gpu::All),
            ..DockerSettings::default()
        };
        let host = body(&settings, "", None).host_config.unwrap();
        assert_eq!(
            (host.nano_cpus, host.memory, host.memory_swap),
            (Some(1_500_000_000), Some(1 << 30), Some(1 << 30))
        );
        assert_eq!(host.device_requests.unwrap()[0].count, Some(-1));
        let scratch = host.tmpfs.unwrap();
        assert!(
            host.readonly_rootfs == Some(true)
                && scratch.contains_key("/tmp")
                && scratch.contains_key("/work")
        );
    }
}
