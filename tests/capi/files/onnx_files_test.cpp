// ONNX files (tests/io/data/onnx/make.py): what their models give, what is refused, what is written, and what becomes
// of damaged ones.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "capi/onnx_bytes.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using namespace dl4_test::onnx_bytes;
using nlohmann::json;

const char *const files[] = {"mlp", "cnn", "recurrent", "transformer", "quantized", "quantized_conv"};

std::string data(const std::string &name) { return DL4_SOURCE_DIR "/tests/io/data/onnx/" + name; }

// "<file>/input/0", "<file>/output/0", ...: their type, dims and bytes.
struct Array {
  std::string type;
  std::vector<int64_t> dims;
  std::string bytes;
};
std::map<std::string, Array> expected(const std::string &from) {
  const std::string bytes = bytes_of(data(from));
  uint64_t head = 0;
  std::memcpy(&head, bytes.data(), 8);
  std::map<std::string, Array> all;
  const json header = json::parse(bytes.substr(8, head));
  for (const auto &[name, j] : header.items()) {
    if (name == "__metadata__") continue;
    const size_t begin = j["data_offsets"][0], end = j["data_offsets"][1];
    all[name] = {j["dtype"], j["shape"].get<std::vector<int64_t>>(), bytes.substr(8 + head + begin, end - begin)};
  }
  return all;
}

void expect_equal(const dl4_model *m, const std::string &file, float tolerance,
                  const std::string &arrays = "expected.safetensors") {
  auto all = expected(arrays);
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  std::vector<Own<dl4_tensor>> in;
  std::vector<dl4_tensor *> from;
  for (int i = 0; all.count(file + "/input/" + std::to_string(i)); ++i) {
    Array &a = all.at(file + "/input/" + std::to_string(i));
    const int32_t type = a.type == "I64" ? DL4_INT64 : DL4_FLOAT32;
    ok(dl4_tensor_wrap(nullptr, type, static_cast<int32_t>(a.dims.size()), a.dims.data(), nullptr, a.bytes.data(),
                       static_cast<int64_t>(a.bytes.size()), nullptr, nullptr, in.emplace_back().out()));
    from.push_back(in.back());
  }
  std::vector<dl4_tensor *> to(static_cast<size_t>(dl4_port_count(m, DL4_OUTPUTS)), nullptr);
  ok(dl4_session_run(s, from.data(), static_cast<int64_t>(from.size()), to.data(), static_cast<int64_t>(to.size()),
                     nullptr));
  for (size_t i = 0; i < to.size(); ++i) {
    const std::vector<float> got = floats(to[i]);
    dl4_release(to[i]);
    const Array &wanted = all.at(file + "/output/" + std::to_string(i));
    ASSERT_EQ(4 * got.size(), wanted.bytes.size()) << file << ' ' << i;
    for (size_t k = 0; k < got.size(); ++k) {
      float w;
      std::memcpy(&w, &wanted.bytes[4 * k], 4);
      EXPECT_NEAR(got[k], w, tolerance * std::max(1.0f, std::abs(w))) << file << " output " << i << ' ' << k;
    }
  }
}

using OnnxFiles = Folder;

TEST_F(OnnxFiles, GiveWhatOnnxRuntimeGave) {
  for (const char *file : files) {
    Own<dl4_model> m;
    ok(dl4_model_load(nullptr, data(std::string(file) + ".onnx").c_str(), nullptr, m.out()));
    expect_equal(m, file, 2e-6f);
    Refusal r;  // and as a file of ours
    const auto again = load(nullptr, saved(m), r);
    ASSERT_EQ(r.code, 0) << r.message;
    expect_equal(again, file, 2e-6f);
  }
}

