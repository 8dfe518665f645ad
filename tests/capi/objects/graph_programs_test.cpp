// Training steps as graphs, against Keras on TensorFlow: golden/graph_programs.py.
#include "capi/graph_program.hpp"

namespace dl4_test::DL4_FILE {
namespace {

TEST(GraphPrograms, Gan) {
  Program p("gan");
  const dl4_model *g = p.sequential("g", {-1, 3},
                                    {{"Dense", "g1", R"({"units": 8, "activation": "relu"})"},
                                     {"Dense", "g2", R"({"units": 6, "activation": "tanh"})"}});
  const dl4_model *d = p.sequential(
      "d", {-1, 6},
      {{"Dense", "d1", R"({"units": 8, "activation": "leaky_relu"})"}, {"Dense", "d2", R"({"units": 1})"}});
  const std::string bce = R"({"class_name": "BinaryCrossentropy", "config": {"from_logits": true}})";
  const dl4_node real = p.given("real"), z = p.given("z");
  const dl4_node ones = p.constant({5, 1}, std::vector<float>(5, 1)),
                 zeros = p.constant({5, 1}, std::vector<float>(5, 0));
  dl4_layer judge = -1;
  const dl4_node of_real = p.model(d, "d", real, &judge), fake = p.model(g, "g", z);
  const dl4_node d_loss = p.plus(p.loss(bce, ones, of_real), p.loss(bce, zeros, p.again(judge, fake)));
  const dl4_node d_done = p.optimize("d_optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.05}})",
                                     p.weights(d, "d"), d_loss);
  // Added behind the update: it is judged by the new weights.
  const dl4_node g_loss = p.loss(bce, ones, p.again(judge, fake));
  const dl4_node g_done = p.optimize("g_optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.02}})",
                                     p.weights(g, "g"), g_loss);
  p.check({d_loss, g_loss}, {d_done, g_done});
}

TEST(GraphPrograms, Vae) {
  Program p("vae");
  const dl4_model *e = p.sequential(
      "e", {-1, 6}, {{"Dense", "e1", R"({"units": 8, "activation": "relu"})"}, {"Dense", "e2", R"({"units": 4})"}});
  const dl4_model *d = p.sequential(
      "d", {-1, 2}, {{"Dense", "d1", R"({"units": 8, "activation": "relu"})"}, {"Dense", "d2", R"({"units": 6})"}});
  const dl4_node x = p.given("x"), noise = p.given("noise"), code = p.model(e, "e", x);
  const dl4_node mean = p.call("Slice", R"({"start_indices": [0, 0], "shape": [-1, 2]})", {code});
  const dl4_node log_var = p.call("Slice", R"({"start_indices": [0, 2], "shape": [-1, 2]})", {code});
  const dl4_node deviation = p.call("Exp", "{}", {p.scaled(log_var, 0.5)});
  const dl4_node y = p.model(d, "d", p.plus(mean, p.times(deviation, noise)));
  const dl4_node rebuilt = p.mean(p.sum(p.square(p.minus(x, y)), "1"));
  const dl4_node spread = p.minus(p.minus(p.scaled(log_var, 1, 1), p.square(mean)), p.call("Exp", "{}", {log_var}));
  const dl4_node kl = p.mean(p.sum(p.scaled(spread, -0.5), "1")), total = p.plus(rebuilt, kl);
  Nodes weights = p.weights(e, "e");
  for (dl4_node w : p.weights(d, "d")) weights.push_back(w);
  p.check({total, kl},
          {p.optimize("optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.02}})", weights, total)});
}

TEST(GraphPrograms, DqnWithATargetNet) {
  Program p("dqn");
  const auto net = [&](const char *as) {
    const std::string one = as + std::string("1"), two = as + std::string("2");
    return p.sequential(
        as, {-1, 4},
        {{"Dense", one.c_str(), R"({"units": 8, "activation": "relu"})"}, {"Dense", two.c_str(), R"({"units": 3})"}});
  };
  const dl4_model *q = net("q"), *t = net("t");
  const dl4_node state = p.given("state"), action = p.given("action"), reward = p.given("reward");
  const dl4_node best = p.call("Max", R"({"axis": 1})", {p.model(t, "t", p.given("following"))});
  const dl4_node target = p.plus(reward, p.scaled(best, 0.9));
  const dl4_node chosen = p.sum(p.times(p.model(q, "q", state), action), "1");
  const dl4_node loss = p.loss(R"("Huber")", target, chosen);
  Nodes done{p.optimize("optimizer", R"({"class_name": "RMSprop", "config": {"learning_rate": 0.01}})",
                        p.weights(q, "q"), loss)};
  const Nodes now = p.weights(q, "q"), late = p.weights(t, "t");
  for (size_t i = 0; i < now.size(); ++i)
    done.push_back(p.assign(late[i], p.plus(p.scaled(late[i], 0.9), p.scaled(now[i], 0.1))));
  p.check({loss}, done);
}

TEST(GraphPrograms, Distillation) {
  Program p("distillation");
  const dl4_model *teacher =
      p.sequential("teacher", {-1, 4},
                   {{"Dense", "t1", R"({"units": 8, "activation": "relu"})"}, {"Dense", "t2", R"({"units": 3})"}});
  const dl4_model *student = p.sequential("student", {-1, 4}, {{"Dense", "s1", R"({"units": 3})"}});
  const dl4_node x = p.given("x"), y = p.given("y");
  const dl4_node soft = p.softmax(p.scaled(p.model(teacher, "teacher", x), 1.0 / 3));
  const dl4_node own = p.model(student, "student", x);
  const dl4_node hard = p.loss(R"({"class_name": "CategoricalCrossentropy", "config": {"from_logits": true}})", y, own);
  const dl4_node near = p.loss(R"("KLDivergence")", soft, p.softmax(p.scaled(own, 1.0 / 3)));
  const dl4_node loss = p.plus(p.scaled(hard, 0.1), p.scaled(near, 0.9));
  p.check({loss},
          {p.optimize("optimizer", R"({"class_name": "SGD", "config": {"learning_rate": 0.1, "momentum": 0.9}})",
                      p.weights(student, "student"), loss)});
}

TEST(GraphPrograms, AccumulatedGradients) {
  Program p("accumulation");
  const dl4_model *m = p.sequential(
      "m", {-1, 3}, {{"Dense", "m1", R"({"units": 4, "activation": "tanh"})"}, {"Dense", "m2", R"({"units": 2})"}});
  const Nodes batches{p.given("x1"), p.given("y1"), p.given("x2"), p.given("y2")};
  dl4_layer layer = -1;
  Nodes weights, sums, done;
  dl4_node loss = -1;
  for (size_t at : {0u, 2u}) {
    const dl4_node y = at ? p.again(layer, batches[at]) : p.model(m, "m", batches[at], &layer);
    loss = p.mean(p.square(p.minus(y, batches[at + 1])));
    if (!at) weights = p.weights(m, "m");
    const Nodes found = p.gradients({loss}, weights);
    for (size_t i = 0; i < found.size(); ++i) {
      const dl4_node half = p.scaled(found[i], 0.5);
      if (!at) {
        const std::string shape = i == 0 ? "[3, 4]" : i == 1 ? "[4]" : i == 2 ? "[4, 2]" : "[2]";
        sums.push_back(p.call("Weight", R"({"learned": false, "initializer": "Ones", "shape": )" + shape + "}", {}));
      }
      done.push_back(p.assign(sums[i], half, at ? R"({"operation": "assign_add"})" : "{}"));
    }
  }
  const Nodes means(done.begin() + static_cast<std::ptrdiff_t>(sums.size()), done.end());
  done.push_back(p.update("optimizer", R"({"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.05}}})",
                          weights, means));
  p.check({loss}, done);
}

