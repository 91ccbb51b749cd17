//! What clients do, by chance, and what must come of it.

use std::future::IntoFuture;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use switchboard_client::types::{CallToolResult, SubscriptionFilter};
use switchboard_client::{Call, Change, Client, Error, ErrorKind};
use switchboard_testkit::dice::Dice;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::{Mark, Seat};
use crate::house::CALLS_PER_CALLER;
use crate::ledger::{Begun, Expected, Failure, Fault, Ledger, Outcome};
use crate::server::{STATES, STEPS, TOOLS, answer, question, secret, state_of};

/// What all workers share.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) ledger: Arc<Mutex<Ledger>>,
    pub(crate) seats: Vec<Arc<Seat>>,
    pub(crate) servers: Vec<Facts>,
    pub(crate) stops: AtomicBool,
    /// How late this process itself is, in milliseconds: nobody else is to blame for that.
    pub(crate) lag: AtomicU64,
    /// Calls that may have been left at a question.
    pub(crate) abandoned: AtomicU64,
}

/// What is known of a server.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) knows_whom_it_asks: bool,
    /// Each client has one alone, and resources are watched at the one that all see.
    pub(crate) is_per_client: bool,
    pub(crate) ban: Mutex<Ban>,
}

/// Whether the tool `banned` may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ban {
    pub(crate) is_banned: bool,
    /// It is being changed.
    pub(crate) is_changing: bool,
    /// How often it was.
    pub(crate) changes: u64,
}

impl Facts {
    pub(crate) fn ban(&self) -> MutexGuard<'_, Ban> {
        self.ban.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run {
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// How much later than its limit something may be seen.
    pub(crate) fn slack(&self) -> Duration {
        SLACK + 2 * Duration::from_millis(self.lag.load(Ordering::Relaxed))
    }
}

/// One thing after the other, until it is over.
pub(crate) async fn work(run: Arc<Run>, seat: Arc<Seat>, mut dice: Dice) {
    while !run.is_over() {
        let Some(client) = seat.client() else { return };
        let server = dice.roll(run.servers.len() as u64) as usize;
        let worker = Worker {
            run: &run,
            seat: &seat,
            server,
        };
        // In thousandths. What waits is seldom: it would be most of what there is.
        match dice.roll(1_000) {
            0..20 => worker.slow(&mut dice).await,
            20..60 => worker.steps(&mut dice).await,
            60..110 => worker.ask("ask").await,
            110..135 => worker.ask("sample").await,
            135..175 => worker.cancel(&mut dice).await,
            175..185 => worker.late(&mut dice).await,
            185..195 => worker.list(&client).await,
            195..225 => worker.subscribe(&mut dice).await,
            225..245 => worker.read(&client, &mut dice).await,
            245..270 => worker.banned().await,
            270 if dice.roll(8) == 0 => worker.burst(&mut dice).await,
            _ => worker.echo(&mut dice).await,
        }
    }
}

/// All clients take as much as they ever will, so that memory is as high as it will be.
pub(crate) async fn warm_up(run: &Arc<Run>, dice: &mut Dice) {
    let mut bursts = JoinSet::new();
    for seat in &run.seats {
        let (run, seat) = (Arc::clone(run), Arc::clone(seat));
        let mut dice = Dice::new(dice.roll(u64::MAX));
        bursts.spawn(async move {
            let worker = Worker {
                run: &run,
                seat: &seat,
                server: 0,
            };
            worker.burst(&mut dice).await;
        });
    }
    while bursts.join_next().await.is_some() {}
}

struct Worker<'a> {
    run: &'a Arc<Run>,
    seat: &'a Arc<Seat>,
    server: usize,
}

/// A call that is about to be made.
struct Made {
    begun: Begun,
    number: u64,
    call: Call<CallToolResult>,
}