TEST_F(OnnxFiles, KeepTheNamesOfInputsOutputsAndFreeAxes) {
  Own<dl4_model> m;
  ok(dl4_model_load(nullptr, data("recurrent.onnx").c_str(), nullptr, m.out()));
  EXPECT_STREQ(dl4_port_name(m, DL4_INPUTS, 0), "x");
  EXPECT_STREQ(dl4_port_name(m, DL4_OUTPUTS, 0), "last");
  EXPECT_STREQ(dl4_port_name(m, DL4_OUTPUTS, 1), "steps");
  int64_t dims[3];
  int32_t rank = 0;
  ok(dl4_port_shape(m, DL4_INPUTS, 0, dims, 3, &rank));
  EXPECT_EQ(std::vector<int64_t>(dims, dims + rank), (std::vector<int64_t>{-1, -1, 5}));
}

TEST_F(OnnxFiles, OfLayersAreTrainable) {
  Own<dl4_model> m;
  ok(dl4_model_load(nullptr, data("mlp.onnx").c_str(), nullptr, m.out()));
  std::vector<std::string> names;
  for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i) {
    names.emplace_back(dl4_port_name(m, DL4_WEIGHTS, i));
    EXPECT_EQ(trainable(m, i), 1);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"Gemm_h/kernel", "Gemm_h/bias", "MatMul_m/kernel", "MatMul_m/bias"}));
}

TEST_F(OnnxFiles, AreWrittenAndReadAgain) {
  for (const char *file : {"mlp", "cnn", "transformer"}) {
    Own<dl4_model> m, again;
    ok(dl4_model_load(nullptr, data(std::string(file) + ".onnx").c_str(), nullptr, m.out()));
    ok(dl4_model_save(m, path("a.onnx").c_str(), nullptr));
    ok(dl4_model_load(nullptr, path("a.onnx").c_str(), nullptr, again.out()));
    expect_equal(again, file, 1e-5f);
    Own<dl4_blob> blob;
    ok(dl4_model_save_bytes(m, R"({"format": "onnx"})", blob.out()));
    EXPECT_EQ(std::string(static_cast<const char *>(dl4_blob_data(blob)), static_cast<size_t>(dl4_blob_size(blob))),
              bytes_of(path("a.onnx")));
  }
}

// Causal attention over a free time: its mask is of places, which ONNX makes by Range.
TEST_F(OnnxFiles, WithPlacesAlongAFreeAxisAreReadAgain) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, -1, 8});
  dl4_node y = x, in[2];
  for (const char *kind : {"Sin", "Cos", "Erf", "Expm1"}) y = add(g, kind, nullptr, "{}", y);
  in[0] = in[1] = y;
  ok(dl4_graph_add(g, "MultiHeadAttention", nullptr, R"({"num_heads": 2, "key_dim": 3})",
                   R"({"use_causal_mask": true})", nullptr, in, 2, &y, 1));
  y = add(g, "Rescaling", nullptr, R"({"scale": 50})", y);
  std::vector<dl4_node> out;
  for (const char *kind : {"Floor", "Ceil", "Round"}) out.push_back(add(g, kind, nullptr, "{}", y));
  Own<dl4_model> m, again;
  ok(dl4_graph_build(g, &x, 1, out.data(), 3, m.out()));
  ok(dl4_model_save(m, path("a.onnx").c_str(), nullptr));
  ok(dl4_model_load(nullptr, path("a.onnx").c_str(), nullptr, again.out()));
  const Own<dl4_tensor> given = tensor({2, 5, 8}, numbers(80));
  std::vector<std::vector<float>> results;
  for (const dl4_model *one : {m.get(), again.get()}) {
    Own<dl4_session> s;
    ok(dl4_session_create(one, nullptr, s.out()));
    dl4_tensor *from = given, *to[3] = {};
    ok(dl4_session_run(s, &from, 1, to, 3, nullptr));
    for (dl4_tensor *t : to) results.push_back(floats(t)), dl4_release(t);
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(results[i], results[i + 3]) << i;
  EXPECT_NE(results[0], results[1]);
}

