// dl4 summary, plot.
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "models.hpp"
#include "system.hpp"

namespace dl4::tool {
namespace {

Json summary_of(const std::string &file, const Model &m) {
  const Json all = architecture(m);
  std::map<std::string, Json> by_layer;
  std::map<std::string, int64_t> parameters;
  int64_t trainable = 0, total = 0;
  for (const Weight &w : weights(m, all)) {
    by_layer[w.layer].push_back({{"name", w.name}, {"shape", json_shape(w.dims)}, {"trainable", w.trainable}});
    parameters[w.layer] += elements(w.dims);
    total += elements(w.dims);
    if (w.trainable) trainable += elements(w.dims);
  }
  Json layers = Json::array();
  for (const Json &l : all.at("layers")) {
    const auto name = l.at("name").get<std::string>();
    layers.push_back({{"name", name},
                      {"class_name", l.at("class_name")},
                      {"parameters", parameters[name]},
                      {"weights", by_layer.count(name) ? by_layer[name] : Json::array()},
                      {"config", l.at("config")}});
  }
  return {{"file", file},
          {"inputs", json_of(slots(m, DL4_INPUTS))},
          {"outputs", json_of(slots(m, DL4_OUTPUTS))},
          {"parameters", total},
          {"trainable", trainable},
          {"layers", std::move(layers)}};
}

}  // namespace

Command summary_command(const Common &common) {
  auto file = std::make_shared<std::string>();
  return {"summary",
          "the layers of a model, their shapes and numbers of parameters",
          {{"FILE", "FILE", "a model", file.get(), true}},
          [=, &common] {
            const Model m = open_model(common, *file, false);
            if (common.json)
              print(summary_of(*file, m));
            else
              print(m.describe(DL4_FORMAT_TEXT) + slot_lines(m));
            return done;
          }};
}

namespace {

// Draws with Graphviz; false where it is not there.
bool draw(const std::string &dot, const std::string &format, const std::string &out) {
  const std::optional<int> status = os::run({"dot", "-T" + format, "-o", out}, dot);
  if (!status) return false;
  if (*status != 0) throw Refusal(files, "Graphviz could not draw \"" + out + '"');
  return true;
}

}  // namespace

Command plot_command(const Common &common) {
  struct SummaryOptions {
    std::string file, out;
  };
  auto o = std::make_shared<SummaryOptions>();
  return {"plot",
          "a drawing of a model: by Graphviz, if it is there, else its source in DOT",
          {{"FILE", "FILE", "a model", &o->file, true},
           {"-o,--output", "FILE", "net.svg, .png, .pdf or .dot; without it DOT goes to standard output", &o->out}},
          [=, &common] {
            const std::string dot = open_model(common, o->file, false).describe(DL4_FORMAT_DOT);
            std::string written = o->out;
            if (written.empty()) {
              if (common.json)
                print(Json{{"file", o->file}, {"dot", dot}});
              else
                print(dot);
              return done;
            }
            const size_t point = written.rfind('.');
            const std::string format = point == written.npos ? "" : written.substr(point + 1);
            if (format != "svg" && format != "png" && format != "pdf" && format != "dot")
              throw Refusal(usage, '"' + written + "\": a drawing is a .svg, .png, .pdf or .dot file");
            if (format != "dot" && !draw(dot, format, written)) {
              written = written.substr(0, point) + ".dot";
              std::fprintf(stderr, "dl4: Graphviz is not installed; its source goes to \"%s\"\n",
                           printable(written).c_str());
            }
            if (ends_with(written, ".dot")) write_text(written, dot);
            if (common.json) print(Json{{"file", o->file}, {"written", written}});
            return done;
          }};
}

}  // namespace dl4::tool