// Second order: the penalty is of the gradient by images between real and made ones, and passes a convolution.
TEST(GraphPrograms, WganWithAGradientPenalty) {
  Program p("wgan");
  const dl4_model *g = p.sequential(
      "g", {-1, 3},
      {{"Dense", "g1", R"({"units": 36, "activation": "tanh"})"}, {"Reshape", "g2", R"({"target_shape": [6, 6, 1]})"}});
  const dl4_model *c = p.sequential(
      "c", {-1, 6, 6, 1},
      {{"Conv2D", "c1", R"({"filters": 4, "kernel_size": 3, "strides": 2, "padding": "same", "activation": "tanh"})"},
       {"Flatten", "c2"},
       {"Dense", "c3", R"({"units": 1, "use_bias": false})"}});
  const dl4_node real = p.given("real"), z = p.given("z"), part = p.given("part");
  dl4_layer makes = -1, judges = -1;
  const dl4_node fake = p.model(g, "g", z, &makes), of_real = p.model(c, "c", real, &judges);
  const dl4_node between = p.plus(real, p.times(part, p.minus(fake, real)));
  const dl4_node slope =
      p.gradients({p.again(judges, between)}, {between}, R"({"sum": true, "unconnected": "refused"})")[0];
  const dl4_node norm = p.call("Sqrt", "{}", {p.sum(p.square(slope), "[1, 2, 3]")});
  const dl4_node penalty = p.mean(p.square(p.scaled(norm, 1, -1)));
  const dl4_node c_loss = p.plus(p.minus(p.mean(p.again(judges, fake)), p.mean(of_real)), p.scaled(penalty, 10));
  const dl4_node c_done = p.optimize("c_optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.01}})",
                                     p.weights(c, "c"), c_loss);
  const dl4_node g_loss = p.scaled(p.mean(p.again(judges, fake)), -1);
  const dl4_node g_done = p.optimize("g_optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.01}})",
                                     p.weights(g, "g"), g_loss);
  p.check({c_loss, g_loss, penalty}, {c_done, g_done});
}