// By ops that ONNX has, and yet to the last digits.
void expect_every_digit(const std::string &file, const char *kind, const std::vector<float> &given,
                        double (*expected)(double)) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, 1}), y = add(g, kind, nullptr, "{}", x);
  Own<dl4_model> m, again;
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_model_save(m, file.c_str(), nullptr));
  ok(dl4_model_load(nullptr, file.c_str(), nullptr, again.out()));
  const Own<dl4_tensor> in = tensor({static_cast<int64_t>(given.size()), 1}, given);
  Own<dl4_session> s;
  ok(dl4_session_create(again, nullptr, s.out()));
  dl4_tensor *from = in;
  Own<dl4_tensor> to;
  ok(dl4_session_run(s, &from, 1, to.out(), 1, nullptr));
  const std::vector<float> got = floats(to);
  for (size_t i = 0; i < given.size(); ++i) {
    const double wanted = expected(static_cast<double>(given[i]));
    if (std::isnan(wanted))
      EXPECT_TRUE(std::isnan(got[i])) << kind << ' ' << given[i] << ' ' << got[i];
    else if (std::abs(wanted) > std::numeric_limits<float>::max())
      EXPECT_EQ(got[i], static_cast<float>(wanted)) << kind << ' ' << given[i];
    else
      EXPECT_NEAR(got[i], wanted, 1e-6 * std::abs(wanted)) << kind << ' ' << given[i];
  }
}

constexpr float infinity = std::numeric_limits<float>::infinity(), nan_value = std::numeric_limits<float>::quiet_NaN();

TEST_F(OnnxFiles, ExponentialsLessOneKeepWhatIsSmall) {
  expect_every_digit(
      path("a.onnx"), "Expm1",
      {1e-30f, -3e-8f, 5e-8f, 1e-4f, -0.01f, 0.5f, -3, 20, 88.5f, -200, 0, 100, infinity, -infinity, nan_value},
      std::expm1);
}

TEST_F(OnnxFiles, LogarithmsOfOneMoreKeepWhatIsSmall) {
  expect_every_digit(
      path("a.onnx"), "Log1p",
      {1e-30f,   -3e-8f, 5e-8f, -9e-8f, 1.3e-7f, 1e-4f, -0.01f, 0.5f,     -0.75f,    -0.999f,   -0.99999994f, 3,
       16777218, 4e7f,   3e38f, 0,      -1,      -1.5f, -200,   infinity, -infinity, nan_value, 1e-37f,       -1e-37f},
      std::log1p);
}

// ---- models by hand ------------------------------------------------------------------------------------------------

TEST_F(OnnxFiles, AreRefusedByNodeAndOp) {
  Refusal r;
  load(nullptr, model(node("Relu", {"x"})), r);
  EXPECT_EQ(r.code, 0) << r.message;
  expect_refusal(model(node("ImageDecoder", {"x"})), DL4_UNSUPPORTED, {"node \"the_ImageDecoder\"", "no layer"});
  expect_refusal(model(node("If", {"x"})), DL4_CORRUPT_FILE, {"(If)", "no \"then_branch\""});
  expect_refusal(model(node("Loop", {"x"})), DL4_CORRUPT_FILE, {"(Loop)", "no \"body\""});
  expect_refusal(model(node("Relu", {"x"}, field(7, std::string("com.microsoft")))), DL4_UNSUPPORTED,
                 {"com.microsoft"});
  expect_refusal(model(node("Relu", {"x"}), 0), DL4_UNSUPPORTED, {"opset 0", "1 to"});
  expect_refusal(model(node("Relu", {"x"}), 99), DL4_UNSUPPORTED, {"opset 99"});
  expect_refusal(model(node("Relu", {"z"})), DL4_CORRUPT_FILE, {"the_Relu", "no node computes \"z\""});
  expect_refusal(model(node("Relu", {"x"}) + node("Relu", {"x"})), DL4_CORRUPT_FILE, {"\"y\" is given twice"});
  expect_refusal(model(node("Softmax", {"x"}, attribute("axis", field(3, int64_t{7}), 2))), DL4_CORRUPT_FILE,
                 {"axis 7"});
  expect_refusal(model(node("LeakyRelu", {"x"}, attribute("alpha", field(3, int64_t{7}), 2))), DL4_UNSUPPORTED,
                 {"alpha"});
  expect_refusal(model(node("ConvTranspose", {"x", "x"})), DL4_UNSUPPORTED,
                 {"the_ConvTranspose", "must be a constant"});
  const std::string no_outputs = field(1, field(1, std::string("x")) + field(4, std::string("Split")));
  expect_refusal(model(no_outputs), DL4_CORRUPT_FILE, {"has no outputs"});
  expect_refusal(model(named("Shape", {"x"}, "s") + named("Squeeze", {"s", "axes"}, "one") +
                       initializer<int64_t>("axes", 7, {1}, {0}) + named("Identity", {"one"}, "y")),
                 DL4_CORRUPT_FILE, {"(Squeeze)", "takes away axis 0 of 2 places"});
  expect_refusal(model(node("Relu", {"x"})) + field(25, std::string()), DL4_UNSUPPORTED, {"functions of its own"});
}

