//! JSON in which no field stands twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A value in which no object names a field twice. By default the last one would count: what a tree costs
/// would then depend on who reads it.
#[derive(Debug, PartialEq)]
pub(super) struct Unambiguous(pub(super) Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unambiguous(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Unambiguous(value))) = fields.next_entry::<String, Unambiguous>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("the field \"{name}\" stands twice in an object")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_library_unless_a_field_stands_twice() {
        let text =
            r#"{"a":[1,-2,3.5,1e300,true,null,"x\n",{}],"b":{"a":18446744073709551615,"c":[[]]},"":0.1}"#;
        let Unambiguous(value) = serde_json::from_str(text).expect("valid");
        assert_eq!(value, serde_json::from_str::<Value>(text).expect("valid"));
        for text in [r#"{"a":1,"a":1}"#, r#"[0,{"b":{"count":3,"event":[],"count":4}}]"#] {
            let error = serde_json::from_str::<Unambiguous>(text).unwrap_err().to_string();
            assert!(error.contains("stands twice"), "{error}");
        }
        assert!(serde_json::from_str::<Unambiguous>(&"[".repeat(1 << 20)).is_err());
    }
}
