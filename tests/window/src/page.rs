//! What a person does in the window and sees of it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use fantoccini::Locator;
use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::elements::Element;
use fantoccini::error::CmdError;

use crate::{Driver, Home, given};

/// How long a test waits for something to be seen. Kernels take seconds to start on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Keys that are no letters, by their numbers in the standard.
#[derive(Clone, Copy)]
pub enum Key {
    /// Return.
    Enter,
    /// Escape.
    Escape,
    /// End.
    End,
    /// Shift.
    Shift,
    /// Control.
    Control,
    /// A letter, digit or sign.
    Letter(char),
}

impl Key {
    fn value(self) -> char {
        match self {
            Self::Enter => '\u{e007}',
            Self::Escape => '\u{e00c}',
            Self::End => '\u{e010}',
            Self::Shift => '\u{e008}',
            Self::Control => '\u{e009}',
            Self::Letter(letter) => letter,
        }
    }
}

/// The real window, open.
pub struct Window {
    driver: Driver,
}

impl Window {
    /// Opens the window, with a notebook if one is given.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn open(home: &Home, notebook: Option<&Path>) -> Result<Self> {
        let arguments: Vec<String> = notebook.iter().map(|path| path.display().to_string()).collect();
        let program = given("SANDBOOK_TEST_WINDOW")?;
        Ok(Self { driver: Driver::start(home, &program, &arguments).await? })
    }

    /// Waits until an element is there, and returns it. What the driver says while the page is being loaded is no
    /// reason to give up.
    ///
    /// # Errors
    /// When it does not appear.
    pub async fn find(&self, selector: &str) -> Result<Element> {
        let started = tokio::time::Instant::now();
        loop {
            match self.driver.client().find(Locator::Css(selector)).await {
                Ok(element) => return Ok(element),
                Err(error) if started.elapsed() > PATIENCE => {
                    return Err(self.given_up(format!("no {selector} appeared: {error:?}")).await);
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Waits until the text of an element satisfies a condition, and returns the text.
    ///
    /// # Errors
    /// When it never does; the error holds the last text.
    pub async fn text_where(&self, selector: &str, condition: impl Fn(&str) -> bool) -> Result<String> {
        let started = tokio::time::Instant::now();
        loop {
            let text = self.text(selector).await?;
            if condition(&text) {
                return Ok(text);
            }
            if started.elapsed() > PATIENCE {
                return Err(self.given_up(format!("{selector} never came to it, and reads {text:?}")).await);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The text of an element now; empty where there is none. Read in one step, because the page may replace the
    /// element between finding and reading it.
    async fn text(&self, selector: &str) -> Result<String> {
        let read = "return document.querySelector(arguments[0])?.innerText ?? ''";
        let text = self.driver.client().execute(read, vec![selector.into()]).await;
        let text = text.with_context(|| format!("cannot read {selector}"))?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// Clicks an element once it is there. The page may still be replacing it, so a click that misses is tried again.
    ///
    /// # Errors
    /// When it does not appear or something covers it.
    pub async fn click(&self, selector: &str) -> Result<()> {
        let started = tokio::time::Instant::now();
        loop {
            match self.find(selector).await?.click().await {
                Ok(()) => return Ok(()),
                Err(error) if started.elapsed() > PATIENCE => {
                    return Err(self.given_up(format!("{selector} cannot be clicked: {error:?}")).await);
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Presses keys together, the last one while the others are held.
    ///
    /// # Errors
    /// When the driver refuses.
    pub async fn press(&self, keys: &[Key]) -> Result<()> {
        let down = keys.iter().map(|key| KeyAction::Down { value: key.value() });
        let up = keys.iter().rev().map(|key| KeyAction::Up { value: key.value() });
        self.act(down.chain(up)).await.context("cannot press keys")
    }

    /// Types a text where the caret is.
    ///
    /// # Errors
    /// When the driver refuses.
    pub async fn write(&self, text: &str) -> Result<()> {
        let strokes = text
            .chars()
            .flat_map(|letter| [KeyAction::Down { value: letter }, KeyAction::Up { value: letter }]);
        self.act(strokes).await.context("cannot type")
    }

    async fn act(&self, actions: impl Iterator<Item = KeyAction>) -> Result<(), CmdError> {
        let keyboard = actions.fold(KeyActions::new("keyboard".to_owned()), KeyActions::then);
        self.driver.client().perform_actions(keyboard).await
    }

    /// Runs a script in the page, for what no person could see, such as a security boundary.
    ///
    /// # Errors
    /// When the script throws.
    pub async fn evaluate(&self, script: &str) -> Result<serde_json::Value> {
        self.driver.client().execute(script, Vec::new()).await.context("the script failed")
    }

    /// Runs a script that calls its last argument with the result.
    ///
    /// # Errors
    /// When the script throws or never calls it.
    pub async fn evaluate_later(&self, script: &str) -> Result<serde_json::Value> {
        self.driver.client().execute_async(script, Vec::new()).await.context("the script failed")
    }

    /// Runs a script again and again until its value satisfies a condition, and returns the value.
    ///
    /// # Errors
    /// When it never does; the error holds the last value.
    pub async fn evaluates_to(
        &self,
        script: &str,
        condition: impl Fn(&serde_json::Value) -> bool,
    ) -> Result<serde_json::Value> {
        let started = tokio::time::Instant::now();
        loop {
            let value = self.evaluate(script).await?;
            if condition(&value) {
                return Ok(value);
            }
            if started.elapsed() > PATIENCE {
                return Err(self.given_up(format!("{script} never came to it, and gives {value}")).await);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// An error, with a picture of the page beside it where the gate keeps such.
    async fn given_up(&self, what: String) -> anyhow::Error {
        let error = anyhow::anyhow!(what);
        let (Ok(folder), Ok(picture)) = (given("SANDBOOK_TEST_PICTURES"), self.picture().await) else {
            return error;
        };
        let test = std::thread::current().name().unwrap_or("window").replace("::", "-");
        let file = folder.join(format!("{test}.png"));
        match std::fs::write(&file, picture) {
            Ok(()) => error.context(format!("the page is to be seen in {}", file.display())),
            Err(_) => error,
        }
    }

    /// A picture of the page, as PNG.
    ///
    /// # Errors
    /// When the driver refuses.
    pub async fn picture(&self) -> Result<Vec<u8>> {
        self.driver.client().screenshot().await.context("cannot take a picture")
    }

    /// Closes the window as a person would.
    ///
    /// # Errors
    /// When it cannot be closed.
    pub async fn close(self) -> Result<()> {
        self.driver.stop().await
    }
}
