//! Errors and panics of closures come back as themselves, on the thread that made the call, and nothing is left behind.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use dl4::registry::Category;
use dl4::{
    attrs, Attrs, Batch, Code, Context, DType, Dataset, Error, Event, Failure, Fit, Flow, Graph, Level, Model, Result,
};
use dl4::{registry, Gradient, Kind, Session, Source, Target, Tensor, Trainer};

#[derive(Debug, PartialEq)]
struct Mine(i32);

impl std::fmt::Display for Mine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "mine {}", self.0)
    }
}

impl std::error::Error for Mine {}

fn mine<T>(result: Result<T>) -> Option<i32> {
    match result {
        Err(e @ Error::Callback(_)) => {
            assert_eq!(e.code(), Code::CallbackFailed);
            match e {
                Error::Callback(failure) => failure.downcast_ref::<Mine>().map(|m| m.0),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The payload of the panic that a call ends in.
fn panics<T>(call: impl FnOnce() -> T) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(call)).err()?;
    payload.downcast_ref::<&str>().map(|s| s.to_string()).or_else(|| payload.downcast_ref::<String>().cloned())
}

fn model() -> Result<Model> {
    let g = Graph::new()?;
    let x = g.input("x", DType::F32, &[-1, 2])?;
    g.build(x, g.add("Dense", attrs! { units: 1 }, x)?)
}

fn trainer() -> Result<Trainer> {
    Trainer::new(&model()?, attrs! { optimizer: "sgd", loss: "mse" })
}

fn batch() -> Result<Batch<'static>> {
    Ok(Batch::new(Tensor::zeros::<f32>(&[3, 2])?, Tensor::zeros::<f32>(&[3, 1])?))
}

/// Three batches for each epoch, unless the closure says otherwise.
fn data<'a>(mut at: impl FnMut(i64) -> std::result::Result<(), Failure> + Send + 'a) -> Result<Dataset<'a>> {
    let give = move |index| {
        at(index)?;
        Ok(if index < 3 { Some(batch()?) } else { None })
    };
    Dataset::from_fn(give, ())
}

#[test]
fn progress() -> Result<()> {
    let (trainer, data) = (trainer()?, data(|_| Ok(()))?);
    for event in [Event::TrainBegin, Event::EpochBegin, Event::BatchEnd, Event::EpochEnd] {
        let failing =
            Fit::new(()).progress(|p| if p.event == event { Err(Mine(1).into()) } else { Ok(Flow::Continue) });
        assert_eq!(mine(trainer.fit(&data, failing)), Some(1), "{:?}", event);
        let panicking = Fit::new(()).progress(|p| {
            assert!(p.event != event, "at {:?}", event);
            Ok(Flow::Continue)
        });
        assert_eq!(panics(|| trainer.fit(&data, panicking)), Some(format!("at {:?}", event)));
        assert!(trainer.fit(&data, Fit::default()).is_ok(), "the next fit trains");
    }
    let stopping = Fit::new(attrs! { epochs: 9 })
        .progress(|p| Ok(if p.event == Event::EpochEnd && p.step == 2 { Flow::Stop } else { Flow::Continue }));
    assert_eq!(trainer.fit(&data, stopping)?.get("loss").map(<[f64]>::len), Some(2));
    Ok(())
}

#[test]
fn an_error_of_the_library_in_a_closure_is_itself() -> Result<()> {
    let (trainer, data) = (trainer()?, data(|_| Ok(()))?);
    let asks = Fit::new(()).progress(|_| trainer.get("speed").map(|_| Flow::Continue).map_err(Into::into));
    assert_eq!(trainer.fit(&data, asks).unwrap_err().code(), Code::NotFound);
    let again = Fit::new(()).progress(|_| {
        let inner = trainer.fit(&data, Fit::default()).unwrap_err();
        assert_eq!(inner.code(), Code::Busy);
        trainer.set("learning_rate", 0.125)?;
        Ok(Flow::Continue)
    });
    trainer.fit(&data, again)?;
    assert_eq!(trainer.get("learning_rate")?, 0.125);
    Ok(())
}

