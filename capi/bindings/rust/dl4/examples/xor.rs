//! A whole program: describes a network, trains it on exclusive or, runs, saves it.

use dl4::{attrs, Attrs, DType, Dataset, Fit, Graph, Session, Tensor, Trainer};

fn main() -> dl4::Result<()> {
    let g = Graph::new()?; // describe: a graph of layers called on symbolic values
    let x = g.input("x", DType::F32, &[-1, 2])?;
    let h = g.add("Dense", attrs! { units: 8, activation: "tanh" }, x)?;
    let y = g.add("Dense", attrs! { units: 1, activation: "sigmoid" }, h)?;
    let model = g.build(x, y)?;

    let cases = [[0f32, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]; // train
    let (flat, answers) = (cases.concat(), [0f32, 1.0, 1.0, 0.0]);
    let (x, y) = (Tensor::view(&flat, &[4, 2])?, Tensor::view(&answers, &[4, 1])?);
    let adam = Attrs::kind("Adam", attrs! { learning_rate: 0.05 });
    let how = attrs! { optimizer: adam, loss: "BinaryCrossentropy" };
    let data = Dataset::new(&[&x], &[&y], ())?;
    Trainer::new(&model, how)?.fit(&data, Fit::new(attrs! { epochs: 300 }))?;

    let session = Session::new(&model, ())?; // run and save
    let out = session.run(&[&x])?;
    for (case, p) in cases.iter().zip(out[0].data::<f32>()?) {
        println!("{} xor {} = {:.3}", case[0], case[1], p);
    }
    model.save(std::env::temp_dir().join("xor.safetensors"))
}
