// Every kind of bad input: the exact code, and a part of the message that says what was wrong.
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

// What the cases play with.
struct Bench {
  Own<dl4_graph> graph;
  Own<dl4_model> model = small_net();
  Own<dl4_session> session;
  Own<dl4_tensor> x = tensor({2, 4}), y = tensor({2, 3});
  dl4_node node = -1, ids = -1;
  dl4_tensor *out_tensor = nullptr;
  dl4_node out_nodes[4] = {7, 7, 7, 7};

  Bench() {
    ok(dl4_graph_create(nullptr, graph.out()));
    node = input(graph, "x", {-1, 4});
    ids = input(graph, "ids", {-1, 5}, DL4_INT32);
    ok(dl4_session_create(model, nullptr, session.out()));
  }
  ~Bench() { dl4_release(out_tensor); }

  dl4_error *add(const char *kind, const std::string &json, dl4_node in, int64_t n_out = 1) {
    return dl4_graph_add(graph, kind, "fc", json.c_str(), nullptr, nullptr, &in, 1, out_nodes, n_out);
  }
  dl4_error *input_of(const std::vector<int64_t> &dims, int32_t dtype = DL4_FLOAT32) {
    return dl4_graph_add_input(graph, "in", dtype, static_cast<int32_t>(dims.size()), dims.data(), out_nodes);
  }
  dl4_error *make_tensor(const std::vector<int64_t> &dims, int32_t dtype = DL4_FLOAT32) {
    return dl4_tensor_create(nullptr, dtype, static_cast<int32_t>(dims.size()), dims.data(), &out_tensor);
  }
  dl4_error *run(dl4_tensor *in, int64_t n_in = 1, int64_t n_out = 1) {
    dl4_tensor *ins[2] = {in, in}, *outs[2] = {};
    dl4_error *e = dl4_session_run(session, ins, n_in, outs, n_out, nullptr);
    EXPECT_EQ(outs[0], nullptr);
    return e;
  }
  dl4_error *train(const std::string &options) {
    dl4_trainer *t = nullptr;
    dl4_error *e = dl4_trainer_create(model, options.c_str(), &t);
    EXPECT_EQ(t, nullptr);
    return e;
  }
  dl4_error *step(dl4_tensor *in, dl4_tensor *target) {
    auto t = trainer(model);
    return dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr);
  }
};

struct Case {
  const char *name;
  int32_t code;
  const char *fragment;
  std::function<dl4_error *(Bench &)> call;
};

