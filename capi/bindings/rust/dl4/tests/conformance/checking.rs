//! What a case expects.

use dl4::json::Value;
use dl4::{registry, Attrs, DType, Graph, Tensor};

use crate::building::dtype;
use crate::{differs, Case, Done, Slot, Step, Stop};

/// |a - e| <= tolerance * max(1, |e|), for each.
pub(crate) fn agree(what: &str, got: &[f64], expected: &[f64], step: Step<'_>) -> Done {
    let tolerance = step.0.get("tolerance").and_then(Value::as_f64).unwrap_or(1e-5);
    let close = |a: &f64, e: &f64| (a - e).abs() <= tolerance * e.abs().max(1.0) || (a.is_nan() && e.is_nan());
    if got.len() == expected.len() && got.iter().zip(expected).all(|(a, e)| close(a, e)) {
        return Ok(());
    }
    differs(format!("{}: expected {:?}, got {:?}", what, expected, got))
}

fn values(t: &Tensor<'_>) -> dl4::Result<Vec<f64>> {
    Ok(match t.dtype() {
        DType::F32 => t.to_vec::<f32>()?.into_iter().map(f64::from).collect(),
        DType::F64 => t.to_vec::<f64>()?,
        DType::I32 => t.to_vec::<i32>()?.into_iter().map(f64::from).collect(),
        DType::I64 => t.to_vec::<i64>()?.into_iter().map(|v| v as f64).collect(),
        DType::U8 => t.to_vec::<u8>()?.into_iter().map(f64::from).collect(),
        _ => t.to_vec::<bool>()?.into_iter().map(|v| f64::from(u8::from(v))).collect(),
    })
}

fn strings(t: &Tensor<'_>) -> Vec<String> {
    let n = t.dims().iter().product::<i64>() as usize;
    (0..n).map(|i| String::from_utf8(t.bytes(i).expect("a string").to_vec()).expect("UTF-8")).collect()
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Done {
    if got == expected {
        return Ok(());
    }
    differs(format!("{}: expected {:?}, got {:?}", what, expected, got))
}

impl Case {
    pub(crate) fn check(&mut self, word: &str, step: Step<'_>) -> Done {
        match word {
            "expect" => {
                let t = self.tensor(step.text("tensor"));
                equal("type", t.dtype(), dtype(step.text("dtype")))?;
                equal("shape", t.dims(), &step.dims("shape"))?;
                if t.dtype() == DType::String {
                    return equal("values", strings(t), step.texts("values").map(String::from).collect());
                }
                agree(step.text("tensor"), &values(t)?, &step.numbers("values"), step)
            }
            "same" => {
                let both = self.tensors(step, "tensors");
                equal("type", both[0].dtype(), both[1].dtype())?;
                equal("shape", both[0].dims(), both[1].dims())?;
                if both[0].dtype() == DType::String {
                    return equal("values", strings(both[0]), strings(both[1]));
                }
                equal("values", values(both[0])?, values(both[1])?)
            }
            "shape" => {
                let shape = self.graph(step.text("graph")).shape(*self.node(step.text("node")))?;
                equal("shape", shape, step.dims("shape"))
            }
            "mask" => {
                let mask = self.graph(step.text("graph")).mask(*self.node(step.text("node")))?;
                let mask = mask.ok_or_else(|| Stop::Differs("no mask".into()))?;
                self.put(step.text("to"), Slot::Node(mask));
                Ok(())
            }
            "weights" => {
                let all = self.model(step.text("model")).weights()?;
                let names: Vec<&str> = all.iter().map(|w| w.name.as_str()).collect();
                equal("weights", names, step.texts("names").collect())
            }
            "text" => {
                self.put(step.text("to"), Slot::Text(step.text("text").into()));
                Ok(())
            }
            "write" => {
                std::fs::write(self.folder.join(step.text("path")), self.string(step.text("text"))).expect("a file");
                Ok(())
            }
            "cut" => {
                let part = self.bytes(step.text("bytes"))[..step.number("size") as usize].to_vec();
                self.put(step.text("to"), Slot::Bytes(part));
                Ok(())
            }
            "release" => match self.slots.remove(step.text("slot")) {
                Some(_) => Ok(()),
                None => differs("nothing there"),
            },
            "registry" => registered(step),
            "null_attributes" => null_attributes(step),
            other => panic!("an unknown step \"{}\"", other),
        }
    }
}

fn registered(step: Step<'_>) -> Done {
    let (category, name) = (step.text("category"), step.text("name"));
    let found = registry::describe(Some(category), Some(name))?;
    let kind = found.get(category).and_then(|c| c.get(name)).expect("the kind");
    let names: Vec<&str> = Step(kind).list("attributes").iter().map(|a| Step(a).text("name")).collect();
    for wanted in step.texts("attributes") {
        if !names.contains(&wanted) {
            return differs(format!("no {} in {:?}", wanted, names));
        }
    }
    Ok(())
}

fn null_attributes(step: Step<'_>) -> Done {
    let all = registry::describe(Some("layer"), None)?;
    let general = Step(all.get("every_layer").expect("every_layer")).list("attributes");
    for (kind, about) in Step(&all).members("layer") {
        let own = Step(about).list("attributes");
        let given = step.0.get("attrs").and_then(|a| a.get(kind));
        let lacks = |name: &str| given.and_then(|g| g.get(name)).is_none();
        let required: Vec<&str> = own
            .iter()
            .filter(|a| a.get("required").and_then(Value::as_bool) == Some(true))
            .map(|a| Step(a).text("name"))
            .filter(|name| lacks(name))
            .collect();
        for attribute in own.iter().chain(general) {
            let name = Step(attribute).text("name");
            let attrs = given.map_or_else(Attrs::new, |g| Attrs::json(g.to_string()));
            let result = Graph::new()?.layer(kind, attrs.set(name, dl4::Value::Null));
            let blamed = result.as_ref().err().map(|e| e.attribute().unwrap_or("nothing").to_string());
            match blamed {
                None => {}
                Some(blamed) if blamed == name || required.contains(&blamed.as_str()) => {}
                Some(blamed) => return differs(format!("{}: null for {} is blamed on {}", kind, name, blamed)),
            }
        }
    }
    Ok(())
}