impl Worker<'_> {
    fn facts(&self) -> &Facts {
        &self.run.servers[self.server]
    }

    fn begin(&self) -> Begun {
        Begun {
            client: self.seat.number,
            server: self.server,
            at: Instant::now(),
        }
    }

    fn make(&self, tool: &str, payload: &str, wait: u64) -> Option<Made> {
        let begun = self.begin();
        let client = self.seat.client()?;
        let number = self.seat.next();
        let call = client
            .call(format!("{}__{tool}", self.facts().name))
            .arg("caller", &self.seat.name)
            .arg("number", number)
            .arg("payload", payload)
            .arg("wait", wait)
            .idle_timeout(None)
            .deadline(DEADLINE);
        Some(Made {
            begun,
            number,
            call,
        })
    }

    async fn echo(&self, dice: &mut Dice) {
        let payload = payload(dice);
        if let Some(made) = self.make("echo", &payload, 0) {
            self.finish(made, "echo", Expected::Answer, &payload, DEADLINE)
                .await;
        }
    }

    async fn slow(&self, dice: &mut Dice) {
        let (payload, wait) = (payload(dice), 20 + dice.roll(200));
        if let Some(made) = self.make("echo", &payload, wait) {
            self.finish(made, "slow", Expected::Answer, &payload, DEADLINE)
                .await;
        }
    }

    async fn steps(&self, dice: &mut Dice) {
        let wait = dice.roll(100);
        let Some(mut made) = self.make("steps", "", wait) else {
            return;
        };
        let expected = question(&self.seat.name, made.number);
        let ledger = Arc::clone(&self.run.ledger);
        let mut last = 0.0;
        made.call = made.call.on_progress(move |progress| {
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            if progress.message.as_deref() != Some(&*expected) {
                let words = format!("progress {:?} at {expected}", progress.message);
                ledger.fault(Fault::Misdelivered, &words);
            }
            let now = progress.progress.as_f64().unwrap_or(0.0);
            if now <= last || now > STEPS as f64 {
                let words = format!("progress {now} after {last} at {expected}");
                ledger.fault(Fault::Wrong, &words);
            }
            last = now;
        });
        self.finish(made, "progress", Expected::Answer, "", DEADLINE)
            .await;
    }

    async fn ask(&self, tool: &'static str) {
        let expected = match self.facts().knows_whom_it_asks {
            true => Expected::Answer,
            false => Expected::Refusal,
        };
        let Some(made) = self.make(tool, "", 0) else {
            return;
        };
        let answered = secret(&self.seat.name, made.number);
        let is_right = self.finish(made, tool, expected, &answered, DEADLINE).await;
        if !is_right {
            self.run.abandoned.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A call that is given up before it can be answered, or not.
    async fn cancel(&self, dice: &mut Dice) {
        let tool = ["echo", "steps", "ask"][dice.roll(3) as usize];
        let patience = Duration::from_millis(dice.roll(80));
        let Some(made) = self.make(tool, "", 200 + dice.roll(1_000)) else {
            return;
        };
        if tool == "ask" {
            self.run.abandoned.fetch_add(1, Ordering::Relaxed);
        }
        // Whatever came of it is not looked at; what is left behind is.
        let _ = timeout(patience, made.call.into_future()).await;
        *self.run.ledger().calls.entry("cancel").or_default() += 1;
        self.run.ledger().right += 1;
    }

    /// A call with a deadline that it cannot keep.
    async fn late(&self, dice: &mut Dice) {
        let limit = Duration::from_millis(50 + dice.roll(150));
        if let Some(mut made) = self.make("echo", "", 30_000) {
            made.call = made.call.deadline(limit);
            self.finish(made, "deadline", Expected::Deadline, "", limit)
                .await;
        }
    }

    async fn banned(&self) {
        let before = *self.facts().ban();
        let Some(made) = self.make("banned", "", 0) else {
            return;
        };
        let Made {
            begun,
            number,
            call,
        } = made;
        let outcome = self.outcome(call, number, "", DEADLINE).await;
        let is_known = *self.facts().ban() == before && !before.is_changing;
        let expected = match (is_known && !self.seat.is_chained(), before.is_banned) {
            (true, true) => Expected::OnlyUnknown,
            (true, false) => Expected::Answer,
            _ => Expected::Unknown,
        };
        self.run
            .ledger()
            .end(begun, "banned", expected, &outcome, Instant::now());
    }

    /// More calls at once than a caller may have.
    async fn burst(&self, dice: &mut Dice) {
        self.run.ledger().begin_burst(self.seat.number);
        let mut calls = JoinSet::new();
        for _ in 0..CALLS_PER_CALLER * 2 {
            let (run, seat) = (Arc::clone(self.run), Arc::clone(self.seat));
            let server = dice.roll(run.servers.len() as u64) as usize;
            let wait = dice.roll(50);
            calls.spawn(async move {
                let worker = Worker {
                    run: &run,
                    seat: &seat,
                    server,
                };
                if let Some(made) = worker.make("echo", "", wait) {
                    let expected = Expected::Answer;
                    worker.finish(made, "burst", expected, "", DEADLINE).await;
                }
            });
        }
        while calls.join_next().await.is_some() {}
        self.run
            .ledger()
            .end_burst(self.seat.number, Instant::now());
    }

    async fn list(&self, client: &Client) {
        let before: Vec<Ban> = self.run.servers.iter().map(|facts| *facts.ban()).collect();
        let begun = self.begin();
        let listing = client.refresh_tools();
        let limit = Duration::from_secs(60) + self.run.slack();
        let Ok(listed) = timeout(limit, listing).await else {
            self.end(begun, "list", &Outcome::Hung);
            return;
        };
        let tools = match listed {
            Ok(tools) => tools,
            Err(error) => {
                // A list is of all servers, none of which may spoil it.
                let outcome = failed(&error, true);
                let is_ours = self
                    .run
                    .ledger()
                    .is_client_disturbed(self.seat.number, begun.at);
                if !is_ours && !is_over_limit(&error) {
                    let words = format!("list of {}: {outcome:?}", self.seat.name);
                    self.run.ledger().fault(Fault::Lost, &words);
                }
                return;
            }
        };
        let mut ledger = self.run.ledger();
        *ledger.calls.entry("list").or_default() += 1;
        ledger.right += 1;
        for (server, facts) in self.run.servers.iter().enumerate() {
            let is_steady = !ledger.is_server_disturbed(Begun { server, ..begun });
            let mut names: Vec<&str> = tools
                .iter()
                .filter_map(|tool| tool.name.strip_prefix(&*facts.name)?.strip_prefix("__"))
                .collect();
            names.sort_unstable();
            let ban = *facts.ban();
            let ban_is_known = ban == before[server] && !ban.is_changing && !self.seat.is_chained();
            let mut expected = TOOLS.to_vec();
            if !ban_is_known {
                expected.retain(|name| *name != "banned");
                names.retain(|name| *name != "banned");
            } else if ban.is_banned {
                expected.retain(|name| *name != "banned");
            }
            let is_whole = names == expected;
            names.dedup();
            if is_steady && !is_whole || names.len() > TOOLS.len() {
                let name = &self.seat.name;
                let words = format!("{} at {name}: {names:?}, not {expected:?}", facts.name);
                ledger.fault(Fault::Incomplete, &words);
            }
        }
    }

    async fn read(&self, client: &Client, dice: &mut Dice) {
        let number = dice.roll(STATES);
        let begun = self.begin();
        let call = client
            .read(state_of(&self.facts().name, number))
            .idle_timeout(None)
            .deadline(DEADLINE)
            .raw();
        let outcome = match timeout(DEADLINE + self.run.slack(), call.into_future()).await {
            Err(_) => Outcome::Hung,
            Ok(Err(error)) => failed(&error, true),
            Ok(Ok(payload)) => {
                let text = String::from_utf8_lossy(payload.text()).into_owned();
                match text.contains(&format!("\"state {number}\"")) {
                    true => Outcome::Right,
                    false => Outcome::Wrong(text),
                }
            }
        };
        self.end(begun, "read", &outcome);
    }

    /// Wants to hear of a resource, has it changed, and waits to hear of it.
    async fn subscribe(&self, dice: &mut Dice) {
        if self.facts().is_per_client {
            return;
        }
        let begun = self.begin();
        let Some(client) = self.seat.client() else {
            return;
        };
        let uri = state_of(&self.facts().name, dice.roll(STATES));
        let mut filter = SubscriptionFilter::default();
        filter.resource_subscriptions = Some(vec![uri.clone()]);
        let subscribed = timeout(DEADLINE + self.run.slack(), client.listen(filter)).await;
        let mut subscription = match subscribed {
            Err(_) => return self.end(begun, "subscribe", &Outcome::Hung),
            Ok(Err(error)) => return self.end(begun, "subscribe", &failed(&error, true)),
            Ok(Ok(subscription)) => subscription,
        };
        let granted = subscription.granted();
        let touch = client
            .call(format!("{}__touch", self.facts().name))
            .arg("uri", &uri)
            .idle_timeout(None)
            .deadline(DEADLINE);
        let touched = match timeout(DEADLINE + self.run.slack(), touch.into_future()).await {
            Err(_) => Outcome::Hung,
            Ok(Err(error)) => failed(&error, true),
            Ok(Ok(_)) => Outcome::Right,
        };
        self.end(begun, "subscribe", &touched);
        if touched != Outcome::Right {
            return;
        }
        let hearing = async {
            loop {
                match subscription.next().await {
                    Ok(Some(Change::Resource(changed))) if changed == uri => return Ok(()),
                    Ok(Some(_)) => {}
                    Ok(None) => return Err("it ended".to_owned()),
                    Err(error) => return Err(error.to_string()),
                }
            }
        };
        let reason = match timeout(HEARING + self.run.slack(), hearing).await {
            Ok(Ok(())) => return,
            Ok(Err(reason)) => reason,
            Err(_) => "nothing came".to_owned(),
        };
        let mut ledger = self.run.ledger();
        // What is over a limit is not granted.
        let was_refused =
            granted.resources().is_empty() && ledger.is_greedy(self.seat.number, begun.at);
        if !was_refused
            && !ledger.is_server_disturbed(begun)
            && !ledger.is_client_disturbed(self.seat.number, begun.at)
        {
            let took = begun.at.elapsed().as_millis();
            let granted = granted.resources().len();
            let name = &self.seat.name;
            let words = format!("{uri} by {name}, {took} ms, {granted} granted: {reason}");
            ledger.fault(Fault::Unheard, &words);
        }
    }

    /// Makes a call, and notes what came of it. Was it right?
    async fn finish(
        &self,
        made: Made,
        kind: &'static str,
        expected: Expected,
        payload: &str,
        limit: Duration,
    ) -> bool {
        let Made {
            begun,
            number,
            call,
        } = made;
        let outcome = self.outcome(call, number, payload, limit).await;
        self.run
            .ledger()
            .end(begun, kind, expected, &outcome, Instant::now());
        outcome == Outcome::Right
    }

    fn end(&self, begun: Begun, kind: &'static str, outcome: &Outcome) {
        self.run
            .ledger()
            .end(begun, kind, Expected::Answer, outcome, Instant::now());
    }

    async fn outcome(
        &self,
        call: Call<CallToolResult>,
        number: u64,
        payload: &str,
        limit: Duration,
    ) -> Outcome {
        let expected = answer(&self.facts().name, &self.seat.name, number, payload);
        // Twice: once for what is seen too late here.
        let most = limit + 2 * self.run.slack();
        let began = Instant::now();
        match timeout(most, call.into_future()).await {
            Err(_) => Outcome::Hung,
            Ok(Ok(result)) => {
                let text = result.joined_text();
                if result.is_error() {
                    return Outcome::Failed(Failure::Other, text);
                }
                if text != expected {
                    return Outcome::Wrong(format!("{text:?}, not {expected:?}"));
                }
                self.seat.mark(number, Mark::Ran);
                Outcome::Right
            }
            Ok(Err(error)) => {
                if !error.may_have_run() {
                    self.seat.mark(number, Mark::NotRun);
                }
                let is_in_time = began.elapsed() <= limit + self.run.slack();
                failed(&error, is_in_time)
            }
        }
    }
}

/// What an error means.
fn failed(error: &Error, is_in_time: bool) -> Outcome {
    let words = error.to_string();
    let kind = match error.kind() {
        ErrorKind::TimedOut(_) if is_in_time => Failure::Deadline,
        ErrorKind::TimedOut(_) => return Outcome::Hung,
        _ if is_over_limit(error) => Failure::Limit,
        ErrorKind::Refused(_) if is_unknown(&words) => Failure::Unknown,
        _ => Failure::Other,
    };
    Outcome::Failed(kind, words)
}

fn is_over_limit(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Refused(refusal) => matches!(refusal.code.0, -31_001 | -31_002),
        ErrorKind::Http(failure) => matches!(failure.status(), Some(429 | 503)),
        _ => false,
    }
}

fn is_unknown(words: &str) -> bool {
    ["there is no tool", "no tool", "is not allowed", "denied"]
        .iter()
        .any(|part| words.contains(part))
}

/// Mostly little, at times a lot; with what is hard to write in JSON.
fn payload(dice: &mut Dice) -> String {
    let length = match dice.roll(1_000) {
        0 => 100_000,
        1..50 => dice.roll(4_000),
        _ => dice.roll(100),
    };
    let letters = ['a', 'Z', '7', ' ', '"', '\\', '\n', 'é', '界', '🙂'];
    (0..length)
        .map(|_| letters[dice.roll(letters.len() as u64) as usize])
        .collect()
}

/// What a call may take on a machine that has much else to do.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
const HEARING: Duration = Duration::from_secs(15);
const SLACK: Duration = Duration::from_millis(250);
