//! What is told to servers.

use switchboard_client::Client;
use switchboard_protocol::jsonrpc::Notification;

use super::Hub;
use crate::error::HubError;

impl Hub {
    /// Tells a server something, in its own words. One that does not run is not started for it.
    ///
    /// # Errors
    /// When there is no such server, or it ends meanwhile.
    pub async fn notify_on(
        &self,
        server: &str,
        notification: Notification,
    ) -> Result<(), HubError> {
        if self.member(server)?.state().is_ready() {
            let client = self.client(server).await?;
            Client::notify(&client, notification);
        }
        Ok(())
    }
}
