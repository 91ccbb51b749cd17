//! What was done to whom, and what each call may therefore come to.
//!
//! A call has one outcome: the right answer, or an error that is allowed for what was done to its
//! own server, its own connection or itself. Everything else is counted against the gateway.
//!
//! - A *server* is disturbed from before something is done to it until a call that was begun
//!   afterwards has succeeded. Calls that overlap with that may fail; no others.
//! - A *client* is disturbed while something is done to its connections. A call that begins
//!   afterwards must succeed.
//!
//! Pure: time is given.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What may be held against the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// A call to a server that nobody touched, of a client that nobody touched, has failed.
    Lost,
    /// A call has run twice.
    Duplicate,
    /// The answer is not what the server must have said.
    Wrong,
    /// A question, an answer or progress reached somebody else.
    Misdelivered,
    /// There was no outcome at the deadline, and for a while after.
    Hung,
    /// A call was ended by its deadline although its server was there.
    Late,
    /// A server that was disturbed did not come back.
    NotRecovered,
    /// A list lacked something, or had it twice.
    Incomplete,
    /// A change was not told.
    Unheard,
    /// Something was left behind at the end.
    Leaked,
}

impl Fault {
    pub(crate) const ALL: [Self; 10] = [
        Self::Lost,
        Self::Duplicate,
        Self::Wrong,
        Self::Misdelivered,
        Self::Hung,
        Self::Late,
        Self::NotRecovered,
        Self::Incomplete,
        Self::Unheard,
        Self::Leaked,
    ];
}

/// What a call is allowed beside the right answer, whatever is done to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Nothing.
    Answer,
    /// It has a deadline that it cannot keep.
    Deadline,
    /// A server on a pipe that several clients share cannot say whom it asks: refused, or answered.
    Refusal,
    /// The tool is or is not there while that is being changed: answered, or unknown.
    Unknown,
    /// It must not be there.
    OnlyUnknown,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// What it must be.
    Right,
    /// Something else.
    Wrong(String),
    /// An error.
    Failed(Failure, String),
    /// Nothing.
    Hung,
}

/// What kind of error a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Its time limit, kept to within what is allowed.
    Deadline,
    /// A limit of the gateway.
    Limit,
    /// There is no such tool.
    Unknown,
    /// Anything else.
    Other,
}

/// A call that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) client: usize,
    pub(crate) server: usize,
    pub(crate) at: Instant,
}

/// The accounts.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// As those see them who call the gateway, and those who call another gateway before it: what
    /// is there is news to that one, which takes a moment.
    servers: Vec<[Standing; 2]>,
    /// Clients that call through another gateway.
    chained: Vec<bool>,
    clients: Vec<Standing>,
    /// Clients that go over their own limits.
    greedy: Vec<Standing>,
    /// How many calls there were of each kind.
    pub(crate) calls: BTreeMap<&'static str, u64>,
    pub(crate) right: u64,
    /// Errors that were allowed, by what allowed them.
    pub(crate) allowed: BTreeMap<&'static str, u64>,
    /// What was done, by its name.
    pub(crate) done: BTreeMap<&'static str, u64>,
    pub(crate) faults: BTreeMap<Fault, u64>,
    /// The first of them, in words.
    pub(crate) words: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct Standing {
    /// How many things are being done to it.
    open: usize,
    /// Everything was done at this moment, and no call has succeeded since.
    waits_since: Option<Instant>,
    /// When it was last well again.
    well_since: Option<Instant>,
}

impl Standing {
    /// Was it disturbed at any time since then?
    fn disturbed_since(&self, at: Instant) -> bool {
        self.open > 0
            || self.waits_since.is_some()
            || self.well_since.is_some_and(|well| well >= at)
    }
}

impl Ledger {
    pub(crate) fn new(clients: usize, servers: usize) -> Self {
        Self {
            servers: vec![<[Standing; 2]>::default(); servers],
            chained: vec![false; clients],
            clients: vec![Standing::default(); clients],
            greedy: vec![Standing::default(); clients],
            calls: BTreeMap::new(),
            right: 0,
            allowed: BTreeMap::new(),
            done: BTreeMap::new(),
            faults: BTreeMap::new(),
            words: Vec::new(),
        }
    }