TEST(GraphPrograms, ActorAndCritic) {
  Program p("actor");
  const dl4_model *trunk = p.sequential("trunk", {-1, 4}, {{"Dense", "t1", R"({"units": 8, "activation": "relu"})"}});
  const dl4_model *actor = p.sequential("actor", {-1, 8}, {{"Dense", "a1", R"({"units": 3})"}});
  const dl4_model *critic = p.sequential("critic", {-1, 8}, {{"Dense", "c1", R"({"units": 1})"}});
  const dl4_node state = p.given("state"), action = p.given("action"), gain = p.given("gain");
  const dl4_node h = p.model(trunk, "trunk", state), policy = p.softmax(p.model(actor, "actor", h));
  const dl4_node value = p.sum(p.model(critic, "critic", h), "1");
  const dl4_node logs = p.call("Log", "{}", {policy}), chosen = p.sum(p.times(logs, action), "1");
  const dl4_node advantage = p.call("StopGradient", "{}", {p.minus(gain, value)});
  const dl4_node entropy = p.scaled(p.mean(p.sum(p.times(policy, logs), "1")), -1);
  const dl4_node of_actor = p.scaled(p.mean(p.times(chosen, advantage)), -1);
  const dl4_node of_critic = p.loss(R"("Huber")", gain, value);
  const dl4_node loss = p.minus(p.plus(of_actor, of_critic), p.scaled(entropy, 0.01));
  Nodes weights;
  for (const auto &[name, m] : p.models)
    for (dl4_node w : p.weights(m, name)) weights.push_back(w);
  p.check({loss, entropy},
          {p.optimize("optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.02, "clipnorm": 0.5}})",
                      weights, loss)});
}

// The net tells the noise in an image; a second one follows it as an average.
TEST(GraphPrograms, Diffusion) {
  Program p("diffusion");
  const auto net = [&](const char *as) {
    return p.sequential(
        as, {-1, 6, 6, 2},
        {{"Conv2D", "n1", R"({"filters": 6, "kernel_size": 3, "padding": "same", "activation": "swish"})"},
         {"GroupNormalization", "n2", R"({"groups": 2})"},
         {"Conv2D", "n3", R"({"filters": 1, "kernel_size": 3, "padding": "same"})"}});
  };
  const dl4_model *now = net("now"), *average = net("average");
  const dl4_node image = p.given("image"), noise = p.given("noise"), angle = p.given("angle");
  const dl4_node noise_rate = p.call("Sin", "{}", {angle}), signal_rate = p.call("Cos", "{}", {angle});
  const dl4_node noisy = p.plus(p.times(signal_rate, image), p.times(noise_rate, noise));
  const dl4_node variance = p.times(p.square(noise_rate), p.constant({4, 6, 6, 1}, std::vector<float>(144, 1)));
  const dl4_node in = p.call("Concatenate", "{}", {noisy, variance});
  const dl4_node told = p.model(now, "now", in);
  const dl4_node loss = p.loss(R"("MeanAbsoluteError")", noise, told);
  const dl4_node image_loss = p.mean(
      p.square(p.minus(image, p.call("Divide", "{}", {p.minus(noisy, p.times(noise_rate, told)), signal_rate}))));
  p.model(average, "average", in);
  Nodes done{p.optimize("optimizer",
                        R"({"class_name": "AdamW", "config": {"learning_rate": 0.01, "weight_decay": 0.01}})",
                        p.weights(now, "now"), loss)};
  const Nodes from = p.weights(now, "now"), to = p.weights(average, "average");
  for (size_t i = 0; i < from.size(); ++i)
    done.push_back(p.assign(to[i], p.plus(p.scaled(to[i], 0.9), p.scaled(from[i], 0.1))));
  p.check({loss, image_loss}, done);
}

