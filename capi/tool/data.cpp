#include "data.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dl4::tool {
namespace {

// A kind as JSON.
Json kind(const std::string &told) {
  if (!told.starts_with('{')) return told == "null" ? Json(nullptr) : Json(told);
  Json j = Json::parse(told, nullptr, false);
  if (j.is_discarded()) throw Refusal(usage, "expected a name or a JSON object, got " + told.substr(0, 100));
  return j;
}

Json kinds(const std::vector<std::string> &told) {
  Json list = Json::array();
  for (const std::string &one : told) list.push_back(kind(one));
  return list;
}

// Has output i a target?
bool has_target(const Objective &how, size_t i) {
  if (how.losses.empty()) return true;
  const std::string &loss = how.losses[how.losses.size() == 1 ? 0 : std::min(i, how.losses.size() - 1)];
  return loss != "output" && loss != "null";
}

// The array of one of the names; the first that is there.
Tensor array_in(const std::string &path, const std::vector<std::string> &names, bool needed) {
  for (const std::string &name : names) {
    dl4_tensor *t = nullptr;
    dl4_error *e = dl4_tensor_load(nullptr, path.c_str(), name.c_str(), &t);
    const bool other = dl4_error_code(e) == DL4_NOT_FOUND && (&name != &names.back() || !needed);
    if (!other) dl4::check(e);
    if (t) return Tensor(t);
    dl4_release(e);
  }
  return {};
}

// Targets and weights: floats are those of 32 bits.
Tensor single(const Tensor &t, const std::string &path) {
  return t && dl4_tensor_dtype(t) == DL4_FLOAT64 ? converted(t, DL4_FLOAT32, 1, path) : t;
}

Arrays read_npz(const std::string &path, const std::vector<Slot> &in, const std::vector<Slot> &out,
                const Objective &how) {
  Arrays all;
  for (const Slot &s : in) {
    std::vector<std::string> names{s.name};
    if (in.size() == 1) names.emplace_back("x");
    all.x.push_back(converted(array_in(path, names, true), s.dtype, how.scale, path));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!has_target(how, i)) continue;
    std::vector<std::string> names{out[i].name};
    if (out.size() == 1) names.emplace_back("y");
    all.y.push_back(single(array_in(path, names, true), path));
  }
  const auto is_slot = [](const Slot &s) { return s.name == "w"; };
  if (std::any_of(in.begin(), in.end(), is_slot) || std::any_of(out.begin(), out.end(), is_slot)) return all;
  if (const Tensor w = array_in(path, {"w"}, false)) {
    if (all.y.size() != 1)
      throw Refusal(refused, '"' + path + "\": \"w\" weighs the samples of one target, the model has " +
                                 std::to_string(all.y.size()));
    all.w.push_back(single(w, path));
  }
  return all;
}

// Each input is the column of its name, each target that of its output or of --target.
Arrays read_named(const std::string &path, const std::vector<Slot> &in, const std::vector<Slot> &out,
                  const Objective &how) {
  const Columns table = read_columns(path, how.columns);
  Arrays all;
  for (const Slot &s : in) all.x.push_back(column_of(table, s.name, s, how.scale));
  if (how.target_columns.size() > out.size())
    throw Refusal(usage, "the model has " + std::to_string(out.size()) + " outputs, got " +
                             std::to_string(how.target_columns.size()) + " names by --target");
  for (size_t i = 0; i < out.size(); ++i)
    if (has_target(how, i))
      all.y.push_back(column_of(table, i < how.target_columns.size() ? how.target_columns[i] : out[i].name,
                                {out[i].name, DL4_FLOAT32, {-1, 1}}, 1));
  return all;
}

Arrays read_table(const std::string &path, const std::vector<Slot> &in, const std::vector<Slot> &out,
                  const Objective &how) {
  const auto takes_strings = [](const Slot &s) { return s.dtype == DL4_STRING; };
  if (!how.columns.empty() || !how.target_columns.empty() || in.size() != 1 ||
      std::any_of(in.begin(), in.end(), takes_strings))
    return read_named(path, in, out, how);
  if (out.size() != 1)
    throw Refusal(refused, '"' + path + "\": a .csv file is for one output, the model has " +
                               std::to_string(out.size()) + "; name a column for each by --target");
  const Csv csv = read_csv(path);
  const int64_t targets = has_target(how, 0) ? how.targets : 0, rest = csv.columns - targets;
  if (rest < 1)
    throw Refusal(refused, '"' + path + "\": " + std::to_string(csv.columns) + " columns leave none for the input");
  Arrays all;
  all.x.push_back(converted(columns_of(csv, 0, rest, in[0].dims, path), in[0].dtype, how.scale, path));
  if (targets) all.y.push_back(single(columns_of(csv, rest, targets, {-1, targets}, path), path));
  return all;
}

}  // namespace

std::vector<Option> Objective::options() {
  return {
      {"--loss", "KIND", "a loss for each output, or \"output\"; default: that of a model compiled in Keras", &losses},
      {"--metric", "KIND", "a metric, as accuracy; once for each", &metrics},
      {"--target", "NAME", "the column of a .csv file that is the target of an output, in their order",
       &target_columns},
      {"--columns", "NAMES", columns_help, &columns},
      {"--targets", "N", "last columns of a .csv file that are targets; default 1", &targets},
      {"--scale", "S", "what the inputs' numbers are multiplied by; default 1", &scale},
      {"--batch-size", "N", "samples of a step; default 32", &batch}};
}

Trainer Objective::trainer(const Model &m, const char *default_optimizer) const {
  if (losses.empty()) {
    if (!metrics.empty() || !optimizer.empty())
      throw Refusal(usage, "--metric and --optimizer need --loss: what a model was compiled with is taken whole");
    try {
      return Trainer(m);
    } catch (const Error &error) {
      if (error.code != DL4_INVALID_ARGUMENT) throw;
      throw Refusal(usage, "the model was not compiled in Keras: say its --loss");
    }
  }
  Json options{{"optimizer", optimizer.empty() ? Json(default_optimizer) : kind(optimizer)},
               {"loss", losses.size() == 1 ? kind(losses[0]) : kinds(losses)}};
  if (!metrics.empty()) options["metrics"] = kinds(metrics);
  return {m, Attrs::json(options.dump())};
}

Arrays read_data(const std::string &path, const Model &m, const Objective &how) {
  const std::vector<Slot> in = slots(m, DL4_INPUTS), out = slots(m, DL4_OUTPUTS);
  if (!how.columns.empty() && !ends_with(path, ".csv"))
    throw Refusal(usage, '"' + path + "\": --columns names the columns of a .csv file");
  if (ends_with(path, ".npz")) return read_npz(path, in, out, how);
  if (ends_with(path, ".csv")) return read_table(path, in, out, how);
  throw Refusal(usage, '"' + path + "\": data are a .npz or .csv file");
}

std::vector<std::string> metrics_of(const Trainer &t) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < dl4_port_count(t, DL4_METRICS); ++i) names.emplace_back(dl4_port_name(t, DL4_METRICS, i));
  return names;
}

}  // namespace dl4::tool