TEST_F(OnnxFiles, SizesAreBelievedOnlyWithTheirBytes) {
  const auto with = [](const std::string &tensor) {
    return model(node("Add", {"x", "w"}) + field(5, tensor + field(8, std::string("w"))));
  };
  const std::string four(16, '\0');
  Refusal r;
  load(nullptr, with(field(1, int64_t{4}) + field(2, int64_t{1}) + field(9, four)), r);
  EXPECT_EQ(r.code, 0) << r.message;
  expect_refusal(with(field(1, int64_t{5}) + field(2, int64_t{1}) + field(9, four)), DL4_CORRUPT_FILE,
                 {"\"w\"", "16 bytes"});
  for (int64_t huge : {int64_t{1} << 30, int64_t{1} << 40, INT64_MAX, int64_t{-4}})
    expect_refusal(with(field(1, huge) + field(2, int64_t{1}) + field(9, four)), DL4_CORRUPT_FILE, {"\"w\""});
  const std::string strings = field(1, int64_t{2}) + field(2, int64_t{8});
  expect_refusal(with(strings + field(9, four)), DL4_CORRUPT_FILE, {"strings outside of their field"});
  expect_refusal(with(strings + field(6, std::string("a"))), DL4_CORRUPT_FILE, {"has 1 strings", "requires 2"});
  expect_refusal(with(strings + field(6, std::string("a")) + field(6, std::string("\xff"))), DL4_CORRUPT_FILE,
                 {"a string that is no UTF-8"});
  expect_refusal(with(field(1, int64_t{4}) + field(2, int64_t{1}) + field(3, std::string())), DL4_UNSUPPORTED,
                 {"segments"});
  expect_refusal(field(1, int64_t{9}) + field(2, std::string("someone")), DL4_CORRUPT_FILE, {"no graph"});
  const std::string whole = model(node("Relu", {"x"}));
  for (size_t n = 9; n < whole.size(); ++n) {
    load(nullptr, whole.substr(0, n), r);
    EXPECT_NE(r.code, 0) << n;
  }
}

TEST(OnnxNames, AreUtf8AndCutBetweenCharacters) {
  const auto relu = [](const std::string &name) {
    return model(field(
        1, field(1, std::string("x")) + field(2, std::string("y")) + field(3, name) + field(4, std::string("Relu"))));
  };
  expect_refusal(relu("den\xff\xfe"), DL4_UNSUPPORTED, {"\"name\": expected UTF-8"});
  std::string accents = "a";
  for (int i = 0; i < 200; ++i) accents += "\xc3\xa9";
  Refusal r;
  const auto m = load(nullptr, relu(accents), r);
  ASSERT_EQ(r.code, 0) << r.message;
  EXPECT_NE(described(m, DL4_FORMAT_JSON).find('"' + accents.substr(0, 199) + '"'), std::string::npos);
  EXPECT_FALSE(saved(m).empty());
}