    /// This client calls through another gateway.
    pub(crate) fn chain(&mut self, client: usize) {
        self.chained[client] = true;
    }

    /// Something is about to be done to a server.
    pub(crate) fn touch_server(&mut self, server: usize, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
        for standing in &mut self.servers[server] {
            standing.open += 1;
        }
    }

    /// It was done.
    pub(crate) fn server_touched(&mut self, server: usize, now: Instant) {
        for (standing, settling) in self.servers[server].iter_mut().zip(SETTLING) {
            standing.open -= 1;
            if standing.open == 0 {
                standing.waits_since = Some(now + settling);
            }
        }
    }

    /// Something is about to be done to the connections of a client.
    pub(crate) fn touch_client(&mut self, client: usize, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
        self.clients[client].open += 1;
    }

    /// It was done.
    pub(crate) fn client_touched(&mut self, client: usize, now: Instant) {
        let standing = &mut self.clients[client];
        standing.open -= 1;
        standing.well_since = Some(now);
    }

    /// A client is about to go over its own limits.
    pub(crate) fn begin_burst(&mut self, client: usize) {
        *self.done.entry("burst").or_default() += 1;
        self.greedy[client].open += 1;
    }

    /// It is within them again.
    pub(crate) fn end_burst(&mut self, client: usize, now: Instant) {
        let standing = &mut self.greedy[client];
        standing.open -= 1;
        standing.well_since = Some(now);
    }

    /// Was the server of a call disturbed at any time since the call began?
    pub(crate) fn is_server_disturbed(&self, begun: Begun) -> bool {
        self.servers[begun.server][self.view(begun)].disturbed_since(begun.at)
    }

    fn view(&self, begun: Begun) -> usize {
        usize::from(self.chained[begun.client])
    }

    /// Was this client over its own limits at any time since then?
    pub(crate) fn is_greedy(&self, client: usize, since: Instant) -> bool {
        self.greedy[client].disturbed_since(since)
    }

    pub(crate) fn is_client_disturbed(&self, client: usize, since: Instant) -> bool {
        self.clients[client].disturbed_since(since)
    }

    /// Servers that have been waited for longer than this.
    pub(crate) fn overdue(&self, now: Instant, most: Duration) -> Vec<usize> {
        let is_overdue = |standing: &Standing| {
            standing
                .waits_since
                .is_some_and(|since| now.saturating_duration_since(since) > most)
        };
        (0..self.servers.len())
            .filter(|server| is_overdue(&self.servers[*server][0]))
            .collect()
    }

    /// Everything has just been started: a server is there when a call has succeeded.
    pub(crate) fn start(&mut self, now: Instant) {
        for server in &mut self.servers {
            for (standing, settling) in server.iter_mut().zip(SETTLING) {
                standing.waits_since = Some(now + settling);
            }
        }
    }

    /// Does no server have to come back?
    #[cfg(test)]
    fn is_quiet(&self) -> bool {
        self.servers
            .iter()
            .all(|[standing, _]| standing.open == 0 && standing.waits_since.is_none())
    }

    /// Notes what came of a call, and says whether that is held against the gateway.
    pub(crate) fn end(
        &mut self,
        begun: Begun,
        kind: &'static str,
        expected: Expected,
        outcome: &Outcome,
        now: Instant,
    ) -> Option<Fault> {
        *self.calls.entry(kind).or_default() += 1;
        let verdict = self.judge(begun, expected, outcome);
        if *outcome == Outcome::Right {
            self.recover(begun, now);
        }
        match verdict {
            Verdict::Right => self.right += 1,
            Verdict::Allowed(reason) => *self.allowed.entry(reason).or_default() += 1,
            Verdict::Fault(fault) => {
                let Begun { client, server, at } = begun;
                let took = now.duration_since(at).as_millis();
                self.fault(
                    fault,
                    &format!("{kind} of c{client} at s{server}, {took} ms: {outcome:?}"),
                );
                return Some(fault);
            }
        }
        None
    }

