//! The clients: of both eras, over HTTP through a proxy, or on the standard streams of a gateway
//! of their own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use switchboard_client::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitResult, Implementation, OneOrMany, Role,
    SamplingMessageContentBlock,
};
use switchboard_client::{Client, Handlers, Mode, Refusal, Revision, Spec, Timeouts};
use switchboard_testkit::fault_proxy::TcpProxy;

use crate::house::{House, key};
use crate::ledger::{Fault, Ledger};
use crate::server::{secret, text_of};

/// The place of one client. Who sits there changes.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) number: usize,
    pub(crate) name: String,
    /// What its bytes go through, over HTTP.
    pub(crate) proxy: Option<TcpProxy>,
    spec: Spec,
    current: Mutex<Option<Client>>,
    /// What became of each call: see [`Mark`].
    marks: Mutex<Vec<Mark>>,
    calls: AtomicU64,
}

/// What is known of a call once it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It may have run, once.
    Open,
    /// It has run.
    Ran,
    /// Its error says that it has not.
    NotRun,
}

impl Seat {
    pub(crate) fn new(
        number: usize,
        house: &House,
        seed: u64,
        chained: bool,
    ) -> Result<Self, String> {
        let name = format!("c{number}");
        let mode = match number % 4 {
            0 | 2 => Mode::Pinned(Revision::LATEST),
            1 => Mode::Legacy,
            _ => Mode::Pinned(Revision::V2025_06_18),
        };
        let mut proxy = None;
        let spec = if chained {
            let mode = if number.is_multiple_of(2) {
                "modern"
            } else {
                "legacy"
            };
            let words = house.chain(number, mode)?;
            let (program, arguments) = words.split_first().ok_or("no program")?;
            let folder = house.folder.display().to_string();
            Spec::command(program)
                .args(arguments)
                .env("XDG_RUNTIME_DIR", &folder)
                .env("XDG_CACHE_HOME", format!("{folder}/cache-{number}"))
                .env("XDG_CONFIG_HOME", format!("{folder}/config"))
        } else {
            let seed = seed.wrapping_mul(17).wrapping_add(number as u64);
            let started =
                TcpProxy::start(house.gateway.address, seed).map_err(|error| error.to_string())?;
            let url = format!("http://{}/mcp", started.address());
            proxy = Some(started);
            let spec = Spec::url(&url).map_err(|error| error.to_string())?;
            spec.header("authorization", &format!("Bearer {}", key(number)))
                .map_err(|error| error.to_string())?
        };
        let mut timeouts = Timeouts::default();
        timeouts.list = Duration::from_secs(60);
        timeouts.connect = Duration::from_secs(60);
        let spec = spec
            .name(&name)
            .mode(mode)
            .info(Implementation::new(format!("soak-{name}"), "1.0.0"))
            .timeouts(timeouts);
        Ok(Self {
            number,
            name,
            proxy,
            spec,
            current: Mutex::default(),
            marks: Mutex::default(),
            calls: AtomicU64::new(0),
        })
    }

    pub(crate) const fn is_chained(&self) -> bool {
        self.proxy.is_none()
    }

    /// Has somebody new sit there. Who sat there before is given back.
    pub(crate) async fn connect(
        &self,
        ledger: &Arc<Mutex<Ledger>>,
    ) -> Result<Option<Client>, String> {
        let client = Client::connect_with(self.spec.clone(), self.host(ledger)).await;
        let client = client.map_err(|error| error.to_string())?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(current.replace(client))
    }

    /// Who sits there now.
    pub(crate) fn client(&self) -> Option<Client> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    pub(crate) fn leave(&self) -> Option<Client> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.take()
    }

    /// The number of a new call.
    pub(crate) fn next(&self) -> u64 {
        self.marks().push(Mark::Open);
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn mark(&self, call: u64, mark: Mark) {
        if let Some(place) = self.marks().get_mut(call as usize) {
            *place = mark;
        }
    }

    pub(crate) fn marks(&self) -> std::sync::MutexGuard<'_, Vec<Mark>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers what is asked about its own calls, and notices what is not.
    fn host(&self, ledger: &Arc<Mutex<Ledger>>) -> Handlers {
        let known = |ledger: Arc<Mutex<Ledger>>, name: String| {
            move |asked: &str| {
                let (caller, number) = asked.split_once('/').unwrap_or((asked, ""));
                if caller != name {
                    let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
                    let words = format!("{name} was asked about {asked}");
                    ledger.fault(Fault::Misdelivered, &words);
                    return Err(Refusal::by_user("not mine"));
                }
                Ok(secret(caller, number.parse().unwrap_or(u64::MAX)))
            }
        };
        let form = known(Arc::clone(ledger), self.name.clone());
        let model = known(Arc::clone(ledger), self.name.clone());
        Handlers::new()
            .on_form(move |question, _| {
                let answer = form(&question.message);
                async move {
                    let content = json!({"secret": answer?}).as_object().cloned();
                    Ok(ElicitResult::accept(content.unwrap_or_default()))
                }
            })
            .on_sample(move |question, _| {
                let answer = model(&asked(&question));
                async move {
                    Ok(CreateMessageResult::new(
                        Role::Assistant,
                        OneOrMany::One(SamplingMessageContentBlock::text(answer?)),
                        "a-model",
                    ))
                }
            })
    }
}

fn asked(question: &CreateMessageRequestParams) -> String {
    let blocks = question.messages.iter();
    let blocks = blocks.flat_map(|message| message.content.as_slice());
    blocks.filter_map(text_of).collect()
}
