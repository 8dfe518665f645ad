import java.util.Map;
import org.dl4.DType;
import org.dl4.Dataset;
import org.dl4.Graph;
import org.dl4.Model;
import org.dl4.Node;
import org.dl4.Tensor;
import org.dl4.Trainer;

/** A network is trained, saved, loaded and printed. */
public class Keep {
  public static void main(String[] args) {
    Graph g = new Graph();
    Node x = g.input("x", DType.FLOAT32, -1, 2);
    Model model = g.build(x, g.add("Dense", Map.of("units", 1), x));
    Tensor one = Tensor.of(new float[] {0, 1}, 1, 2);
    Dataset data = Dataset.of(one, Tensor.of(new float[] {1}, 1, 1), null);
    Trainer trainer = new Trainer(model, Map.of("optimizer", "Adam", "loss", "MeanSquaredError"));
    System.out.println(trainer.fit(data, Map.of("epochs", 2)));
    model.save("net.safetensors");
    System.out.println(Model.load("net.safetensors"));
  }
}
