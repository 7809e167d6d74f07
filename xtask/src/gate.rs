//! The gate: what must hold before a change lands, from an empty cache in less than 45 minutes on two cores.
//!
//! Everything is compiled once, with one profile and one set of features, because a second set would double the time.
//! A failing step does not hide the others: all of them run, and the last line sums them up.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::check::{build_page, cargo, keeps_generated_types, passes, style};
use crate::engine::Containers;
use crate::report::{Counts, Report};
use crate::repository::Repository;
use crate::session::Session;
use crate::{junit, node, packages, process, python};

/// The parts of the gate, in the order they run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// rustfmt and clippy.
    Style,
    /// The page: svelte-check, eslint, vitest.
    Page,
    /// The Rust tests.
    Rust,
    /// A browser on the web mode and the real owner.
    Browser,
    /// The real window.
    Window,
}

const ALL: [Part; 5] = [Part::Style, Part::Page, Part::Rust, Part::Browser, Part::Window];

/// The package that holds the window's tests.
const WINDOW_TESTS: &str = "sandbook-window-tests";

/// How many cases each property is tried with in a long run; 256 otherwise.
const FUZZ_CASES: &str = "5000";

/// Runs the gate, or some of its parts.
pub(crate) fn run(repository: &Repository, long: bool, only: &[Part]) -> bool {
    let parts: Vec<Part> = ALL.into_iter().filter(|part| only.is_empty() || only.contains(part)).collect();
    let mut report = Report::default();
    let mut gate = Gate {
        repository,
        long,
        seed: seed(),
        python: None,
        datalayer: None,
        opensandbox: None,
        containers: None,
    };
    if long {
        println!("properties are tried with the seed {}; PROPTEST_RNG_SEED repeats it", gate.seed);
    }
    if report.step("prepare", "what is missing", || gate.prepare(&parts).map(|()| Counts::default())) {
        gate.steps(&parts, &mut report);
    }
    process::end_strays();
    println!("\n{report}");
    report.is_clean()
}

struct Gate<'a> {
    repository: &'a Repository,
    long: bool,
    /// Where the random cases of a long run begin.
    seed: String,
    python: Option<PathBuf>,
    /// The Python that has the official clients of Datalayer.
    datalayer: Option<PathBuf>,
    /// The Python that has the server and the client of OpenSandbox.
    opensandbox: Option<PathBuf>,
    /// Where the tests' containers run.
    containers: Option<Containers>,
}

/// The seed that was asked for, else another one each time.
fn seed() -> String {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    std::env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| now().to_string())
}

