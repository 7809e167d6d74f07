use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::file::{Format, backup_path};
use super::schema::{Key, Kind};
use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A file with `text`.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn problems<T: std::fmt::Debug>(result: Result<T>) -> Vec<ConfigProblem> {
    match result {
        Err(Error::Config(problems)) => problems,
        other => panic!("{other:?}"),
    }
}

fn settings(path: &Path) -> Result<SettingsFile> {
    SettingsFile::open(path, &SETTINGS)
}

#[test]
fn without_a_file_the_documented_defaults_count() {
    let place = Place::new();
    let file = settings(&place.path("settings.toml")).unwrap();
    let settings = Settings::of(&file);
    assert_eq!(settings, Settings::default());
    assert_eq!((settings.theme, settings.font_size), (Theme::System, 13));
    let autosave =
        Autosave { enabled: true, quiet: Duration::from_secs(2), longest: Duration::from_secs(10) };
    assert_eq!(settings.autosave, autosave);
    let timeouts = Timeouts { page: None, exec: Some(Duration::from_mins(1)) };
    assert_eq!(settings.timeouts, timeouts);
    assert_eq!(settings.limits, crate::log::Limits::default());
    assert_eq!((settings.stop_grace, settings.keep_kernels), (Duration::from_secs(5), false));
    assert_eq!(Policies::of(&SettingsFile::defaults(Path::new(""), &POLICIES)), Policies::default());
    assert!(!place.path("settings.toml").exists());
}

#[test]
fn every_setting_explains_itself_and_what_is_shown_can_be_read_again() {
    let place = Place::new();
    for schema in [&SETTINGS, &POLICIES] {
        let file = SettingsFile::defaults(Path::new(""), schema);
        let text = file.document();
        for shown in file.shown() {
            assert!(text.contains(shown.explanation), "{}", shown.key);
            assert!(!shown.explanation.is_empty() && !shown.is_set);
        }
        let written = place.file("written.toml", &text);
        let again = SettingsFile::open(&written, schema).unwrap();
        assert_eq!(again.document(), text);
        assert!(again.shown().iter().all(|shown| shown.is_set));
    }
}

#[test]
fn the_first_change_writes_a_file_that_explains_everything() {
    let place = Place::new();
    let path = place.path("new folder/settings.toml");
    let mut file = settings(&path).unwrap();
    file.set(&[("appearance.theme", "high-contrast"), ("appearance.font_size", "16")]).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("theme = \"high-contrast\"") && text.contains("# How long a sandbox has"),
        "{text}"
    );
    let settings = Settings::of(&self::settings(&path).unwrap());
    assert_eq!((settings.theme, settings.font_size), (Theme::HighContrast, 16));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_change_touches_nothing_but_its_value() {
    let place = Place::new();
    let text = "# mine\n\n[autosave] # saving\nquiet_seconds =   3 # not too soon\nenabled = true\n\n\
                [appearance]\ntheme = 'dark'\n# the end\n";
    let path = place.file("settings.toml", text);
    let mut file = settings(&path).unwrap();
    file.set(&[("autosave.quiet_seconds", "4"), ("appearance.theme", "dark")]).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text.replace("  3 ", "  4 "));
    file.reset("autosave.quiet_seconds").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text.replace("  3 ", "  2 "));
}

#[test]
fn a_value_that_is_in_force_already_is_not_written() {
    let place = Place::new();
    let path = place.path("settings.toml");
    settings(&path).unwrap().set(&[("appearance.theme", "system")]).unwrap();
    assert!(!path.exists());
}

#[test]
fn a_key_that_is_new_to_the_file_brings_its_explanation_wherever_its_section_is() {
    for text in [
        "",
        "[appearance]\nfont_size = 12\n",
        "appearance.font_size = 12\n",
        "appearance = { font_size = 12 }\n",
    ] {
        let place = Place::new();
        let path = place.file("settings.toml", text);
        settings(&path)
            .unwrap()
            .set(&[("appearance.theme", "light"), ("sandboxes.keep_kernels", "true")])
            .unwrap();
        let settings = Settings::of(&self::settings(&path).unwrap());
        assert_eq!((settings.theme, settings.keep_kernels), (Theme::Light, true), "{text}");
        assert_eq!(settings.font_size, if text.is_empty() { 13 } else { 12 });
        assert!(fs::read_to_string(&path).unwrap().contains("# Whether kernels go on"));
    }
}