const Case cases[] = {
    // handles
    {"null handle", DL4_INVALID_ARGUMENT, "expected a dl4_graph, got NULL",
     [](Bench &) {
       dl4_node n;
       return dl4_graph_add_input(nullptr, "x", DL4_FLOAT32, 0, nullptr, &n);
     }},
    {"wrong handle", DL4_INVALID_ARGUMENT, "dl4_refs_set_nodes: \"refs\": expected a dl4_refs, got a dl4_tensor",
     [](Bench &b) {
       return dl4_refs_set_nodes(reinterpret_cast<dl4_refs *>(static_cast<dl4_tensor *>(b.x)), "k", &b.node, 1);
     }},
    {"wrong handle in a list", DL4_INVALID_ARGUMENT, "\"in[0]\": expected a dl4_tensor, got a dl4_model",
     [](Bench &b) { return b.run(reinterpret_cast<dl4_tensor *>(static_cast<dl4_model *>(b.model))); }},
    {"null in a list", DL4_INVALID_ARGUMENT, "\"in[0]\": expected a dl4_tensor, got NULL",
     [](Bench &b) { return b.run(nullptr); }},
    {"negative count", DL4_INVALID_ARGUMENT, "count of at least 0", [](Bench &b) { return b.run(b.x, -1); }},
    {"text that is no UTF-8", DL4_INVALID_ARGUMENT, "UTF-8", [](Bench &b) { return b.add("Dense", "a\xff", b.node); }},
    {"surrogate in UTF-8", DL4_INVALID_ARGUMENT, "UTF-8",
     [](Bench &b) { return b.add("Dense", "\xed\xa0\x80", b.node); }},
    {"empty key", DL4_INVALID_ARGUMENT, "unknown attribute \"\"",
     [](Bench &b) { return b.add("Dense", "{\"\": 1}", b.node); }},
    {"empty key of refs", DL4_INVALID_ARGUMENT, "\"key\": expected a name",
     [](Bench &b) { return dl4_refs_set_nodes(refs("k", {b.node}), "", &b.node, 1); }},
    {"unknown format", DL4_INVALID_ARGUMENT, "format 9",
     [](Bench &b) {
       dl4_blob *s;
       return dl4_describe(b.model, 9, &s);
     }},
    {"drawing of a tensor", DL4_UNSUPPORTED, "dl4_tensor",
     [](Bench &b) {
       dl4_blob *s;
       return dl4_describe(b.x, 2, &s);
     }},

    // kinds and keys
    {"unknown layer", DL4_UNKNOWN_KIND, "did you mean \"Dense\"", [](Bench &b) { return b.add("Dens", "{}", b.node); }},
    {"unknown activation", DL4_UNKNOWN_KIND, "did you mean \"relu\"",
     [](Bench &b) { return b.add("Dense", R"({"units": 1, "activation": "rellu"})", b.node); }},
    {"unknown initializer", DL4_UNKNOWN_KIND, "GlorotUniform",
     [](Bench &b) { return b.add("Dense", R"({"units": 1, "kernel_initializer": "GlorotUnifrom"})", b.node); }},
    {"unknown optimizer", DL4_UNKNOWN_KIND, "did you mean \"Adam\"",
     [](Bench &b) { return b.train(R"({"optimizer": "Adan", "loss": "MeanSquaredError"})"); }},
    {"unknown loss", DL4_UNKNOWN_KIND, "MeanSquaredError",
     [](Bench &b) { return b.train(R"({"optimizer": "Adam", "loss": "MeanSquareError"})"); }},
    {"checked: unknown category", DL4_NOT_FOUND, "did you mean \"optimizer\"",
     [](Bench &) { return dl4_registry_check("optimiser", "Adam", nullptr); }},
    {"checked: unknown kind", DL4_UNKNOWN_KIND, "did you mean \"Adam\"",
     [](Bench &) { return dl4_registry_check("optimizer", "Adan", nullptr); }},
    {"checked: value out of range", DL4_INVALID_ARGUMENT, "\"beta_1\"",
     [](Bench &) { return dl4_registry_check("optimizer", "Adam", R"({"beta_1": 1.5})"); }},
    {"checked: unknown key", DL4_INVALID_ARGUMENT, "did you mean \"units\"",
     [](Bench &) { return dl4_registry_check("layer", "Dense", R"({"unit": 2})"); }},
    {"checked: what every layer has", DL4_INVALID_ARGUMENT, "\"trainable\"",
     [](Bench &) { return dl4_registry_check("layer", "Dense", R"({"units": 2, "trainable": "no"})"); }},
    {"checked: what only Keras has", DL4_UNSUPPORTED, "MultiOptimizer",
     [](Bench &) { return dl4_registry_check("optimizer", "MultiOptimizer", nullptr); }},
    {"checked: a newer version inside", DL4_VERSION, "version 9",
     [](Bench &) {
       return dl4_registry_check("layer", "Dense",
                                 R"({"units": 1, "kernel_initializer": {"class_name": "Zeros", "version": 9}})");
     }},
    {"trainable of no weight", DL4_NOT_FOUND, "no weight \"hidden\"",
     [](Bench &b) {
       int32_t yes = 0;
       return dl4_model_get_trainable(b.model, "hidden", &yes);
     }},
    {"unknown category", DL4_NOT_FOUND, "did you mean \"layer\"",
     [](Bench &) {
       dl4_blob *s;
       return dl4_registry_json("layr", nullptr, &s);
     }},
    {"unknown key", DL4_INVALID_ARGUMENT, "layer \"fc\": unknown attribute \"unit\"; did you mean \"units\"",
     [](Bench &b) { return b.add("Dense", R"({"unit": 1})", b.node); }},
    {"unknown attribute of an optimizer", DL4_INVALID_ARGUMENT,
     "unknown attribute \"lr\"; did you mean \"learning_rate\"? known are \"learning_rate\", ",
     [](Bench &b) {
       return b.train(R"({"optimizer": {"class_name": "Adam", "config": {"lr": 0.1}}, "loss": "MeanSquaredError"})");
     }},
    {"option unlike any", DL4_INVALID_ARGUMENT, "unknown attribute \"colour\"; known are \"training\", \"gradients\"",
     [](Bench &b) {
       dl4_session *s;
       return dl4_session_create(b.model, R"({"colour": 1})", &s);
     }},
    {"unknown option", DL4_INVALID_ARGUMENT, "did you mean \"profile\"",
     [](Bench &b) {
       dl4_session *s;
       return dl4_session_create(b.model, R"({"profil": true})", &s);
     }},
    {"unknown context option", DL4_INVALID_ARGUMENT, "did you mean \"threads\"",
     [](Bench &) {
       dl4_context *c;
       return dl4_context_create(R"({"thread": 2})", &c);
     }},
    {"unknown pass", DL4_INVALID_ARGUMENT, "merge_equal",
     [](Bench &) {
       dl4_context *c;
       return dl4_context_create(R"({"passes_off": ["merge_equals"]})", &c);
     }},
    {"unknown kernel", DL4_INVALID_ARGUMENT, "\"winograd_conv_data\", got \"winograd\"",
     [](Bench &) {
       dl4_context *c;
       return dl4_context_create(R"({"kernels_off": ["winograd"]})", &c);
     }},
    {"kernel with a space", DL4_INVALID_ARGUMENT, "\"kernels_off\": expected one of \"amx_attention\"",
     [](Bench &) {
       dl4_context *c;
       return dl4_context_create(R"({"kernels_off": ["small_gemm", "small gemm"]})", &c);
     }},
    {"float32x3 of portable", DL4_INVALID_ARGUMENT, "\"math\": expected \"float32\" where bits are portable",
     [](Bench &) {
       dl4_context *c;
       return dl4_context_create(R"({"math": "float32x3", "reproducible": "portable"})", &c);
     }},
    {"unknown call argument", DL4_INVALID_ARGUMENT, "did you mean \"training\"",
     [](Bench &b) {
       return dl4_graph_add(b.graph, "Dropout", "fc", R"({"rate": 0.5})", R"({"trainin": true})", nullptr, &b.node, 1,
                            b.out_nodes, 1);
     }},
    {"call argument in text and in refs", DL4_INVALID_ARGUMENT,
     "\"mask\" of refs: expected no value in the call's text",
     [](Bench &b) {
       return dl4_graph_add(b.graph, "LSTM", "fc", R"({"units": 1})", R"({"mask": null})", refs("mask", {b.node}),
                            &b.node, 1, b.out_nodes, 1);
     }},

    // types and ranges
    {"missing key", DL4_INVALID_ARGUMENT, "\"units\" is missing",
     [](Bench &b) { return b.add("Dense", "{}", b.node); }},
    {"string for int", DL4_INVALID_ARGUMENT, "\"units\": expected an integer, got \"8\"",
     [](Bench &b) { return b.add("Dense", R"({"units": "8"})", b.node); }},
    {"float for int", DL4_INVALID_ARGUMENT, "expected an integer",
     [](Bench &b) { return b.add("Dense", R"({"units": 8.5})", b.node); }},
    {"layer of another dtype", DL4_UNSUPPORTED, "float32",
     [](Bench &b) {
       return dl4_graph_add_layer(b.graph, "Dense", "fc", R"({"units": 1, "dtype": "float16"})", nullptr, b.out_nodes);
     }},
    {"interpolation that is not done", DL4_UNSUPPORTED, "area",
     [](Bench &b) { return b.add("Resizing", R"({"height": 2, "width": 2, "interpolation": "area"})", b.node); }},
    {"initializer of a newer version", DL4_VERSION, "version 9",
     [](Bench &b) {
       return b.add("Dense", R"({"units": 1, "kernel_initializer": {"class_name": "Zeros", "version": 9}})", b.node);
     }},
    {"optimizer that is not in this version", DL4_UNSUPPORTED, "optimizer MultiOptimizer",
     [](Bench &b) { return b.train(R"({"optimizer": "MultiOptimizer", "loss": "MeanSquaredError"})"); }},
    {"words that exclude no weight", DL4_INVALID_ARGUMENT, "no weight of the model is meant by \"gamma\"",
     [](Bench &b) {
       return b.train(R"({"optimizer": "AdamW", "loss": "mse", "exclude_from_weight_decay": ["bias", "gamma"]})");
     }},
    {"loss over another axis", DL4_UNSUPPORTED, "last axis",
     [](Bench &b) {
       auto t = trainer(b.model, R"({"optimizer": "SGD", "loss": {"class_name": "SparseCategoricalCrossentropy",
                                                                  "config": {"axis": 0}}})");
       auto labels = tensor({2}, {}, DL4_INT32);
       dl4_tensor *in = b.x, *target = labels;
       return dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr);
     }},
    {"out of range", DL4_INVALID_ARGUMENT, "\"units\"",
     [](Bench &b) { return b.add("Dense", R"({"units": 0})", b.node); }},
    {"rate above one", DL4_INVALID_ARGUMENT, "\"rate\"",
     [](Bench &b) { return b.add("Dropout", R"({"rate": 1.5})", b.node); }},
    {"no such choice", DL4_INVALID_ARGUMENT, "\"strict\"",
     [](Bench &) {
       dl4_context *c;
       return dl4_context_create(R"({"reproducible": "strikt"})", &c);
     }},
    {"no threads", DL4_INVALID_ARGUMENT, "at least 1",
     [](Bench &) {
       dl4_context *c;
       return dl4_context_create(R"({"threads": 0})", &c);
     }},
    {"JSON that ends early", DL4_INVALID_ARGUMENT, "line 1, column",
     [](Bench &b) { return b.add("Dense", "{\"a\": ", b.node); }},
    {"JSON that is a list", DL4_INVALID_ARGUMENT, "expected an object",
     [](Bench &b) { return b.add("Dense", "[1]", b.node); }},
    {"JSON of 65 levels", DL4_INVALID_ARGUMENT, "deeper than 64",
     [](Bench &b) { return b.add("Dense", "{\"a\":" + std::string(64, '[') + std::string(64, ']') + "}", b.node); }},
    {"JSON of 1e999", DL4_INVALID_ARGUMENT, "config",
     [](Bench &b) { return b.add("Dense", "{\"a\": 1e999}", b.node); }},
    {"no optimizer", DL4_INVALID_ARGUMENT, "\"optimizer\"",
     [](Bench &b) { return b.train(R"({"loss": "MeanSquaredError"})"); }},
    {"no loss", DL4_INVALID_ARGUMENT, "\"loss\"", [](Bench &b) { return b.train(R"({"optimizer": "SGD"})"); }},
    {"too many losses", DL4_INVALID_ARGUMENT, "expected 1",
     [](Bench &b) { return b.train(R"({"optimizer": "SGD", "loss": ["MeanSquaredError", "MeanSquaredError"]})"); }},
    {"negative learning rate", DL4_INVALID_ARGUMENT, "\"learning_rate\"",
     [](Bench &b) {
       return b.train(
           R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": -1}}, "loss": "MeanSquaredError"})");
     }},
    {"set what is read only", DL4_INVALID_ARGUMENT, "iterations",
     [](Bench &b) { return dl4_trainer_set_number(trainer(b.model), "iterations", 3); }},
    {"no such number", DL4_NOT_FOUND, "did you mean \"learning_rate\"",
     [](Bench &b) {
       double v;
       return dl4_trainer_get_number(trainer(b.model), "learn_rate", &v);
     }},
    {"loss weight that is no number", DL4_INVALID_ARGUMENT,
     "dl4_trainer_create: \"loss_weights\": expected a number, got \"much\"",
     [](Bench &b) { return b.train(R"({"optimizer": "SGD", "loss": "MeanSquaredError", "loss_weights": ["much"]})"); }},
    {"apply alone", DL4_INVALID_ARGUMENT, "dl4_trainer_apply: apply without accumulate",
     [](Bench &b) { return dl4_trainer_apply(trainer(b.model)); }},

    // shapes and dtypes
    {"reserved dtype", DL4_UNSUPPORTED, "float16", [](Bench &b) { return b.make_tensor({1}, DL4_FLOAT16); }},
    {"no dtype", DL4_INVALID_ARGUMENT, "99", [](Bench &b) { return b.make_tensor({1}, 99); }},
    {"float64 input", DL4_UNSUPPORTED, "float64",
     [](Bench &b) {
       return b.input_of({-1, 2}, DL4_FLOAT64);
     }},
    {"rank 9", DL4_INVALID_ARGUMENT, "rank", [](Bench &b) { return b.make_tensor(std::vector<int64_t>(9, 1)); }},
    {"rank -1", DL4_INVALID_ARGUMENT, "rank",
     [](Bench &b) {
       const int64_t d = 1;
       return dl4_tensor_create(nullptr, DL4_FLOAT32, -1, &d, &b.out_tensor);
     }},
    {"negative dim", DL4_INVALID_ARGUMENT, "-2",
     [](Bench &b) {
       return b.input_of({-2, 4});
     }},
    {"free dim of data", DL4_INVALID_ARGUMENT, "dims",
     [](Bench &b) {
       return b.make_tensor({-1, 4});
     }},
    {"dim past 2^31", DL4_INVALID_ARGUMENT, "2147483648", [](Bench &b) { return b.make_tensor({int64_t{1} << 31}); }},
    {"past 2^40 elements", DL4_INVALID_ARGUMENT, "elements",
     [](Bench &b) {
       return b.make_tensor({1 << 21, 1 << 21});
     }},
    {"weights past the limit", DL4_OUT_OF_MEMORY, "the memory limit is 1000",
     [](Bench &) {
       Own<dl4_context> c;
       Own<dl4_graph> g;
       ok(dl4_context_create(R"({"memory_limit": 1000})", c.out()));
       ok(dl4_graph_create(c, g.out()));
       dl4_node in = input(g, "x", {-1, 40}), last = add(g, "Dense", "big", R"({"units": 100})", in);
       dl4_model *m = nullptr;
       return dl4_graph_build(g, &in, 1, &last, 1, &m);
     }},
    {"wrap too little memory", DL4_SHAPE_MISMATCH, "needs 16 bytes, the memory has 12",
     [](Bench &b) {
       static float data[3];
       const int64_t d = 4;
       return dl4_tensor_wrap(nullptr, DL4_FLOAT32, 1, &d, nullptr, data, 12, nullptr, nullptr, &b.out_tensor);
     }},
    {"wrap at an odd address", DL4_INVALID_ARGUMENT,
     "\"data\": expected an address that 4 divides, got one with 1 over",
     [](Bench &b) {
       static float data[4];
       const int64_t d = 2;
       char *odd = reinterpret_cast<char *>(data) + 1;
       return dl4_tensor_wrap(nullptr, DL4_FLOAT32, 1, &d, nullptr, odd, 8, nullptr, nullptr, &b.out_tensor);
     }},
    {"wrap with a far stride", DL4_SHAPE_MISMATCH, "bytes",
     [](Bench &b) {
       static float data[4];
       const int64_t d = 2, s = 4;
       return dl4_tensor_wrap(nullptr, DL4_FLOAT32, 1, &d, &s, data, 16, nullptr, nullptr, &b.out_tensor);
     }},
    {"wrap backwards", DL4_INVALID_ARGUMENT, "strides",
     [](Bench &b) {
       static float data[4];
       const int64_t d = 2, s = -1;
       return dl4_tensor_wrap(nullptr, DL4_FLOAT32, 1, &d, &s, data, 16, nullptr, nullptr, &b.out_tensor);
     }},
    {"copy of a wrong size", DL4_SHAPE_MISMATCH, "32 bytes, got 8",
     [](Bench &b) {
       double v = 0;
       return dl4_tensor_copy_out(b.x, &v, 8);
     }},
    {"layer on a wrong dtype", DL4_INVALID_ARGUMENT,
     "layer \"fc\": input 0 is incompatible with the layer: expected dtype=float32, found dtype=int32",
     [](Bench &b) { return b.add("Softmax", "{}", b.ids); }},
    {"layer on a wrong rank", DL4_SHAPE_MISMATCH, "layer \"fc\"",
     [](Bench &b) { return b.add("Conv2D", R"({"filters": 1, "kernel_size": 1})", b.node); }},
    {"too many outputs", DL4_INVALID_ARGUMENT, "1 output, 2 were asked for",
     [](Bench &b) { return b.add("Dense", R"({"units": 1})", b.node, 2); }},
    {"no such node", DL4_INVALID_ARGUMENT, "node 99", [](Bench &b) { return b.add("Dense", R"({"units": 1})", 99); }},
    {"no such layer", DL4_INVALID_ARGUMENT, "layer 99",
     [](Bench &b) { return dl4_graph_call(b.graph, 99, nullptr, nullptr, &b.node, 1, b.out_nodes, 1); }},
    {"name taken", DL4_INVALID_ARGUMENT, "\"x\"",
     [](Bench &b) { return dl4_graph_add_input(b.graph, "x", DL4_FLOAT32, 0, nullptr, b.out_nodes); }},
    {"model without its input", DL4_INVALID_ARGUMENT, "the outputs need input \"x\"",
     [](Bench &b) {
       dl4_model *m;
       return dl4_graph_build(b.graph, &b.ids, 1, &b.node, 1, &m);
     }},
    {"model of nothing", DL4_INVALID_ARGUMENT, "output",
     [](Bench &b) {
       dl4_model *m;
       return dl4_graph_build(b.graph, nullptr, 0, nullptr, 0, &m);
     }},

    // runs
    {"run: wrong width", DL4_SHAPE_MISMATCH, "(?, 4)",
     [](Bench &b) {
       return b.run(tensor({2, 5}));
     }},
    {"run: wrong rank", DL4_SHAPE_MISMATCH, "(?, 4)", [](Bench &b) { return b.run(tensor({4})); }},
    {"run: wrong dtype", DL4_SHAPE_MISMATCH, "expected float32, got int32",
     [](Bench &b) {
       return b.run(tensor({2, 4}, {}, DL4_INT32));
     }},
    {"run: too many inputs", DL4_INVALID_ARGUMENT, "dl4_session_run: expected 1 inputs, got 2",
     [](Bench &b) { return b.run(b.x, 2); }},
    {"run: too few inputs", DL4_INVALID_ARGUMENT, "expected 1 inputs, got 0", [](Bench &b) { return b.run(b.x, 0); }},
    {"run: too many outputs", DL4_INVALID_ARGUMENT, "expected 1 outputs, got 2",
     [](Bench &b) { return b.run(b.x, 1, 2); }},
    {"run: wrong output", DL4_SHAPE_MISMATCH, "(2, 3)",
     [](Bench &b) {
       auto to = tensor({3, 3});
       dl4_tensor *in = b.x, *out = to;
       return dl4_session_run(b.session, &in, 1, &out, 1, nullptr);
     }},

    // training
    {"step: wrong target", DL4_SHAPE_MISMATCH, "target of output \"answer\"",
     [](Bench &b) {
       return b.step(b.x, tensor({2, 2}));
     }},
    {"step: wrong rows", DL4_SHAPE_MISMATCH, "2 rows",
     [](Bench &b) {
       return b.step(b.x, tensor({3, 3}));
     }},
    {"step: wrong width", DL4_SHAPE_MISMATCH, "4",
     [](Bench &b) {
       return b.step(tensor({2, 5}), b.y);
     }},
    {"step: no rows", DL4_INVALID_ARGUMENT, "dl4_trainer_step: an empty batch",
     [](Bench &b) {
       return b.step(tensor({0, 4}), tensor({0, 3}));
     }},
    {"step: label out of range", DL4_INVALID_ARGUMENT,
     "dl4_trainer_step: loss \"SparseCategoricalCrossentropy\": index 3 is out of range, expected at least 0 and less "
     "than 3",
     [](Bench &b) {
       auto t = trainer(b.model, R"({"optimizer": "SGD", "loss": "SparseCategoricalCrossentropy"})");
       auto labels = tensor({2}, {}, DL4_INT32);
       static_cast<int32_t *>(dl4_tensor_data(labels))[1] = 3;
       dl4_tensor *in = b.x, *target = labels;
       return dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr);
     }},
    {"step: NaN", DL4_NUMERIC, "step 1",
     [](Bench &b) {
       return b.step(tensor({2, 4}, std::vector<float>(8, std::nanf(""))), b.y);
     }},
    {"dataset: rows differ", DL4_SHAPE_MISMATCH, "2 rows",
     [](Bench &b) {
       auto three = tensor({3, 3});
       dl4_tensor *in = b.x, *to = three;
       dl4_dataset *d;
       return dl4_dataset_from_tensors(nullptr, &in, 1, &to, 1, nullptr, 0, nullptr, &d);
     }},
    {"dataset: batch of none", DL4_INVALID_ARGUMENT, "\"batch_size\"",
     [](Bench &b) {
       dl4_tensor *in = b.x, *to = b.y;
       dl4_dataset *d;
       return dl4_dataset_from_tensors(nullptr, &in, 1, &to, 1, nullptr, 0, R"({"batch_size": 0})", &d);
     }},
    {"second trainer", DL4_BUSY, "trainer",
     [](Bench &b) {
       auto t = trainer(b.model);
       return b.train(R"({"optimizer": "SGD", "loss": "MeanSquaredError"})");
     }},

    // weights
    {"no such weight", DL4_NOT_FOUND, "did you mean \"hidden/kernel\"",
     [](Bench &b) { return dl4_model_get_weight(b.model, "hidden/kernal", &b.out_tensor); }},
    {"weight of a wrong shape", DL4_SHAPE_MISMATCH, "(4, 8)",
     [](Bench &b) { return dl4_model_set_weight(b.model, "hidden/kernel", b.x); }},
    {"all trainable weights of a wrong size", DL4_SHAPE_MISMATCH, "(67,)",
     [](Bench &b) { return dl4_model_set_weight(b.model, "*", b.x); }},
};

