//! The smallest image and the smallest sound.

/// A PNG image of one red pixel.
pub(crate) const IMAGE: &[u8] = &[
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', // signature
    0, 0, 0, 13, b'I', b'H', b'D', b'R', // one by one, eight bits of each colour
    0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, //
    0, 0, 0, 12, b'I', b'D', b'A', b'T', // the pixel, compressed
    0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0xc9, 0xfe, 0x92, 0xef, //
    0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82, //
];

/// A WAV sound of one silent sample.
pub(crate) const SOUND: &[u8] = &[
    b'R', b'I', b'F', b'F', 38, 0, 0, 0, b'W', b'A', b'V', b'E', //
    b'f', b'm', b't', b' ', 16, 0, 0, 0, // samples as they are, one channel
    1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0, 2, 0, 16,
    0, // 8000 of 16 bits each second
    b'd', b'a', b't', b'a', 2, 0, 0, 0, 0, 0,
];