    fn judge(&self, begun: Begun, expected: Expected, outcome: &Outcome) -> Verdict {
        let failure = match outcome {
            Outcome::Right if expected == Expected::OnlyUnknown => {
                return match self.is_server_disturbed(begun) {
                    true => Verdict::Allowed("server"),
                    false => Verdict::Fault(Fault::Wrong),
                };
            }
            Outcome::Right => return Verdict::Right,
            Outcome::Wrong(_) => return Verdict::Fault(Fault::Wrong),
            Outcome::Hung => return Verdict::Fault(Fault::Hung),
            Outcome::Failed(failure, _) => *failure,
        };
        let is_unknown = failure == Failure::Unknown;
        match expected {
            Expected::Deadline if failure == Failure::Deadline => return Verdict::Right,
            Expected::Refusal if failure == Failure::Other => return Verdict::Allowed("refusal"),
            Expected::Unknown if is_unknown => return Verdict::Allowed("denied"),
            Expected::OnlyUnknown if is_unknown => return Verdict::Right,
            _ => {}
        }
        if failure == Failure::Limit && self.is_greedy(begun.client, begun.at) {
            return Verdict::Allowed("limit");
        }
        // Whatever was done, it is told at once and not by a deadline.
        if failure == Failure::Deadline {
            return Verdict::Fault(Fault::Late);
        }
        if self.is_server_disturbed(begun) {
            return Verdict::Allowed("server");
        }
        if self.is_client_disturbed(begun.client, begun.at) {
            return Verdict::Allowed("connection");
        }
        Verdict::Fault(Fault::Lost)
    }

    /// A call has succeeded: its server is there, if all was done to it before the call began.
    fn recover(&mut self, begun: Begun, now: Instant) {
        let view = self.view(begun);
        let standing = &mut self.servers[begun.server][view];
        if standing.waits_since.is_some_and(|since| begun.at > since) && standing.open == 0 {
            standing.waits_since = None;
            standing.well_since = Some(now);
        }
    }

    /// Something is held against the gateway.
    pub(crate) fn fault(&mut self, fault: Fault, words: &str) {
        *self.faults.entry(fault).or_default() += 1;
        if self.words.len() < MOST_WORDS {
            let words: String = words.chars().take(400).collect();
            self.words.push(format!("{fault:?}: {words}"));
        }
    }

    /// How many calls have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.calls.values().sum()
    }
}

