// What sessions compute besides a model's outputs: gradients, draws, assignments, and models that are evaluated at
// once.
#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

using Values = std::vector<std::vector<float>>;

// x [B, T, 4] -> LSTM "lstm" -> Dense "answer" [B, 3], its softmax, and a number.
struct Heads : Net {
  Model model;
  Heads() : model(made()) {}
  Model made() {
    const Node x = input("x", {free_dim, free_dim, 4}), n = input("n", {free_dim}, DType::i32);
    const Node y =
        add("Dense", "answer", {{"units", 3}, {"activation", "tanh"}}, {add("LSTM", "lstm", {{"units", 5}}, {x})});
    return Net::model({x, n}, {y, n, add("Softmax", "share", Json::object(), {y})});
  }
};

TEST(Inference, GradientsAreDifferencesOfTheOutputsTimesTheirCotangents) {
  const Heads heads;
  const Model &m = heads.model;
  const InferenceOptions how{.gradients = {"x", "lstm/recurrent_kernel", "answer/bias"}, .cotangents = true};
  const Pinned p = pinned(m, how, {});
  EXPECT_EQ(p.in.output_names,
            (std::vector<std::string>{"answer", "n", "share", "gradient of x", "gradient of lstm/recurrent_kernel",
                                      "gradient of answer/bias"}));
  EXPECT_EQ(p.in.cotangent_of, (std::vector<size_t>{0, 2})) << "integers have none";
  EXPECT_EQ(p.alike, (std::vector<std::pair<size_t, size_t>>{{2, 0}, {3, 2}}));
  EXPECT_EQ(p.in.program[p.in.program.inputs[3]].name, "cotangent of share");
  expect_differences(m, {random_tensor({2, 3, 4}, 1), make_zeros(DType::i32, {2})}, how.gradients);
}

TEST(Inference, GradientsOfSumsGoToEachPartAndOfNothingAreZeros) {
  Net net;
  const Node a = net.input("a", {free_dim, 2}), b = net.input("b", {free_dim, 2}),
             beside = net.input("beside", {free_dim, 3});
  const Model m = net.model({a, b, beside}, {net.add("Add", "{}", {a, b})});
  const Tensor one = tensor({2, 2}, {1, 2, 3, 4}), other = tensor({2, 2}, {5, 6, 7, 8}),
               third = make_zeros(DType::f32, {2, 3});
  EXPECT_EQ(floats(run(m, {one, other, third}, {.gradients = {"a", "beside"}})),
            (Values{{6, 8, 10, 12}, {1, 1, 1, 1}, std::vector<float>(6)}));
  EXPECT_EQ(floats(run(m, {one, other, third, one}, {.gradients = {"b", "a"}, .cotangents = true})),
            (Values{{6, 8, 10, 12}, {1, 2, 3, 4}, {1, 2, 3, 4}}));
  const Node rounded = net.add("ReducePrecision", R"({"exponent_bits": 5, "mantissa_bits": 10})", {a});
  EXPECT_EQ(floats(run(net.model({a}, {rounded}), {one}, {.gradients = {"a"}}))[1], std::vector<float>(4, 1));
  const Model same = net.model({a}, {a});
  EXPECT_EQ(floats(run(same, {one, other}, {.gradients = {"a"}, .cotangents = true})),
            (Values{{1, 2, 3, 4}, {5, 6, 7, 8}}));
}

TEST(Inference, GradientsOfAnEmbeddingAreASaliencyOfItsWords) {
  Net net;
  const Node ids = net.input("ids", {free_dim, free_dim}, DType::i32), x = net.input("x", {free_dim});
  const Node words = net.add("Embedding", "words", {{"input_dim", 5}, {"output_dim", 2}}, {ids});
  const Node mean = net.add("GlobalAveragePooling1D", "{}", {words});
  const Model m = net.model({ids}, {net.add("Dense", "score", {{"units", 1}, {"kernel_initializer", "ones"}}, {mean})});
  EXPECT_EQ(floats(run(m, {tensor<int32_t>({1, 4}, {3, 1, 3, 0}, DType::i32)}, {.gradients = {"words/embeddings"}})[1]),
            (std::vector<float>{0.25f, 0.25f, 0.25f, 0.25f, 0, 0, 0.5f, 0.5f, 0, 0}));
  EXPECT_EQ(refused(Code::invalid_argument, [&] { inference(m, {.gradients = {"ids"}}); }),
            "\"gradients\": input \"ids\": expected float32, got int32");
  EXPECT_EQ(refused(Code::invalid_argument,
                    [&] {
                      inference(net.model({ids, x}, {ids}), {.gradients = {"x"}});
                    }),
            "\"gradients\": the model has no float32 output to differentiate");
}

