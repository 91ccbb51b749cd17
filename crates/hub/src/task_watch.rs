//! Hears how one task stands, as long as its server's connection lasts.
//!
//! What is heard goes to the host of the server, as all that servers tell. A server of the handshake
//! era tells unasked.
//!
//! Specification: tasks extension (`taskIds`); 2025-11-25 basic/utilities/tasks.

use std::time::Duration;

use switchboard_client::Subscription;
use switchboard_client::types::SubscriptionFilter;
use tokio::time::timeout;

use crate::error::HubError;
use crate::hub::Hub;
use crate::member::InUse;

/// Has a server tell how a task stands. Dropping it ends the subscription.
#[derive(Debug)]
pub struct TaskWatch {
    subscription: Subscription,
    _in_use: InUse,
}

impl Hub {
    /// Has a server of the stateless era tell its host how a task of it stands, until this is
    /// dropped. None if the server does not tell.
    ///
    /// # Errors
    /// When the server cannot be called.
    pub async fn watch_task(
        &self,
        server: &str,
        task: &str,
    ) -> Result<Option<TaskWatch>, HubError> {
        let client = self.client(server).await?;
        let mut filter = SubscriptionFilter::default();
        filter.task_ids = Some(vec![task.to_owned()]);
        let Ok(subscription) = timeout(FOR_AGREEING, client.listen(filter)).await else {
            client.member().meter.reached("agreeing");
            return Ok(None);
        };
        let subscription = subscription?;
        let is_granted = subscription.granted().tasks().iter().any(|id| id == task);
        Ok(is_granted.then(|| TaskWatch {
            subscription,
            _in_use: client.hold(),
        }))
    }
}

impl TaskWatch {
    /// Waits until nothing more will be told.
    pub async fn ended(&mut self) {
        while let Ok(Some(_)) = self.subscription.next().await {}
    }
}

const FOR_AGREEING: Duration = Duration::from_secs(10);