// Does the header say of the function that refused that it can give this code?
bool is_declared(const Refusal &r) {
  static const nlohmann::json api = [] {
    Own<dl4_blob> b;
    ok(dl4_api_description(b.out()));
    return nlohmann::json::parse(dl4_blob_data(b));
  }();
  std::string code;
  for (const auto &c : api.at("constants"))
    if (c.at("value") == r.code && code.empty()) code = c.at("name");
  if (code == "DL4_INVALID_ARGUMENT" || code == "DL4_OUT_OF_MEMORY") return true;
  std::string function = nlohmann::json::parse(r.detail).at("function");
  for (const auto &f : api.at("functions"))
    if (f.at("name") == function) return f.at("errors").dump().find('"' + code + '"') != std::string::npos;
  return false;
}

TEST(Refused, OptionsKnowNoKeyOfKerassConfigs) {
  Bench b;
  auto t = trainer(small_net());
  auto data = dataset(b.x, b.y);
  for (const char *json : {R"({"name": "x"})", R"({"dtype": "float32"})", R"({"quantization_config": null})"}) {
    const char *a = json;
    dl4_context *c = nullptr;
    dl4_session *s = nullptr;
    dl4_dataset *d = nullptr;
    dl4_model *m = nullptr;
    dl4_trainer *trained = nullptr;
    dl4_blob *blob = nullptr;
    dl4_tensor *x = b.x;
    auto with_optimizer = nlohmann::json::parse(json);
    with_optimizer.update({{"optimizer", "SGD"}, {"loss", "MeanSquaredError"}});
    dl4_error *errors[] = {dl4_context_create(a, &c),
                           dl4_session_create(b.model, a, &s),
                           dl4_dataset_from_tensors(nullptr, &x, 1, nullptr, 0, nullptr, 0, a, &d),
                           dl4_model_save_bytes(b.model, a, &blob),
                           load_copy(nullptr, "", 0, a, &m),
                           dl4_trainer_create(b.model, with_optimizer.dump().c_str(), &trained),
                           dl4_trainer_fit(t, data, nullptr, a, nullptr, nullptr, nullptr, nullptr)};
    for (dl4_error *e : errors) {
      Refusal r = refusal(e);
      EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT) << json << r.detail;
      EXPECT_NE(r.message.find("unknown attribute"), std::string::npos) << json << r.message << r.detail;
    }
  }
}

