//! A part of a snapshot, for those who are to see no more.

use std::collections::HashMap;
use std::sync::Arc;

use crate::profile::Profile;
use crate::registry::catalog::{Catalog, Snapshot};

impl Catalog {
    /// What of it is in a profile. The rest is not there.
    #[must_use]
    pub fn narrowed(&self, profile: &Profile) -> Self {
        let whole = self.snapshot();
        let mut members = Vec::new();
        let mut places: HashMap<u32, u32> = HashMap::new();
        for (old, member) in whole.members.iter().enumerate() {
            if !profile.has_server(member.server()) {
                continue;
            }
            if let (Ok(old), Ok(new)) = (u32::try_from(old), u32::try_from(members.len())) {
                places.insert(old, new);
            }
            members.push(match member.narrowed(profile) {
                Some(narrowed) => Arc::new(narrowed),
                None => Arc::clone(member),
            });
        }
        let by_part = whole.by_part.iter();
        Self::from_snapshot(Snapshot {
            version: whole.version,
            naming: whole.naming,
            by_part: by_part.filter_map(|old| places.get(old).copied()).collect(),
            members,
        })
    }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::types::Tool;

    use super::*;
    use crate::policy::ToolFilter;
    use crate::registry::{Absence, MemberCatalog, Registry};
    use crate::{Naming, Prefix};

    fn catalog() -> Catalog {
        let mut registry = Registry::new(Naming::new(Prefix::Server));
        for server in ["files", "git", "mail"] {
            let tools = ["read", "write"];
            let tools = tools.map(|name| {
                Tool::new(
                    name,
                    switchboard_protocol::RawJson::parse("{\"type\":\"object\"}").unwrap(),
                )
            });
            registry.set_member(server, MemberCatalog::new().with_tools(tools.to_vec()));
        }
        registry.catalog()
    }

    #[test]
    fn what_is_not_in_a_profile_is_not_there() {
        let mut profile = Profile::new("reader");
        profile.servers = ToolFilter::deny(["mail"]);
        profile.tools = ToolFilter::deny(["git__write"]);
        let seen = catalog().narrowed(&profile);
        let names: Vec<&str> = seen.tools().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["files__read", "files__write", "git__read"]);
        assert!(seen.find_tool("git__read").is_ok());
        assert!(seen.find_on("files", "write").is_ok());
        for (server, name) in [("mail", "mail__read"), ("git", "git__write")] {
            let missing = seen.find_tool(name).unwrap_err();
            let Absence::Unknown { near } = &missing.absence else {
                panic!("{missing}");
            };
            assert!(!near.iter().any(|near| near == name), "{near:?}");
            let own = name.split("__").last().unwrap();
            assert!(seen.find_on(server, own).is_err());
        }
        let found = seen.search("write", 10);
        assert_eq!(found.len(), 1);
        assert!(seen.find_resource("switchboard://mail/x").is_err());
    }

    #[test]
    fn a_profile_of_everything_changes_nothing() {
        let (whole, seen) = (catalog(), catalog().narrowed(&Profile::new("all")));
        let names = |catalog: &Catalog| -> Vec<String> {
            catalog
                .tools()
                .map(|entry| entry.name.to_string())
                .collect()
        };
        assert_eq!(names(&whole), names(&seen));
        assert_eq!(whole.version(), seen.version());
    }
}
