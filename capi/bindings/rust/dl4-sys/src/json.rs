//! JSON as the library writes it: its description, details of errors, histories.

use std::fmt;

/// A JSON value. Members of an object keep their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Reads one value; the error says where the text went wrong.
    pub fn parse(text: &str) -> Result<Value, String> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let value = reader.value()?;
        reader.space();
        if reader.at < text.len() {
            return reader.fail("the end");
        }
        Ok(value)
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(v) => Some(*v),
            _ => None,
        }
    }

    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(v) => Some(*v),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(v) => Some(v),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(v) => Some(v),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&[(String, Value)]> {
        match self {
            Value::Object(v) => Some(v),
            _ => None,
        }
    }
}

/// As text that is JSON again; a number that JSON has no word for is `null`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(v) => write!(f, "{}", v),
            Value::Number(v) if !v.is_finite() => f.write_str("null"),
            Value::Number(v) if v.fract() == 0.0 && v.abs() < 9e15 => write!(f, "{}", *v as i64),
            Value::Number(v) => write!(f, "{:e}", v),
            Value::String(v) => quoted(f, v),
            Value::Array(list) => {
                f.write_str("[")?;
                for (i, v) in list.iter().enumerate() {
                    write!(f, "{}{}", if i > 0 { ", " } else { "" }, v)?;
                }
                f.write_str("]")
            }
            Value::Object(members) => {
                f.write_str("{")?;
                for (i, (key, v)) in members.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    quoted(f, key)?;
                    write!(f, ": {}", v)?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{}", c)?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{}", c)?,
        }
    }
    f.write_str("\"")
}

const DEEPEST: usize = 128;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn fail<T>(&self, expected: &str) -> Result<T, String> {
        Err(format!("JSON: expected {} at byte {}", expected, self.at))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches(&[' ', '\t', '\n', '\r'][..]).len();
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn need(&mut self, token: &str) -> Result<(), String> {
        self.space();
        if self.take(token) {
            return Ok(());
        }
        self.fail(token)
    }

    fn value(&mut self) -> Result<Value, String> {
        self.space();
        for (word, value) in [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))] {
            if self.take(word) {
                return Ok(value);
            }
        }
        match self.rest().as_bytes().first() {
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'[') | Some(b'{') => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return self.fail("less nesting");
                }
                let value = if self.take("[") { self.array() } else { self.object() };
                self.depth -= 1;
                value
            }
            _ => self.number(),
        }
    }

    fn array(&mut self) -> Result<Value, String> {
        let mut list = Vec::new();
        self.space();
        if self.take("]") {
            return Ok(Value::Array(list));
        }
        loop {
            list.push(self.value()?);
            self.space();
            if self.take("]") {
                return Ok(Value::Array(list));
            }
            self.need(",")?;
        }
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut members = Vec::new();
        self.need("{")?;
        self.space();
        if self.take("}") {
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.need(":")?;
            members.push((key, self.value()?));
            self.space();
            if self.take("}") {
                return Ok(Value::Object(members));
            }
            self.need(",")?;
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let rest = self.rest();
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        match rest[..end].parse() {
            Ok(v) => {
                self.at += end;
                Ok(Value::Number(v))
            }
            Err(_) => self.fail("a value"),
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.need("\"")?;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let end = match rest.find(&['"', '\\'][..]) {
                Some(end) => end,
                None => return self.fail("the end of the string"),
            };
            text.push_str(&rest[..end]);
            self.at += end;
            if self.take("\"") {
                return Ok(text);
            }
            self.at += 1;
            text.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        for (letter, c) in [
            ("\"", '"'),
            ("\\", '\\'),
            ("/", '/'),
            ("b", '\u{8}'),
            ("f", '\u{c}'),
            ("n", '\n'),
            ("r", '\r'),
            ("t", '\t'),
        ] {
            if self.take(letter) {
                return Ok(c);
            }
        }
        let first = self.unit()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).map_or_else(|| self.fail("a character"), Ok);
        }
        if !self.take("\\") {
            return self.fail("the other half of a character");
        }
        let second = self.unit()?;
        match char::decode_utf16([first as u16, second as u16]).next() {
            Some(Ok(c)) => Ok(c),
            _ => self.fail("the other half of a character"),
        }
    }

    fn unit(&mut self) -> Result<u32, String> {
        if !self.take("u") {
            return self.fail("an escape");
        }
        match self.rest().get(..4).map(|digits| u32::from_str_radix(digits, 16)) {
            Some(Ok(unit)) => {
                self.at += 4;
                Ok(unit)
            }
            _ => self.fail("four hexadecimal digits"),
        }
    }
}
