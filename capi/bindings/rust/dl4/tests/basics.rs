//! What the crate adds to the C interface: types, lifetimes, errors.

use dl4::{
    attrs, json, registry, Attrs, Code, DType, Dataset, Event, Fit, Flow, Format, Graph, Model, Session, Tensor,
};
use dl4::{Cancel, Context, Error, Level, Result, Stream, Trainer};
use std::sync::{Arc, Mutex};

fn perceptron(context: &Context) -> Result<Model> {
    let g = Graph::in_context(context)?;
    let x = g.input("x", DType::F32, &[-1, 2])?;
    let h = g.add("Dense", attrs! { units: 8, activation: "tanh" }, x)?;
    g.build(x, g.add("Dense", attrs! { units: 1, activation: "sigmoid" }, h)?)
}

fn xor() -> Result<(Tensor<'static>, Tensor<'static>)> {
    let x = Tensor::copy_of(&[0f32, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], &[4, 2])?;
    Ok((x, Tensor::copy_of(&[0f32, 1.0, 1.0, 0.0], &[4, 1])?))
}

fn adam() -> Attrs {
    let adam = Attrs::kind("Adam", attrs! { learning_rate: 0.05 });
    attrs! { optimizer: adam, loss: "binary_crossentropy", metrics: ["accuracy"] }
}

#[test]
fn xor_is_learnt_saved_and_loaded() -> Result<()> {
    let model = perceptron(&Context::new(attrs! { seed: 1 })?)?;
    let (x, y) = xor()?;
    let data = Dataset::new(&[&x], &[&y], ())?;
    let trainer = Trainer::new(&model, adam())?;
    let mut events = Vec::new();
    let history = trainer.fit(
        &data,
        Fit::new(attrs! { epochs: 300 }).validation(&data).progress(|p| {
            events.push((p.event, p.metrics.len()));
            Ok(Flow::Continue)
        }),
    )?;
    assert_eq!(trainer.metric_names(), ["loss", "accuracy"]);
    assert_eq!(history.get("loss").map(<[f64]>::len), Some(300));
    assert_eq!(history.last("accuracy"), Some(1.0));
    assert_eq!(history.last("val_accuracy"), Some(1.0));
    assert_eq!(history.last("nothing"), None);
    assert_eq!(events[0], (Event::TrainBegin, 0));
    assert!(events.contains(&(Event::BatchEnd, 2)) && events.contains(&(Event::EpochEnd, 4)));
    assert_eq!(trainer.evaluate(&data, None)?[1], 1.0);

    let path = std::env::temp_dir().join(format!("dl4-basics-{}.safetensors", std::process::id()));
    model.save(&path)?;
    let again = Model::load(&path)?;
    std::fs::remove_file(&path).unwrap();
    let answers = |m: &Model| Session::new(m, ())?.run(&[&x])?.remove(0).to_vec::<f32>();
    assert_eq!(answers(&model)?, answers(&again)?);
    assert!(answers(&model)?[1] > 0.5 && answers(&model)?[3] < 0.5);
    Ok(())
}

#[test]
fn steps_and_gradients() -> Result<()> {
    let context = Context::new(attrs! { seed: 3 })?;
    let (one, two) = (perceptron(&context)?, perceptron(&context)?);
    one.weights()?; // the second graph goes on in the seed's numbers
    let mut two = two;
    two.set_weight("*", &one.weight("*")?)?;
    let (x, y) = xor()?;
    let sgd = attrs! { optimizer: "sgd", loss: "mse" };
    let (a, b) = (Trainer::new(&one, &sgd)?, Trainer::new(&two, &sgd)?);
    let loss = a.step(&[&x], &[&y], &[])?;
    assert_eq!(b.accumulate(&[&x], &[&y], &[])?, loss);
    let gradient = b.gradient("*")?;
    b.zero_gradients()?;
    b.set_gradient("*", &gradient)?;
    b.apply()?;
    assert_eq!(one.weight("*")?.to_vec::<f32>()?, two.weight("*")?.to_vec::<f32>()?);
    b.set("learning_rate", 0.5)?;
    assert_eq!((b.get("learning_rate")?, b.get("iterations")?), (0.5, 1.0));

    let weights = Tensor::copy_of(&[0f32, 0.0, 0.0, 0.0], &[4])?;
    assert_eq!(a.step(&[&x], &[&y], &[Some(&weights)])?, [0.0]);
    let checkpoint = a.to_bytes()?;
    a.step(&[&x], &[&y], &[])?;
    let later = one.weight("*")?.to_vec::<f32>()?;
    a.load_bytes(&checkpoint)?;
    a.step(&[&x], &[&y], &[])?;
    assert_eq!(one.weight("*")?.to_vec::<f32>()?, later);
    Ok(())
}

