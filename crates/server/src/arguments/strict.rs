//! Notices that serde stepped over a member it does not know.
//!
//! A derived struct skips unknown members by reading them as "ignored". [`Noting`] stands
//! between the type and serde_json, passes everything on as it is and
//! raises a flag when that happens, at any depth. It keeps no names and
//! allocates nothing; who wants to know what was ignored looks afterwards.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};

/// A deserializer, or anything that serde puts between it and the type.
pub(super) struct Noting<'a, X> {
    inner: X,
    ignored: &'a Cell<bool>,
}

impl<'a, X> Noting<'a, X> {
    pub(super) const fn new(inner: X, ignored: &'a Cell<bool>) -> Self {
        Self { inner, ignored }
    }
}

/// Passes a call on: as it is, or with its visitor watched as well.
macro_rules! forward {
    ($($method:ident($($name:ident: $kind:ty),*) $how:ident;)*) => { $(
        #[inline]
        fn $method<V: Visitor<'de>>(self, $($name: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            forward!(@ $how self.inner, self.ignored, $method, visitor, $($name),*)
        }
    )* };
    (@ plain $inner:expr, $flag:expr, $method:ident, $visitor:ident, $($name:ident),*) => {
        $inner.$method($($name,)* $visitor)
    };
    (@ watched $inner:expr, $flag:expr, $method:ident, $visitor:ident, $($name:ident),*) => {
        $inner.$method($($name,)* Noting::new($visitor, $flag))
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Noting<'_, D> {
    type Error = D::Error;

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.ignored.set(true);
        self.inner.deserialize_ignored_any(visitor)
    }

    forward! {
        deserialize_any() watched;
        deserialize_option() watched;
        deserialize_seq() watched;
        deserialize_map() watched;
        deserialize_newtype_struct(name: &'static str) watched;
        deserialize_tuple(length: usize) watched;
        deserialize_tuple_struct(name: &'static str, length: usize) watched;
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) watched;
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) watched;
        deserialize_bool() plain;
        deserialize_i8() plain;
        deserialize_i16() plain;
        deserialize_i32() plain;
        deserialize_i64() plain;
        deserialize_i128() plain;
        deserialize_u8() plain;
        deserialize_u16() plain;
        deserialize_u32() plain;
        deserialize_u64() plain;
        deserialize_u128() plain;
        deserialize_f32() plain;
        deserialize_f64() plain;
        deserialize_char() plain;
        deserialize_str() plain;
        deserialize_string() plain;
        deserialize_bytes() plain;
        deserialize_byte_buf() plain;
        deserialize_unit() plain;
        deserialize_unit_struct(name: &'static str) plain;
        deserialize_identifier() plain;
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident($kind:ty);)*) => { $(
        #[inline]
        fn $method<E: serde::de::Error>(self, value: $kind) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )* };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Noting<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool(bool);
        visit_i64(i64);
        visit_i128(i128);
        visit_u64(u64);
        visit_u128(u128);
        visit_f64(f64);
        visit_str(&str);
        visit_borrowed_str(&'de str);
        visit_string(String);
        visit_bytes(&[u8]);
        visit_borrowed_bytes(&'de [u8]);
        visit_byte_buf(Vec<u8>);
    }

    #[inline]
    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    #[inline]
    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Noting::new(inner, self.ignored))
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let inner = Noting::new(inner, self.ignored);
        self.inner.visit_newtype_struct(inner)
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Noting::new(inner, self.ignored))
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Noting::new(inner, self.ignored))
    }

    #[inline]
    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(Noting::new(inner, self.ignored))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Noting<'_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Noting::new(inner, self.ignored))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Noting<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner
            .next_element_seed(Noting::new(seed, self.ignored))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Noting<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(seed)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Noting::new(seed, self.ignored))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'a, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Noting<'a, A> {
    type Error = A::Error;
    type Variant = Noting<'a, A::Variant>;

    #[inline]
    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.inner.variant_seed(seed)?;
        Ok((value, Noting::new(variant, self.ignored)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Noting<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = Noting::new(seed, self.ignored);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = Noting::new(visitor, self.ignored);
        self.inner.tuple_variant(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = Noting::new(visitor, self.ignored);
        self.inner.struct_variant(fields, visitor)
    }
}
