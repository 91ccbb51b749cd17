//! Where a program is.
//!
//! The system would look for it too, but in our `PATH` and not in the one of the server, and it
//! would say no more than that there is no such file.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf, is_separator};

use super::{Searched, SpawnError};

/// The file to run.
///
/// `base` is where the server will run, `path` the `PATH` that it will see. An empty directory
/// in `PATH` means the working directory to a shell; here it means none, for that is how
/// a file comes to be run that nobody meant.
pub(super) fn find(
    program: &OsStr,
    base: &Path,
    path: Option<&OsStr>,
    extensions: Option<&OsStr>,
) -> Result<PathBuf, SpawnError> {
    let bytes = program.as_encoded_bytes();
    if bytes.is_empty() {
        return Err(SpawnError::NoProgram);
    }
    let not_found = |searched| SpawnError::NotFound {
        program: program.to_owned(),
        searched,
    };
    if bytes.iter().any(|byte| is_separator(char::from(*byte))) {
        let place = base.join(program);
        return first([place.clone()], extensions)
            .unwrap_or_else(|| Err(not_found(Searched::At(place))));
    }
    let system = OsStr::new(SYSTEM_PATH);
    let directories = std::env::split_paths(path.unwrap_or(system))
        .filter(|directory| !directory.as_os_str().is_empty())
        .map(|directory| base.join(directory).join(program));
    first(directories, extensions).unwrap_or_else(|| {
        let searched = path.map(|path| Searched::Path(path.to_owned()));
        Err(not_found(searched.unwrap_or(Searched::System)))
    })
}

/// The first that can be run, else why the first that is there cannot.
fn first(
    places: impl IntoIterator<Item = PathBuf>,
    extensions: Option<&OsStr>,
) -> Option<Result<PathBuf, SpawnError>> {
    let mut refused = None;
    let places = places.into_iter();
    for path in places.flat_map(|place| with_extensions(place, extensions)) {
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        if metadata.is_file() && is_executable(&metadata) {
            return Some(Ok(path));
        }
        refused.get_or_insert(SpawnError::NotExecutable {
            path,
            is_directory: metadata.is_dir(),
        });
    }
    refused.map(Err)
}

/// On Windows `npx` is `npx.cmd`: every extension of `PATHEXT` is tried, and the name as it is
/// only if it has one.
fn with_extensions(place: PathBuf, extensions: Option<&OsStr>) -> Vec<PathBuf> {
    let Some(extensions) = extensions else {
        return vec![place];
    };
    let extensions = extensions.to_string_lossy();
    // An empty one would make it the name as it is, which there may be a script of a shell.
    let extensions = extensions.split(';').filter(|one| !one.is_empty());
    let added = extensions.map(|extension| {
        let mut name = place.clone().into_os_string();
        name.push(extension);
        PathBuf::from(name)
    });
    let as_it_is = place.extension().map(|_| place.clone());
    as_it_is.into_iter().chain(added).collect()
}

/// What nobody at all may run. Whether we may is found out by trying.
#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;

    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &fs::Metadata) -> bool {
    true
}

/// Where a shell looks if it is not told.
const SYSTEM_PATH: &str = if cfg!(windows) {
    r"C:\Windows\System32"
} else {
    "/usr/bin:/bin"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_is_added_where_there_is_none() {
        let extensions = Some(OsStr::new(".EXE;.CMD"));
        let named = |place: &str| with_extensions(place.into(), extensions);
        assert_eq!(named("npx"), [Path::new("npx.EXE"), Path::new("npx.CMD")]);
        assert_eq!(named("npx.cmd")[0], Path::new("npx.cmd"));
        assert_eq!(with_extensions("npx".into(), None), [Path::new("npx")]);
        // npm puts a script for shells beside its `npx.cmd`.
        let extensions = Some(OsStr::new(";.EXE;;.CMD;"));
        let named = |place: &str| with_extensions(place.into(), extensions);
        assert_eq!(named("npx"), [Path::new("npx.EXE"), Path::new("npx.CMD")]);
        // Neither spaces nor what a shell would read changes what is looked for.
        let place = "My Files/a&b %PATH%^\"";
        let first = PathBuf::from(format!("{place}.EXE"));
        assert_eq!(named(place)[0], first);
    }

    #[cfg(unix)]
    #[test]
    fn of_a_name_with_several_extensions_the_first_folder_and_then_the_first_extension_counts() {
        use std::os::unix::fs::PermissionsExt;

        let folder = std::env::temp_dir().join(format!("lookup-{}", std::process::id()));
        let place = |name: &str| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let (plain, script) = (place("one/npx"), place("one/npx.CMD"));
        let (program, own) = (place("a b/npx.EXE"), place("a b/x y.CMD"));
        let path = std::env::join_paths([folder.join("one"), folder.join("a b")]).unwrap();
        let extensions = Some(OsStr::new(".EXE;.CMD"));
        let find = |name: &str| super::find(name.as_ref(), &folder, Some(&path), extensions);
        assert_eq!(find("npx").unwrap(), script);
        assert_eq!(find("a b/npx").unwrap(), program);
        assert_eq!(find("a b/x y").unwrap(), own);
        assert!(find("x").is_err());
        assert_ne!(find("npx").unwrap(), plain);
        fs::remove_dir_all(&folder).unwrap();
    }
}
