//! Whom to trust over https: the system's roots, and one certificate that a person compared and accepted.
//!
//! The certificate that was refused last is remembered, so that its fingerprint can be shown, with the reason in words. Trust in it holds for one
//! connection record only, and for exactly that certificate, whatever name it carries.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use sandbook_sandbox::SandboxError;
use sha2::{Digest, Sha256};

/// Trust for one connection.
#[derive(Clone)]
pub(super) struct Trust {
    trusted: Option<String>,
    refused: Arc<Mutex<Option<Refused>>>,
    config: Arc<OnceLock<Arc<ClientConfig>>>,
}

/// A certificate that was not accepted.
#[derive(Debug, Clone)]
pub(super) struct Refused {
    /// SHA-256, as `AB:CD:…`.
    pub(super) fingerprint: String,
    /// Why, as the end of a sentence.
    pub(super) reason: String,
}

impl Trust {
    /// `trusted` is a SHA-256 in hex, with or without colons.
    pub(super) fn new(trusted: Option<&str>) -> Self {
        let trusted = trusted
            .map(|text| text.chars().filter(char::is_ascii_hexdigit).collect::<String>().to_uppercase());
        Self { trusted, refused: Arc::default(), config: Arc::default() }
    }

    /// The certificate that was refused last.
    pub(super) fn refused(&self) -> Option<Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The configuration for HTTP and WebSocket alike; made once.
    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, SandboxError> {
        if let Some(config) = self.config.get() {
            return Ok(config.clone());
        }
        let failed =
            |error: &dyn fmt::Display| SandboxError::Failed(format!("TLS cannot be set up: {error}"));
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        // Without any root (a bare container) only an accepted certificate is trusted.
        let system = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone()).build().ok();
        let verifier = Verifier {
            system,
            provider: provider.clone(),
            trusted: self.trusted.clone(),
            refused: self.refused.clone(),
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(self.config.get_or_init(|| Arc::new(config)).clone())
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let pairs: Vec<String> = Sha256::digest(certificate).iter().map(|byte| format!("{byte:02X}")).collect();
    pairs.join(":")
}

/// Why a certificate was not accepted, for a person.
fn reason(error: &Error, signed_by_itself: impl FnOnce() -> bool) -> String {
    const SELF_SIGNED: &str = "it is self-signed, so no authority vouches for it";
    let Error::InvalidCertificate(error) = error else { return error.to_string() };
    match error {
        // Only who signs for itself shows the certificate of an authority as a server's.
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            SELF_SIGNED.into()
        }
        CertificateError::UnknownIssuer if signed_by_itself() => SELF_SIGNED.into(),
        CertificateError::UnknownIssuer => {
            "it comes from an authority that this computer does not know".into()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".into(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet; is the clock of this computer right?".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it was made for another host".into()
        }
        CertificateError::Revoked => "its authority has revoked it".into(),
        other => other.to_string(),
    }
}

struct Verifier {
    system: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
    trusted: Option<String>,
    refused: Arc<Mutex<Option<Refused>>>,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

impl Verifier {
    /// Whether a certificate is its own authority.
    fn signed_by_itself(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> bool {
        let mut roots = RootCertStore::empty();
        if roots.add(certificate.clone().into_owned()).is_err() {
            return false;
        }
        let alone = WebPkiServerVerifier::builder_with_provider(roots.into(), self.provider.clone()).build();
        alone.is_ok_and(|alone| {
            !matches!(
                alone.verify_server_cert(certificate, &[], name, &[], now),
                Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
            )
        })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let by_system = match &self.system {
            Some(system) => {
                system.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            None => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        };
        by_system.or_else(|error| {
            let fingerprint = fingerprint(end_entity);
            if self.trusted.as_ref().is_some_and(|trusted| *trusted == fingerprint.replace(':', "")) {
                return Ok(ServerCertVerified::assertion());
            }
            let reason = reason(&error, || self.signed_by_itself(end_entity, server_name, now));
            *self.refused.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(Refused { fingerprint, reason });
            Err(error)
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