#[test]
fn what_somebody_else_changed_meanwhile_stays() {
    let place = Place::new();
    let path = place.file("settings.toml", "[appearance]\nfont_size = 12\n");
    let mut file = settings(&path).unwrap();
    fs::write(&path, "[appearance]\nfont_size = 20 # by hand\n").unwrap();
    file.set(&[("appearance.theme", "dark")]).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("font_size = 20 # by hand"));
    assert_eq!(Settings::of(&file).font_size, 20);
}

#[test]
fn an_unknown_setting_names_file_line_key_and_the_nearest_known_name() {
    let place = Place::new();
    let path = place.file("settings.toml", "format = 1\n\n[appearance]\ntheme = \"dark\"\nfontsize = 12\n");
    let problems = problems(settings(&path));
    assert_eq!((problems[0].line, problems[0].key.as_str()), (5, "appearance.fontsize"));
    assert_eq!(problems[0].nearest, Some("font_size"));
    let said = problems[0].to_string();
    assert!(said.contains("settings.toml, line 5, \"appearance.fontsize\""), "{said}");
    assert!(said.ends_with("Did you mean \"font_size\"?"), "{said}");
}

#[test]
fn every_mistake_is_reported_with_its_line() {
    let place = Place::new();
    let text = "theme = \"dark\"\n[apearance]\nx = 1\n[autosave]\nenabled = \"yes\"\nquiet_seconds = 0\n\
                stop_grace_seconds = 3\n[appearance]\ntheme = \"pink\"\n";
    let problems = problems(settings(&place.file("settings.toml", text)));
    let found: Vec<_> =
        problems.iter().map(|problem| (problem.line, problem.key.as_str(), problem.nearest)).collect();
    assert_eq!(
        found,
        [
            (1, "theme", Some("appearance.theme")),
            (2, "apearance", Some("appearance")),
            (5, "autosave.enabled", None),
            (6, "autosave.quiet_seconds", None),
            (7, "autosave.stop_grace_seconds", Some("sandboxes.stop_grace_seconds")),
            (9, "appearance.theme", None),
        ]
    );
    assert!(problems[5].message.contains("\"high-contrast\""));
}

