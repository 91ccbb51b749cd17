//! libFuzzer's door to [`switchboard_fuzz::jsonrpc`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchboard_fuzz::jsonrpc(data));
