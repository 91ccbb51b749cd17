//! Where the values of variables come from: this process and its machine, the keyring, and whoever
//! sits at the terminal.
//!
//! How somebody is asked is in `host`. Values are filled in on threads of their own, so that
//! waiting for a person or a keyring holds up nobody else.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_auth::Secret;
use switchboard_hub::{Config, InputConfig, ServerConfig, Surroundings, System};
use tokio::runtime::Handle;

use crate::app::App;
use crate::exit::{Exit, Failure};
use crate::host::{Desk, InputQuestion};

/// This machine, its keyring and its user.
#[derive(Debug)]
pub(crate) struct Around {
    system: System,
    desk: Arc<Desk>,
    /// What waits for people and keyrings.
    runtime: Handle,
    /// What people are to be asked for.
    inputs: Vec<InputConfig>,
    /// The servers, each with what it refers to.
    servers: Vec<(String, Vec<String>)>,
    may_ask: bool,
    #[cfg(feature = "keyring")]
    keyring: switchboard_keyring::Secrets,
}

impl App {
    /// Where the values for servers of this configuration come from.
    pub(crate) fn surroundings(&self, config: &Config) -> Around {
        let references = |server: &ServerConfig| {
            let templates = server.templates().into_iter();
            let written = templates.flat_map(|template| template.references());
            (server.name.clone(), written.map(str::to_owned).collect())
        };
        Around {
            system: System::new(),
            desk: Arc::clone(&self.desk),
            runtime: Handle::current(),
            inputs: config.inputs.clone(),
            servers: config.servers.iter().map(references).collect(),
            may_ask: true,
            #[cfg(feature = "keyring")]
            keyring: switchboard_keyring::Secrets::new(),
        }
    }

    /// Why a server failed: if it is for want of an answer, the number says so.
    pub(crate) fn judge_inputs(&self, mut failure: Failure, server: &ServerConfig) -> Failure {
        if failure.exit == Exit::Usage && lacks_input(&self.desk, server) {
            failure.exit = Exit::InputRequired;
            failure.hint = None;
        }
        failure
    }
}

/// Is there something that a server was to be given, and nobody gave?
fn lacks_input(desk: &Desk, server: &ServerConfig) -> bool {
    let templates = server.templates().into_iter();
    let mut written = templates.flat_map(|template| template.references());
    written.any(|written| desk.lacks(written))
}

impl Around {
    /// How a server fails whose variables have no values.
    pub(crate) fn exit_without_value(&self, server: &ServerConfig) -> Exit {
        match lacks_input(&self.desk, server) {
            true => Exit::InputRequired,
            false => Exit::Usage,
        }
    }

    /// The same without the person: standard input is somebody else's.
    pub(crate) fn unattended(mut self) -> Self {
        self.may_ask = false;
        self
    }
}

impl Surroundings for Around {
    fn variable(&self, name: &str) -> Option<Secret> {
        self.system.variable(name)
    }

    fn variable_names(&self) -> Vec<String> {
        self.system.variable_names()
    }

    fn file(&self, path: &Path) -> io::Result<Secret> {
        self.system.file(path)
    }

    fn command(&self, words: &[String]) -> io::Result<Secret> {
        self.system.command(words)
    }

    #[cfg(feature = "keyring")]
    fn keyring(&self, name: &str) -> io::Result<Option<Secret>> {
        let reading = self.keyring.read(name);
        self.runtime.block_on(reading).map_err(io::Error::other)
    }

    #[cfg(not(feature = "keyring"))]
    fn keyring(&self, _name: &str) -> io::Result<Option<Secret>> {
        let reason = "this switchboard was built without the cargo feature `keyring`: build it \
                      with that, or use a variable, a file or ${cmd:…}";
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }

    fn input(&self, id: &str) -> io::Result<Option<Secret>> {
        let written = format!("${{input:{id}}}");
        let users = self.servers.iter();
        let users = users.filter(|(_, references)| references.contains(&written));
        let question = InputQuestion {
            id,
            input: self.inputs.iter().find(|input| input.id == id),
            servers: users.map(|(name, _)| name.as_str()).collect(),
            may_ask: self.may_ask,
        };
        let answering = self.desk.input(&question);
        self.runtime.block_on(answering).map(Some)
    }

    fn home(&self) -> Option<PathBuf> {
        self.system.home()
    }
}
