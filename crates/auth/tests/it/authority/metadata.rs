//! What an authority says about itself.

use serde_json::{Value, json};

use super::knobs::{Knobs, Proofs};
use super::message::{Asked, Reply};
use super::{GRANTS, Office};

impl Office {
    pub(super) fn metadata(&self, asked: &Asked) -> Option<Reply> {
        let knobs = self.knobs();
        let mut places = knobs.metadata_at.iter();
        places.find(|place| place.path(&self.path) == asked.path)?;
        Some(match asked.method.as_str() {
            "GET" => Reply::json(200, &knobs.metadata.apply(self.document(&knobs))),
            _ => Reply::new(405),
        })
    }

    fn document(&self, knobs: &Knobs) -> Value {
        let issuer = &self.issuer;
        let mut document = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "revocation_endpoint": format!("{issuer}/revoke"),
            "device_authorization_endpoint": format!("{issuer}/device"),
            "jwks_uri": format!("{issuer}/keys"),
            "response_types_supported": ["code"],
            "grant_types_supported": GRANTS,
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": knobs.scopes,
            "token_endpoint_auth_methods_supported": knobs.methods,
            "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
            "authorization_grant_profiles_supported": ["urn:ietf:params:oauth:grant-profile:id-jag"],
            "client_id_metadata_document_supported": knobs.takes_documents,
            "authorization_response_iss_parameter_supported": knobs.promises_iss,
        });
        if knobs.registers {
            document["registration_endpoint"] = json!(format!("{issuer}/register"));
        }
        if knobs.proofs != Proofs::Unknown {
            document["dpop_signing_alg_values_supported"] = json!(["ES256"]);
        }
        document
    }
}
