//! Codes that are entered on another device.
//!
//! Specification: RFC 8628.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::authorize::{check_resource, check_scopes};
use super::client::Client;
use super::knobs::{DeviceEnd, Knobs};
use super::message::{Asked, Reply};
use super::{Grant, Office, Outcome, Refused};

/// A device that waits for its person.
#[derive(Debug)]
pub(super) struct Device {
    grant: Grant,
    last_asked: Option<Instant>,
    pending: u32,
    slow_down: u32,
}

impl Office {
    pub(super) fn begin_device(&self, asked: &Asked) -> Outcome<Reply> {
        let knobs = self.knobs();
        self.check_form(asked)?;
        let client = self.check_client(&knobs, asked)?;
        let mut files = self.files();
        let grant = Grant {
            client: client.id,
            subject: "somebody".to_owned(),
            scopes: check_scopes(&knobs, asked.form.find("scope"))?,
            resource: check_resource(&knobs, asked.form.find("resource"))?,
            key: None,
            family: files.next_family(),
        };
        let code = files.secret("device");
        let device = Device {
            grant,
            last_asked: None,
            pending: knobs.device_pending,
            slow_down: knobs.device_slow_down,
        };
        files.devices.insert(code.clone(), device);
        let body = json!({
            "device_code": code,
            "user_code": "WDJB-MJHT",
            "verification_uri": format!("{}/enter", self.issuer),
            "verification_uri_complete": format!("{}/enter?user_code=WDJB-MJHT", self.issuer),
            "expires_in": 600,
            "interval": knobs.device_interval,
        });
        Ok(Reply::json(200, &body))
    }

    pub(super) fn grant_device(
        &self,
        knobs: &Knobs,
        asked: &Asked,
        client: &Client,
        key: Option<String>,
    ) -> Outcome<Grant> {
        let shown = asked.form.find("device_code").unwrap_or_default();
        let mut files = self.files();
        let device = files.devices.get_mut(shown);
        let device = device.ok_or_else(|| {
            let why = "there is no such device code";
            Refused::new("invalid_grant", why)
        })?;
        if device.grant.client != client.id {
            let why = "the device code is that of another client";
            return Err(Refused::new("invalid_grant", why));
        }
        if let Some(resource) = asked.form.find("resource")
            && Some(resource) != device.grant.resource.as_deref()
        {
            let why = "resource is not the one that was asked for";
            return Err(Refused::new("invalid_target", why));
        }
        let interval = Duration::from_secs(knobs.device_interval);
        let is_early = |last: Instant| last.elapsed() < interval;
        if device
            .last_asked
            .replace(Instant::now())
            .is_some_and(is_early)
        {
            return Err(Refused::new("slow_down", "the interval is longer"));
        }
        if device.slow_down > 0 {
            device.slow_down -= 1;
            return Err(Refused::new("slow_down", "as it was told"));
        }
        if device.pending > 0 {
            device.pending -= 1;
            return Err(Refused::new("authorization_pending", "not yet"));
        }
        let grant = Grant {
            key,
            ..device.grant.clone()
        };
        // It was good for once, however it ends.
        files.devices.remove(shown);
        match knobs.device_end {
            DeviceEnd::Agrees => Ok(grant),
            DeviceEnd::Denies => Err(Refused::new("access_denied", "the person does not agree")),
            DeviceEnd::Waits => Err(Refused::new("expired_token", "nobody entered the code")),
        }
    }
}