// As torch.onnx.export() writes it by default (tests/io/data/onnx/make_exported.py).
TEST_F(OnnxFiles, OfPyTorchHaveTheirWeightsBesideThem) {
  Own<dl4_model> m;
  ok(dl4_model_load(nullptr, data("exported.onnx").c_str(), nullptr, m.out()));
  expect_equal(m, "exported", 1e-5f, "exported.safetensors");
  expect_refusal(bytes_of(data("exported.onnx")), DL4_UNSUPPORTED, {"exported.onnx.data", "by its path"});
}

// As exporters write weights by default: in a file beside the model's.
TEST_F(OnnxFiles, OtherFilesAreReadInTheFolderOfAPathAlone) {
  const auto with = [](const std::string &location) {
    const std::string where = field(13, field(1, std::string("location")) + field(2, location));
    const std::string tensor = field(1, int64_t{4}) + field(2, int64_t{1}) + where + field(14, int64_t{1});
    return model(node("Add", {"x", "w"}) + field(5, tensor + field(8, std::string("w"))));
  };
  const float weights[4] = {1, 2, 3, 4};
  std::filesystem::create_directory(path("model"));
  for (const char *name : {"model/w.bin", "w.bin"})
    std::ofstream(path(name), std::ios::binary).write(reinterpret_cast<const char *>(weights), 16);
  std::filesystem::create_symlink(path("w.bin"), path("model/link.bin"));
  std::filesystem::create_symlink("w.bin", path("model/beside.bin"));
  std::filesystem::create_directory_symlink(path("."), path("model/up"));
  const auto load_of = [&](const std::string &location, const char *options = nullptr) {
    std::ofstream(path("model/m.onnx"), std::ios::binary) << with(location);
    Own<dl4_model> m;
    return refusal(dl4_model_load(nullptr, path("model/m.onnx").c_str(), options, m.out()));
  };
  EXPECT_EQ(load_of("w.bin").code, 0);
  EXPECT_EQ(load_of("beside.bin").code, 0);
  const Refusal not_asked = load_of("w.bin", R"({"external_data": false})");
  EXPECT_EQ(not_asked.code, DL4_UNSUPPORTED);
  EXPECT_NE(not_asked.message.find("external_data"), std::string::npos) << not_asked.message;
  const std::string nul("w.bin\0x", 7);
  for (const std::string &outside :
       {std::string("../w.bin"), std::string("/etc/passwd"), std::string("a/../../w.bin"), std::string(),
        std::string("."), std::string("link.bin"), std::string("up/w.bin"), nul}) {
    const Refusal r = load_of(outside);
    EXPECT_EQ(r.code, DL4_CORRUPT_FILE) << outside;
    EXPECT_NE(r.message.find("outside of the model's folder"), std::string::npos) << r.message;
  }
  EXPECT_EQ(load_of("none.bin").code, DL4_NOT_FOUND);
  std::ofstream(path("model/short.bin"), std::ios::binary) << "abc";
  EXPECT_EQ(load_of("short.bin").code, DL4_CORRUPT_FILE);
  expect_refusal(with("w.bin"), DL4_UNSUPPORTED, {"another file", "by its path"});
}

TEST_F(OnnxFiles, NodesStandInAnyOrder) {
  const std::string first = named("Relu", {"x"}, "a"), second = named("Neg", {"a"}, "b"),
                    third = named("Add", {"a", "b"}, "y", field(3, std::string("sum")));
  for (const std::string &graph : {first + second + third, third + second + first, second + first + third})
    EXPECT_EQ((run<float, float>(model(graph), {1, 4}, {1, -2, 3, 4})), (std::vector<float>{0, 0, 0, 0}));
  const std::string circle = named("Add", {"x", "b"}, "a") + named("Relu", {"a"}, "b") + node("Relu", {"b"});
  expect_refusal(model(circle), DL4_CORRUPT_FILE, {"go round in a circle", "node \"a\" (Add)"});
  expect_refusal(model(node("Add", {"x", "y"})), DL4_CORRUPT_FILE, {"go round in a circle", "the_Add"});
}

