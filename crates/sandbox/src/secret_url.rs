//! An address that may hold a secret.

use std::fmt;

use url::Url;

/// Names of query parameters whose values are secrets.
const SECRET_PARAMETERS: [&str; 8] = [
    "token",
    "access_token",
    "proxy_token",
    "colab-runtime-proxy-token",
    "password",
    "secret",
    "key",
    "api_key",
];

/// What stands in place of a secret.
const MASK: &str = "***";

/// An address whose Display and Debug show no secret: user and password, the values of secret query parameters, and
/// path segments that are tokens themselves (as Kaggle's proxy has them) read `***`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretUrl(Url);

impl SecretUrl {
    /// Takes an address.
    pub const fn new(url: Url) -> Self {
        Self(url)
    }

    /// The address with its secrets. For connecting, and for nothing else.
    pub const fn expose(&self) -> &Url {
        &self.0
    }

    /// The address with every secret replaced.
    pub fn masked(&self) -> String {
        let mut url = self.0.clone();
        if !url.username().is_empty() || url.password().is_some() {
            // Both fail only for addresses that cannot have a user, and then there is none.
            let _ = url.set_password(None);
            let _ = url.set_username("MASKED-USER");
        }
        let path = masked_path(url.path());
        url.set_path(&path);
        url.set_query(None);
        url.set_fragment(None);
        let mut text = url.to_string().replace("MASKED-USER", MASK).replace("MASKED-SEGMENT", MASK);
        if let Some(query) = self.0.query() {
            text.push('?');
            text.push_str(&query.split('&').map(masked_parameter).collect::<Vec<_>>().join("&"));
        }
        if let Some(fragment) = self.0.fragment() {
            text.push('#');
            text.push_str(&fragment.split('&').map(masked_parameter).collect::<Vec<_>>().join("&"));
        }
        text
    }

    /// Whether anything is masked.
    pub fn has_secret(&self) -> bool {
        self.masked() != self.0.as_str()
    }
}

fn masked_parameter(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, value)) if !value.is_empty() && is_secret_name(name) => format!("{name}={MASK}"),
        _ => pair.to_owned(),
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_PARAMETERS.contains(&name.as_str()) || name.ends_with("token") || name.ends_with("secret")
}

/// A path with `/k/NUMBER/TOKEN/proxy` in it, as Kaggle's proxy has it, or with segments that look like tokens.
fn masked_path(path: &str) -> String {
    let segments: Vec<&str> = path.split('/').collect();
    let of_proxy = |index: usize| {
        index >= 2
            && segments[index - 2] == "k"
            && segments[index - 1].bytes().all(|byte| byte.is_ascii_digit())
            && segments.get(index + 1) == Some(&"proxy")
    };
    let masked = segments.iter().enumerate().map(|(index, segment)| {
        if of_proxy(index) || is_token_like(segment) { "MASKED-SEGMENT" } else { segment }
    });
    masked.collect::<Vec<_>>().join("/")
}

/// A path segment is taken for a token when it has the shape of a JSON web token, or is long, unbroken and mixed. A
/// name of a file has a dot in it, an id dashes and small letters.
fn is_token_like(segment: &str) -> bool {
    let any = |is: fn(&u8) -> bool| segment.bytes().any(|byte| is(&byte));
    let only =
        |other: &[u8]| segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || other.contains(&byte));
    let mixed = any(u8::is_ascii_digit) && any(u8::is_ascii_lowercase) && any(u8::is_ascii_uppercase);
    let hexadecimal = segment.bytes().all(|byte| byte.is_ascii_hexdigit());
    segment.starts_with("eyJ") && segment.len() > 20
        || segment.len() >= 64 && only(b"._-~=") && any(u8::is_ascii_digit)
        || segment.len() >= 32 && only(b"_-~=") && mixed
        || segment.len() >= 32 && hexadecimal
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.masked())
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SecretUrl({})", self.masked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_where_a_secret_can_stand_is_masked() {
        let token = format!("eyJhbGciOi{}", "Zx9".repeat(30));
        for (given, shown) in [
            ("http://h:8888/lab?token=abc".to_owned(), "http://h:8888/lab?token=***".to_owned()),
            ("http://h:8888/lab?TOKEN=abc&x=1".to_owned(), "http://h:8888/lab?TOKEN=***&x=1".to_owned()),
            ("https://me:pw@h/".to_owned(), "https://***@h/".to_owned()),
            (format!("wss://h/k/1/{token}/proxy/api"), "wss://h/k/1/***/proxy/api".to_owned()),
            (
                "http://h/?Token=S&access_token=S2".to_owned(),
                "http://h/?Token=***&access_token=***".to_owned(),
            ),
            ("https://h/k/12/short/proxy/api".to_owned(), "https://h/k/12/***/proxy/api".to_owned()),
            (format!("https://h/s/{}/lab", "0a9f".repeat(12)), "https://h/s/***/lab".to_owned()),
            (format!("https://h/s/{}/lab", "aB3_".repeat(8)), "https://h/s/***/lab".to_owned()),
            (
                "http://h/api/kernels/0123abcd-0123-4567-89ab-0123456789ab/channels".to_owned(),
                "http://h/api/kernels/0123abcd-0123-4567-89ab-0123456789ab/channels".to_owned(),
            ),
            (
                "http://h/tree/A_long_name_of_a_notebook_from_2026.ipynb".to_owned(),
                "http://h/tree/A_long_name_of_a_notebook_from_2026.ipynb".to_owned(),
            ),
            ("http://h/#token=abc".to_owned(), "http://h/#token=***".to_owned()),
            ("http://h/user/me/lab/tree/a.ipynb".to_owned(), "http://h/user/me/lab/tree/a.ipynb".to_owned()),
            ("http://h/?token=".to_owned(), "http://h/?token=".to_owned()),
        ] {
            let url = SecretUrl::new(Url::parse(&given).unwrap());
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), format!("SecretUrl({shown})"));
            assert_eq!(url.has_secret(), given != shown);
        }
    }
}
