//! The code of an error in the words of the peer's revision.
//!
//! Message and data stay. Which errors a gateway should not hand on at all, but
//! repair or turn into questions, is the gateway's affair.
//!
//! Specification: 2026-07-28 basic/index (error codes), server/resources;
//! 2025-11-25 client/elicitation.

use crate::jsonrpc::{ErrorCode, ErrorObject};
use crate::method::Method;
use crate::revision::{Era, Revision};
use crate::types::ResourceNotFoundData;

/// Gives the error the code that the peer's revision has for it.
///
/// | error | handshake era | stateless era |
/// |---|---|---|
/// | resource not found | -32002 | -32602 |
/// | header mismatch (-32020) | -32603 | stays |
/// | missing client capability (-32021) | -32603 | stays |
/// | unsupported version (-32022) | -32602 | stays |
/// | url elicitation required (-32042) | stays in 2025-11-25, else -32603 | -32603 |
///
/// In the stateless era a missing resource is told by its `data.uri`.
pub fn step_down_error(method: Option<Method>, error: &mut ErrorObject, to: Revision) {
    error.code = match (error.code, to.era()) {
        (ErrorCode::INVALID_PARAMS, Era::Handshake) if is_not_found(method, error) => {
            ErrorCode::RESOURCE_NOT_FOUND
        }
        (ErrorCode::RESOURCE_NOT_FOUND, Era::Stateless) => ErrorCode::INVALID_PARAMS,
        (ErrorCode::HEADER_MISMATCH | ErrorCode::MISSING_CLIENT_CAPABILITY, Era::Handshake) => {
            ErrorCode::INTERNAL_ERROR
        }
        (ErrorCode::UNSUPPORTED_VERSION, Era::Handshake) => ErrorCode::INVALID_PARAMS,
        (ErrorCode::URL_ELICITATION_REQUIRED, _) if to != Revision::V2025_11_25 => {
            ErrorCode::INTERNAL_ERROR
        }
        (code, _) => code,
    };
}

fn is_not_found(method: Option<Method>, error: &ErrorObject) -> bool {
    let data = error.data.as_ref();
    method == Some(Method::ResourcesRead)
        && data.is_some_and(|data| data.decode::<ResourceNotFoundData>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Revision::{V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};

    fn check(method: Method, code: i64, to: Revision, expected: i64) {
        let mut error = ErrorObject::new(ErrorCode(code), "why")
            .with_data(&ResourceNotFoundData::new("file:///none"));
        let data = error.data.clone();
        step_down_error(Some(method), &mut error, to);
        assert_eq!(error.code, ErrorCode(expected), "{code} {to}");
        assert_eq!((error.message.as_str(), error.data), ("why", data));
    }

    #[test]
    fn a_missing_resource_has_the_code_of_the_era() {
        check(Method::ResourcesRead, -32602, V2025_11_25, -32002);
        check(Method::ResourcesRead, -32602, V2026_07_28, -32602);
        check(Method::ResourcesRead, -32002, V2026_07_28, -32602);
        check(Method::ResourcesRead, -32002, V2024_11_05, -32002);
        check(Method::ToolsCall, -32602, V2025_11_25, -32602);
    }

    #[test]
    fn codes_of_the_stateless_era_become_plain_ones() {
        check(Method::ToolsCall, -32020, V2025_11_25, -32603);
        check(Method::ToolsCall, -32021, V2025_11_25, -32603);
        check(Method::ToolsCall, -32022, V2025_11_25, -32602);
        check(Method::ToolsCall, -32022, V2026_07_28, -32022);
    }

    #[test]
    fn only_2025_11_25_asks_to_visit_a_url_by_an_error() {
        check(Method::ToolsCall, -32042, V2025_11_25, -32042);
        check(Method::ToolsCall, -32042, V2025_06_18, -32603);
        check(Method::ToolsCall, -32042, V2026_07_28, -32603);
    }

    #[test]
    fn other_codes_stay() {
        check(Method::ToolsCall, -31001, V2024_11_05, -31001);
        check(Method::SamplingCreateMessage, -1, V2025_11_25, -1);
    }
}
