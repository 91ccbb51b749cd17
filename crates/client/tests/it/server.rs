//! A misbehaving server, how to connect to it, and whether anything is left of it.

use std::time::Duration;

use switchboard_client::{Client, Error, Spec, Timeouts};
use switchboard_testkit::faulty::http::HttpServer;
use switchboard_testkit::faulty::stdio::{Launch, play};
use switchboard_testkit::faulty::{Eras, Role};
use tokio::task::block_in_place;

/// Not a test by itself: what the others start.
#[test]
fn the_process() {
    play();
}

/// Where a server is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum On {
    Stdio,
    Http,
}

/// A misbehaving server.
pub(crate) enum Server {
    Stdio(Launch, Role),
    Http(HttpServer),
}

impl Server {
    pub(crate) fn start(on: On, role: Role) -> Self {
        match on {
            On::Stdio => Self::Stdio(Launch::new(&role, "server::the_process"), role),
            On::Http => Self::Http(HttpServer::start(&role)),
        }
    }

    pub(crate) fn stdio(kind: &str, eras: Eras) -> Self {
        Self::start(On::Stdio, Role::new(kind).eras(eras))
    }

    pub(crate) fn http(kind: &str, eras: Eras) -> Self {
        Self::start(On::Http, Role::new(kind).eras(eras))
    }

    /// How to connect to it: under the name `faulty`.
    pub(crate) fn spec(&self) -> Spec {
        let spec = match self {
            Self::Stdio(launch, _) => Spec::command(&launch.program).args(&launch.arguments),
            Self::Http(server) => Spec::url(&server.url()).expect("a server has a URL"),
        };
        spec.name("faulty")
    }

    pub(crate) async fn connect(&self) -> Result<Client, Error> {
        Client::connect(self.spec()).await
    }

    /// The server over HTTP, to see what came.
    pub(crate) fn seen(&self) -> switchboard_testkit::faulty::http::Seen {
        match self {
            Self::Http(server) => server.seen(),
            Self::Stdio(_, role) => panic!("{role} is no server over HTTP"),
        }
    }

    /// Is nothing left of it: no process, no connection? Some have a moment to go.
    pub(crate) fn check_gone(&self) -> Result<(), String> {
        match self {
            Self::Stdio(launch, _) => match launch.survivors() {
                left if left.is_empty() => Ok(()),
                left => Err(format!("processes are left: {left:?}")),
            },
            Self::Http(server) => {
                let is_gone = block_in_place(|| server.wait_until(MOMENT, |seen| seen.open == 0));
                match is_gone {
                    true => Ok(()),
                    false => Err(format!("{} connections are left", server.seen().open)),
                }
            }
        }
    }

    /// The same where nobody waited for the end.
    pub(crate) fn check_goes(&self) -> Result<(), String> {
        if let Self::Stdio(launch, _) = self {
            block_in_place(|| launch.survivors_after(MOMENT));
        }
        self.check_gone()
    }
}

/// The usual time limits, but that a server which does not end is told so soon.
pub(crate) fn timeouts(change: impl FnOnce(&mut Timeouts)) -> Timeouts {
    let mut timeouts = Timeouts::default();
    change(&mut timeouts);
    timeouts
}

/// Long enough for what happens at once on a machine that is busy with other things.
pub(crate) const MOMENT: Duration = Duration::from_secs(10);
