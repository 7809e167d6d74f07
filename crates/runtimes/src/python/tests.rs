use super::*;

fn environment(prefix: &Path, config: &str, packages: &[&str]) {
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::write(prefix.join("bin/python"), "").unwrap();
    fs::write(prefix.join("pyvenv.cfg"), config).unwrap();
    for package in packages {
        let folder = prefix.join("lib/python3.11/site-packages").join(package);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("__init__.py"), "").unwrap();
    }
}

#[cfg(unix)]
#[test]
fn the_notebook_s_own_environment_comes_first_and_one_above_it_next() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("project/notebooks");
    environment(&root.path().join("project/.venv"), "version = 3.11.7", &["ipykernel"]);
    environment(&folder.join("venv"), "version_info = 3.11.1", &[]);
    environment(&root.path().join("active"), "", &["ipykernel", "jupyter_server"]);
    let surroundings = Surroundings { active: vec![root.path().join("active")], ..Surroundings::default() };
    let found = find(Some(&folder), &surroundings);
    let told: Vec<_> =
        found.iter().map(|python| (python.label(), python.has_ipykernel, python.has_server)).collect();
    let expected = [
        ("Python 3.11.1 (venv)".to_owned(), false, false),
        ("Python 3.11.7 (.venv)".to_owned(), true, false),
        ("Python 3.11 (active)".to_owned(), true, true),
    ];
    assert_eq!(told, expected);
}

#[cfg(unix)]
#[test]
fn an_environment_that_conda_or_uv_made_in_the_notebook_s_folder_is_found_as_well() {
    let root = tempfile::tempdir().unwrap();
    let (conda, uv) = (root.path().join("conda"), root.path().join("uv"));
    let prefix = conda.join("env");
    fs::create_dir_all(prefix.join("conda-meta")).unwrap();
    environment(&prefix, "", &["ipykernel"]);
    fs::remove_file(prefix.join("pyvenv.cfg")).unwrap();
    environment(&uv.join(".venv"), "home = /usr/bin\nuv = 0.9.1\nversion_info = 3.11.9", &["ipykernel"]);
    for (folder, prefix) in [(&conda, &prefix), (&uv, &uv.join(".venv"))] {
        let found = find(Some(folder), &Surroundings::default());
        let [python] = &found[..] else { panic!("{found:?}") };
        assert!(python.program.starts_with(prefix) && python.has_ipykernel, "{python:?}");
    }
}

#[cfg(unix)]
#[test]
fn the_search_ends_at_the_root_of_a_repository() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("project/notebooks");
    environment(&root.path().join(".venv"), "", &[]);
    fs::create_dir_all(root.path().join("project/.git")).unwrap();
    fs::create_dir_all(&folder).unwrap();
    assert_eq!(find(Some(&folder), &Surroundings::default()), []);
}

#[cfg(unix)]
#[test]
fn packages_of_the_base_count_only_when_the_environment_includes_them() {
    let root = tempfile::tempdir().unwrap();
    environment(&root.path().join("base"), "", &["ipykernel"]);
    let home = format!("home = {}", root.path().join("base/bin").display());
    for (setting, expected) in [("false", false), ("true", true)] {
        let prefix = root.path().join(setting);
        environment(
            &prefix,
            &format!("{home}\ninclude-system-site-packages = {setting}\nversion = 3.11"),
            &[],
        );
        assert_eq!(Interpreter::at(&prefix, None).unwrap().has_ipykernel, expected);
    }
}
