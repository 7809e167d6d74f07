//! How long a proxy token is good.
//!
//! Google's own clients are told one hour when they get a token. Of a pasted one nobody says how old it is, so it is good
//! for an hour from now at the latest, unless it tells its end itself, as a JSON web token does.

use std::time::{Duration, SystemTime};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

const LIFE: Duration = Duration::from_hours(1);

/// The latest moment until which a token is good.
pub(super) fn good_until(token: &SecretString, now: SystemTime) -> SystemTime {
    told(token.expose_secret()).unwrap_or(now + LIFE)
}

fn told(token: &str) -> Option<SystemTime> {
    let mut parts = token.split('.');
    let (_head, claims, _signature, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next())
    else {
        return None;
    };
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(claims.get("exp")?.as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_tells_its_end_is_believed_and_any_other_is_good_for_an_hour_at_most() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let until = |token: &str| good_until(&token.to_owned().into(), now);
        let claims = BASE64_URL_SAFE_NO_PAD.encode(r#"{"exp": 1234}"#);
        assert_eq!(until(&format!("eyJh.{claims}.sig")), SystemTime::UNIX_EPOCH + Duration::from_secs(1_234));
        let endless = BASE64_URL_SAFE_NO_PAD.encode(format!(r#"{{"exp": {}}}"#, u64::MAX));
        for other in ["", "abc", "a.b.c", "a.b.c.d", &format!("x.{endless}.y")] {
            assert_eq!(until(other), now + LIFE, "{other}");
        }
    }
}
