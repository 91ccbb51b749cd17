//! What one user of the hub has alone: processes of servers that are not shared.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::hub::{HostMaker, Shared};
use crate::member::Member;
use crate::state::MemberState;

/// The servers of one user. They end with it.
pub(crate) struct Session {
    members: Mutex<HashMap<Arc<str>, Personal>>,
    /// The application behind them.
    host: Arc<HostMaker>,
}

#[derive(Debug)]
struct Personal {
    /// The one that everybody sees.
    of: Weak<Member>,
    member: Arc<Member>,
}

impl Session {
    pub(crate) fn new(host: Arc<HostMaker>) -> Self {
        Self {
            members: Mutex::default(),
            host,
        }
    }

    /// The user's own one of this server. None if the server is not to run.
    pub(crate) fn member(&self, hub: &Arc<Shared>, shared: &Arc<Member>) -> Option<Arc<Member>> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.retain(|_, known| known.of.strong_count() > 0);
        if let Some(known) = members.get(&shared.name)
            && known.of.as_ptr() == Arc::as_ptr(shared)
            && !is_spent(&known.member)
        {
            return Some(Arc::clone(&known.member));
        }
        let member = shared.start_personal(hub, &self.host)?;
        members.insert(
            Arc::clone(&shared.name),
            Personal {
                of: Arc::downgrade(shared),
                member: Arc::clone(&member),
            },
        );
        Some(member)
    }

    /// Those that there are.
    pub(crate) fn members(&self) -> Vec<Arc<Member>> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let living = members.values().filter(|known| known.of.strong_count() > 0);
        living.map(|known| Arc::clone(&known.member)).collect()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("members", &self.members)
            .finish_non_exhaustive()
    }
}

/// Does it take a new one to be called again?
fn is_spent(member: &Member) -> bool {
    let state = member.state();
    let has_failed = matches!(
        state,
        MemberState::Failed { .. } | MemberState::NeedsLogin { .. } | MemberState::Stopped
    );
    has_failed || member.is_over()
}