enum Verdict {
    Right,
    Allowed(&'static str),
    Fault(Fault),
}

/// How long after something was done a gateway before the gateway may not know of it.
const SETTLING: [Duration; 2] = [Duration::ZERO, Duration::from_secs(10)];
const MOST_WORDS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        ledger: Ledger,
        start: Instant,
    }

    impl Case {
        fn new() -> Self {
            Self {
                ledger: Ledger::new(2, 2),
                start: Instant::now(),
            }
        }

        fn at(&self, ms: u64) -> Instant {
            self.start + Duration::from_millis(ms)
        }

        /// A call from the first client, from one moment to another.
        fn call(&mut self, server: usize, from: u64, to: u64, outcome: &Outcome) -> Option<Fault> {
            self.call_as(server, (from, to), Expected::Answer, outcome)
        }

        fn call_as(
            &mut self,
            server: usize,
            (from, to): (u64, u64),
            expected: Expected,
            outcome: &Outcome,
        ) -> Option<Fault> {
            let begun = Begun {
                client: 0,
                server,
                at: self.at(from),
            };
            let now = self.at(to);
            self.ledger.end(begun, "echo", expected, outcome, now)
        }
    }

    fn failed() -> Outcome {
        Outcome::Failed(Failure::Other, "gone".to_owned())
    }

    #[test]
    fn an_error_needs_a_reason() {
        let mut case = Case::new();
        assert_eq!(case.call(0, 0, 10, &Outcome::Right), None);
        assert_eq!(case.call(0, 0, 10, &failed()), Some(Fault::Lost));
        let wrong = Outcome::Wrong("else".to_owned());
        assert_eq!(case.call(0, 0, 10, &wrong), Some(Fault::Wrong));
        assert_eq!(case.call(0, 0, 10, &Outcome::Hung), Some(Fault::Hung));
        assert_eq!(case.ledger.ended(), 4);
        assert_eq!(case.ledger.right, 1);
        assert_eq!(case.ledger.faults.values().sum::<u64>(), 3);
    }

    #[test]
    fn a_server_that_was_touched_costs_its_own_calls_until_it_is_back() {
        let mut case = Case::new();
        case.ledger.touch_server(0, "kill");
        assert_eq!(case.call(0, 0, 10, &failed()), None);
        // What was begun before it was over says nothing about afterwards.
        assert_eq!(case.call(0, 0, 10, &Outcome::Right), None);
        let done = case.at(20);
        case.ledger.server_touched(0, done);
        assert_eq!(case.call(0, 10, 30, &Outcome::Right), None);
        assert_eq!(case.call(0, 25, 40, &failed()), None);
        assert!(!case.ledger.is_quiet());
        assert_eq!(case.call(1, 25, 40, &failed()), Some(Fault::Lost));
        assert_eq!(case.call(0, 35, 50, &Outcome::Right), None);
        assert!(case.ledger.is_quiet());
        // Begun before it was back; begun afterwards.
        assert_eq!(case.call(0, 45, 60, &failed()), None);
        assert_eq!(case.call(0, 51, 60, &failed()), Some(Fault::Lost));
    }

    #[test]
    fn a_wrong_answer_and_a_missed_deadline_are_never_allowed() {
        let mut case = Case::new();
        case.ledger.touch_server(0, "kill");
        case.ledger.touch_client(0, "cut");
        let wrong = Outcome::Wrong("else".to_owned());
        assert_eq!(case.call(0, 0, 10, &wrong), Some(Fault::Wrong));
        let late = Outcome::Failed(Failure::Deadline, "late".to_owned());
        assert_eq!(case.call(0, 0, 10, &late), Some(Fault::Late));
        let expected = Expected::Deadline;
        assert_eq!(case.call_as(1, (0, 10), expected, &late), None);
    }

    #[test]
    fn a_cut_costs_what_was_under_way_only() {
        let mut case = Case::new();
        case.ledger.touch_client(0, "cut");
        let done = case.at(20);
        case.ledger.client_touched(0, done);
        assert_eq!(case.call(0, 10, 30, &failed()), None);
        assert_eq!(case.call(0, 21, 30, &failed()), Some(Fault::Lost));
    }

    #[test]
    fn a_limit_is_allowed_to_whoever_goes_over_it() {
        let mut case = Case::new();
        let over = Outcome::Failed(Failure::Limit, "busy".to_owned());
        assert_eq!(case.call(0, 0, 10, &over), Some(Fault::Lost));
        case.ledger.begin_burst(0);
        assert_eq!(case.call(0, 0, 10, &over), None);
        assert_eq!(case.call(0, 0, 10, &failed()), Some(Fault::Lost));
        let done = case.at(20);
        case.ledger.end_burst(0, done);
        assert_eq!(case.call(0, 21, 30, &over), Some(Fault::Lost));
    }

    #[test]
    fn what_is_denied_is_unknown_and_nothing_else() {
        let mut case = Case::new();
        let unknown = Outcome::Failed(Failure::Unknown, "none".to_owned());
        let mut check = |expected, outcome: &Outcome| case.call_as(0, (0, 10), expected, outcome);
        assert_eq!(check(Expected::OnlyUnknown, &unknown), None);
        assert_eq!(
            check(Expected::OnlyUnknown, &Outcome::Right),
            Some(Fault::Wrong)
        );
        assert_eq!(check(Expected::Unknown, &Outcome::Right), None);
        assert_eq!(check(Expected::Answer, &unknown), Some(Fault::Lost));
    }

    #[test]
    fn whoever_does_not_come_back_is_known() {
        let mut case = Case::new();
        case.ledger.touch_server(1, "kill");
        let (done, soon, later) = (case.at(0), case.at(100), case.at(2_000));
        case.ledger.server_touched(1, done);
        let most = Duration::from_secs(1);
        assert!(case.ledger.overdue(soon, most).is_empty());
        assert_eq!(case.ledger.overdue(later, most), [1]);
    }
}