#[test]
fn broken_toml_is_reported_with_its_line_and_never_written_over() {
    let place = Place::new();
    let path = place.file("settings.toml", "[appearance]\ntheme = dark\n");
    assert_eq!(problems(settings(&path))[0].line, 2);
    let mut file = SettingsFile::defaults(&path, &SETTINGS);
    assert_eq!(problems(file.set(&[("appearance.theme", "light")])).len(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "[appearance]\ntheme = dark\n");
    let binary = place.path("binary.toml");
    fs::write(&binary, b"\xff\xfe").unwrap();
    assert_eq!(problems(settings(&binary)).len(), 1);
}

#[test]
fn an_unknown_key_or_a_bad_value_changes_nothing() {
    let place = Place::new();
    let path = place.path("settings.toml");
    let mut file = settings(&path).unwrap();
    let error = file.set(&[("appearance.theme", "dark"), ("appearance.fnt_size", "1")]).unwrap_err();
    assert!(error.to_string().contains("Did you mean \"appearance.font_size\"?"), "{error}");
    for (key, value) in
        [("appearance.theme", "pink"), ("appearance.font_size", "big"), ("autosave.enabled", "on")]
    {
        assert_eq!(problems(file.set(&[(key, value)]))[0].key, key);
    }
    assert!(!path.exists());
}

fn rename_size(document: &mut toml_edit::DocumentMut) {
    if let Some(size) = document.remove("size") {
        let mut table = toml_edit::Table::new();
        table.insert("size", size);
        document.insert("box", toml_edit::Item::Table(table));
    }
}

static SECOND_FORMAT: Schema = Schema {
    title: "Test.",
    keys: &[Key {
        path: "box.size",
        kind: Kind::Number { default: 1, from: 0, to: 9 },
        explanation: "Size.",
    }],
    format: Format { migrations: &[rename_size] },
};

#[test]
fn an_older_format_is_brought_up_to_date_after_a_backup() {
    let place = Place::new();
    let path = place.file("a.toml", "# mine\nsize = 5\n");
    let file = SettingsFile::open(&path, &SECOND_FORMAT).unwrap();
    assert_eq!(file.number("box.size"), 5);
    assert_eq!(fs::read_to_string(backup_path(&path, 1)).unwrap(), "# mine\nsize = 5\n");
    assert!(fs::read_to_string(&path).unwrap().contains("format = 2"));
    // A second time there is nothing to do.
    fs::remove_file(backup_path(&path, 1)).unwrap();
    SettingsFile::open(&path, &SECOND_FORMAT).unwrap();
    assert!(!backup_path(&path, 1).exists());
}

#[test]
fn a_newer_format_is_refused_and_not_touched() {
    let place = Place::new();
    for text in ["format = 2\n[new]\nthing = 1\n", "format = 99\n"] {
        let path = place.file("a.toml", text);
        assert!(matches!(settings(&path), Err(Error::Newer { known: 1, .. })));
        let mut file = SettingsFile::defaults(&path, &SETTINGS);
        assert!(matches!(file.set(&[("appearance.theme", "dark")]), Err(Error::Newer { .. })));
        assert!(matches!(Connections::open(&path), Err(Error::Newer { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let path = place.file("a.toml", "x = 1\nformat = \"one\"\n");
    assert_eq!(problems(settings(&path))[0].line, 2);
}

fn connection(id: &str) -> Connection {
    let json = json!({
        "server_url": "http://lab:8888/user/me/",
        "verify": false,
        "port": 8888,
        "tags": ["a", "b"],
        "nested": { "deep": { "x": 1.5 } },
    });
    Connection {
        id: id.into(),
        name: "The \"lab\"".into(),
        runtime: "jupyter".into(),
        credential: Some("sandbook/lab".into()),
        settings: json.as_object().unwrap().clone(),
    }
}

#[test]
fn connections_come_back_as_they_were_put() {
    let place = Place::new();
    let path = place.path("connections.toml");
    let mut connections = Connections::open(&path).unwrap();
    assert!(connections.all().is_empty());
    connections.put(&connection("a")).unwrap();
    connections.put(&connection("b")).unwrap();
    assert_eq!(Connections::open(&path).unwrap().all(), [connection("a"), connection("b")]);
    let changed = Connection { credential: None, settings: serde_json::Map::new(), ..connection("a") };
    connections.put(&changed).unwrap();
    assert_eq!(connections.get("a"), Some(&changed));
    assert!(connections.remove("a").unwrap() && !connections.remove("a").unwrap());
    assert_eq!(Connections::open(&path).unwrap().all(), [connection("b")]);
    assert!(fs::read_to_string(&path).unwrap().starts_with("# Connections of Sandbook"));
}

#[test]
fn changing_one_connection_leaves_the_text_of_all_else_alone() {
    let place = Place::new();
    let text = "# mine\n[[connection]] # the first\nid = 'a' # short\nname = 'A'\nruntime = 'jupyter'\n\n\
                [connection.settings]\n# where\nserver_url = 'http://a/' # home\nport = 1\n\n\
                # the second\n[[connection]]\nid = \"b\"\nname = \"B\"\nruntime = \"docker\"\n";
    let path = place.file("connections.toml", text);
    let mut connections = Connections::open(&path).unwrap();
    let mut first = connections.get("a").unwrap().clone();
    connections.put(&first).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    first.settings.insert("server_url".into(), "http://c/".into());
    connections.put(&first).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text.replace("'http://a/'", "\"http://c/\""));
}

#[test]
fn a_secret_is_refused_by_name_and_by_shape_and_never_repeated() {
    let place = Place::new();
    let path = place.path("connections.toml");
    let mut connections = Connections::open(&path).unwrap();
    for (name, value) in [
        ("token", json!("s3cret-value")),
        ("Api-Key", json!("s3cret-value")),
        ("my_password", json!("s3cret-value")),
        ("server_url", json!("http://h/?token=s3cret-value")),
        ("server_url", json!("http://me:s3cret-value@h/")),
        ("inner", json!({ "token": "s3cret-value" })),
    ] {
        let mut connection = connection("a");
        connection.settings.insert(name.into(), value.clone());
        let error = connections.put(&connection).unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{name}");
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
        // For these values JSON is TOML but for the colon.
        let inline = value.to_string().replace("\":", "\" = ");
        let text = format!(
            "[[connection]]\nid = 'a'\nname = 'A'\nruntime = 'jupyter'\n[connection.settings]\n{name} = {inline}\n"
        );
        let file = place.file("by hand.toml", &text);
        let problems = problems(Connections::open(&file));
        assert_eq!((problems.len(), problems[0].line), (1, 6), "{name}");
        assert!(!problems[0].to_string().contains("s3cret"));
    }
    assert!(!path.exists());
}

#[test]
fn a_connection_that_is_wrong_is_reported_with_its_line() {
    let place = Place::new();
    let text = "[[conection]]\nid = 'x'\n[[connection]]\nid = 'a'\nnmae = 'A'\nruntime = 7\n\
                [[connection]]\nid = 'a'\nname = 'B'\nruntime = 'jupyter'\nsettings = 3\n";
    let problems = problems(Connections::open(&place.file("connections.toml", text)));
    let found: Vec<_> =
        problems.iter().map(|problem| (problem.line, problem.key.as_str(), problem.nearest)).collect();
    for expected in [
        (1, "conection", Some("connection")),
        (5, "nmae", Some("name")),
        (6, "runtime", None),
        (3, "name", None),
        (11, "settings", None),
        (8, "id", None),
    ] {
        assert!(found.contains(&expected), "{expected:?} is not in {found:?}");
    }
    let single = place.file("single.toml", "[connection]\nid = 'a'\n");
    assert_eq!(self::problems(Connections::open(&single))[0].line, 1);
}

#[test]
fn a_file_that_can_not_be_read_is_not_written_over() {
    let place = Place::new();
    let path = place.path("connections.toml");
    let mut connections = Connections::open(&path).unwrap();
    fs::write(&path, "[[connection]]\nid = 'mine'\n").unwrap();
    assert!(connections.put(&connection("a")).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "[[connection]]\nid = 'mine'\n");
}

#[test]
fn checking_reports_the_problems_of_all_three_files() {
    let place = Place::new();
    let folders = Folders::inside(place.0.path());
    folders.create().unwrap();
    assert!(check(&folders).unwrap().is_empty());
    fs::write(folders.settings_file(), "x = 1").unwrap();
    fs::write(folders.connections_file(), "y = 1").unwrap();
    fs::write(folders.policies_file(), "[network]\nplain_http = \"perhaps\"").unwrap();
    let files: Vec<_> = check(&folders).unwrap().into_iter().map(|problem| problem.file).collect();
    assert_eq!(files, [folders.settings_file(), folders.connections_file(), folders.policies_file()]);
}

#[test]
fn the_documentation_shows_every_setting_and_variable() {
    let page = include_str!("../../../../docs/configuration.md");
    for schema in [&SETTINGS, &POLICIES] {
        let text = SettingsFile::defaults(Path::new(""), schema).document();
        assert!(page.contains(&text), "docs/configuration.md should have:\n{text}");
    }
    for (name, holds) in crate::folders::ENVIRONMENT {
        let documented = page.lines().any(|line| line.contains(name) && line.contains(holds));
        assert!(documented, "docs/configuration.md should say that {name} moves {holds}");
    }
}