// By the number of the run, and of the call of a layer that several calls share.
TEST(Inference, DrawsDifferByRunAndCall) {
  Net net;
  const Node x = net.input("x", {free_dim, 100});
  const LayerId drop = net.graph->layer("Dropout", "drop", {{"rate", 0.5}});
  const Node y = net.graph->call(drop, {}, {x})[0], z = net.graph->call(drop, {}, {x})[0];
  const Node always = net.graph->call(drop, {{{"training", true}}, {}}, {x})[0];
  const Model m = net.model({x}, {y, z});
  const Tensor ones = tensor({2, 100}, std::vector<float>(200, 1));
  Runs once(m, {.training = true}), again(m, {.training = true});
  const Values first = floats(once({ones})), second = floats(once({ones}));
  const auto dropped = std::count(first[0].begin(), first[0].end(), 0.f);
  EXPECT_GT(dropped, 50);
  EXPECT_LT(dropped, 150);
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first, second);
  EXPECT_EQ(floats(again({ones})), first);
  EXPECT_EQ(floats(again({ones})), second);
  EXPECT_EQ(floats(run(m, {ones})), Values(2, std::vector<float>(200, 1)));
  const Model says_so = net.model({x}, {always});
  EXPECT_EQ(floats(run(says_so, {ones})), floats(run(says_so, {ones}, {.training = true})));
  const Model weights = net.model({x}, {net.add("Dense", R"({"units": 2})", {always})});
  EXPECT_EQ(pinned(weights, {}, {}).run_counter, 2u) << "behind the weights";
}

TEST(Inference, GradientsOfAGraphAreGradientsAgain) {
  Net g;
  const auto gradient = [&](Node y, Node x) { return g.add("Gradients", R"({"sum": true})", {y, x}); };
  const Node x = g.input("x", {3}), cube = g.add("Multiply", "{}", {x, g.add("Square", "{}", {x})});
  const Node first = gradient(g.add("Sum", "{}", {cube}), x), second = gradient(first, x), third = gradient(second, x);
  const Node stopped = gradient(g.add("StopGradient", "{}", {cube}), x);
  EXPECT_EQ(floats(run(g.model({x}, {first, second, third, stopped}), {tensor({3}, {1, -2, 0.5f})})),
            (Values{{3, 12, 0.75f}, {6, -12, 3}, {6, 6, 6}, {0, 0, 0}}));
  // A net with a penalty on the gradient by its input: by weights and by inputs against differences.
  const Node in = g.input("in", {2, 4}),
             hidden = g.add("Dense", "hidden", {{"units", 5}, {"activation", "tanh"}}, {in});
  const Node norm = g.add("LayerNormalization", "{}", {hidden});
  const Node y = g.add("Sum", "{}", {g.add("Dense", R"({"units": 1, "activation": "softplus"})", {norm})});
  const Node penalty = g.add("Sum", "{}", {g.add("Square", "{}", {gradient(y, in)})});
  expect_differences(g.model({in}, {g.add("Add", "{}", {y, penalty})}), {random_tensor({2, 4}, 1)},
                     {"in", "hidden/kernel"});
}

const Json zeros{{"shape", {2}}, {"initializer", "Zeros"}, {"learned", false}};

TEST(Inference, CallsReadWhatWasAssignedBeforeThem) {
  Net net;
  const auto assign = [&](Node w, Node value, const char *how) {
    return net.add("Assign", "", {{"operation", how}}, {w, value});
  };
  const auto value = [&] { return net.add("GetWeight", R"({"weight": "w/value"})", {}); };
  const Node x = net.input("x", {2}), w = net.add("Weight", "w", zeros, {}), first = net.add("Add", "{}", {w, x});
  const Node set = assign(w, x, "assign"), between = value(), added = assign(w, x, "assign_add");
  const Node one = net.graph->constant("one", tensor({2}, {1, 1})), less = assign(w, one, "assign_sub");
  const Model m = net.model({x}, {net.add("After", "{}", {first, set, added}), between, less, value()});
  Runs run(m);
  const Tensor in = tensor({2}, {3, 4});
  EXPECT_EQ(floats(run({in})), (Values{{3, 4}, {3, 4}, {5, 7}, {5, 7}}));
  EXPECT_EQ(floats(m.get_weight("w/value")), (std::vector<float>{5, 7}));
  EXPECT_EQ(floats(run({in})), (Values{{8, 11}, {3, 4}, {5, 7}, {5, 7}}));
  // No weight is written that is only read, and no gradient or state is asked of such a model.
  const Node other = net.add("Weight", "other", zeros, {}), only = net.add("Assign", "{}", {other, x});
  const Model reads = net.model({x}, {net.add("After", "{}", {value(), only})});
  const Inference in_other = inference(reads);
  for (size_t i = 0; i < in_other.written.size(); ++i)
    EXPECT_EQ(in_other.written[i], reads.held()[i]->name == "other/value") << reads.held()[i]->name;
  EXPECT_EQ(refused(Code::unsupported, [&] { inference(m, {.gradients = {"x"}}); }),
            "\"gradients\": the model assigns weights");
  EXPECT_EQ(refused(Code::unsupported, [&] { inference(m, {.states = true}); }),
            "\"states\": the model assigns weights");
}

