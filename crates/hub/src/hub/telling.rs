//! What is told to servers.

use switchboard_client::Client;
use switchboard_protocol::jsonrpc::Notification;

use super::Hub;
use crate::error::HubError;
use crate::state::MemberState;

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
        if self.own_member(server)?.state().is_ready() {
            let client = self.client(server).await?;
            Client::notify(&client, notification);
        }
        Ok(())
    }

    /// Tells the servers that this user has alone that the folders which he works in have changed.
    /// Whoever does not run need not be told: it asks for them when it is started.
    pub async fn roots_changed(&self) {
        let Some(session) = &self.session else {
            return;
        };
        let mut starting = Vec::new();
        for member in session.members() {
            match member.client_now() {
                Some(client) => Client::roots_changed(&client),
                None => starting.push(member),
            }
        }
        // It may have asked already.
        starting.retain(|member| matches!(member.state(), MemberState::Starting));
        for member in starting {
            if let Ok(client) = member.client(self.shared().settings.wait_for_server).await {
                Client::roots_changed(&client);
            }
        }
    }
}