// A window with holes: not every program that runs ONNX files computes the pads of "SAME_UPPER".
TEST_F(OnnxFiles, OfConvolutionsWithHolesSayTheirPads) {
  for (const char *config : {R"({"filters": 2, "kernel_size": 3, "dilation_rate": 2, "padding": "same"})",
                             R"({"filters": 2, "kernel_size": [2, 3], "dilation_rate": [3, 1], "padding": "same"})",
                             R"({"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same"})"}) {
    Own<dl4_graph> g;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node x = input(g, "x", {-1, -1, 7, 3}), y = add(g, "Conv2D", nullptr, config, x);
    Own<dl4_model> m, again;
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    ok(dl4_model_save(m, path("a.onnx").c_str(), nullptr));
    const bool holes = std::string(config).find("dilation_rate") != std::string::npos;
    EXPECT_EQ(bytes_of(path("a.onnx")).find("SAME_UPPER") == std::string::npos, holes) << config;
    ok(dl4_model_load(nullptr, path("a.onnx").c_str(), nullptr, again.out()));
    const Own<dl4_tensor> given = tensor({2, 6, 7, 3}, numbers(252));
    EXPECT_EQ(dl4_test::run(again, {given})[0], dl4_test::run(m, {given})[0]) << config;
  }
}

TEST_F(OnnxFiles, WhatCanNotBeWrittenIsRefusedByItsLayer) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  const int64_t dims[3] = {-1, -1, 3};
  dl4_node x, y;
  ok(dl4_graph_add_input(g, "x", DL4_FLOAT32, 3, dims, &x));
  ok(dl4_graph_add(g, "Activation", "sparse", R"({"activation": "sparsemax"})", nullptr, nullptr, &x, 1, &y, 1));
  Own<dl4_model> m;
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  const Refusal r = refusal(dl4_model_save(m, path("a.onnx").c_str(), nullptr));
  EXPECT_EQ(r.code, DL4_UNSUPPORTED);
  EXPECT_NE(r.message.find("layer \"sparse\""), std::string::npos) << r.message;
  EXPECT_TRUE(bytes_of(path("a.onnx")).empty());
}

// A file with some of its bytes changed, taken out, put in or moved.
std::string damaged(std::string file, std::mt19937_64 &random) {
  const auto below = [&](size_t n) { return n ? static_cast<size_t>(random() % n) : 0; };
  for (size_t n = 1 + below(3); n; --n) {
    const size_t at = below(file.size());
    switch (below(5)) {
      case 0:
        file[at] = static_cast<char>(file[at] ^ (1 << below(8)));
        break;
      case 1:
        file[at] = static_cast<char>(random());
        break;
      case 2: {  // one field in the place of another
        const size_t size = std::min(1 + below(40), file.size() / 2), to = below(file.size() - size);
        std::memmove(&file[to], &file[below(file.size() - size)], size);
        break;
      }
      case 3:
        file.resize(file.size() - below(file.size() / 4));
        break;
      default:
        file.insert(at, 1 + below(8), static_cast<char>(random()));
    }
  }
  return file;
}

TEST(OnnxMutations, EndInAModelOrInARefusal) {
  auto c = bounded();
  std::vector<std::string> whole;
  for (const char *file : files) whole.push_back(bytes_of(data(std::string(file) + ".onnx")));
  std::mt19937_64 random(15);
  const int most = times(1500, 250000);
  int loaded = 0;
  for (int i = 0; i < most; ++i) {
    const std::string bad = damaged(whole[static_cast<size_t>(i) % whole.size()], random);
    SCOPED_TRACE("mutation " + std::to_string(i));
    Refusal r;
    const auto m = load(c, bad, r);
    if (m) ++loaded;
    const bool fair = r.code == 0 || r.code == DL4_CORRUPT_FILE || r.code == DL4_UNSUPPORTED ||
                      r.code == DL4_UNKNOWN_KIND || r.code == DL4_OUT_OF_MEMORY;
    ASSERT_TRUE(fair) << r.code << ' ' << r.message;
    ASSERT_EQ(r.code == 0, r.message.empty());
  }
  std::printf("%d mutations, %d of them models\n", most, loaded);
  EXPECT_GT(loaded, most / 50);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
