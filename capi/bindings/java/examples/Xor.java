import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.dl4.DType;
import org.dl4.Dataset;
import org.dl4.Graph;
import org.dl4.Model;
import org.dl4.Node;
import org.dl4.Session;
import org.dl4.Tensor;
import org.dl4.Trainer;

/** Describes a network, trains it on the four cases of exclusive or, runs and saves it. */
public class Xor {
  public static void main(String[] args) throws Exception {
    float[] cases = {0, 0, 0, 1, 1, 0, 1, 1};
    float[] answers = {0, 1, 1, 0};

    Graph g = new Graph(); // describe: a graph of layers called on symbolic values
    Node in = g.input("x", DType.FLOAT32, -1, 2);
    Node h = g.add("Dense", Map.of("name", "hidden", "units", 8, "activation", "tanh"), in);
    Node out = g.add("Dense", Map.of("name", "answer", "units", 1, "activation", "sigmoid"), h);
    Model model = g.build(in, out);

    Tensor x = Tensor.of(cases, 4, 2); // train
    Dataset data = Dataset.of(x, Tensor.of(answers, 4, 1), null);
    Map<String, ?> adam = Map.of("class_name", "Adam", "config", Map.of("learning_rate", 0.05));
    Trainer trainer = new Trainer(model, Map.of("optimizer", adam, "loss", "BinaryCrossentropy"));
    trainer.fit(data, Map.of("epochs", 300));

    float[] p = new Session(model).run(x)[0].toFloats(); // run and save
    Path path = Files.createTempDirectory("xor").resolve("xor.safetensors");
    model.save(path);
    int wrong = 0;
    for (int i = 0; i < 4; i++) {
      System.out.printf("%.0f xor %.0f = %.3f%n", cases[2 * i], cases[2 * i + 1], p[i]);
      wrong += (p[i] > 0.5) != (answers[i] > 0.5) ? 1 : 0;
    }
    if (!Arrays.equals(p, new Session(Model.load(path)).run(x)[0].toFloats())) {
      throw new AssertionError("the model answers differently after saving and loading");
    }
    Files.delete(path);
    Files.delete(path.getParent());
    System.exit(wrong);
  }
}
