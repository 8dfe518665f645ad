// What is refused in Keras's files: by what their zip, their JSON and their weights say.
#include "io/keras/file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.hpp"
#include "base/json.hpp"
#include "io/bytes.hpp"
#include "io/formats.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/keras/store.hpp"
#include "io/zip/zip.hpp"

namespace dl4::io::DL4_FILE {
namespace {

std::string bytes_of(const Source &source) {
  std::string bytes(static_cast<size_t>(source.size()), '\0');
  source.read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

std::string zipped(const std::vector<std::pair<std::string, std::string>> &members) {
  std::vector<std::pair<std::string, std::vector<std::string_view>>> list;
  for (const auto &[name, data] : members) list.push_back({name, {data}});
  std::vector<std::string> heads;
  std::string all;
  for (std::string_view part : zip_parts(list, heads)) all += part;
  return all;
}

// The parts of a file that Keras wrote.
struct Parts {
  std::string config, weights;
  explicit Parts(const char *name) {
    const File file(std::string(DL4_SOURCE_DIR "/tests/io/data/") + name, INT64_MAX);
    Budget budget(INT64_MAX);
    const Zip zip(file, budget);
    config = zip.text("config.json");
    weights = bytes_of(*zip.open("model.weights.h5", true));
  }
  std::string file() const { return zipped({{"config.json", config}, {"model.weights.h5", weights}}); }
};

// limit: one that was asked for.
Error refused(const std::string &bytes, std::optional<int64_t> limit = {}) {
  try {
    graph::Settings settings;
    settings.limited = limit.has_value();
    settings.memory_limit = limit.value_or(int64_t{1} << 40);
    load_model(Memory(std::as_bytes(std::span(bytes))), settings);
  } catch (const Error &e) {
    return e;
  }
  return {Code::ok, "it was loaded"};
}

void expect_refusal(const std::string &bytes, Code code, const std::string &words) {
  const Error e = refused(bytes);
  EXPECT_EQ(e.code, code) << e.message;
  EXPECT_NE(e.message.find(words), std::string::npos) << e.message;
}

// The file with another config.
std::string with(const char *name, const std::function<void(Json &)> &change) {
  Parts parts(name);
  Json config = Json::parse(parts.config);
  change(config);
  parts.config = config.dump();
  return parts.file();
}

TEST(KerasFiles, AreLoadedFromStoredMembersToo) { EXPECT_EQ(refused(Parts("functional.keras").file()).code, Code::ok); }

TEST(KerasFiles, CodeIsRefusedByTheLayersName) {
  const auto second = [](Json &j) -> Json & { return j["config"]["layers"][1]; };
  expect_refusal(with("sequential.keras", [&](Json &j) { second(j)["class_name"] = "Lambda"; }), Code::unsupported,
                 "layer \"conv2d\": a Lambda's code is not run");
  expect_refusal(with("sequential.keras",
                      [&](Json &j) {
                        second(j)["class_name"] = "MyConv";
                        second(j)["registered_name"] = "mine>MyConv";
                        second(j)["module"] = nullptr;
                      }),
                 Code::unknown_kind, "layer \"conv2d\"");
  expect_refusal(with("sequential.keras",
                      [&](Json &j) {
                        second(j)["class_name"] = "MyConv";
                        second(j)["config"].erase("name");  // as a class without a get_config() is written
                      }),
                 Code::unknown_kind, "MyConv");
  expect_refusal(with("sequential.keras", [&](Json &j) { second(j)["class_name"] = ""; }), Code::unknown_kind,
                 "unknown layer \"\"");
  expect_refusal(with("sequential.keras", [&](Json &j) { second(j)["registered_name"] = "mine>Conv2D"; }),
                 Code::unsupported, "layer \"conv2d\" is of the custom class");
  expect_refusal(with("sequential.keras", [&](Json &j) { second(j)["module"] = "my.package"; }), Code::unsupported,
                 "layer \"conv2d\" is of the custom class");
  expect_refusal(with("sequential.keras", [&](Json &j) { j["class_name"] = "MyModel"; }), Code::unsupported,
                 "the model is of the custom class \"MyModel\"");
  expect_refusal(with("sequential.keras", [&](Json &j) { j["class_name"] = "FeatureSpace"; }), Code::unsupported,
                 "the file is of a FeatureSpace alone");
}

// Only a trainer needs to know what it was compiled with.
TEST(KerasFiles, ALossOfTheUsersOwnStopsNoModel) {
  const auto own = with("sequential.keras", [](Json &j) {
    j["compile_config"]["loss"] = {{"module", "mine"}, {"class_name", "MyLoss"}, {"config", Json::object()}};
  });
  Told told;
  EXPECT_NE(load_model(Memory(std::as_bytes(std::span(own))), {}, {}, &told), nullptr);
  try {
    trainer_options(told.training);
    ADD_FAILURE() << "it was not refused";
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Code::unsupported);
    EXPECT_NE(e.message.find("\"MyLoss\" is not Keras's"), std::string::npos) << e.message;
  }
}

TEST(KerasFiles, WhatOurLayersCannotDoIsRefusedByKey) {
  const auto of_policy = [](const char *name) {
    return with("sequential.keras",
                [name](Json &j) { j["config"]["layers"][1]["config"]["dtype"]["config"]["name"] = name; });
  };
  Told told;
  const auto mixed = of_policy("mixed_float16");
  load_model(Memory(std::as_bytes(std::span(mixed))), {}, {}, &told);
  EXPECT_EQ(told.types, std::vector<std::string>{"mixed_float16"});
  expect_refusal(of_policy("int8_from_float32"), Code::unsupported, "layer \"conv2d\": \"dtype\"");
  expect_refusal(with("functional.keras",
                      [](Json &j) {
                        for (size_t i = 0; i < j["config"]["layers"].size(); ++i)
                          if (Json &l = j["config"]["layers"][i]; l["class_name"] == "Relu") l["class_name"] = "FFT2";
                      }),
                 Code::unsupported, "layer \"relu\": the operation FFT2 is not supported");
}

TEST(KerasFiles, OperationsAndOutputsThatCannotBeAreRefusedByName) {
  const auto config = [](Json &j, const char *class_name) -> Json & {
    Json &layers = j["config"]["layers"];
    size_t i = 0;
    while (layers[i]["class_name"] != class_name) ++i;
    return layers[i]["config"];
  };
  const auto refused_with = [&](const char *class_name, const char *key, const Json &value, Code code,
                                const char *message) {
    expect_refusal(with("nested.keras", [&](Json &j) { config(j, class_name)[key] = value; }), code, message);
  };
  const Json two = Json::array({1, 1}), axis = Json::array({7, 1});
  refused_with("Moveaxis", "source", two, Code::unsupported,
               "layer \"moveaxis\": the operation Moveaxis names an axis");
  refused_with("Moveaxis", "destination", two, Code::unsupported, "names an axis twice");
  refused_with("Moveaxis", "source", Json::array({1}), Code::unsupported, "moves 1 axes to 2 places");
  refused_with("Moveaxis", "source", axis, Code::corrupt_file, "layer \"moveaxis\": axis 7 is out of range");
  refused_with("Round", "decimals", 400, Code::corrupt_file, "expected a finite number");
  refused_with("Round", "decimals", 1.5, Code::corrupt_file, "layer \"round\": expected an integer, got 1.5");
  for (const auto &[call, message] : {std::pair{INT64_MIN, "expected a node of at least 0"},
                                      {int64_t{0}, "has no call -1"},
                                      {int64_t{9}, "no call 8"}})
    expect_refusal(with("nested.keras",
                        [&, call = call](Json &j) {
                          j["config"]["output_layers"] = Json::array({Json::array({"outer", call, 0})});
                        }),
                   Code::corrupt_file, message);
}

TEST(KerasFiles, WeightsThatDoNotFitAreRefusedByName) {
  const auto units = [](Json &j) -> Json & { return j["config"]["layers"][4]["config"]; };
  expect_refusal(with("sequential.keras", [&](Json &j) { units(j)["units"] = 3; }), Code::corrupt_file,
                 "weight \"dense/kernel\": expected (48, 3), \"layers/dense/vars/0\" is [48,2]");
  expect_refusal(with("sequential.keras", [&](Json &j) { units(j)["use_bias"] = false; }), Code::corrupt_file,
                 "the file has \"layers/dense/vars/1\" too");
  expect_refusal(with("sequential.keras", [&](Json &j) { j["config"]["layers"][2]["config"]["center"] = false; }),
                 Code::corrupt_file, "batch_normalization");
  Parts parts("sequential.keras");
  parts.weights[parts.weights.find("layers")] = 'L';
  expect_refusal(parts.file(), Code::corrupt_file,
                 "weight \"conv2d/kernel\": the file has no \"layers/conv2d/vars/0\"");
  EXPECT_EQ(refused(Parts("sequential.keras").file(), 500).code, Code::out_of_memory);
}

TEST(KerasFiles, ArchivesThatAreNotWholeAreRefused) {
  const Parts parts("sequential.keras");
  const std::string file = parts.file();
  expect_refusal(zipped({{"a", "b"}}), Code::unsupported, "a zip archive without \"config.json\"");
  expect_refusal(zipped({{"config.json", parts.config}}), Code::unsupported, "no \"model.weights.h5\"");
  expect_refusal(zipped({{"config.json", "[1"}, {"model.weights.h5", parts.weights}}), Code::corrupt_file,
                 "config.json");
  expect_refusal(zipped({{"../config.json", "{}"}}), Code::corrupt_file, "a member is named \"../config.json\"");
  expect_refusal(zipped({{"/config.json", "{}"}}), Code::corrupt_file, "a member is named");
  expect_refusal(zipped({{"config.json", "{}"}, {"config.json", "{}"}}), Code::corrupt_file, "two members are named");
  expect_refusal(file.substr(0, file.size() - 30), Code::corrupt_file, "no directory at its end");
  std::string flipped = file;
  flipped[file.find("conv2d")] = 'C';
  expect_refusal(flipped, Code::corrupt_file, "\"config.json\": the checksum does not fit its data");

  // In the directory, behind its mark: flags at 8, method at 10, sizes at 20 and 24, the header's place at 42.
  const size_t entry = file.find("PK\x01\x02");
  const auto changed = [&](size_t offset, uint32_t v, size_t bytes) {
    std::string bad = file;
    for (size_t i = 0; i < bytes; ++i) bad[entry + offset + i] = static_cast<char>(v >> (8 * i));
    return bad;
  };
  expect_refusal(changed(8, 1, 2), Code::unsupported, "is encrypted");
  expect_refusal(changed(10, 12, 2), Code::unsupported, "compressed by method 12");
  expect_refusal(changed(24, 1u << 30, 4), Code::corrupt_file, "is stored in");
  expect_refusal(changed(20, 1u << 30, 4), Code::corrupt_file, "lies outside of the file");
  expect_refusal(changed(42, 40, 4), Code::corrupt_file, "lie over each other");
}

TEST(KerasFiles, AZipBombIsRefusedBeforeItIsInflated) {
  // 100 bytes that claim to be a gigabyte, stored deflated.
  std::string file = zipped({{"config.json", std::string(100, 'x')}});
  const size_t entry = file.find("PK\x01\x02");
  const auto write = [&](size_t at, uint32_t v, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) file[at + i] = static_cast<char>(v >> (8 * i));
  };
  write(entry + 10, 8, 2);
  write(entry + 24, 1u << 30, 4);
  expect_refusal(file, Code::corrupt_file, "claims 1073741824 bytes out of 100");
  write(entry + 24, 100000, 4);
  EXPECT_EQ(refused(file, 50000).code, Code::out_of_memory);
  EXPECT_EQ(refused(file).code, Code::corrupt_file);  // it is inflated, and no such data
  // A gigabyte out of a megabyte, which deflate can give: past what a file of that size may take by default.
  std::string wide = zipped({{"config.json", std::string(1100000, 'x')}});
  file.swap(wide);
  const size_t place = file.find("PK\x01\x02");
  write(place + 10, 8, 2);
  write(place + 24, 1u << 30, 4);
  const Error e = refused(file);
  EXPECT_EQ(e.code, Code::out_of_memory) << e.message;
  EXPECT_NE(e.message.find("\"config.json\" takes 1074841824 bytes"), std::string::npos) << e.message;
}

TEST(KerasFiles, OtherHdf5FilesAreRefused) {
  const File arrays(DL4_SOURCE_DIR "/tests/io/data/arrays_earliest.h5", INT64_MAX);
  expect_refusal(bytes_of(arrays), Code::unsupported, "no \"model_config\"");
}

std::shared_ptr<graph::Model> loaded(const std::string &bytes) {
  return load_model(Memory(std::as_bytes(std::span(bytes))));
}

std::string data_file(const char *name) {
  return bytes_of(File(std::string(DL4_SOURCE_DIR "/tests/io/data/") + name, INT64_MAX));
}

void expect_same_weights(const graph::Model &a, const graph::Model &b) {
  ASSERT_EQ(a.weights().size(), b.weights().size());
  for (size_t i = 0; i < a.weights().size(); ++i) {
    const graph::Weight &v = *a.weights()[i], &w = *b.weights()[i];
    EXPECT_EQ(v.name, w.name);
    ASSERT_EQ(v.value().shape, w.value().shape);
    EXPECT_EQ(std::memcmp(v.value().data.get(), w.value().data.get(), static_cast<size_t>(v.value().bytes())), 0)
        << v.name;
  }
}

TEST(KerasFiles, WhatWasSavedIsLoaded) {
  for (const char *name : {"functional.keras", "sequential.keras", "sequential.h5"}) {
    const auto model = loaded(data_file(name));
    const auto again = loaded(save_model(*model, format_of(".keras")));
    expect_same_weights(*model, *again);
    // The same calls too: what is saved of it is the same.
    EXPECT_TRUE(save_model(*model, format_of(".keras")) == save_model(*again, format_of(".keras"))) << name;
  }
}

TEST(KerasFiles, WeightsAloneGoIntoAModelThatExists) {
  const auto wanted = loaded(data_file("sequential.keras"));
  const std::string ours = save_model(*wanted, format_of(".weights.h5"));
  for (const std::string &bytes :
       {data_file("sequential.weights.h5"), data_file("sequential.keras"), data_file("sequential.h5"), ours}) {
    const auto model = loaded(data_file("sequential.keras"));
    for (const auto &w : model->weights()) model->set_weight(w->name, make_zeros(DType::f32, w->spec.shape));
    load_weights(*model, Memory(std::as_bytes(std::span(bytes))), {}, true);
    expect_same_weights(*model, *wanted);
  }
  const auto other = loaded(data_file("functional.keras"));
  const auto before = other->clone();
  EXPECT_THROW(load_weights(*other, Memory(std::as_bytes(std::span(ours))), {}, true), Error);
  expect_same_weights(*other, *before);
}

TEST(KerasFiles, TheEndOfAPathSaysTheFormat) {
  EXPECT_STREQ(format_of("a/b.keras").name, "keras");
  EXPECT_STREQ(format_of("b.weights.h5").name, "weights.h5");
  EXPECT_STREQ(format_of("keras").name, "native");
  EXPECT_STREQ(format_of("b.safetensors").name, "native");
  for (const char *path : {"b.h5", "b.hdf5"}) EXPECT_THROW(format_of(path), Error);
}

// Each file of Keras's with a change that says the same.
void expect_same_model(const std::string &bytes, const std::string &wanted) {
  const auto model = loaded(bytes), before = loaded(wanted);
  expect_same_weights(*model, *before);
  EXPECT_EQ(graph::to_json(model->architecture()).dump(), graph::to_json(before->architecture()).dump());
}

TEST(KerasFiles, AnOperationIsNamedBesideItsConfigToo) {
  size_t changed = 0;  // as Keras 3.0 to 3.10 writes those with attributes
  for (const char *name : {"functional.keras", "masked.keras", "nested.keras"})
    expect_same_model(with(name,
                           [&](Json &j) {
                             for (size_t i = 0; i < j["config"]["layers"].size(); ++i) {
                               Json &l = j["config"]["layers"][i];
                               if (!l["module"].get<std::string>().starts_with("keras.src.ops.")) continue;
                               l["config"].erase("name");
                               ++changed;
                             }
                           }),
                      data_file(name));
  EXPECT_GT(changed, 20u);
}

// Where Keras has true or false, as numbers that Python takes for them.
Json with_numbers(const Json &j) {
  if (j.is_boolean()) return j.get<bool>() ? 1 : 0;
  if (!j.is_array() && !j.is_object()) return j;
  Json to = j.is_array() ? Json::array() : Json::object();
  for (const Json &item : j) to.push_back(with_numbers(item));
  for (const auto &[key, item] : j.items()) to[key] = key == "trainable" ? item : with_numbers(item);
  return to;
}

TEST(KerasFiles, NumbersStandForBooleansAsInKeras) {
  for (const char *name : {"functional.keras", "masked.keras", "nested.keras", "sequential.keras"})
    expect_same_model(with(name, [](Json &j) { j = with_numbers(j); }), data_file(name));
  const auto conv = [](Json &j) -> Json & { return j["config"]["layers"][1]["config"]; };
  for (const Json &other : {Json(2), Json("true"), Json(nullptr), Json(0.5)})
    expect_refusal(with("sequential.keras", [&](Json &j) { conv(j)["use_bias"] = other; }), Code::corrupt_file,
                   "layer \"conv2d\": \"use_bias\": expected true or false");
  expect_refusal(with("sequential.keras", [&](Json &j) { conv(j)["filters"] = 4.0; }), Code::corrupt_file,
                 "\"filters\": expected an integer");  // Keras refuses it too
}

// As tf.keras on Windows and tf.keras 2.13 named the places of weights.
TEST(KerasFiles, PlacesOfWeightsMayHaveBackslashes) {
  for (const char *name : {"functional.keras", "nested.keras"})
    for (const bool renamed : {false, true}) {
      Parts parts(name);
      Budget budget(INT64_MAX);
      const std::string weights = parts.weights;
      const Memory source(std::as_bytes(std::span(weights)));
      const Hdf5 file(source, budget);
      std::map<std::string, Tensor> moved;
      for (const auto &[path, dataset] : file.datasets()) {
        std::string to = path;
        for (size_t at = 0; renamed && (at = to.find("layers", at)) != to.npos; at += 30)
          to.replace(at, 6, "_layer_checkpoint_dependencies");
        std::replace(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(to.rfind("/vars/")), '/', '\\');
        moved.emplace(to, file.read(path));
      }
      std::string head;
      parts.weights.clear();
      for (std::string_view part : hdf5_parts(moved, {}, head)) parts.weights += part;
      expect_same_model(parts.file(), data_file(name));
    }
}

TEST(KerasFiles, AFileOfAnotherFormatIsSaidToBeOne) {
  const std::string wanted = "expected a model in a file of Keras, ONNX or this library, got ";
  expect_refusal("", Code::corrupt_file, wanted + "an empty one");
  expect_refusal("  \n", Code::corrupt_file, wanted + "an empty one");
  expect_refusal("{\"version\": \"0.5.4\", \"architecture\": \"LSTM\"}", Code::corrupt_file, wanted + "JSON");
  expect_refusal("\n[1, 2]", Code::corrupt_file, wanted + "JSON");
  expect_refusal("weights of a net\n", Code::corrupt_file, wanted + "a text");
  expect_refusal(std::string("\x80\x02}q\0(X", 7), Code::corrupt_file, wanted + "one of another format");
  const auto model = loaded(data_file("sequential.keras"));
  try {
    load_weights(*model, Memory(std::as_bytes(std::span("some text", 9))), {}, true);
    ADD_FAILURE();
  } catch (const Error &e) {
    EXPECT_EQ(e.message, "expected weights in a file of Keras, safetensors or .npz, got a text");
  }
}

// The file is sound: what is wrong is that it is of another model.
TEST(KerasFiles, WeightsOfAnotherModelAreNoFaultOfTheFile) {
  const auto refusal = [](const std::string &file, const std::function<void(Json &)> &change) {
    Json config = Json::parse(Parts("sequential.keras").config);
    change(config["config"]["layers"]);
    auto g = std::make_shared<graph::Graph>(graph::Settings{});
    std::vector<graph::Node> in, out;
    g->merge(read_architecture(config), &in, &out);
    graph::Model model(std::move(g), std::move(in), std::move(out));
    try {
      load_weights(model, Memory(std::as_bytes(std::span(file))), {}, true);
    } catch (const Error &e) {
      return e;
    }
    return Error(Code::ok, "they were loaded");
  };
  const std::string ours = save_model(*loaded(data_file("sequential.keras")));
  for (const std::string &file :
       {data_file("sequential.keras"), data_file("sequential.weights.h5"), data_file("sequential.h5"), ours}) {
    const auto expect = [&](std::initializer_list<Code> codes, const char *layer, const auto &change) {
      const Error e = refusal(file, change);
      EXPECT_TRUE(std::find(codes.begin(), codes.end(), e.code) != codes.end())
          << static_cast<int>(e.code) << ": " << e.message;
      const std::pair<std::string, std::string> said{"layer", layer};
      EXPECT_TRUE(std::find(e.detail.begin(), e.detail.end(), said) != e.detail.end()) << e.message;
    };
    expect({Code::shape_mismatch}, "dense", [](Json &layers) { layers[4]["config"]["units"] = 3; });
    expect({Code::shape_mismatch}, "conv2d", [](Json &layers) { layers[1]["config"]["filters"] = 5; });
    expect({Code::not_found, Code::shape_mismatch}, "batch_normalization", [](Json &layers) {
      layers[2]["class_name"] = "LayerNormalization";
      layers[2]["config"] = {{"name", "batch_normalization"}, {"rms_scaling", false}};
    });
  }
  const auto without_bias = [](Json &layers) { layers[4]["config"]["use_bias"] = false; };
  EXPECT_EQ(refusal(data_file("sequential.keras"), without_bias).code, Code::shape_mismatch);
  EXPECT_EQ(refusal(data_file("sequential.h5"), without_bias).code, Code::shape_mismatch);
  const auto renamed = [](Json &layers) { layers[4]["config"]["name"] = "other"; };
  EXPECT_EQ(refusal(data_file("sequential.h5"), renamed).code, Code::not_found);
  EXPECT_EQ(refusal(data_file("sequential.keras"), renamed).code, Code::ok);  // there a layer is known by its class
  EXPECT_EQ(refusal(ours, renamed).code, Code::not_found);
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
