//! The tokens of the web door.
//!
//! An invitation is a token that is worth one exchange. What it is exchanged for is a session: a token for the
//! WebSocket's first message, and a secret that stands in the addresses of outputs. Only digests are kept, so looking
//! one up tells nothing by the time it takes, and what is written down for an owner that takes over lets nobody in.
//! Tokens are made outside and passed in.

use std::collections::HashMap;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// The most invitations that wait to be used. The oldest goes when there are more.
const MOST_INVITATIONS: usize = 64;

/// The most sessions. Each is a browser's tab; the oldest goes when there are more.
const MOST_SESSIONS: usize = 256;

type Digest = [u8; 32];

fn digest(token: &str) -> Digest {
    *blake3::hash(token.as_bytes()).as_bytes()
}

/// The secret in the addresses of a session's outputs. It follows from the session's token, which it does not tell.
pub(crate) fn outputs_secret(session: &str) -> String {
    URL_SAFE_NO_PAD
        .encode(blake3::derive_key("Sandbook web door 2026-11 addresses of outputs", session.as_bytes()))
}

/// A browser's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BrowserSession {
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

/// What an owner writes down about its tokens, oldest first, for one that takes over.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeptTokens {
    invitations: Vec<Digest>,
    sessions: Vec<KeptSession>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptSession {
    token: Digest,
    outputs: Digest,
    browser: BrowserSession,
}

impl Tokens {
    /// The tokens of an owner that is gone.
    pub(crate) fn restore(kept: KeptTokens) -> Self {
        let mut tokens = Self::default();
        let mut age = 0..;
        tokens.invitations.extend(kept.invitations.into_iter().zip(&mut age));
        for (session, age) in kept.sessions.into_iter().zip(&mut age) {
            tokens.outputs.insert(session.outputs, session.token);
            tokens.sessions.insert(session.token, (age, session.browser));
        }
        tokens.counter = age.start;
        tokens
    }

    /// What to write down.
    pub(crate) fn keep(&self) -> KeptTokens {
        let mut invitations: Vec<_> = self.invitations.iter().map(|(token, age)| (*age, *token)).collect();
        invitations.sort_unstable();
        let mut sessions: Vec<_> = self
            .outputs
            .iter()
            .filter_map(|(outputs, token)| {
                let (age, browser) = self.sessions.get(token)?;
                Some((*age, KeptSession { token: *token, outputs: *outputs, browser: browser.clone() }))
            })
            .collect();
        sessions.sort_unstable_by_key(|(age, _)| *age);
        KeptTokens {
            invitations: invitations.into_iter().map(|(_, token)| token).collect(),
            sessions: sessions.into_iter().map(|(_, session)| session).collect(),
        }
    }

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
        self.outputs.insert(digest(&outputs_secret(session)), key);
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

    fn browser(port: &str) -> BrowserSession {
        BrowserSession { origin: format!("http://localhost:{port}") }
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
        assert_eq!(tokens.by_outputs(&outputs_secret("s")), Some(&browser("o")));
        assert_eq!(tokens.by_outputs("s"), None);
    }

    #[test]
    fn tokens_that_were_written_down_are_good_for_the_next_owner_and_for_nobody_who_reads_them() {
        let mut tokens = Tokens::default();
        for (invitation, session) in [("i1", "s1"), ("i2", "s2")] {
            tokens.invite(invitation);
            assert!(tokens.exchange(invitation, session, browser(session)));
        }
        tokens.invite("unused");
        let written = serde_json::to_string(&tokens.keep()).unwrap();
        assert!(!written.contains(&outputs_secret("s1")) && !written.contains("unused"));

        let mut next = Tokens::restore(serde_json::from_str(&written).unwrap());
        for session in ["s1", "s2"] {
            assert_eq!(next.session(session), Some(&browser(session)));
            assert_eq!(next.by_outputs(&outputs_secret(session)), Some(&browser(session)));
        }
        assert!(!next.exchange("i1", "s3", browser("3")), "an invitation stays spent");
        assert!(next.exchange("unused", "s3", browser("3")));
        assert_eq!(next.keep().sessions.len(), 3);
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
        assert_eq!(tokens.by_outputs(&outputs_secret("s0")), None);
        assert!(tokens.session("s1").is_some());
        for number in 0..=MOST_INVITATIONS {
            tokens.invite(&format!("j{number}"));
        }
        assert!(!tokens.exchange("j0", "t", browser("p")));
        assert!(tokens.exchange("j1", "t", browser("p")));
    }
}
