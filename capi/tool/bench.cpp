// dl4 bench, gradcheck.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "models.hpp"
#include "system.hpp"

namespace dl4::tool {
namespace {

struct BenchOptions {
  std::string file, weights = "float32";
  int64_t batch = 1, other = 16, runs = 0;
  bool explain = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Of each run, in ascending order: as many as told, else as fit into two seconds, at least five.
std::vector<double> times_of(const Session &session, const Tensors &in, int64_t runs) {
  const Tensors out = session.run(in);  // plans
  std::vector<double> times;
  const auto start = std::chrono::steady_clock::now();
  while (runs ? times.size() < static_cast<size_t>(runs) : times.size() < 5 || seconds_since(start) < 2) {
    const auto begin = std::chrono::steady_clock::now();
    session.run(in, out);
    times.push_back(seconds_since(begin));
  }
  std::sort(times.begin(), times.end());
  return times;
}

struct LayerTime {
  std::string layer, kernels;
  double seconds = 0;  // of a run
};

// Of runs with a clock in each step, which cost a little themselves; in the order of the layers.
std::vector<LayerTime> layers_of(const Json &plan) {
  std::vector<LayerTime> all;
  std::map<std::string, size_t> known;
  for (const Json &step : plan.at("steps")) {
    const auto layer = step.at("layer").get<std::string>(), kernel = step.at("kernel").get<std::string>();
    const auto [at, fresh] = known.emplace(layer, all.size());
    if (fresh) all.push_back({layer, "", 0});
    LayerTime &l = all[at->second];
    if ((", " + l.kernels + ",").find(", " + kernel + ",") == std::string::npos)
      l.kernels += (l.kernels.empty() ? "" : ", ") + kernel;
    const double n = step.at("runs").get<double>();
    if (n > 0) l.seconds += step.at("nanoseconds").get<double>() / n * 1e-9;
  }
  return all;
}

// Each step with the time that its kernel was estimated to take in one thread, what it took, and the runner-up. Steps
// whose op has one kernel have no estimate.
Json steps_of(const Json &plan) {
  Json all = Json::array();
  for (const Json &step : plan.at("steps")) {
    const double n = step.at("runs").get<double>();
    Json one{{"layer", step.at("layer")},
             {"kernel", step.at("kernel")},
             {"slices", step.at("slices")},
             {"microseconds", n > 0 ? step.at("nanoseconds").get<double>() / n * 1e-3 : 0}};
    one["candidates"] = step.value("candidates", Json::array());
    all.push_back(std::move(one));
  }
  return all;
}

std::string table_of(const Json &steps) {
  std::vector<std::vector<std::string>> rows{{"step", "kernel", "slices", "us", "estimate", "runner-up", "estimate"}};
  for (const Json &s : steps) {
    const auto layer = s.at("layer").get<std::string>();
    const Json &candidates = s.at("candidates");
    std::vector<std::string> row{layer.empty() ? "-" : layer, s.at("kernel").get<std::string>(),
                                 std::to_string(s.at("slices").get<int64_t>()),
                                 number(s.at("microseconds").get<double>())};
    const auto estimate = [&](size_t i) { return number(candidates[i].at("microseconds").get<double>()); };
    row.push_back(candidates.empty() ? "-" : estimate(0));
    row.push_back(candidates.size() < 2 ? "-" : candidates[1].at("kernel").get<std::string>());
    row.push_back(candidates.size() < 2 ? "-" : estimate(1));
    rows.push_back(std::move(row));
  }
  return table(rows);
}

Exit bench(const Common &common, const BenchOptions &o) {
  const Model m = open_model(common, o.file);
  const Tensors in = random_inputs(m, o.batch, o.other, common.seed);
  const std::vector<double> times = times_of(Session(m, Attrs{{"weights", o.weights}}), in, o.runs);
  const Session profiled(m, Attrs{{"profile", true}, {"weights", o.weights}});
  const Tensors out = profiled.run(in);
  for (size_t i = 0; i < std::clamp<size_t>(times.size() / 2, 5, 100); ++i) profiled.run(in, out);
  const Json said = Json::parse(profiled.describe(DL4_FORMAT_JSON)), plan = said.at("plans").at(0);
  int64_t weight_bytes = 0;
  for (const Weight &w : weights(m, architecture(m))) weight_bytes += 4 * elements(w.dims);
  const int64_t threads = Json::parse(common.context().describe(DL4_FORMAT_JSON)).at("threads").get<int64_t>();
  const double median = times[times.size() / 2];
  Json inputs = Json::array(), layers = Json::array();
  std::string heading = o.file + ":";
  for (const Tensor &t : in) {
    inputs.push_back(t.dims());
    heading += ' ' + shape(t.dims());
  }
  std::vector<std::vector<std::string>> rows{{"layer", "ms", "%", "kernels"}};
  double sum = 0;
  const std::vector<LayerTime> by_layer = layers_of(plan);
  for (const LayerTime &l : by_layer) sum += l.seconds;
  for (const LayerTime &l : by_layer) {
    layers.push_back({{"layer", l.layer}, {"seconds", l.seconds}, {"kernels", l.kernels}});
    rows.push_back({l.layer.empty() ? "-" : l.layer, number(l.seconds * 1e3),
                    number(sum > 0 ? 100 * l.seconds / sum : 0), l.kernels});
  }
  if (common.json) {
    Json found{
        {"file", o.file},
        {"inputs", inputs},
        {"threads", threads},
        {"runs", times.size()},
        {"seconds", {{"median", median}, {"least", times[0]}, {"most", times.back()}}},
        {"memory",
         {{"weights", weight_bytes}, {"working", plan.at("arena_bytes")}, {"peak_of_process", os::peak_memory()}}},
        {"layers", layers}};
    if (o.explain) found["steps"] = steps_of(plan);
    print(found);
    return done;
  }
  print(heading + ", " + std::to_string(threads) + " threads, " + std::to_string(times.size()) + " runs\n" + "median " +
        number(median * 1e3) + " ms, least " + number(times[0] * 1e3) + ", most " + number(times.back() * 1e3) + "; " +
        number(static_cast<double>(o.batch) / median) + " samples a second\n" + "weights " + size(weight_bytes) +
        ", working memory " + size(plan.at("arena_bytes").get<int64_t>()) + ", peak of the process " +
        size(os::peak_memory()) + "\n\n" + (o.explain ? table_of(steps_of(plan)) : table(rows)));
  return done;
}

}  // namespace

Command bench_command(const Common &common) {
  auto o = std::make_shared<BenchOptions>();
  return {"bench",
          "time of a run and of each layer, threads and memory, on random inputs",
          {{"FILE", "FILE", "a model", &o->file, true},
           {"--batch-size", "N", "samples of a run; default 1", &o->batch},
           {"--free", "N", "elements of other free axes, as the steps of a sequence; default 16", &o->other},
           {"--weights", "TYPE", weights_help, &o->weights},
           {"--runs", "N", "default: two seconds, at least five runs", &o->runs},
           {"--explain", "", "each step: microseconds, the estimates its kernel was chosen by", &o->explain}},
          [=, &common] { return bench(common, *o); }};
}

namespace {

struct Checking {
  std::string file;
  int64_t batch = 2, other = 4, samples = 20;
  double tolerance = 0.01;
  bool training = false;
};

Exit gradcheck(const Common &common, const Checking &o) {
  const Model m = open_model(common, o.file);
  const Tensors in = random_inputs(m, o.batch, o.other, common.seed);
  const auto list = handles(in);
  const Json found =
      Json::parse(text(dl4_model_check_gradients, m.get(), list.data(), static_cast<int64_t>(list.size()),
                       Attrs{{"samples", o.samples}, {"training", o.training}, {"seed", common.seed}}.c_str()));
  Json all = Json::array();
  bool good = true;
  std::vector<std::vector<std::string>> rows{{"input or weight", "checked", "largest", "error", "good"}};
  for (const auto &[name, one] : found.items()) {
    const double largest = one.at("largest_gradient").get<double>(), error = one.at("error").get<double>();
    const bool fits = error <= o.tolerance * std::max(largest, 1e-3);
    good = good && fits;
    Json row{{"name", name}, {"good", fits}};
    row.update(one);
    all.push_back(std::move(row));
    rows.push_back(
        {name, std::to_string(one.at("checked").get<int64_t>()), number(largest), number(error), fits ? "yes" : "NO"});
  }
  if (common.json)
    print(Json{{"file", o.file}, {"good", good}, {"gradients", std::move(all)}});
  else
    print(table(rows));
  return good ? done : no;
}

}  // namespace

Command gradcheck_command(const Common &common) {
  auto o = std::make_shared<Checking>();
  return {"gradcheck",
          "gradients of a model against differences of its outputs; ends with 1 if they differ",
          {{"FILE", "FILE", "a model, or an architecture in JSON", &o->file, true},
           {"--batch-size", "N", "samples; default 2", &o->batch},
           {"--free", "N", "elements of other free axes; default 4", &o->other},
           {"--samples", "N", "elements of each input and weight that are moved; default 20", &o->samples},
           {"--tolerance", "T", "largest error, by the largest gradient; default 0.01", &o->tolerance},
           {"--training", "", "run as a training step does", &o->training}},
          [=, &common] { return gradcheck(common, *o); }};
}

}  // namespace dl4::tool