// Second order through a step of gradient descent on each of two tasks.
TEST(GraphPrograms, ModelAgnosticMetaLearning) {
  Program p("maml");
  const dl4_model *m = p.sequential(
      "m", {-1, 1}, {{"Dense", "m1", R"({"units": 5, "activation": "tanh"})"}, {"Dense", "m2", R"({"units": 1})"}});
  const auto plus = [&](dl4_node x, dl4_node bias) { return p.call("BroadcastAdd", "{}", {x, bias}); };
  const auto output = [&](dl4_node x, const Nodes &w) {
    const dl4_node h = p.call("Tanh", "{}", {plus(p.matmul(x, w[0]), w[1])});
    return plus(p.matmul(h, w[2]), w[3]);
  };
  const auto loss = [&](dl4_node y, dl4_node at) { return p.mean(p.square(p.minus(y, at))); };
  std::vector<Nodes> tasks;
  for (const char *task : {"a", "b"}) {
    const std::string t = task;
    tasks.push_back({p.given((t + "_x").c_str()), p.given((t + "_y").c_str()), p.given((t + "_new_x").c_str()),
                     p.given((t + "_new_y").c_str())});
  }
  p.model(m, "m", tasks[0][0]);
  const Nodes weights = p.weights(m, "m");
  Nodes losses;
  for (const Nodes &t : tasks) {
    const Nodes slopes = p.gradients({loss(output(t[0], weights), t[1])}, weights);
    Nodes adapted;
    for (size_t i = 0; i < weights.size(); ++i) adapted.push_back(p.minus(weights[i], p.scaled(slopes[i], 0.1)));
    losses.push_back(loss(output(t[2], adapted), t[3]));
  }
  const dl4_node total = p.scaled(p.plus(losses[0], losses[1]), 0.5);
  p.check({total},
          {p.optimize("optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.02}})", weights, total)});
}

TEST(GraphPrograms, MetricLearning) {
  Program p("metric");
  const dl4_model *m = p.sequential("m", {-1, 6},
                                    {{"Dense", "m1", R"({"units": 8, "activation": "relu"})"},
                                     {"Dense", "m2", R"({"units": 3})"},
                                     {"UnitNormalization", "m3"}});
  const dl4_node anchor = p.given("anchor"), positive = p.given("positive"), negative = p.given("negative");
  const dl4_node same = p.given("same");
  dl4_layer layer = -1;
  const dl4_node a = p.model(m, "m", anchor, &layer), b = p.again(layer, positive), c = p.again(layer, negative);
  const auto far = [&](dl4_node other) { return p.sum(p.square(p.minus(a, other)), "1"); };
  const dl4_node triplet = p.mean(p.call("ReLU", "{}", {p.scaled(p.minus(far(b), far(c)), 1, 0.5)}));
  const dl4_node alike = p.scaled(p.call("Einsum", R"({"subscripts": "ae,be->ab"})", {a, b}), 5);
  const dl4_node pairs =
      p.loss(R"({"class_name": "CategoricalCrossentropy", "config": {"from_logits": true}})", same, alike);
  const dl4_node loss = p.plus(triplet, pairs);
  p.check({loss, triplet}, {p.optimize("optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.02}})",
                                       p.weights(m, "m"), loss)});
}

// What of an image a class depends on: its saliency, integrated gradients from black, and Grad-CAM.
TEST(GraphPrograms, Explanations) {
  Program p("explanations");
  const dl4_model *features =
      p.sequential("features", {-1, 8, 8, 2},
                   {{"Conv2D", "f1", R"({"filters": 4, "kernel_size": 3, "activation": "relu"})"},
                    {"MaxPooling2D", "f2"},
                    {"Conv2D", "f3", R"({"filters": 5, "kernel_size": 2, "activation": "relu"})"}});
  const dl4_model *head = p.sequential(
      "head", {-1, 2, 2, 5}, {{"Flatten", "h1"}, {"Dense", "h2", R"({"units": 3, "activation": "softmax"})"}});
  const dl4_node x = p.given("x"), which = p.given("which");
  dl4_layer sees = -1, judges = -1;
  const dl4_node found = p.model(features, "features", x, &sees);
  const dl4_node score = p.sum(p.times(p.model(head, "head", found, &judges), which));
  const dl4_node saliency = p.call("Max", R"({"axis": 3})", {p.call("Absolute", "{}", {p.gradients({score}, {x})[0]})});

  const dl4_node by_features = p.gradients({score}, {found})[0];
  const dl4_node weights = p.call("Mean", R"({"axis": [1, 2], "keepdims": true})", {by_features});
  const dl4_node cam = p.call("ReLU", "{}", {p.sum(p.times(found, weights), "3")});

  dl4_node slopes = -1;
  for (int i = 0; i <= 4; ++i) {  // trapezoids
    const dl4_node at = p.scaled(x, i / 4.0);
    const dl4_node there = p.sum(p.times(p.again(judges, p.again(sees, at)), which));
    const dl4_node slope = p.scaled(p.gradients({there}, {at})[0], i == 0 || i == 4 ? 0.125 : 0.25);
    slopes = i ? p.plus(slopes, slope) : slope;
  }
  p.check({score, saliency, cam, p.times(x, slopes)}, {}, 1);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
