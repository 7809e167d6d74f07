//! The tokens of the web door.
//!
//! An invitation is a token that is worth one exchange. What it is exchanged for is a session: a token for the
//! WebSocket's first message, and a secret that stands in the addresses of outputs. Only digests are kept, so looking
//! one up tells nothing by the time it takes. Tokens are made outside and passed in.

use std::collections::HashMap;

/// The most invitations that wait to be used. The oldest goes when there are more.
const MOST_INVITATIONS: usize = 64;

/// The most sessions. Each is a browser's tab; the oldest goes when there are more.
const MOST_SESSIONS: usize = 256;

type Digest = [u8; 32];

fn digest(token: &str) -> Digest {
    *blake3::hash(token.as_bytes()).as_bytes()
}

/// A browser's session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrowserSession {
    /// The secret in the addresses of outputs.
    pub(crate) outputs: String,
    /// The origin of the page, which alone may show outputs.
    pub(crate) origin: String,
}

#[derive(Default)]
pub(crate) struct Tokens {
    counter: u64,
    invitations: HashMap<Digest, u64>,
    sessions: HashMap<Digest, (u64, BrowserSession)>,
    outputs: HashMap<Digest, Digest>,
}

impl Tokens {
    /// A browser may come with this token.
    pub(crate) fn invite(&mut self, token: &str) {
        self.counter += 1;
        self.invitations.insert(digest(token), self.counter);
        if self.invitations.len() > MOST_INVITATIONS
            && let Some(oldest) = self.invitations.iter().min_by_key(|(_, age)| *age).map(|(key, _)| *key)
        {
            self.invitations.remove(&oldest);
        }
    }

    /// Takes an invitation, which is gone then, and begins a session with the token `session`. Answers whether the
    /// invitation was good.
    pub(crate) fn exchange(&mut self, invitation: &str, session: &str, browser: BrowserSession) -> bool {
        if self.invitations.remove(&digest(invitation)).is_none() {
            return false;
        }
        self.counter += 1;
        let key = digest(session);
        self.outputs.insert(digest(&browser.outputs), key);
        self.sessions.insert(key, (self.counter, browser));
        if self.sessions.len() > MOST_SESSIONS
            && let Some(oldest) = self.sessions.iter().min_by_key(|(_, (age, _))| *age).map(|(key, _)| *key)
        {
            self.sessions.remove(&oldest);
            self.outputs.retain(|_, session| *session != oldest);
        }
        true
    }

    /// The session of a token.
    pub(crate) fn session(&self, token: &str) -> Option<&BrowserSession> {
        self.sessions.get(&digest(token)).map(|(_, session)| session)
    }

    /// The session in whose outputs' addresses a secret stands.
    pub(crate) fn by_outputs(&self, secret: &str) -> Option<&BrowserSession> {
        self.sessions.get(self.outputs.get(&digest(secret))?).map(|(_, session)| session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn browser(outputs: &str) -> BrowserSession {
        BrowserSession { outputs: outputs.into(), origin: "http://localhost:1".into() }
    }

    #[test]
    fn an_invitation_is_worth_one_exchange() {
        let mut tokens = Tokens::default();
        tokens.invite("i");
        assert!(!tokens.exchange("wrong", "s0", browser("o0")));
        assert!(tokens.exchange("i", "s", browser("o")));
        assert!(!tokens.exchange("i", "s2", browser("o2")));
        assert_eq!(tokens.session("s"), Some(&browser("o")));
        assert_eq!(tokens.session("i"), None);
        assert_eq!(tokens.session("s2"), None);
        assert_eq!(tokens.by_outputs("o"), Some(&browser("o")));
        assert_eq!(tokens.by_outputs("s"), None);
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
        let mut tokens = Tokens::default();
        for number in 0..=MOST_SESSIONS {
            tokens.invite(&format!("i{number}"));
            assert!(tokens.exchange(
                &format!("i{number}"),
                &format!("s{number}"),
                browser(&format!("o{number}"))
            ));
        }
        assert_eq!(tokens.session("s0"), None);
        assert_eq!(tokens.by_outputs("o0"), None);
        assert!(tokens.session("s1").is_some());
        for number in 0..=MOST_INVITATIONS {
            tokens.invite(&format!("j{number}"));
        }
        assert!(!tokens.exchange("j0", "t", browser("p")));
        assert!(tokens.exchange("j1", "t", browser("p")));
    }
}
