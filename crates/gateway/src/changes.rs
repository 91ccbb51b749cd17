//! What servers tell, and clients hear.

use switchboard_hub::{Event, Hub};
use switchboard_server::{Change, Site};
use tokio::task::AbortHandle;

/// Tells the clients of a site what happens in a hub, as long as there is the hub.
pub(crate) fn tell(hub: &Hub, site: &Site) -> AbortHandle {
    let mut events = hub.events().without_progress();
    let site = site.clone();
    let telling = tokio::spawn(async move {
        let mut missed = 0;
        while let Some(event) = events.next().await {
            if events.missed() != missed {
                // What was missed may have been anything.
                missed = events.missed();
                for change in [Change::Tools, Change::Prompts, Change::Resources] {
                    site.tell(&change);
                }
            }
            let Event::Catalog { changes, .. } = event else {
                continue;
            };
            if changes.tools {
                site.tell(&Change::Tools);
            }
            if changes.prompts {
                site.tell(&Change::Prompts);
            }
            if changes.resources {
                site.tell(&Change::Resources);
            }
        }
    });
    telling.abort_handle()
}
