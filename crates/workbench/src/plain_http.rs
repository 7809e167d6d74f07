//! Plain http to another machine, where whoever is on the network in between reads token and code: nothing goes there
//! before the person's rule allows it.

use sandbook_protocol::{ErrorCode, ProtocolError};
use sandbook_runtimes::paste::is_plain_http_elsewhere;
use sandbook_store::config::Rule;
use url::Url;

/// What a rule says of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// Something may be sent: it is encrypted, stays on this computer, or the person wants it.
    Allowed,
    /// The person has to be asked first.
    Ask,
    /// Nothing may be sent.
    Refused,
}

/// Whether something may be sent to an address. `agreed` says whether the person was asked and agreed.
pub fn plain_http(url: &Url, rule: Rule, agreed: bool) -> PlainHttp {
    match rule {
        _ if !is_plain_http_elsewhere(url) => PlainHttp::Allowed,
        Rule::Allow => PlainHttp::Allowed,
        Rule::Ask if agreed => PlainHttp::Allowed,
        Rule::Ask => PlainHttp::Ask,
        Rule::Refuse => PlainHttp::Refused,
    }
}

impl PlainHttp {
    /// The error where nothing may be sent.
    pub(crate) fn check(self) -> Result<(), ProtocolError> {
        match self {
            Self::Allowed => Ok(()),
            Self::Ask => Err(ProtocolError::new(
                ErrorCode::NotEncrypted,
                "This address is not encrypted: whoever is on the network in between can read the token and the code. \
                 Nothing was sent.",
                "Use https or an SSH tunnel, or agree to it.",
            )),
            Self::Refused => Err(ProtocolError::new(
                ErrorCode::NotAllowed,
                "Nothing was sent, because the policy network.plain_http says refuse.",
                "Use https or an SSH tunnel, or change the policy in policies.toml.",
            )),
        }
    }
}