class Refusals : public ::testing::TestWithParam<Case> {};

TEST_P(Refusals, HaveCodeAndMessage) {
  Bench bench;
  Refusal r = refusal(GetParam().call(bench));
  EXPECT_EQ(r.code, GetParam().code) << r.message;
  EXPECT_NE(r.message.find(GetParam().fragment), std::string::npos)
      << r.message << "\n  has no: " << GetParam().fragment;
  const std::string function = nlohmann::json::parse(r.detail).at("function");
  EXPECT_EQ(r.message.rfind(function + ": ", 0), 0u) << r.message;
  EXPECT_EQ(r.message.find('\n'), std::string::npos);
  EXPECT_EQ(r.message.find("did you mean") != std::string::npos, r.detail.find("did_you_mean") != std::string::npos)
      << r.detail;
  // What the message says in its usual form stands in the detail.
  const nlohmann::json detail = nlohmann::json::parse(r.detail);
  const auto expected = r.message.find("expected "), got = r.message.find(", got ");
  EXPECT_TRUE(expected == std::string::npos || detail.contains("expected")) << r.message << r.detail;
  EXPECT_TRUE(expected == std::string::npos || got == std::string::npos || expected > got || detail.contains("got"))
      << r.message << r.detail;
  EXPECT_TRUE(r.message.find(": layer \"") == std::string::npos || detail.contains("layer")) << r.message << r.detail;
  for (const auto &[key, value] : detail.items()) EXPECT_TRUE(value.is_string()) << key;
  EXPECT_TRUE(is_declared(r)) << r.detail << " does not list " << r.code;
  EXPECT_TRUE(bench.out_nodes[0] == -1 || bench.out_nodes[0] == 7);
  EXPECT_EQ(bench.out_tensor, nullptr);
}

