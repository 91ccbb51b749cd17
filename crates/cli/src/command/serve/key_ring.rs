//! The keys that let callers in: where they are written down, and what has become of them since.

use std::path::PathBuf;
use std::sync::Arc;

use switchboard_gateway::{CallerLimits, FileWatch, Key};
use switchboard_hub::{
    Config, GatewaySettings, KeyConfig, KeySecret, LimitConfig, Profile, Surroundings,
};

use super::rules;
use crate::args::serve::Serve;
use crate::exit::{Failure, with_causes};

/// The keys that let callers in, and where they come from.
pub(super) struct KeyRing {
    pub(super) keys: Vec<Key>,
    sources: Sources,
    /// The file of keys, if it is watched.
    watch: Option<FileWatch>,
}

/// Where keys come from beside the file with the servers.
#[derive(Clone)]
struct Sources {
    file: Option<PathBuf>,
    variable: Option<String>,
    surroundings: Arc<dyn Surroundings + Send + Sync>,
    /// Those that there are: they do not change while it runs.
    profiles: Vec<Profile>,
}

impl KeyRing {
    /// # Errors
    /// When something makes no sense: who guards a door does not guess.
    pub(super) fn open(
        args: &Serve,
        config: &Config,
        surroundings: Arc<dyn Surroundings + Send + Sync>,
    ) -> Result<Self, Failure> {
        // Before it is read, so that nothing is missed.
        let watch = args.keys.as_ref().filter(|_| !args.no_watch);
        let watch = watch.map(FileWatch::new);
        let sources = Sources {
            file: args.keys.clone(),
            variable: args.key_env.clone(),
            surroundings,
            profiles: config.settings.profiles.clone(),
        };
        Ok(Self {
            keys: sources.read(config)?,
            sources,
            watch,
        })
    }

    /// Waits until the file of keys has changed, if there is one.
    pub(super) async fn changed(&mut self) {
        match &mut self.watch {
            Some(watch) => watch.changed().await,
            None => std::future::pending().await,
        }
    }

    /// The keys as they are written now.
    ///
    /// # Errors
    /// When something makes no sense.
    pub(super) async fn read_again(&self, config: &Arc<Config>) -> Result<Vec<Key>, Failure> {
        let (sources, config) = (self.sources.clone(), Arc::clone(config));
        // A file or a program that is referred to may take its time.
        let read = tokio::task::spawn_blocking(move || sources.read(&config)).await;
        read.unwrap_or_else(|error| Err(Failure::unexpected(error.to_string())))
    }
}

impl Sources {
    fn read(&self, config: &Config) -> Result<Vec<Key>, Failure> {
        let mut about_us = config.errors().filter(|problem| problem.server.is_none());
        if let Some(problem) = about_us.next() {
            return Err(Failure::usage(problem.to_string()));
        }
        let mut keys = Vec::new();
        for key in self.keys_of(&config.settings.gateway)? {
            if let Some(name) = &key.profile {
                rules::find(&self.profiles, name)?;
            }
            keys.push(ready_key(&key, &*self.surroundings)?);
        }
        if let Some(variable) = &self.variable {
            let value = std::env::var(variable).map_err(|_| {
                Failure::usage(format!("the variable {variable} has no value"))
                    .hint("it is to hold the key that clients must have")
            })?;
            check_key(variable, &value)?;
            keys.push(Key::new("key", &value));
        }
        Ok(keys)
    }

    /// The keys of both files.
    fn keys_of(&self, gateway: &GatewaySettings) -> Result<Vec<KeyConfig>, Failure> {
        let mut keys = gateway.keys.clone();
        if let Some(file) = &self.file {
            let (settings, problems) = GatewaySettings::from_file(file)?;
            if let Some(problem) = problems.first() {
                return Err(Failure::usage(problem.to_string()));
            }
            for key in settings.keys {
                if keys.iter().any(|known| known.name == key.name) {
                    let reason =
                        format!("{}: a key {:?} is in both files", file.display(), key.name);
                    return Err(Failure::usage(reason));
                }
                keys.push(key);
            }
            if keys.is_empty() {
                return Err(Failure::usage(format!(
                    "{}: there are no keys",
                    file.display()
                )));
            }
        }
        Ok(keys)
    }
}

fn ready_key(key: &KeyConfig, surroundings: &dyn Surroundings) -> Result<Key, Failure> {
    let name = &key.name;
    let made = match &key.secret {
        KeySecret::Value(value) => {
            let value = value.resolve(surroundings).map_err(|error| {
                Failure::usage(format!("the key {name:?}: {}", with_causes(&error)))
            })?;
            check_key(name, value.reveal())?;
            Key::new(name, value.reveal())
        }
        KeySecret::Sha256(digest) => Key::from_sha256(name, *digest),
        _ => {
            return Err(Failure::unexpected(format!(
                "the key {name:?} is of no known kind"
            )));
        }
    };
    let made = match &key.profile {
        Some(profile) => made.profile(profile),
        None => made,
    };
    let mut limits = CallerLimits::default();
    for LimitConfig {
        name: limit, value, ..
    } in &key.limits
    {
        match limit.as_str() {
            "callsPerMinute" => limits.calls_per_minute = u32::try_from(*value).ok(),
            "callsPerCaller" => limits.calls = Some(*value),
            other => {
                let reason = format!("the key {name:?}: there is no limit {other:?} of one caller");
                return Err(
                    Failure::usage(reason).hint("there are callsPerMinute and callsPerCaller")
                );
            }
        }
    }
    Ok(made.limits(limits))
}

/// A key that cannot be guessed, and can be sent.
fn check_key(name: &str, value: &str) -> Result<(), Failure> {
    let is_sent = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    if value.is_empty() || !value.bytes().all(is_sent) {
        let reason = format!("the key {name:?} is empty or holds what no header can");
        return Err(Failure::usage(reason).hint("letters, digits and -._~+/= can be sent"));
    }
    Ok(())
}
