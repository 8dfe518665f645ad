#include "train/measure.hpp"

#include <algorithm>

#include "graph/lower.hpp"
#include "kinds/metric.hpp"

namespace dl4::train {
namespace {

constexpr const char *names[] = {"y_true", "y_pred", "w"};
using Given = std::span<const runtime::View>;

std::vector<Tensor> run(const runtime::Options &how, ops::Program program, Given given) {
  std::vector<runtime::View> to;
  auto session = runtime::Executable::make(std::move(program), {}, std::make_shared<plan::Packs>(), how);
  std::vector<Tensor> made;
  int64_t bytes = 0;
  for (const ops::Operand &o : session->outputs(given)) {
    bytes = checked_add(bytes, checked_mul(o.shape.elements(), size_of(o.dtype)));
    session->need_room(bytes);
    made.push_back(how.memory->tensor(o.dtype, o.shape));
    to.push_back({o.dtype, o.shape, made.back().data.get(), nullptr});
  }
  session->run(given, to);
  return made;
}

Tensor loss(const graph::Settings &settings, const runtime::Options &how, const std::string &name, const Json &of,
            Given given) {
  auto graph = std::make_shared<graph::Graph>(settings);
  std::vector<graph::Node> in;
  for (size_t i = 0; i < given.size(); ++i) in.push_back(graph->input(names[i], given[i].dtype, given[i].shape));
  std::vector<graph::Node> value = graph->add("Loss", name, {{"loss", of}}, {}, in, 1);
  graph::Model model(graph, in, {value[0]});
  return run(how, graph::inference(model).program, given)[0];
}

Tensor metric(const runtime::Options &how, const Json &of, Given given) {
  const kinds::Of<kinds::Metric> kind = kinds::metric_for(of);
  ops::Program program;
  ops::Emit e(program);
  std::vector<ops::Id> in;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].dtype == DType::f64)
      fail(Code::unsupported, names[i], ": expected float32, integers or flags, got float64");
    in.push_back(e.input(names[i], given[i].dtype, given[i].shape));
  }
  for (ops::Id sum : kind->sums(e, in[0], in[1], in.size() > 2 ? in[2] : ops::none, ops::none)) e.output(sum);
  const kinds::Metric::Size size = kind->size(given[1].shape);
  std::vector<double> sums, results(static_cast<size_t>(size.results));
  for (const Tensor &part : run(how, std::move(program), given))
    for (int64_t i = 0; i < part.elements(); ++i) sums.push_back(static_cast<double>(part.as<float>()[i]));
  kind->result(sums, results);
  Tensor made = how.memory->tensor(DType::f32, size.results == 1 ? Shape() : Shape{size.results});
  std::transform(results.begin(), results.end(), made.as<float>(), [](double v) { return static_cast<float>(v); });
  return made;
}

}  // namespace

Tensor measure(const std::string &category, const std::string &kind, const Json &config,
               std::span<const runtime::View> given, const graph::Settings &settings, const runtime::Options &how) {
  // Words that are not names of kinds, such as "accuracy", are resolved as by a trainer.
  const auto &kinds = kinds::entries(category);
  const bool is_kind = std::any_of(kinds.begin(), kinds.end(), [&](const auto *e) { return e->name == kind; });
  Json of = kind;
  if (is_kind || !config.empty()) of = {{"class_name", kind}, {"config", config}};
  return category == "loss" ? loss(settings, how, kind, of, given) : metric(how, of, given);
}

}  // namespace dl4::train
