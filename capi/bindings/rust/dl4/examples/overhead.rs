//! What a call takes in microseconds: the article's dense net, one image, from C, with tensors used again, over slices.

use std::time::Instant;

use dl4::{attrs, sys, DType, Graph, Session, Tensor};

/// The least of many means, in microseconds: what the machine does beside is not the call's.
fn least(mut call: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let begin = Instant::now();
        (0..500).for_each(|_| call());
        best = best.min(begin.elapsed().as_secs_f64() * 1e6 / 500.0);
    }
    best
}

fn main() -> dl4::Result<()> {
    let g = Graph::new()?;
    let x = g.input("image", DType::F32, &[-1, 784])?;
    let h = g.add("Dense", attrs! { units: 128, activation: "relu" }, x)?;
    let session = Session::new(&g.build(x, g.add("Dense", attrs! { units: 10, activation: "softmax" }, h)?)?, ())?;

    let (image, mut answer) = ([0.5f32; 784], [0f32; 10]);
    let (x, mut y) = (Tensor::copy_of(&image, &[1, 784])?, Tensor::zeros::<f32>(&[1, 10])?);
    let (input, mut output) = (x.as_ptr(), y.as_ptr());
    // SAFETY: live objects, one input, one output.
    let c = least(|| unsafe {
        assert!(sys::dl4_session_run(session.as_ptr(), &input, 1, &mut output, 1, std::ptr::null_mut()).is_null())
    });
    let reused = least(|| session.run_into(&[&x], &mut [&mut y], None).unwrap());
    let slices = least(|| {
        let (x, mut y) = (Tensor::view(&image, &[1, 784]).unwrap(), Tensor::over(&mut answer, &[1, 10]).unwrap());
        session.run_into(&[&x], &mut [&mut y], None).unwrap()
    });
    println!("C\t{c:.3}\ntensors used again\t{reused:.3}\narrays in and out\t{slices:.3}");
    Ok(())
}
