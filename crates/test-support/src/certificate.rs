//! Certificates that no authority vouches for.

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use tempfile::TempDir;

/// A self-signed certificate with its key, in files of its own.
#[derive(Debug)]
pub struct SelfSigned {
    folder: TempDir,
}

impl SelfSigned {
    /// Makes one for a host. As an authority's it is what `openssl req -x509` makes where nobody says otherwise.
    ///
    /// # Panics
    /// Where it cannot be made or written.
    pub fn new(host: &str, as_authority: bool) -> Self {
        let mut wanted = CertificateParams::new([host.to_owned()]).unwrap();
        if as_authority {
            wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = wanted.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("c.pem"), certificate.pem()).unwrap();
        std::fs::write(folder.path().join("k.pem"), key.serialize_pem()).unwrap();
        Self { folder }
    }

    /// The options with which a Jupyter server shows it.
    pub fn options(&self) -> [String; 2] {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        [format!("--ServerApp.certfile={}", path("c.pem")), format!("--ServerApp.keyfile={}", path("k.pem"))]
    }
}