std::string test_name(const ::testing::TestParamInfo<Case> &info) {
  std::string s;
  for (char c : std::string(info.param.name)) s += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return s;
}

INSTANTIATE_TEST_SUITE_P(All, Refusals, ::testing::ValuesIn(cases), test_name);

TEST(Refused, TheDetailSaysWhatTheMessageSays) {
  Bench b;
  auto detail = [](dl4_error *e) {
    auto j = nlohmann::json::parse(refusal(e).detail);
    j.erase("function");
    return j;
  };
  EXPECT_EQ(detail(b.add("Dense", R"({"units": "8"})", b.node)),
            (nlohmann::json{{"layer", "fc"}, {"attribute", "units"}, {"expected", "an integer"}, {"got", "\"8\""}}));
  EXPECT_EQ(detail(b.add("Conv2D", R"({"filters": 1, "kernel_size": 1})", b.node)),
            (nlohmann::json{{"layer", "fc"}, {"expected", "ndim=4"}, {"got", "ndim=2"}}));
  EXPECT_EQ(detail(dl4_refs_create(nullptr)),
            (nlohmann::json{{"argument", "out"}, {"expected", "a pointer"}, {"got", "NULL"}}));
}

TEST(Refused, LeavesTheGraphAsItWas) {
  Bench b;
  auto text = [&] {
    Own<dl4_blob> s;
    ok(dl4_describe(b.graph, DL4_FORMAT_JSON, s.out()));
    return std::string(dl4_blob_data(s));
  };
  std::string before = text();
  dl4_release(b.add("Dense", R"({"units": 0})", b.node));
  dl4_release(b.add("Dense", R"({"units": 1})", b.node, 2));
  dl4_release(b.add("Conv2D", R"({"filters": 1, "kernel_size": 1})", b.node));
  EXPECT_EQ(text(), before);
}

TEST(Refused, ANanStepKeepsTheWeightsOfTheLastGoodOne) {
  Bench b;
  auto t = trainer(b.model);
  dl4_tensor *x = b.x, *y = b.y;
  auto bad = tensor({2, 4}, std::vector<float>(8, std::nanf("")));
  dl4_tensor *nan = bad;
  ok(dl4_trainer_step(t, &x, 1, &y, 1, nullptr, 0, nullptr, 0, nullptr));
  Own<dl4_tensor> before, after;
  ok(dl4_model_get_weight(b.model, "hidden/kernel", before.out()));
  EXPECT_EQ(refusal(dl4_trainer_step(t, &nan, 1, &y, 1, nullptr, 0, nullptr, 0, nullptr)).code, DL4_NUMERIC);
  ok(dl4_model_get_weight(b.model, "hidden/kernel", after.out()));
  EXPECT_EQ(floats(before), floats(after));
  double iterations = 0;
  ok(dl4_trainer_get_number(t, "iterations", &iterations));
  EXPECT_EQ(iterations, 1);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