#[test]
fn a_frozen_layer_stays() -> Result<()> {
    let mut model = perceptron(&Context::default())?;
    let (x, y) = xor()?;
    model.set_trainable("dense", false)?;
    let names = |m: &Model| -> Result<Vec<String>> {
        Ok(m.weights()?.into_iter().filter(|w| w.trainable).map(|w| w.name).collect())
    };
    assert_eq!(names(&model)?.len(), 2);
    let before = model.weight("dense/kernel")?.to_vec::<f32>()?;
    Trainer::new(&model, adam())?.step(&[&x], &[&y], &[])?;
    assert_eq!(model.weight("dense/kernel")?.to_vec::<f32>()?, before);
    Ok(())
}

#[test]
fn tensors_over_slices() -> Result<()> {
    let mut values = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    {
        let mut over = Tensor::over(&mut values, &[2, 3])?;
        over.data_mut::<f32>()?[0] = 7.0;
        assert_eq!((over.dims(), over.strides()), (&[2, 3][..], &[3, 1][..]));
    }
    assert_eq!(values[0], 7.0);
    let columns = Tensor::strided_view(&values, &[3, 2], &[1, 3])?;
    assert_eq!(columns.data::<f32>().unwrap_err().code(), Code::Unsupported);
    assert_eq!(columns.to_vec::<f32>()?, [7.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(Tensor::strided_view(&values, &[3, 2], &[1]).unwrap_err().code(), Code::InvalidArgument);
    let (one_row, reversed) = (Tensor::strided_view(&values, &[1, 3], &[99, 1]), Tensor::view(&values, &[3, 3]));
    assert_eq!(one_row?.data::<f32>()?, &values[..3]);
    assert_eq!(reversed.unwrap_err().code(), Code::ShapeMismatch);

    let address = values.as_ptr();
    assert_eq!(Tensor::view(&values, &[6])?.data::<f32>()?.as_ptr(), address);
    let taken = vec![1i64, 2];
    let address = taken.as_ptr();
    assert_eq!(Tensor::from_vec(taken, &[2])?.data::<i64>()?.as_ptr(), address);
    Ok(())
}

#[test]
fn tensors_of_every_type_and_of_nothing() -> Result<()> {
    assert_eq!(Tensor::copy_of(&[true, false], &[2])?.data::<bool>()?, [true, false]);
    assert_eq!(Tensor::copy_of(&[7u8], &[])?.data::<u8>()?, [7]);
    assert_eq!(Tensor::zeros::<f64>(&[0, 3])?.data::<f64>()?, []);
    assert_eq!(Tensor::from_vec(Vec::<i32>::new(), &[0])?.to_vec::<i32>()?, []);
    let t = Tensor::zeros::<f32>(&[2])?;
    let e = t.data::<i32>().unwrap_err();
    assert_eq!((e.code(), e.expected(), e.got()), (Code::ShapeMismatch, Some("elements of int32"), Some("float32")));
    assert_eq!(format!("{:?}", t), "Tensor(float32 [2])");
    let mut t = t;
    assert_eq!(t.copy_from(&[1f32]).unwrap_err().code(), Code::ShapeMismatch);
    assert_eq!(t.copy_from(&[1i32, 2]).unwrap_err().code(), Code::ShapeMismatch);
    t.copy_from(&[1f32, 2.0])?;
    assert_eq!(t.try_clone()?.data::<f32>()?, [1.0, 2.0]);
    // SAFETY: it is what into_dlpack() gave.
    let view = unsafe { Tensor::from_dlpack(t.into_dlpack(true)?, true)? };
    assert_eq!(view.data::<f32>()?, [1.0, 2.0]);
    Ok(())
}

// Bytes other than 0 and 1 are no bool of Rust's.
#[test]
fn bytes_that_are_no_bool() -> Result<()> {
    let bytes = [0u8, 1, 2];
    let mut raw = std::ptr::null_mut();
    // SAFETY: the bytes outlive the tensor.
    let e = unsafe {
        let data = bytes.as_ptr() as *mut std::os::raw::c_void;
        let (c, strides, user) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null_mut());
        dl4::sys::dl4_tensor_wrap(c, dl4::sys::DL4_BOOL, 1, &3, strides, data, 3, None, user, &mut raw)
    };
    assert!(e.is_null());
    let mut managed = std::ptr::null_mut();
    // SAFETY: a live tensor, then what it gave.
    let view = unsafe {
        assert!(dl4::sys::dl4_tensor_to_dlpack(raw, 1, &mut managed).is_null());
        dl4::sys::dl4_release(raw as *mut _);
        Tensor::from_dlpack(managed, true)?
    };
    assert_eq!(view.data::<bool>().unwrap_err().code(), Code::InvalidArgument);
    Ok(())
}

#[test]
fn errors_have_fields() -> Result<()> {
    let g = Graph::new()?;
    let x = g.input("x", DType::F32, &[-1, 4])?;
    let e = g.add("Dense", attrs! { units: "many", name: "here" }, x).unwrap_err();
    assert_eq!((e.code(), e.layer(), e.attribute()), (Code::InvalidArgument, Some("here"), Some("units")));
    assert!(e.expected().is_some() && e.got().is_some() && e.to_string().contains("here"), "{:?}", e);
    let e = g.add("Dens", (), x).unwrap_err();
    assert_eq!((e.code(), e.refusal().unwrap().did_you_mean.as_deref()), (Code::UnknownKind, Some("Dense")));
    let standard: Box<dyn std::error::Error + Send + Sync> = e.into();
    assert!(standard.downcast_ref::<Error>().is_some());
    let e = g.input("a\0b", DType::F32, &[1]).unwrap_err();
    assert_eq!((e.code(), e.refusal().unwrap().argument.as_deref()), (Code::InvalidArgument, Some("name")));
    assert_eq!(Model::load("/no/such/file").err().map(|e| e.code()), Some(Code::NotFound));
    assert_eq!(g.add("Dense", Attrs::json("{"), x).unwrap_err().code(), Code::InvalidArgument);
    Ok(())
}

#[test]
fn nodes_of_another_graph_are_refused() -> Result<()> {
    let (g, other) = (Graph::new()?, Graph::new()?);
    let (x, far) = (g.input("x", DType::F32, &[-1, 2])?, other.input("x", DType::F32, &[-1, 2])?);
    let dense = g.layer("Dense", attrs! { units: 1, name: "d" })?;
    let y = g.call(dense, x, ())?[0];
    let kernel = g.weight("d/kernel")?;
    let sum = attrs! { sum: true };
    let refusals = [
        g.add("Add", (), [x, far]).err(),
        g.call(dense, far, ()).err(),
        other.call(dense, far, ()).err(),
        g.call(dense, x, attrs! { mask: far }).err(),
        g.gradients(far, kernel, (), &[]).err(),
        g.gradients(y, far, sum, &[]).err(),
        g.assign(kernel, far, ()).err(),
        g.update(attrs! { optimizer: "SGD" }, kernel, far, None).err(),
        g.after(y, far).err(),
        g.build(x, far).err(),
        g.shape(far).err(),
    ];
    let twice = g.gradients(y, kernel, attrs! { sum: true }, &[Some(y), Some(y)]).unwrap_err();
    assert_eq!((twice.code(), twice.got()), (Code::InvalidArgument, Some("2")));
    let node = g.add("Dense", attrs! { units: y }, x).unwrap_err();
    assert_eq!((node.code(), node.got()), (Code::InvalidArgument, Some("a symbolic value")));
    for refused in refusals {
        let refused = refused.expect("a refusal");
        assert_eq!((refused.code(), refused.got()), (Code::InvalidArgument, Some("one of another graph")));
    }
    Ok(())
}

#[test]
fn attributes_of_every_kind() -> Result<()> {
    let g = Graph::new()?;
    let x = g.input("", DType::F32, &[-1, 5, 4])?;
    let normal = Attrs::kind("RandomNormal", attrs! { stddev: 0.1, seed: 3 });
    let units = attrs! { units: 4u32, use_bias: false, kernel_initializer: normal, bias_regularizer: None::<&str> };
    let h = g.add("Dense", &units, x)?;
    assert_eq!(g.shape(g.add("Reshape", attrs! { target_shape: [20] }, h)?)?, [-1, 20]);
    assert_eq!(g.shape(g.add("Permute", attrs! { dims: vec![2i64, 1] }, h)?)?, [-1, 4, 5]);
    let lstm = g.layer("LSTM", attrs! { units: 3, return_state: true })?;
    let out = g.call(lstm, h, ())?;
    let again = g.call(lstm, h, attrs! { initial_state: [out[1], out[2]], training: None::<bool> })?;
    assert_eq!((out.len(), again.len(), g.shape(again[2])?), (3, 3, vec![-1, 3]));
    assert_eq!(g.outputs(out[2])?, out);

    let model = g.build(x, out[0])?;
    let shared = g.add("Functional", attrs! { model: &model, name: "inner" }, x)?;
    let whole = g.build(x, shared)?;
    let names: Vec<String> = whole.weights()?.into_iter().map(|w| w.name).collect();
    assert!(names.iter().all(|n| n.starts_with("inner/")), "{:?}", names);

    let stop = Attrs::kind("EarlyStopping", attrs! { monitor: "loss", patience: 1 });
    let lists = attrs! { callbacks: [stop, Attrs::kind("TerminateOnNaN", ())], epochs: 1 };
    assert!(format!("{:?}", lists).contains("patience"));
    let nodes = attrs! { callbacks: vec![dl4::Value::from(x)] };
    let (features, target) = (Tensor::zeros::<f32>(&[2, 5, 4])?, Tensor::zeros::<f32>(&[2, 3])?);
    let data = Dataset::new(&[&features], &[&target], ())?;
    let trainer = Trainer::new(&model, attrs! { optimizer: "sgd", loss: "mse" })?;
    trainer.fit(&data, Fit::new(lists))?;
    let large = attrs! { callbacks: vec![dl4::Value::Int(1 << 60)] };
    for wrong in [nodes, large, attrs! { callbacks: vec![dl4::Value::from(&model)] }] {
        let e = trainer.fit(&data, Fit::new(wrong)).unwrap_err();
        assert_eq!((e.code(), e.expected().is_some()), (Code::InvalidArgument, true), "{}", e);
    }
    Ok(())
}

#[test]
fn an_architecture_is_json() -> Result<()> {
    let model = perceptron(&Context::default())?;
    let text = model.describe(Format::Json)?;
    let g = Graph::new()?;
    g.merge_json(&text)?;
    let again = g.build_merged()?;
    assert_eq!(again.describe(Format::Json)?, text);
    assert_eq!((again.inputs()?, again.outputs()?.len()), (model.inputs()?, 1));
    assert!(model.describe(Format::Text)?.contains("dense") && model.describe(Format::Dot)?.contains("digraph"));
    assert!(json::Value::parse(&text).is_ok());
    Ok(())
}

#[test]
fn a_session_knows_its_shapes_and_gradients() -> Result<()> {
    let model = perceptron(&Context::default())?;
    let session = Session::new(&model, attrs! { gradients: ["x"] })?;
    let names: Vec<String> = session.outputs()?.into_iter().map(|p| p.name).collect();
    assert_eq!(names[1], "gradient of x");
    assert_eq!(session.output_shape(&[&[9, 2]], 0)?, [9, 1]);
    let out = session.run(&[&Tensor::zeros::<f32>(&[9, 2])?])?;
    assert_eq!((out[0].dims(), out[1].dims()), (&[9, 1][..], &[9, 2][..]));
    assert_eq!(session.inputs()?[0].dtype, DType::F32);
    assert_eq!(session.run(&[]).unwrap_err().code(), Code::InvalidArgument);
    let many = vec![&out[0]; 20];
    assert_eq!(session.run(&many).unwrap_err().code(), Code::InvalidArgument);
    Ok(())
}

#[test]
fn the_registry_and_the_build() -> Result<()> {
    assert!(registry::categories()?.iter().any(|c| c == "layer"));
    assert!(registry::describe(None, Some("Dens")).is_err());
    assert!(registry::build_info()?.as_object().is_some());
    assert!(dl4::version().starts_with("1."));
    let (y, p) = xor()?;
    assert_eq!(dl4::measure("loss", "mse", (), &y, &p, None).unwrap_err().code(), Code::ShapeMismatch);
    Ok(())
}

#[test]
fn a_logger_hears() -> Result<()> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let weak = Arc::downgrade(&heard);
    let take = || std::mem::take(&mut *weak.upgrade().unwrap().lock().unwrap());
    {
        let context = Context::new(attrs! { threads: 1 })?;
        context.set_logger(Level::Info, move |level, text| heard.lock().unwrap().push((level, text.to_string())))?;
        let model = perceptron(&context)?;
        let (x, y) = xor()?;
        let data = Dataset::new(&[&x], &[&y], ())?;
        let trainer = Trainer::new(&model, adam())?;
        let stop = Attrs::kind("EarlyStopping", attrs! { monitor: "loss", min_delta: 1e9, verbose: 1 });
        let fit = || trainer.fit(&data, Fit::new(attrs! { epochs: 9, callbacks: [stop.clone()] }));
        fit()?;
        assert_eq!(take().last(), Some(&(Level::Info, "epoch 2: early stopping".to_string())));
        context.remove_logger()?;
        fit()?;
        assert_eq!(take(), []);
        context.trim()?;
    }
    assert!(weak.upgrade().is_none(), "the logger is gone with its context");
    Ok(())
}

