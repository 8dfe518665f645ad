//! Memory in use, Rust's and the library's, does not grow with the number of calls. Alone in its process.

use std::panic::{catch_unwind, AssertUnwindSafe};

use dl4::{attrs, Batch, Context, DType, Dataset, Fit, Flow, Graph, Model, Result, Session, Tensor, Trainer};

/// glibc's `struct mallinfo2`.
#[repr(C)]
struct Mallinfo {
    arena: usize,
    ordblks: usize,
    smblks: usize,
    hblks: usize,
    hblkhd: usize,
    usmblks: usize,
    fsmblks: usize,
    uordblks: usize,
    fordblks: usize,
    keepcost: usize,
}

extern "C" {
    fn mallinfo2() -> Mallinfo;
}

fn in_use() -> usize {
    // SAFETY: it takes nothing and gives numbers.
    let m = unsafe { mallinfo2() };
    m.uordblks + m.hblkhd
}

fn everything(context: &Context) -> Result<()> {
    let g = Graph::in_context(context)?;
    let x = g.input("x", DType::F32, &[-1, 2])?;
    let model = g.build(x, g.add("Dense", attrs! { units: 1, name: "d" }, x)?)?;
    assert!(g.add("Dense", attrs! { unit: 1 }, x).is_err());
    let a = Tensor::from_vec(vec![1f32; 6], &[3, 2])?;
    let b = Tensor::zeros::<f32>(&[3, 1])?;
    assert!(Tensor::from_vec(vec![1f32; 6], &[4, 2]).is_err());
    let session = Session::new(&Model::from_bytes_in(context, &model.to_bytes()?, ())?, ())?;
    session.run(&[&a])?;
    assert!(session.run(&[&b]).is_err());
    let trainer = Trainer::new(&model, attrs! { optimizer: "adam", loss: "mse", metrics: ["mae"] })?;
    let data = Dataset::new(&[&a], &[&b], ())?;
    trainer.fit(&data, Fit::new(attrs! { epochs: 2 }).progress(|_| Ok(Flow::Continue)))?;
    assert!(trainer.fit(&data, Fit::default().progress(|_| Err("mine".into()))).is_err());
    let panicking = Fit::default().progress(|_| std::panic::resume_unwind(Box::new("mine")));
    assert!(catch_unwind(AssertUnwindSafe(|| trainer.fit(&data, panicking))).is_err());
    let own =
        Dataset::from_fn(|i| Ok(if i < 2 { Some(Batch::new(a.try_clone()?, b.try_clone()?)) } else { None }), ())?;
    trainer.fit(&own, Fit::default())?;
    let failing = Dataset::from_fn(|_| Err("mine".into()), ())?;
    assert!(session.predict(&failing, None).is_err());
    session.predict(&own, None)?;
    Ok(())
}

#[test]
fn nothing_stays() -> Result<()> {
    // One thread: what others keep for reuse is no leak.
    let context = Context::new(attrs! { threads: 1 })?;
    let rounds = |n: usize| -> Result<usize> {
        for _ in 0..n {
            everything(&context)?;
        }
        Ok(in_use())
    };
    let first = rounds(300)?; // what is kept for speed is kept now, the heap has most of its holes
    let grown = rounds(1500)?.saturating_sub(first);
    assert!(grown < 1500 * 16, "{} bytes more after 1500 rounds", grown);
    Ok(())
}
