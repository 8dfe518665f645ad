// dl4 check.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "models.hpp"
#include "system.hpp"

namespace dl4::tool {
namespace {

// What the first bytes of a file say that it is, `unknown` if they say nothing, as ONNX's; what it says within is
// looked at by loading it.
constexpr const char *unknown = "none of Keras, ONNX, dl4, safetensors, NumPy";
std::string kind_of(const std::string &path) {
  const std::unique_ptr<FILE, int (*)(FILE *)> file(os::open(path, false), std::fclose);
  if (!file) throw Refusal(files, "cannot open \"" + path + "\": " + std::strerror(errno));
  std::string first(65536, '\0');
  first.resize(std::fread(first.data(), 1, first.size(), file.get()));
  if (std::ferror(file.get())) throw Refusal(files, "cannot read \"" + path + "\": " + std::strerror(errno));
  const auto says = [&](const char *word) { return first.find(word) != first.npos; };
  if (first.starts_with("PK\x03\x04")) return says(".npy") && !says("config.json") ? "NumPy, .npz" : "Keras, .keras";
  if (first.starts_with("\x89HDF\r\n\x1a\n"))
    return ends_with(path, ".weights.h5") ? "Keras, .weights.h5" : "Keras, .h5";
  if (first.starts_with("\x93NUMPY")) return "NumPy, .npy";
  if (first.size() > 8 && first[8] == '{')
    return says("\"dl4-model\"")        ? "dl4 model"
           : says("\"dl4-checkpoint\"") ? "dl4 checkpoint of a trainer"
                                        : "safetensors";
  if (ends_with(path, ".json")) return "architecture in JSON";
  return ends_with(path, ".onnx") ? "ONNX" : unknown;
}

// Weights that hold NaN or infinity.
Json broken_weights(const Model &m) {
  Json list = Json::array();
  for (const std::string &name : m.weight_names()) {
    const Tensor w = m.weight(name);
    const auto values = w.data();
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) list.push_back(name);
  }
  return list;
}

// What was found; with its inputs and outputs as lines where it loads.
struct Findings {
  Json report;
  std::string slots;
  bool good = false;
};

Findings look_at(const Common &common, const std::string &file) {
  Findings found{{{"file", file}, {"kind", kind_of(file)}}, "", false};
  Json &report = found.report;
  try {
    const Model m = open_model(common, file);
    std::map<std::string, int64_t> kinds;
    const Json all = architecture(m);
    for (const Json &l : all.at("layers")) ++kinds[l.at("class_name").get<std::string>()];
    report["loads"] = true;
    if (report.at("kind") == unknown) report["kind"] = "ONNX";
    report["inputs"] = json_of(slots(m, DL4_INPUTS));
    report["outputs"] = json_of(slots(m, DL4_OUTPUTS));
    report["layers"] = kinds;
    report["not_finite"] = broken_weights(m);
    found.slots = slot_lines(m);
    found.good = report["not_finite"].empty();
  } catch (const Error &error) {
    if (error.code == DL4_NOT_FOUND || error.code == DL4_IO) throw;
    report["loads"] = false;
    report["why"] = error.what();
    report["detail"] = Json::parse(error.detail);
  }
  return found;
}

std::string text_of(const Findings &found) {
  const Json &report = found.report;
  std::string text = report.at("file").get<std::string>() + ": " + report.at("kind").get<std::string>() + '\n';
  if (!report.at("loads").get<bool>()) return text + "does not load: " + report.at("why").get<std::string>() + '\n';
  text += "loads\n" + found.slots;
  for (const auto &[kind, n] : report.at("layers").items()) text += "layers " + kind + ": " + n.dump() + '\n';
  for (const Json &name : report.at("not_finite"))
    text += "weight " + name.get<std::string>() + " holds NaN or infinity\n";
  return text;
}

}  // namespace

Command check_command(const Common &common) {
  auto file = std::make_shared<std::string>();
  return {"check",
          "what a file is, whether it loads, and what of it is not supported; ends with 1 if it can't be used",
          {{"FILE", "FILE", "any file", file.get(), true}},
          [=, &common] {
            const Findings found = look_at(common, *file);
            if (common.json)
              print(found.report);
            else
              print(text_of(found));
            return found.good ? done : no;
          }};
}

}  // namespace dl4::tool
