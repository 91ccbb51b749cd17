//! How a call goes on as a task, and who hears its handler before and after.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks.

use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use switchboard_protocol::machine::server::ServeKey;
use switchboard_protocol::{Era, Payload};

use super::{AskError, Context, Question};
use crate::link::Link;
use crate::tasks::{Begun, Grant, Live, TaskError, TaskOwner};

/// Who hears a handler.
#[derive(Clone)]
pub(super) enum Way {
    /// The client that waits for the answer.
    Call { link: Arc<dyn Link>, key: ServeKey },
    /// Whoever asks how the task stands.
    Task(Arc<Live>),
}

/// Who hears a handler, and the task that whoever runs it should make of it.
pub(super) struct Path {
    way: Way,
    begun: Option<Box<Begun>>,
}

impl Path {
    pub(super) const fn new(link: Arc<dyn Link>, key: ServeKey) -> Self {
        Self {
            way: Way::Call { link, key },
            begun: None,
        }
    }

    /// From here on it is that of another call on the same connection.
    pub(super) fn turn_to(&mut self, call: ServeKey) {
        if let Way::Call { key, .. } = &mut self.way {
            *key = call;
        }
    }
}

impl Context {
    /// Goes on as a task: the client is answered with it now, and with what the handler
    /// gives back when it asks for the result.
    ///
    /// The tool must have a [`TaskMode`](crate::TaskMode) other than `Never`. From here on
    /// questions are put to whoever follows the task, nothing is said of progress and
    /// nothing is logged to the client. If the client cancels the task, the handler is
    /// dropped. What must be asked before there is a task is asked before this.
    ///
    /// Nothing happens in a call that is a task already.
    ///
    /// # Errors
    /// The client cannot deal with a task, or there is no room for one. The handler may go
    /// on without, and the client waits.
    pub async fn continue_as_task(&self) -> Result<(), TaskError> {
        if self.is_task() {
            return Ok(());
        }
        let grant = self.grant()?;
        let Way::Call { link, .. } = self.way() else {
            return Ok(());
        };
        let (owner, session) = (self.task_owner(), self.session());
        let refusals = link.refusals().clone();
        let begun = (grant.background).begin(owner, session, grant.life, refusals);
        let begun = begun.await?;
        // It may be the last that knows the connection, so it goes when the lock is free.
        drop(self.turn(begun));
        // Whoever runs the handler takes it from here, when it waits.
        loop {
            let told = self.0.told.notified();
            if self.path().begun.is_none() {
                return Ok(());
            }
            told.await;
        }
    }

    /// Does the call go on as a task?
    pub fn is_task(&self) -> bool {
        // Most calls cannot, and need not be looked at.
        self.grant().is_ok() && matches!(self.path().way, Way::Task(_))
    }

    /// Lets the call become a task, or says why it cannot.
    pub(crate) fn grant_task(&self, grant: Result<Grant, TaskError>) {
        // Granted once, by whoever finds the tool.
        let _ = self.0.grant.set(grant);
    }

    /// The task that must be made of the handler now, if any.
    pub(crate) fn take_begun(&self) -> Option<Box<Begun>> {
        self.grant().ok()?;
        let begun = self.path().begun.take();
        if begun.is_some() {
            self.0.told.notify_waiters();
        }
        begun
    }

    /// Whose a task of this caller is.
    pub(crate) fn task_owner(&self) -> TaskOwner {
        if let Some(principal) = self.principal() {
            return principal.into();
        }
        let session = match self.way() {
            Way::Call { link, .. } if self.revision().era() == Era::Handshake => link.session(),
            _ => None,
        };
        session.map_or(TaskOwner::Anyone, |session| {
            TaskOwner::Session(session.id.to_string())
        })
    }

    /// Asks the client of the handshake era for somebody else: for a task.
    pub(crate) async fn relay(&self, question: Question) -> Result<Payload, AskError> {
        let Way::Call { link, key } = self.way() else {
            return Err(AskError::Ended);
        };
        let asked = link.ask(Some(key), question.method, question.params);
        Ok(asked.await.map_err(|_| AskError::Ended)??)
    }

    /// Who hears the handler.
    pub(super) fn way(&self) -> Way {
        self.path().way.clone()
    }

    fn grant(&self) -> Result<&Grant, TaskError> {
        match self.0.grant.get() {
            Some(Ok(grant)) => Ok(grant),
            Some(Err(error)) => Err(error.clone()),
            None => Err(TaskError::NotOffered),
        }
    }

    /// From here on the task hears the handler; gives who did before.
    fn turn(&self, begun: Begun) -> Way {
        let way = Way::Task(Arc::clone(begun.live()));
        let mut path = self.path();
        path.begun = Some(Box::new(begun));
        std::mem::replace(&mut path.way, way)
    }

    /// Asks whoever follows the task.
    pub(super) async fn ask_in_task(
        &self,
        task: &Arc<Live>,
        name: &str,
        question: Question,
    ) -> Result<Payload, AskError> {
        let grant = self.grant().map_err(|_| AskError::Ended)?;
        grant.background.ask(task, name, question).await
    }

    /// The session of the handshake era, which hears how its tasks stand.
    fn session(&self) -> Option<Weak<dyn Link>> {
        match self.way() {
            Way::Call { link, .. } if self.revision().era() == Era::Handshake => {
                link.session().map(|session| session.link)
            }
            _ => None,
        }
    }

    fn path(&self) -> MutexGuard<'_, Path> {
        // Nothing that runs under the lock leaves it half done.
        self.0.way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
