//! Connection files: where a kernel listens and with which key its messages are signed.

use std::{
    fs,
    io::Write,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    error::{Error, Result},
    message::Channel,
};

/// Where a kernel listens.
#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    /// How to reach it.
    pub address: Address,
    /// Signs every message.
    pub key: SecretString,
    /// The kernelspec's name, for other programs.
    pub kernel_name: String,
}

/// How to reach a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Unix sockets named `PATH-1` … `PATH-5`. The path plus two characters must fit into 107 bytes.
    Ipc(PathBuf),
    /// Ports on an address.
    Tcp {
        /// The host, as `127.0.0.1`.
        ip: String,
        /// Its ports.
        ports: Ports,
    },
}

/// One port per channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, clippy::struct_field_names)] // the names are those of the file
pub struct Ports {
    pub shell_port: u16,
    pub iopub_port: u16,
    pub stdin_port: u16,
    pub control_port: u16,
    pub hb_port: u16,
}

impl Ports {
    const OF_IPC: Self = Self { shell_port: 1, iopub_port: 2, stdin_port: 3, control_port: 4, hb_port: 5 };

    /// The port of a channel.
    pub const fn of(self, channel: Channel) -> u16 {
        match channel {
            Channel::Shell => self.shell_port,
            Channel::Iopub => self.iopub_port,
            Channel::Stdin => self.stdin_port,
            Channel::Control => self.control_port,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct File {
    transport: String,
    ip: String,
    #[serde(flatten)]
    ports: Ports,
    #[serde(default)]
    key: String,
    #[serde(default = "hmac_sha256")]
    signature_scheme: String,
    #[serde(default)]
    kernel_name: String,
}

fn hmac_sha256() -> String {
    "hmac-sha256".to_owned()
}

fn new_key() -> SecretString {
    Uuid::new_v4().to_string().into()
}

impl ConnectionInfo {
    /// Sockets in `folder`, which should be short and 0700.
    pub fn ipc(folder: &Path, kernel_name: &str) -> Self {
        Self { address: Address::Ipc(folder.join("k")), key: new_key(), kernel_name: kernel_name.to_owned() }
    }

    /// Free ports on 127.0.0.1. Nothing holds them until the kernel binds, so starting it can fail and be tried again.
    pub fn tcp(kernel_name: &str) -> Result<Self> {
        let held = (0..5)
            .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(Error::io("find free ports"))?;
        let port = |index: usize| held[index].local_addr().map(|address| address.port());
        let ports = || -> std::io::Result<Ports> {
            Ok(Ports {
                shell_port: port(0)?,
                iopub_port: port(1)?,
                stdin_port: port(2)?,
                control_port: port(3)?,
                hb_port: port(4)?,
            })
        };
        let ports = ports().map_err(Error::io("find free ports"))?;
        let address = Address::Tcp { ip: Ipv4Addr::LOCALHOST.to_string(), ports };
        Ok(Self { address, key: new_key(), kernel_name: kernel_name.to_owned() })
    }

    /// Writes the file that a kernel is started with, readable by its owner only.
    pub fn write(&self, path: &Path) -> Result<()> {
        let (transport, ip, ports) = match &self.address {
            Address::Ipc(path) => ("ipc", path.to_string_lossy().into_owned(), Ports::OF_IPC),
            Address::Tcp { ip, ports } => ("tcp", ip.clone(), *ports),
        };
        let file = File {
            transport: transport.to_owned(),
            ip,
            ports,
            key: self.key.expose_secret().to_owned(),
            signature_scheme: hmac_sha256(),
            kernel_name: self.kernel_name.clone(),
        };
        let doing = || Error::io(format!("write {}", path.display()));
        let json = serde_json::to_vec_pretty(&file).map_err(std::io::Error::from).map_err(doing())?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).and_then(|mut file| file.write_all(&json)).map_err(doing())
    }

    /// Reads a file that another program wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).map_err(Error::io(format!("read {}", path.display())))?;
        let file: File = serde_json::from_slice(&text)
            .map_err(|error| Error::Malformed(format!("{}: {error}", path.display())))?;
        if file.signature_scheme != hmac_sha256() {
            return Err(Error::Malformed(format!("unknown signature scheme {}", file.signature_scheme)));
        }
        let address = match file.transport.as_str() {
            "ipc" => Address::Ipc(file.ip.into()),
            _ => Address::Tcp { ip: file.ip, ports: file.ports },
        };
        Ok(Self { address, key: file.key.into(), kernel_name: file.kernel_name })
    }

    /// The socket file of a channel, for ipc.
    pub(crate) fn ipc_path(path: &Path, channel: Channel) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-{}", Ports::OF_IPC.of(channel)));
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_reads_back_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json");
        let info = ConnectionInfo::tcp("python3").unwrap();
        info.write(&path).unwrap();
        let read = ConnectionInfo::read(&path).unwrap();
        assert_eq!(read.address, info.address);
        assert_eq!(read.key.expose_secret(), info.key.expose_secret());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn the_key_does_not_show_in_debug() {
        let info = ConnectionInfo::ipc(Path::new("/r"), "python3");
        assert!(!format!("{info:?}").contains(info.key.expose_secret()));
    }
}