#[test]
fn batches_of_iterators() -> Result<()> {
    let model = perceptron(&Context::default())?;
    let rows = [[0f32, 1.0], [1.0, 0.0], [1.0, 1.0]];
    let data = Dataset::from_iterators(
        || {
            rows.iter()
                .map(|row| Ok(dl4::Batch::new(Tensor::copy_of(row, &[1, 2])?, Tensor::copy_of(&[row[0]], &[1, 1])?)))
        },
        (),
    )?;
    let trainer = Trainer::new(&model, adam())?;
    let mut batches = 0;
    let told = Fit::new(attrs! { epochs: 2 }).progress(|p| {
        batches += i32::from(p.event == Event::BatchEnd);
        Ok(Flow::Continue)
    });
    trainer.fit(&data, told)?;
    assert_eq!(batches, 6);
    assert_eq!(Session::new(&model, ())?.predict(&data, None)?[0].dims(), [3, 1]);
    Ok(())
}

#[test]
fn json_is_read() {
    use json::Value;
    let v = Value::parse(r#" {"a": [1, -2.5e3, true, null, "\u00e9\ud83d\ude00\n\"\\"], "b": {}} "#).unwrap();
    assert_eq!(v.get("a").unwrap().as_array().unwrap()[1].as_f64(), Some(-2500.0));
    assert_eq!(v.get("a").unwrap().as_array().unwrap()[4].as_str(), Some("é😀\n\"\\"));
    assert_eq!(Value::parse(&v.to_string()).unwrap(), v);
    assert_eq!(Value::Number(0.1).to_string().parse::<f64>().unwrap(), 0.1);
    for wrong in ["", "[1", "{\"a\" 1}", "tru", "\"", "\"\\x\"", "\"\\ud800\"", "1 2", "[1,]", "é"] {
        assert!(Value::parse(wrong).is_err(), "{}", wrong);
    }
    assert!(Value::parse(&"[".repeat(10_000)).is_err());
}

#[test]
fn a_stream_goes_on() -> Result<()> {
    let g = Graph::new()?;
    let x = g.input("x", DType::F32, &[-1, -1, 3])?;
    let y = g.add("GRU", attrs! { units: 2 }, x)?;
    let model = g.build(x, y)?;
    assert_eq!(Stream::new(&Session::new(&model, ())?, ()).err().map(|e| e.code()), Some(Code::Unsupported));
    let session = Session::new(&model, attrs! { states: true })?;
    let step = Tensor::copy_of(&[0.1f32, 0.2, 0.3, 0.4, 0.5, 0.6], &[2, 1, 3])?;
    let mut stream = Stream::new(&session, attrs! { batch: 2 })?;
    let first = stream.run(&[&step])?.remove(0);
    let stood = stream.to_bytes()?;
    let second = stream.run(&[&step])?.remove(0).to_vec::<f32>()?;
    assert_ne!(first.data::<f32>()?, second);
    let mut out = Tensor::zeros::<f32>(&[2, 2])?;
    stream.load_bytes(&stood)?;
    stream.run_into(&[&step], &mut [&mut out], None)?;
    assert_eq!(out.data::<f32>()?, second);
    stream.reset()?;
    assert_eq!(stream.run(&[&step])?[0].data::<f32>()?, first.data::<f32>()?);
    let cancel = Cancel::new()?;
    cancel.trigger();
    let stopped = stream.run_into(&[&step], &mut [&mut out], Some(&cancel)).unwrap_err();
    assert_eq!(stopped.code(), Code::Cancelled);
    assert_eq!(stream.run(&[&first]).unwrap_err().code(), Code::ShapeMismatch);
    assert_eq!(stream.load_bytes(&stood[..9]).unwrap_err().code(), Code::CorruptFile);
    Ok(())
}

#[test]
fn streams_fork_run_together_and_draw() -> Result<()> {
    let g = Graph::new()?;
    let ids = g.input("ids", DType::I32, &[-1, -1])?;
    let x = g.add("Embedding", attrs! { input_dim: 7, output_dim: 4 }, ids)?;
    let y = g.add("Dense", attrs! { units: 7 }, g.add("GRU", attrs! { units: 5, return_sequences: true }, x)?)?;
    let session = Session::new(&g.build(ids, y)?, attrs! { states: true })?;
    let prompt = Tensor::copy_of(&[1i32, 2], &[1, 2])?;
    let mut one = Stream::new(&session, attrs! { seed: 3 })?;
    let mut same = Stream::new(&session, attrs! { seed: 3 })?;
    let drawn = one.next(&[&prompt], attrs! { temperature: 2.0, top_k: 5, top_p: 0.9 }, None)?;
    assert_eq!(same.next(&[&prompt], attrs! { temperature: 2.0, top_k: 5, top_p: 0.9 }, None)?, drawn);
    let mut fork = one.fork(())?;
    let next = one.next(&[&prompt], (), None)?;
    assert_eq!(fork.next(&[&prompt], (), None)?, next);
    let mut only_six = |logits: &mut dl4::Target<'_>| {
        logits.data_mut::<f32>()?[..6].fill(f32::NEG_INFINITY);
        Ok(())
    };
    assert_eq!(one.next(&[&prompt], (), Some(&mut only_six))?, [6]);
    let mut fails = |_: &mut dl4::Target<'_>| Err("no grammar".into());
    assert!(one.next(&[&prompt], (), Some(&mut fails)).unwrap_err().to_string().contains("no grammar"));
    assert_eq!(one.next(&[&prompt], attrs! { top_p: 2.0 }, None).unwrap_err().code(), Code::InvalidArgument);

    let both = Tensor::copy_of(&[1i32, 2, 3, 4], &[2, 2])?;
    let (mut a, mut b) = (Stream::new(&session, ())?, Stream::new(&session, ())?);
    let y = Stream::run_many(&mut [&mut a, &mut b], Some(&[2, 1]), &[&both])?.remove(0);
    assert_eq!(y.dims(), [2, 2, 7]);
    assert_eq!(y.data::<f32>()?[21..], [0.0; 7]);
    let refused = Stream::run_many(&mut [&mut a], Some(&[1, 2]), &[&both]);
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    let mut rows = Stream::new(&session, attrs! { batch: 2 })?;
    assert_eq!(rows.next(&[&both], attrs! { temperature: 0 }, None)?.len(), 2);
    rows.reset_row(1)?;
    assert_eq!(rows.reset_row(2).unwrap_err().code(), Code::InvalidArgument);
    Ok(())
}
