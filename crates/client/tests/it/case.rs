//! One line of the tables of faults, and what is checked for each.
//!
//! The server is started, a neighbour beside it. `defect` is called; meanwhile another call of the
//! same client and the neighbour are answered. Then the connection goes on or is over, as the line says, and after it is closed
//! nothing is left. A table is run to its end: all lines that do not hold are shown together.

use std::error::Error as _;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use switchboard_client::{Class, Client, Error, Limits, Patience, Spec};
use switchboard_testkit::faulty::{Eras, Role};
use tokio::time::timeout;

use crate::server::{MOMENT, On, Server, timeouts};

/// One line of a table.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    kind: &'static str,
    eras: &'static [Eras],
    wants: Wants,
    /// Whether it goes wrong while connecting.
    at_opening: bool,
    /// How long a call may be silent.
    patience: Duration,
    is_over: bool,
    is_everywhere: bool,
    /// The limit of one message in bytes, where it is not the usual one.
    limit: Option<usize>,
}

#[derive(Clone, Copy)]
enum Wants {
    Text(&'static str),
    Fails {
        class: Class,
        words: &'static [&'static str],
        may_have_run: bool,
    },
}

/// The call is answered as it should be, whatever is wrong beside.
pub(crate) const fn answers(kind: &'static str) -> Case {
    Case {
        kind,
        eras: &[Eras::Legacy, Eras::Modern],
        wants: Wants::Text("as it should be"),
        at_opening: false,
        patience: PATIENCE,
        is_over: false,
        is_everywhere: false,
        limit: None,
    }
}

/// The call has an error of this class with these words, and the connection goes on.
pub(crate) const fn fails(
    kind: &'static str,
    class: Class,
    words: &'static [&'static str],
) -> Case {
    let mut case = answers(kind);
    case.wants = Wants::Fails {
        class,
        words,
        may_have_run: true,
    };
    case
}

/// There is no connection, for this reason.
pub(crate) const fn refuses(
    kind: &'static str,
    class: Class,
    words: &'static [&'static str],
) -> Case {
    let mut case = fails(kind, class, words).not_run();
    case.at_opening = true;
    case
}

/// The call ends when its time is over, and the connection goes on.
pub(crate) const fn times_out(kind: &'static str) -> Case {
    let mut case = fails(kind, Class::Timeout, &["no answer", "300ms"]);
    case.patience = SHORT;
    case
}

impl Case {
    /// The error says that the server did nothing.
    pub(crate) const fn not_run(mut self) -> Self {
        if let Wants::Fails { may_have_run, .. } = &mut self.wants {
            *may_have_run = false;
        }
        self
    }

    /// The answer is this text.
    pub(crate) const fn with(mut self, text: &'static str) -> Self {
        self.wants = Wants::Text(text);
        self
    }

    /// The connection is over then.
    pub(crate) const fn over(mut self) -> Self {
        self.is_over = true;
        self
    }

    /// With another limit of one message than the usual one.
    pub(crate) const fn limited(mut self, bytes: usize) -> Self {
        self.limit = Some(bytes);
        self
    }

    pub(crate) const fn legacy(self) -> Self {
        self.in_eras(&[Eras::Legacy])
    }

    pub(crate) const fn modern(self) -> Self {
        self.in_eras(&[Eras::Modern])
    }

    pub(crate) const fn in_eras(mut self, eras: &'static [Eras]) -> Self {
        self.eras = eras;
        self
    }

    /// The defect shows from the first request on: there is no connection.
    pub(crate) const fn at_every_request(mut self) -> Self {
        self.at_opening = true;
        self.is_everywhere = true;
        self
    }

    async fn run(&self, on: On, eras: Eras, neighbour: &Client) -> Result<(), String> {
        let mut role = Role::new(self.kind).eras(eras);
        if self.at_opening && self.is_everywhere {
            role = role.everywhere();
        }
        let server = Server::start(on, role);
        let mut limits = Limits::default();
        limits.message.bytes = self.limit.unwrap_or(limits.message.bytes);
        let stop = Patience::default().obey(Duration::from_millis(500));
        let spec = server.spec().limits(limits);
        let spec = spec.timeouts(timeouts(|timeouts| timeouts.stop = stop));
        if self.at_opening {
            return self.run_opening(&server, spec).await;
        }
        let client = connect(spec).await?;
        let start = Instant::now();
        let call = client.call("defect").idle_timeout(self.patience);
        let own = async {
            match self.is_over {
                true => Ok(()),
                false => alive(&client).await,
            }
        };
        let (outcome, own, beside) = tokio::join!(call, own, alive(neighbour));
        beside.map_err(|error| format!("the neighbour: {error}"))?;
        own.map_err(|error| format!("a call beside: {error}"))?;
        self.check(start, outcome.map(|result| result.joined_text()))?;
        if self.is_over {
            check_over(&client).await?;
        } else {
            alive(&client).await?;
            if client.state().is_over() {
                return Err(format!("is over: {}", client.state()));
            }
        }
        let start = Instant::now();
        client.close().await;
        if start.elapsed() > MOMENT {
            return Err(format!("closing took {:?}", start.elapsed()));
        }
        server.check_gone()
    }

