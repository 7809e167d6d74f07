//! Ending what was made in vain, by what it was called before it was asked for: whether the answer came or not.
//!
//! Any provider can lose an answer. So what it has under that name is ended, and looked for again where nobody knows
//! whether something was made. Absent: sandboxes that somebody holds; they end themselves.

use std::time::Duration;

use sandbook_sandbox::SandboxError;

/// How often a provider is asked that does not answer.
const TRIES: u32 = 5;

/// What a provider may have made under one name.
pub(crate) trait InVain: Clone + Send + Sync + 'static {
    /// How long it is looked for.
    const PATIENCE: Patience;

    /// Ends all that is there, and says how many that were.
    fn end_all(&self) -> impl Future<Output = Result<usize, SandboxError>> + Send;

    /// What it is, for the person who may have to end it.
    fn what(&self) -> String;
}

/// How long something is looked for.
pub(crate) struct Patience {
    /// The pause between two looks.
    pub(crate) pause: Duration,
    /// How often it is looked for where nobody knows whether it was made: it may be shown late.
    pub(crate) looks: u32,
    /// The pause between two looks in the background, where the provider could not be reached.
    pub(crate) later: Duration,
    /// How often that is tried.
    pub(crate) times: u32,
}

/// Ends it. Where that cannot be done now, it is tried on in the background, and the error says that something may be left:
/// whoever has it on record looks for it again.
pub(crate) async fn reap<V: InVain>(
    vain: V,
    is_unsure: bool,
    why: &SandboxError,
) -> Result<(), SandboxError> {
    let Err(error) = sweep(&vain, is_unsure).await else { return Ok(()) };
    let what = vain.what();
    tracing::warn!(%error, what, "what was made in vain may be left");
    tokio::spawn(async move {
        for _ in 0..V::PATIENCE.times {
            tokio::time::sleep(V::PATIENCE.later).await;
            if sweep(&vain, false).await.is_ok() {
                tracing::info!(what = vain.what(), "what was made in vain is not there any more");
                return;
            }
        }
    });
    Err(SandboxError::LeftRunning { what, detail: format!("{why}; and it could not be ended: {error}") })
}

async fn sweep<V: InVain>(vain: &V, is_unsure: bool) -> Result<(), SandboxError> {
    let (mut failures, mut looks) = (0, 0);
    loop {
        match vain.end_all().await {
            // A provider may still be at what it was asked for.
            Ok(0) if is_unsure && looks < V::PATIENCE.looks => looks += 1,
            Ok(0) => return Ok(()),
            Ok(_) => looks = if is_unsure { 1 } else { V::PATIENCE.looks },
            Err(error @ (SandboxError::Refused { .. } | SandboxError::CredentialMissing { .. })) => {
                return Err(error);
            }
            Err(error) => {
                failures += 1;
                if failures == TRIES {
                    return Err(error);
                }
            }
        }
        tokio::time::sleep(V::PATIENCE.pause).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A provider that answers so, one after the other, and with nothing from then on.
    #[derive(Clone)]
    struct Provider(Arc<Mutex<Vec<Result<usize, SandboxError>>>>, Arc<Mutex<u32>>);

    impl InVain for Provider {
        const PATIENCE: Patience = Patience {
            pause: Duration::from_millis(1),
            looks: 3,
            later: Duration::from_millis(20),
            times: 10,
        };

        async fn end_all(&self) -> Result<usize, SandboxError> {
            *self.1.lock().unwrap() += 1;
            let mut answers = self.0.lock().unwrap();
            if answers.is_empty() { Ok(0) } else { answers.remove(0) }
        }

        fn what(&self) -> String {
            "the machine m".to_owned()
        }
    }

    /// How it ended, and how often the provider was asked.
    async fn reaped(
        is_unsure: bool,
        answers: Vec<Result<usize, SandboxError>>,
    ) -> (Result<(), SandboxError>, u32, Provider) {
        let provider = Provider(Arc::new(Mutex::new(answers)), Arc::default());
        let ended = reap(provider.clone(), is_unsure, &SandboxError::Cancelled).await;
        let asked = *provider.1.lock().unwrap();
        (ended, asked, provider)
    }

    fn silent() -> Result<usize, SandboxError> {
        Err(SandboxError::Unreachable { address: "the provider".into(), detail: "nobody answers".into() })
    }

    #[tokio::test]
    async fn what_is_known_is_ended_and_looked_for_once_more() {
        let (ended, asked, _) = reaped(false, vec![Ok(1)]).await;
        assert!(ended.is_ok());
        assert_eq!(asked, 2);
    }

    #[tokio::test]
    async fn what_may_be_shown_late_is_waited_for() {
        let (ended, asked, provider) = reaped(true, vec![Ok(0), Ok(0), Ok(1)]).await;
        assert!(ended.is_ok());
        assert!(asked >= 5 && provider.0.lock().unwrap().is_empty(), "asked {asked} times");
        assert_eq!(reaped(true, vec![]).await.1, 4, "not for ever");
    }

    #[tokio::test]
    async fn a_provider_that_does_not_answer_is_asked_again_and_then_in_the_background() {
        let (ended, asked, provider) = reaped(false, (0..7).map(|_| silent()).chain([Ok(1)]).collect()).await;
        let Err(SandboxError::LeftRunning { what, detail }) = ended else { panic!("{ended:?}") };
        assert_eq!((what.as_str(), asked), ("the machine m", 5));
        assert!(detail.contains("nobody answers"), "{detail}");
        while !provider.0.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_refusal_is_not_asked_for_twice() {
        let refused = || Err(SandboxError::Refused { address: "the provider".into(), status: 401 });
        let (ended, asked, _) = reaped(true, vec![refused(), Ok(1)]).await;
        assert!(matches!(ended, Err(SandboxError::LeftRunning { .. })));
        assert_eq!(asked, 1);
    }
}
