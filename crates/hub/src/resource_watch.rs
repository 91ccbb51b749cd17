//! Hears when one resource changes, across restarts of its server.
//!
//! Specification: 2025-11-25 server/resources (subscriptions); 2026-07-28
//! basic/patterns/subscriptions.

use switchboard_client::types::SubscriptionFilter;
use switchboard_client::{Change, Subscription};

use crate::error::HubError;
use crate::hub::Hub;
use crate::member::InUse;
use crate::registry::Located;

/// Hears when a resource changes. Dropping it ends the subscription at the server.
#[derive(Debug)]
pub struct ResourceWatch {
    hub: Hub,
    located: Located,
    standing: Option<Standing>,
}

/// A subscription, and what keeps its server from being ended for want of calls.
#[derive(Debug)]
struct Standing {
    subscription: Subscription,
    _in_use: InUse,
}

impl ResourceWatch {
    pub(crate) async fn begin(hub: &Hub, uri: &str) -> Result<Self, HubError> {
        let located = hub.catalog().find_resource(uri)?;
        let standing = subscribe(hub, &located).await?;
        Ok(Self {
            hub: hub.clone(),
            located,
            standing: Some(standing),
        })
    }

    /// The server that has the resource.
    pub fn server(&self) -> &str {
        &self.located.server
    }

    /// Waits until the resource has changed, or may have: a server that was started anew did not
    /// tell of what happened in between.
    ///
    /// Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// When the server is gone or cannot be called. It may be asked again.
    pub async fn changed(&mut self) -> Result<(), HubError> {
        loop {
            let Some(standing) = &mut self.standing else {
                self.standing = Some(subscribe(&self.hub, &self.located).await?);
                return Ok(());
            };
            match standing.subscription.next().await {
                Ok(Some(Change::Resource(uri))) if uri == self.located.uri => return Ok(()),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => self.standing = None,
            }
        }
    }
}

async fn subscribe(hub: &Hub, located: &Located) -> Result<Standing, HubError> {
    let client = hub.client(&located.server).await?;
    let mut filter = SubscriptionFilter::default();
    filter.resource_subscriptions = Some(vec![located.uri.clone()]);
    let subscription = client.listen(filter).await?;
    if !subscription.granted().resources().contains(&located.uri) {
        return Err(HubError::NotWatchable {
            server: located.server.to_string(),
            uri: located.uri.clone(),
        });
    }
    Ok(Standing {
        subscription,
        _in_use: client,
    })
}