    async fn run_opening(&self, server: &Server, spec: Spec) -> Result<(), String> {
        let start = Instant::now();
        let spec = spec.timeouts(timeouts(|timeouts| timeouts.connect = MOMENT));
        match Client::connect(spec).await {
            Err(error) => self.check(start, Err(error))?,
            Ok(client) => {
                let outcome = client.call("defect").await;
                self.check(start, outcome.map(|result| result.joined_text()))?;
                alive(&client).await?;
                client.close().await;
                return server.check_gone();
            }
        }
        server.check_goes()
    }

    fn check(&self, start: Instant, outcome: Result<String, Error>) -> Result<(), String> {
        let took = start.elapsed();
        if took > MOMENT {
            return Err(format!("took {took:?}: {outcome:?}"));
        }
        match (self.wants, outcome) {
            (Wants::Text(expected), Ok(text)) if text == expected => Ok(()),
            (Wants::Text(_), Ok(text)) => Err(format!("answered {text:?}")),
            (Wants::Text(_), Err(error)) => Err(format!("an error: {}", all_words(&error))),
            (Wants::Fails { .. }, Ok(text)) => Err(format!("no error, but {text:?}")),
            (
                Wants::Fails {
                    class,
                    words,
                    may_have_run,
                },
                Err(error),
            ) => check_error(&error, class, words, may_have_run),
        }
    }
}

/// Runs a table and shows all lines that do not hold.
pub(crate) async fn check(on: On, cases: &[Case]) {
    let honest = Server::start(on, Role::new("honest"));
    let neighbour = honest.connect().await.expect("the neighbour is honest");
    let mut wrong = Vec::new();
    for case in cases {
        for eras in case.eras {
            let run = timeout(LONGEST, case.run(on, *eras, &neighbour));
            let held = run.await.unwrap_or_else(|_| Err("hangs".to_owned()));
            if let Err(what) = held {
                wrong.push(format!("{} ({eras:?}): {what}", case.kind));
            }
        }
    }
    neighbour.close().await;
    honest.check_gone().expect("the neighbour is gone");
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Has an error this class, do it and its causes have these words?
pub(crate) fn check_error(
    error: &Error,
    class: Class,
    words: &[&str],
    may_have_run: bool,
) -> Result<(), String> {
    let text = all_words(error);
    if error.class() != class {
        return Err(format!("of class {:?}: {text}", error.class()));
    }
    if let Some(missing) = words.iter().find(|word| !text.contains(**word)) {
        return Err(format!("does not say {missing:?}: {text}"));
    }
    if !text.contains("\"faulty\"") || text.contains('\u{1b}') || text.contains('\n') {
        return Err(format!("not a line with the name of the server: {text:?}"));
    }
    if error.may_have_run() != may_have_run {
        return Err(format!("may have run: {}: {text}", error.may_have_run()));
    }
    if error.to_string().len() > LONGEST_LINE {
        return Err(format!("too long: {text}"));
    }
    Ok(())
}

/// An error and its causes.
pub(crate) fn all_words(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text} < {cause}");
        next = cause.source();
    }
    text
}

/// Is an ordinary call answered?
pub(crate) async fn alive(client: &Client) -> Result<(), String> {
    let call = client.call("echo").arg("text", "still here");
    match call.idle_timeout(PATIENCE).await {
        Ok(result) if result.joined_text() == "still here" => Ok(()),
        Ok(result) => Err(format!("echo answered {result:?}")),
        Err(error) => Err(format!("echo: {}", all_words(&error))),
    }
}

/// The arguments of a call that waits until so many have come.
pub(crate) fn after(count: usize) -> Map<String, Value> {
    let arguments = json!({"after": count});
    arguments.as_object().cloned().unwrap_or_default()
}

async fn connect(spec: Spec) -> Result<Client, String> {
    Client::connect(spec)
        .await
        .map_err(|error| format!("did not connect: {}", all_words(&error)))
}

/// Is every further call refused at once, and was it not sent?
pub(crate) async fn check_over(client: &Client) -> Result<(), String> {
    let mut states = client.states();
    let over = timeout(MOMENT, states.until(|state| state.is_over())).await;
    let Ok(Some(_)) = over else {
        return Err(format!("still {}", client.state()));
    };
    let start = Instant::now();
    match client.call("echo").await {
        Ok(result) => Err(format!("answered after its end: {result:?}")),
        Err(_) if start.elapsed() > MOMENT => Err("the next call waited".to_owned()),
        Err(error) if !error.to_string().contains("faulty") => {
            Err(format!("the next call does not name the server: {error}"))
        }
        Err(_) => Ok(()),
    }
}

/// Longer than any call that is answered.
const PATIENCE: Duration = Duration::from_secs(8);
/// For calls that are never answered.
const SHORT: Duration = Duration::from_millis(300);
/// For one line of a table.
const LONGEST: Duration = Duration::from_secs(50);
/// An error is a line.
const LONGEST_LINE: usize = 700;