#[test]
fn batches() -> Result<()> {
    let trainer = trainer()?;
    let session = Session::new(&model()?, ())?;
    let failing = data(|i| if i == 1 { Err(Mine(2).into()) } else { Ok(()) })?;
    assert_eq!(mine(trainer.fit(&failing, Fit::default())), Some(2));
    assert_eq!(mine(trainer.evaluate(&failing, None)), Some(2));
    assert_eq!(mine(session.predict(&failing, None)), Some(2));
    let good = data(|_| Ok(()))?;
    assert_eq!(mine(trainer.fit(&good, Fit::default().validation(&failing))), Some(2));
    let panicking = data(|i| {
        assert_ne!(i, 2, "the second");
        Ok(())
    })?;
    for _ in 0..2 {
        assert!(panics(|| trainer.fit(&panicking, Fit::default())).unwrap().contains("the second"));
        assert!(panics(|| trainer.evaluate(&panicking, None)).unwrap().contains("the second"));
        assert!(panics(|| session.predict(&panicking, None)).unwrap().contains("the second"));
    }
    let much =
        Dataset::from_fn(|_| Ok(Some(Batch { x: vec![batch()?.x.remove(0), batch()?.y.remove(0)], ..batch()? })), ())?;
    assert_eq!(trainer.fit(&much, Fit::default()).unwrap_err().to_string(), "batch 0: expected 1 inputs, got 2");
    let little = Dataset::from_fn(|_| Ok(Some(Batch { y: Vec::new(), ..batch()? })), ())?;
    assert_eq!(trainer.fit(&little, Fit::default()).unwrap_err().code(), Code::CallbackFailed);
    assert!(trainer.fit(&good, Fit::default()).is_ok());
    Ok(())
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn closures_are_dropped_once() -> Result<()> {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = Counted(dropped.clone());
    let source = data(move |_| {
        let _ = &counted;
        Err(Mine(3).into())
    })?;
    assert_eq!(mine(trainer()?.fit(&source, Fit::default())), Some(3));
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(source);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    let counted = Counted(dropped.clone());
    let refused = Dataset::from_fn(
        move |_| {
            let _ = &counted;
            Ok(None)
        },
        attrs! { nothing: 1 },
    );
    assert_eq!(refused.err().map(|e| e.code()), Some(Code::InvalidArgument));
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
    Ok(())
}

struct Loud;

impl Drop for Loud {
    fn drop(&mut self) {
        panic!("loud");
    }
}

#[test]
fn a_drop_that_panics_does_so_where_the_dataset_is_dropped() -> Result<()> {
    let loud = Loud;
    let source = data(move |_| {
        let _ = &loud;
        Ok(())
    })?;
    assert_eq!(panics(|| drop(source)).as_deref(), Some("loud"));
    assert!(model().is_ok());
    Ok(())
}

#[test]
fn loggers() -> Result<()> {
    let context = Context::new(())?;
    context.set_logger(Level::Trace, |_, text| assert!(!text.contains("early stopping"), "{}", text))?;
    let g = Graph::in_context(&context)?;
    let x = g.input("x", DType::F32, &[-1, 2])?;
    let model = g.build(x, g.add("Dense", attrs! { units: 1 }, x)?)?;
    let trainer = Trainer::new(&model, attrs! { optimizer: "sgd", loss: "mse" })?;
    let stop = Attrs::kind("EarlyStopping", attrs! { monitor: "loss", min_delta: 1e9, verbose: 1 });
    let (data, many) = (data(|_| Ok(()))?, attrs! { epochs: 9, callbacks: [stop] });
    assert_eq!(panics(|| trainer.fit(&data, Fit::new(&many))).as_deref(), Some("epoch 2: early stopping"));
    context.remove_logger()?;
    trainer.fit(&data, Fit::new(&many)).map(drop)
}

/// A layer that fails where its config says.
struct Failing;

impl Failing {
    fn at(config: &str, place: &str) -> std::result::Result<(), Failure> {
        if config == place {
            return Err(Mine(4).into());
        }
        assert_ne!(config, format!("panic in {}", place), "{}", place);
        Ok(())
    }
}

impl Kind for Failing {
    const HAS_BACKWARD: bool = true;

    fn shapes(&self, config: &str, sources: &[&[i64]], _: usize) -> std::result::Result<Vec<Vec<i64>>, Failure> {
        Failing::at(config, "shapes")?;
        // One output like the input, one weight of its last axis.
        Ok(vec![sources[0].to_vec(), vec![*sources[0].last().ok_or("a rank over 0")?]])
    }

    fn forward(
        &self,
        config: &str,
        src: &[Source<'_>],
        dst: &mut [Option<Target<'_>>],
    ) -> std::result::Result<(), Failure> {
        Failing::at(config, "forward")?;
        let (x, scale) = (src[0].data::<f32>()?, src[1].data::<f32>()?);
        if let Some(y) = &mut dst[0] {
            assert_eq!(y.dims(), src[0].dims());
            for (i, y) in y.data_mut::<f32>()?.iter_mut().enumerate() {
                *y = x[i] * scale[i % scale.len()];
            }
        }
        Ok(())
    }

    fn backward(&self, config: &str, g: Gradient<'_, '_>) -> std::result::Result<(), Failure> {
        Failing::at(config, "backward")?;
        let (x, scale) = (g.src[0].data::<f32>()?, g.src[1].data::<f32>()?);
        let dy = g.diff_dst[0].ok_or("a gradient")?.data::<f32>()?;
        let (dx, ds) = g.diff_src.split_at_mut(1);
        if let Some(dx) = &mut dx[0] {
            for (i, dx) in dx.data_mut::<f32>()?.iter_mut().enumerate() {
                *dx = dy[i] * scale[i % scale.len()];
            }
        }
        if let Some(ds) = &mut ds[0] {
            let ds = ds.data_mut::<f32>()?;
            ds.fill(0.0);
            for (i, dy) in dy.iter().enumerate() {
                ds[i % scale.len()] += dy * x[i];
            }
        }
        Ok(())
    }
}

fn own(config: &str) -> Result<Model> {
    registry::add(Category::Layer, "Failing", attrs! { weights: ["scale"] }, Failing)?;
    let g = Graph::new()?;
    let x = g.input("x", DType::F32, &[-1, 2])?;
    g.build(x, g.add("Failing", attrs! { config: config, initializer: "ones" }, x)?)
}

#[test]
fn kinds_of_your_own() -> Result<()> {
    let x = Tensor::copy_of(&[1f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let sgd = attrs! { optimizer: "sgd", loss: "mse" };
    assert_eq!(Session::new(&own("")?, ())?.run(&[&x])?[0].data::<f32>()?, x.data::<f32>()?);
    let checked = own("")?.check_gradients(&[&x], ())?;
    let gradients = checked.as_object().unwrap();
    assert!(!gradients.is_empty());
    let trainer = Trainer::new(&own("")?, &sgd)?;
    assert!(trainer.step(&[&x], &[&Tensor::zeros::<f32>(&[2, 2])?], &[])?[0] > 1.0);

    assert_eq!(mine(own("shapes")), Some(4));
    assert_eq!(mine(Session::new(&own("forward")?, ())?.run(&[&x])), Some(4));
    assert_eq!(mine(Trainer::new(&own("backward")?, &sgd)?.step(&[&x], &[&x], &[])), Some(4));
    assert!(panics(|| own("panic in shapes")).unwrap().contains("shapes"));
    let session = Session::new(&own("panic in forward")?, ())?;
    assert!(panics(|| session.run(&[&x])).unwrap().contains("forward"));
    let trainer = Trainer::new(&own("panic in backward")?, &sgd)?;
    assert!(panics(|| trainer.step(&[&x], &[&x], &[])).unwrap().contains("backward"));

    struct Counted(std::sync::Arc<()>);
    impl Kind for Counted {
        fn forward(&self, _: &str, _: &[Source], _: &mut [Option<Target>]) -> std::result::Result<(), Failure> {
            Ok(())
        }
    }
    let alive = std::sync::Arc::new(());
    registry::add(Category::Layer, "RustGone", (), Counted(alive.clone()))?;
    registry::check("layer", "RustGone", ())?;
    registry::remove(Category::Layer, "RustGone")?;
    assert_eq!(std::sync::Arc::strong_count(&alive), 1); // it was dropped
    let gone = registry::remove(Category::Layer, "RustGone").unwrap_err();
    assert_eq!(gone.code(), Code::UnknownKind);
    let refused = registry::add(Category::Loss, "Two", attrs! { outputs: 2 }, Failing).unwrap_err();
    assert_eq!((refused.code(), refused.attribute()), (Code::InvalidArgument, Some("outputs")));
    Ok(())
}

#[test]
fn many_threads_fail_apart() -> Result<()> {
    let session = Session::new(&own("forward")?, ())?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let x = Tensor::zeros::<f32>(&[1, 2]).unwrap();
                    assert_eq!(mine(session.run(&[&x])), Some(4));
                }
            });
        }
    });
    Ok(())
}
