//! What clients of a gateway see, how much they may do, and where it is written down: from what was
//! said and from the file with the servers. Keys are in `key_ring`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use switchboard_gateway::{Audit, GatewayBuilder, GatewayLimits, IssuerKeys, Key, Mode};
use switchboard_hub::{Config, GatewaySettings, Profile, nearest};
use switchboard_server::access::{Jwt, ProtectedResource, TokenKeys};

use crate::args::serve::{Serve, ServedMode};
use crate::exit::{Failure, with_causes};
use crate::journal::Journal;
use crate::output;

/// What was set about a gateway.
pub(super) struct Rules {
    limits: GatewayLimits,
    profile: Option<Profile>,
    profiles: Vec<Profile>,
    keys: Vec<Key>,
    tokens: Option<Jwt>,
    mode: Mode,
    pub(super) audit: Option<Audit>,
}

impl Rules {
    /// # Errors
    /// When something makes no sense: who guards a door does not guess.
    pub(super) fn new(
        args: &Serve,
        config: &Config,
        keys: &[Key],
        journal: &Arc<Journal>,
    ) -> Result<Self, Failure> {
        let settings = &config.settings;
        let profiles = &settings.profiles;
        let profile = args.profile.as_deref().map(|name| find(profiles, name));
        let profile = profile.transpose()?;
        Ok(Self {
            limits: limits(args, &settings.gateway)?,
            // Whoever serves one profile serves no other.
            profiles: match profile {
                Some(_) => Vec::new(),
                None => profiles.clone(),
            },
            profile,
            keys: keys.to_vec(),
            tokens: tokens(args, journal)?,
            mode: match args.mode {
                ServedMode::All => Mode::All,
                ServedMode::Search => Mode::Search,
            },
            audit: args
                .audit
                .as_deref()
                .map(|to| audit(args, to))
                .transpose()?,
        })
    }

    /// How long calls in flight may take to finish in the end.
    pub(super) const fn drain(&self, args: &Serve) -> Duration {
        match args.http {
            Some(_) => self.limits.server.drain_http,
            None => self.limits.server.drain,
        }
    }

    /// The gateway with all this.
    ///
    /// # Errors
    /// When two keys are the same.
    pub(super) fn apply(self, gateway: GatewayBuilder) -> Result<GatewayBuilder, Failure> {
        let mut gateway = gateway
            .limits(self.limits)
            .mode(self.mode)
            .profiles(self.profiles);
        if let Some(profile) = self.profile {
            gateway = gateway.profile(profile);
        }
        if let Some(audit) = self.audit {
            gateway = gateway.audit(audit);
        }
        let known = gateway.access(&self.keys, self.tokens);
        known.map_err(|error| Failure::usage(format!("the keys: {error}")))
    }
}

pub(super) fn find(profiles: &[Profile], name: &str) -> Result<Profile, Failure> {
    if let Some(found) = profiles.iter().find(|profile| profile.name == name) {
        return Ok(found.clone());
    }
    let names = || profiles.iter().map(|profile| profile.name.as_str());
    let failure = Failure::usage(format!("there is no profile {name:?}"));
    Err(match nearest(name, names()).first() {
        Some(near) => failure.hint(format!("did you mean {near:?}?")),
        None if profiles.is_empty() => {
            failure.hint("profiles are in the file, under x-switchboard.profiles")
        }
        None => {
            let names: Vec<&str> = names().collect();
            failure.hint(format!("there are: {}", names.join(", ")))
        }
    })
}

fn tokens(args: &Serve, journal: &Arc<Journal>) -> Result<Option<Jwt>, Failure> {
    let (Some(issuer), Some(resource)) = (&args.issuer, &args.resource) else {
        return Ok(None);
    };
    let wrong = |error: &dyn std::error::Error| Failure::usage(with_causes(error));
    let described = ProtectedResource::new(resource, issuer).map_err(|error| wrong(&error))?;
    let telling = Arc::clone(journal);
    let keys = IssuerKeys::new(issuer, args.jwks.as_deref()).map_err(|error| wrong(&error))?;
    let keys = keys.on_problem(move |problem| telling.warn(None, problem));
    let tokens = Jwt::new(&described, TokenKeys::from_source(keys));
    Ok(Some(match &args.audience {
        Some(audience) => tokens.audience(audience),
        None => tokens,
    }))
}

fn limits(args: &Serve, gateway: &GatewaySettings) -> Result<GatewayLimits, Failure> {
    let mut limits = GatewayLimits::default();
    if let Some(drain) = args.drain {
        limits.server.drain = drain;
        limits.server.drain_http = drain;
    }
    let said = gateway
        .limits
        .iter()
        .map(|limit| (&limit.name, limit.value));
    let said = said.chain(args.limit.iter().map(|(name, value)| (name, *value)));
    for (name, value) in said {
        let set = limits.set(name, value);
        set.map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(limits)
}

fn audit(args: &Serve, to: &Path) -> Result<Audit, Failure> {
    let unwritten =
        |error: std::io::Error| Failure::usage(format!("--audit {}: {error}", to.display()));
    let place: Box<dyn Write + Send> = if to == Path::new("-") {
        if args.http.is_none() {
            let reason = "--audit -: standard output is the connection";
            return Err(Failure::usage(reason).hint("name a file"));
        }
        Box::new(output::audit_lines())
    } else {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // Who calls what concerns nobody else.
            options.mode(0o600);
        }
        Box::new(options.open(to).map_err(unwritten)?)
    };
    Audit::to(place).map_err(unwritten)
}