impl Gate<'_> {
    /// Finds or installs everything the parts need.
    fn prepare(&mut self, parts: &[Part]) -> Result<()> {
        let mut wanted = Vec::new();
        if parts.iter().any(|part| *part != Part::Page) {
            wanted.extend(packages::TO_BUILD);
        }
        if parts.iter().any(|part| part.needs_kernels()) {
            wanted.extend(packages::TO_TEST);
            wanted.extend(packages::TO_TEST_CONTAINERS);
        }
        if parts.contains(&Part::Browser) {
            wanted.extend(packages::TO_TEST_IN_A_BROWSER);
        }
        if parts.contains(&Part::Window) {
            wanted.extend(packages::TO_TEST_THE_WINDOW);
        }
        packages::install(&packages::missing(&wanted))?;
        node::require_node()?;
        node::install(&self.repository.page())?;
        if parts.contains(&Part::Browser) {
            node::install(&self.repository.browser_tests())?;
        }
        if parts.iter().any(|part| part.needs_kernels()) {
            self.python = Some(python::environment(self.repository)?);
            self.datalayer = Some(python::datalayer(self.repository)?);
            self.opensandbox = Some(python::opensandbox(self.repository)?);
            install_nextest(self.repository)?;
        }
        Ok(())
    }

    fn steps(&mut self, parts: &[Part], report: &mut Report) {
        if parts.contains(&Part::Style) {
            style(self.repository, report);
        }
        if parts.contains(&Part::Page) {
            self.page(report);
        }
        if !parts.iter().any(|part| part.needs_kernels()) || !self.build(report) {
            return;
        }
        report.step("build", "engine and image", || {
            self.containers = Some(Containers::start(self.repository)?);
            Ok(Counts::one(true))
        });
        if parts.contains(&Part::Rust) {
            let filter = format!("not package({WINDOW_TESTS})");
            let tests = || self.nextest(&Session::start()?, if self.long { "long" } else { "rust" }, &filter);
            report.step("rust", "tests", || keeps_generated_types(self.repository, tests));
        }
        if parts.contains(&Part::Browser) {
            report.step("browser", "tests", || self.browser(&Session::start()?));
        }
        if parts.contains(&Part::Window) {
            let filter = format!("package({WINDOW_TESTS})");
            report.step("window", "tests", || {
                self.nextest(&Session::start()?.with_display()?, "window", &filter)
            });
        }
    }

    /// The page's own checks.
    fn page(&self, report: &mut Report) {
        let page = self.repository.page();
        report.step("page", "svelte-check", || passes(&mut node::npm(&page, &["run", "--silent", "check"])));
        report.step("page", "eslint", || passes(&mut node::npm(&page, &["run", "--silent", "lint"])));
        report.step("page", "vitest", || {
            let file = self.repository.made("reports")?.join("page.xml");
            let reporters = ["exec", "--", "vitest", "run", "--reporter=default", "--reporter=junit"];
            let mut command = node::npm(&page, &reporters);
            counted(command.arg(format!("--outputFile.junit={}", file.display())), &file)
        });
    }

    /// The page first, because the window and the web mode embed it; then all of Rust at once.
    fn build(&self, report: &mut Report) -> bool {
        let page = report.step("build", "page", || build_page(&self.repository.page()));
        let arguments = ["build", "--workspace", "--all-targets", "--quiet"];
        let built = page
            && report.step("build", "programs and tests", || passes(cargo(self.repository).args(arguments)));
        if !built {
            report.unreachable("tests", "all that run them", "the build failed");
        }
        built
    }

    /// Rust tests, chosen by a filter so that every choice uses the same build.
    fn nextest(&self, session: &Session, profile: &str, filter: &str) -> Result<Counts> {
        let mut command = cargo(self.repository);
        command.args([
            "nextest",
            "run",
            "--workspace",
            "--all-targets",
            "--no-fail-fast",
            "--profile",
            profile,
        ]);
        command.args(["--no-tests", "fail", "--filterset", filter]);
        if self.long {
            command.args(["--run-ignored", "all", "--retries", "0"]);
        }
        self.enter(session, &mut command)?;
        // nextest keeps its reports in the workspace, wherever the build folder is.
        let reports = self.repository.root().join("target").join("nextest");
        let file = reports.join(profile).join("junit.xml");
        counted(&mut command, &file)
    }

    fn browser(&self, session: &Session) -> Result<Counts> {
        let browser = packages::browser().context("no browser of the Chromium family was found")?;
        let file = self.repository.made("reports")?.join("browser.xml");
        let tests = self.repository.browser_tests();
        let mut command = node::npm(&tests, &["exec", "--", "playwright", "test", "--reporter=list,junit"]);
        self.enter(session, &mut command)?;
        command.env("PLAYWRIGHT_JUNIT_OUTPUT_FILE", &file).env("SANDBOOK_TEST_CHROMIUM", browser);
        let retries = if self.long { "0" } else { "1" };
        command.env("SANDBOOK_TEST_RETRIES", retries).env("PLAYWRIGHT_JUNIT_INCLUDE_RETRIES", "1");
        counted(&mut command, &file)
    }

    /// Gives a test run its session and the things it looks for.
    fn enter(&self, session: &Session, command: &mut Command) -> Result<()> {
        session.enter(command);
        command.env("SANDBOOK_TEST_PYTHON", self.python.as_ref().context("the tests have no Python")?);
        let datalayer = self.datalayer.as_ref().context("the tests have no client of Datalayer")?;
        command.env("SANDBOOK_TEST_DATALAYER", datalayer);
        let opensandbox = self.opensandbox.as_ref().context("the tests have no OpenSandbox")?;
        command.env("SANDBOOK_TEST_OPENSANDBOX", opensandbox);
        command.env("SANDBOOK_TEST_PROGRAM", self.repository.development_program("sandbook"));
        command.env("SANDBOOK_TEST_WINDOW", self.repository.development_program("sandbook-window"));
        if let Some(containers) = &self.containers {
            containers.enter(command);
        }
        command.env("SANDBOOK_TEST_PICTURES", self.repository.made("reports")?);
        // An error's own text says what happened; fifty frames around it only hide it.
        command.env("RUST_LIB_BACKTRACE", "0");
        if self.long {
            command.env("SANDBOOK_TEST_LONG", "1");
            command.env("PROPTEST_CASES", FUZZ_CASES).env("PROPTEST_RNG_SEED", &self.seed);
        }
        Ok(())
    }
}

impl Part {
    /// Whether the part runs what was built from Rust, on real kernels.
    fn needs_kernels(self) -> bool {
        matches!(self, Self::Rust | Self::Browser | Self::Window)
    }
}

/// Runs a test runner and reads its report. A runner that fails without a failed test is a failure too.
fn counted(command: &mut Command, file: &Path) -> Result<Counts> {
    if file.exists() {
        std::fs::remove_file(file).with_context(|| format!("cannot remove the old {}", file.display()))?;
    }
    let succeeded = process::succeeds(command)?;
    let mut counts = junit::read(file)?;
    if !succeeded && counts.failed == 0 {
        eprintln!("error: the runner failed, though no test did");
        counts.failed = 1;
    }
    Ok(counts)
}

fn install_nextest(repository: &Repository) -> Result<()> {
    if process::printed(cargo(repository).args(["nextest", "--version"])).is_some() {
        return Ok(());
    }
    println!("installing cargo-nextest");
    process::must_succeed(cargo(repository).args(["install", "--locked", "--quiet", "cargo-nextest"]))
}
