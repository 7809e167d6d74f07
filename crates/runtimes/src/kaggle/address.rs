//! An address with a secret segment in its path, taken apart and put together.

use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// What stands in the place of the secret.
const PLACE: &str = "***";

/// The address with `***` in the place of its secret, and the secret. `None` where its path has none of the shape
/// `/k/NUMBER/SECRET/proxy/`.
pub fn separated(address: &Url) -> (Url, Option<SecretString>) {
    let segments: Vec<&str> = address.path().split('/').collect();
    let place = (2..segments.len()).find(|&index| is_secret_place(&segments, index));
    let Some(place) = place.filter(|&place| segments[place] != PLACE) else { return (address.clone(), None) };
    let secret = SecretString::from(segments[place].to_owned());
    (with_segment(address, &segments, place, PLACE), Some(secret))
}

/// Whether a secret belongs into it.
pub(super) fn wants_secret(address: &Url) -> bool {
    address.path().split('/').any(|segment| segment == PLACE)
}

/// The address with the secret in its place.
pub(super) fn joined(address: &Url, secret: &SecretString) -> Url {
    let segments: Vec<&str> = address.path().split('/').collect();
    match segments.iter().position(|segment| *segment == PLACE) {
        Some(place) => with_segment(address, &segments, place, secret.expose_secret()),
        None => address.clone(),
    }
}

fn is_secret_place(segments: &[&str], index: usize) -> bool {
    let number = segments[index - 1];
    segments[index - 2] == "k"
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && !segments[index].is_empty()
        && segments.get(index + 1) == Some(&"proxy")
}

fn with_segment(address: &Url, segments: &[&str], place: usize, segment: &str) -> Url {
    let mut segments = segments.to_vec();
    segments[place] = segment;
    let mut changed = address.clone();
    changed.set_path(&segments.join("/"));
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_taken_out_and_put_back_and_other_addresses_stay_as_they_are() {
        for (address, masked, secret) in [
            ("https://h/k/12/eyJ..a.b/proxy/", "https://h/k/12/***/proxy/", Some("eyJ..a.b")),
            ("https://h:1/x/k/12/S/proxy/api", "https://h:1/x/k/12/***/proxy/api", Some("S")),
            ("https://h/k/12/***/proxy/", "https://h/k/12/***/proxy/", None),
            ("https://h/k/no/S/proxy/", "https://h/k/no/S/proxy/", None),
            ("https://h/k//S/proxy/", "https://h/k//S/proxy/", None),
            ("https://h/k/12/S/", "https://h/k/12/S/", None),
            ("https://h/", "https://h/", None),
        ] {
            let address = Url::parse(address).unwrap();
            let (left, taken) = separated(&address);
            assert_eq!(left.as_str(), masked);
            assert_eq!(taken.as_ref().map(ExposeSecret::expose_secret), secret);
            if let Some(taken) = taken {
                assert_eq!(joined(&left, &taken), address);
            }
        }
    }
}
