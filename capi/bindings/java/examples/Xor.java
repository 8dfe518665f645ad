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

/** Describes a network, trains it on exclusive or, runs and saves it. */
public class Xor {
  public static void main(String[] args) throws Exception {
    float[] cases = {0, 0, 0, 1, 1, 0, 1, 1};
    float[] answers = {0, 1, 1, 0};

    Graph g = new Graph(); // describe: a graph of layers called on symbolic values
    Node in = g.input("x", DType.FLOAT32, -1, 2);
    Node h = g.add("Dense", Map.of("units", 8, "activation", "tanh"), in);
    Node out = g.add("Dense", Map.of("units", 1, "activation", "sigmoid"), h);
    Model model = g.build(in, out);

    Tensor x = Tensor.of(cases, 4, 2); // train
    Dataset data = Dataset.of(x, Tensor.of(answers, 4, 1), null);
    Map<String, ?> rate = Map.of("learning_rate", 0.05);
    Map<String, ?> adam = Map.of("class_name", "Adam", "config", rate);
    Map<String, ?> how = Map.of("optimizer", adam, "loss", "BinaryCrossentropy");
    Trainer trainer = new Trainer(model, how);
    trainer.fit(data, Map.of("epochs", 300));

    float[] p = new Session(model).run(x)[0].toFloats(); // run and save
    Path path = Files.createTempDirectory("xor").resolve("xor.safetensors");
    model.save(path);
    int wrong = 0;
    for (int i = 0; i < 4; i++) {
      float a = cases[2 * i];
      float b = cases[2 * i + 1];
      System.out.printf("%.0f xor %.0f = %.3f%n", a, b, p[i]);
      wrong += (p[i] > 0.5) != (answers[i] > 0.5) ? 1 : 0;
    }
    if (!Arrays.equals(p, new Session(Model.load(path)).run(x)[0].toFloats())) {
      throw new AssertionError("after saving and loading it answers differently");
    }
    Files.delete(path);
    Files.delete(path.getParent());
    System.exit(wrong);
  }
}
