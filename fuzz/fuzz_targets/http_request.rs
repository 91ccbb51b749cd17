//! libFuzzer's door to [`switchboard_fuzz::http_request`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchboard_fuzz::http_request(data));