TEST(Inference, TwoWeightsChangePlaces) {
  Net net;
  const Node a = net.add("Weight", "a", zeros, {}),
             b = net.add("Weight", "b", {{"shape", {2}}, {"initializer", "Ones"}}, {});
  const Model m = net.model({}, {net.add("Assign", "{}", {a, b}), net.add("Assign", "{}", {b, a})});
  run(m, {});
  EXPECT_EQ(floats(m.get_weight("a/value")), (std::vector<float>{1, 1}));
  EXPECT_EQ(floats(m.get_weight("b/value")), (std::vector<float>{0, 0}));
}

// By a weight gradients are those by all that it held; none flows into what is assigned.
TEST(Inference, GradientsByAWeightThatWasAssigned) {
  Net net;
  const Json three{{"shape", Json::array()}, {"initializer", {{"class_name", "Constant"}, {"config", {{"value", 3}}}}}};
  const Node x = net.input("x", {}), w = net.add("Weight", "w", three, {}), before = net.add("Square", "{}", {w});
  const Node set = net.add("Assign", "{}", {w, net.add("Square", "{}", {x})});
  const Node now = net.add("GetWeight", R"({"weight": "w/value"})", {}), behind = net.add("Square", "{}", {now});
  const Node sum = net.add("Add", "{}", {before, behind});
  const std::vector<Node> by = net.graph->add("Gradients", "", Json::object(), {}, {sum, w, now, x}, 3);
  const Model m = net.model({x}, {net.add("After", "{}", {sum, set}), by[0], by[1], by[2]});
  EXPECT_EQ(floats(run(m, {tensor({}, {2})})), (Values{{9 + 16}, {6 + 8}, {6 + 8}, {0}}));
}

// Of a model that assigns weights, the number of the run is a weight of its own.
TEST(Inference, DrawsAreCountedInAModelThatAssigns) {
  Net net;
  const Node x = net.input("x", {2, 50}), w = net.add("Weight", "w", zeros, {});
  const Node noise = net.add("RandomNormal", R"({"shape": [50]})", {x});
  const Model m = net.model({x}, {net.add("After", "{}", {noise, net.add("Assign", "{}", {w, w})})});
  const Tensor in = make_zeros(DType::f32, {2, 50});
  EXPECT_FALSE(inference(m).counts);
  EXPECT_EQ(inference(m).written, (std::vector{true, true})) << "w and the number of the run";
  Runs first(m);
  const Values one = floats(first({in})), two = floats(first({in}));
  EXPECT_NE(one, two);
  const Values three = floats(Runs(m)({in}));
  EXPECT_NE(three, one) << "another session of the model goes on";
  EXPECT_NE(three, two);
}

TEST(Inference, AModelOfConstantsIsEvaluatedAtOnce) {
  Net net;
  const Node count = net.graph->constant("count", tensor<int64_t>({}, {3}, DType::i64));
  const Node below = net.add("Cast", "", {{"to", "float32"}}, {net.add("Range", "{}", {count})});
  const Model m = net.model({}, {net.add("BroadcastAdd", "{}", {below, below})});
  const auto values = evaluated(m, 100);
  ASSERT_TRUE(values);
  EXPECT_EQ(floats(*values), (Values{{0, 2, 4}}));
  EXPECT_FALSE(evaluated(m, 8)) << "of more bytes";
  EXPECT_FALSE(evaluated(net.model({}, {net.add("RandomUniform", R"({"shape": [3]})", {})}), 100)) << "drawn";
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
