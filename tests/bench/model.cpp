// Builds a row's model, makes a session or a trainer of it, and runs it.
#include "model.hpp"

#include <chrono>
#include <random>
#include <stdexcept>

namespace bench {
namespace {

template <class T, class F, class... A>
Owned<T> make(F f, A... args) {
  T *out = nullptr;
  check(f(args..., &out));
  return Owned<T>(out);
}

std::string text(dl4_blob *given) {
  Owned<dl4_blob> blob(given);
  return {dl4_blob_data(blob.get()), static_cast<size_t>(dl4_blob_size(blob.get()))};
}

int64_t elements(const std::vector<int64_t> &shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// Last axis of the output of a row with one output: the width of its last layer.
int64_t last_units(const Row &row) {
  const std::string &a = row.layers.back().attributes;
  size_t at = a.find("\"units\": ");
  return at == std::string::npos ? 1 : std::stoll(a.substr(at + 9));
}

template <class T>
Owned<dl4_tensor> wrap(int32_t dtype, const std::vector<int64_t> &shape, const T &values) {
  return make<dl4_tensor>(dl4_tensor_wrap, nullptr, dtype, static_cast<int32_t>(shape.size()), shape.data(), nullptr,
                          const_cast<typename T::value_type *>(values.data()),
                          static_cast<int64_t>(values.size() * sizeof(typename T::value_type)), nullptr, nullptr);
}

Owned<dl4_model> build(const Row &row, dl4_context *context) {
  auto graph = make<dl4_graph>(dl4_graph_create, context);
  std::map<std::string, dl4_node> nodes;
  std::vector<dl4_node> in, out;
  for (const Input &i : row.inputs) {
    std::vector<int64_t> shape = i.shape;
    shape[0] = -1;
    dl4_node n;
    check(dl4_graph_add_input(graph.get(), i.name.c_str(), i.ids ? DL4_INT32 : DL4_FLOAT32,
                              static_cast<int32_t>(shape.size()), shape.data(), &n));
    in.push_back(nodes[i.name] = n);
  }
  for (const Layer &l : row.layers) {
    std::vector<dl4_node> from;
    for (const std::string &name : l.inputs) from.push_back(nodes.at(name));
    Owned<dl4_refs> call;
    const bool stateful = l.kind == "LSTM" && from.size() > 1;
    if (stateful || l.kind == "RNN") {
      call = make<dl4_refs>(dl4_refs_create);
      check(dl4_refs_set_nodes(call.get(), stateful ? "initial_state" : "constants", from.data() + 1,
                               static_cast<int64_t>(from.size()) - 1));
      from.resize(1);
    }
    dl4_node n[3];
    check(dl4_graph_add(graph.get(), l.kind.c_str(), l.name.c_str(), l.attributes.c_str(), nullptr, call.get(),
                        from.data(), static_cast<int64_t>(from.size()), n, stateful ? 3 : 1));
    nodes[l.name] = n[0];
    if (stateful) nodes[l.name + "/h"] = n[1], nodes[l.name + "/c"] = n[2];
  }
  for (const std::string &name : row.outputs) out.push_back(nodes.at(name));
  return make<dl4_model>(dl4_graph_build, graph.get(), in.data(), static_cast<int64_t>(in.size()), out.data(),
                         static_cast<int64_t>(out.size()));
}

}  // namespace

void check(dl4_error *e) {
  if (!e) return;
  std::string message = dl4_error_message(e);
  dl4_release(e);
  throw std::runtime_error(message);
}

Data::Data(const Row &row) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const Input &i : row.inputs) {
    inputs.emplace_back();
    ids.emplace_back();
    for (int64_t n = elements(i.shape); n > 0; --n) {
      if (i.ids)
        ids.back().push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(i.ids)));
      else
        inputs.back().push_back(uniform(random));
    }
  }
  int64_t samples = row.inputs[0].shape[0], units = last_units(row);
  for (int64_t i = 0; i < samples; ++i) labels.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(units)));
  for (int64_t i = 0; i < samples * units; ++i) targets.push_back(uniform(random));
}

Model::Model(const Row &row, const Data &data, int threads, bool training, std::string_view file) {
  outputs_ = row.outputs.size();
  context_ = make<dl4_context>(dl4_context_create, ("{\"threads\": " + std::to_string(threads) + "}").c_str());
  if (file.empty())
    model_ = build(row, context_.get());
  else
    model_ = make<dl4_model>(dl4_model_load_bytes, context_.get(),
                             wrap(DL4_UINT8, {static_cast<int64_t>(file.size())}, file).get(), nullptr);
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    const Input &in = row.inputs[i];
    tensors_.push_back(in.ids ? wrap(DL4_INT32, in.shape, data.ids[i]) : wrap(DL4_FLOAT32, in.shape, data.inputs[i]));
    in_.push_back(tensors_.back().get());
  }
  auto start = std::chrono::steady_clock::now();
  auto spent = [&start] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  if (!training) {
    session_ = make<dl4_session>(dl4_session_create, model_.get(), nullptr);
    creation_ = spent();
    return;
  }
  const std::vector<int64_t> target = target_shape(row);
  tensors_.push_back(target.size() == 1 ? wrap(DL4_INT32, target, data.labels)
                                        : wrap(DL4_FLOAT32, target, data.targets));
  target_.push_back(tensors_.back().get());
  std::string how = R"({"optimizer": ")" + row.training.optimizer + R"(", "loss": ")" + row.training.loss + "\"}";
  start = std::chrono::steady_clock::now();
  trainer_ = make<dl4_trainer>(dl4_trainer_create, model_.get(), how.c_str());
  creation_ = spent();
}

void Model::save(const std::string &path) const { check(dl4_model_save(model_.get(), path.c_str(), nullptr)); }

Weights Model::weights() const {
  Weights all;
  for (int64_t i = 0; i < dl4_port_count(model_.get(), DL4_WEIGHTS); ++i) {
    const char *name = dl4_port_name(model_.get(), DL4_WEIGHTS, i);
    auto w = make<dl4_tensor>(dl4_model_get_weight, model_.get(), name);
    auto *dims = dl4_tensor_dims(w.get());
    auto *values = static_cast<const float *>(dl4_tensor_data(w.get()));
    all[name] = {{dims, dims + dl4_tensor_rank(w.get())}, {values, values + dl4_tensor_bytes(w.get()) / 4}};
  }
  return all;
}

void Model::run() {
  if (out_.empty())
    out_ = new_outputs();
  else
    run(out_);
}

void Model::run(std::vector<dl4_tensor *> &out) {
  check(dl4_session_run(session_.get(), in_.data(), static_cast<int64_t>(in_.size()), out.data(),
                        static_cast<int64_t>(out.size()), nullptr));
}

std::vector<dl4_tensor *> Model::new_outputs() {
  std::vector<dl4_tensor *> out(outputs_);
  run(out);
  for (dl4_tensor *t : out) tensors_.emplace_back(t);
  return out;
}

double Model::step() {
  double loss = 0;
  check(dl4_trainer_step(trainer_.get(), in_.data(), static_cast<int64_t>(in_.size()), target_.data(), 1, nullptr, 0,
                         &loss, 1, nullptr));
  return loss;
}

std::span<const float> Model::output(size_t i) const {
  return {static_cast<const float *>(dl4_tensor_data(out_[i])), static_cast<size_t>(dl4_tensor_bytes(out_[i]) / 4)};
}

std::string Model::describe() const {
  dl4_blob *blob = nullptr;
  const void *object = session_ ? static_cast<const void *>(session_.get()) : trainer_.get();
  check(dl4_describe(object, DL4_FORMAT_TEXT, &blob));
  return text(blob);
}

int64_t Model::arena_bytes() const {
  const std::string s = describe(), before = ": arena ";
  size_t at = s.find(before);
  return at == std::string::npos ? -1 : std::stoll(s.substr(at + before.size()));
}

std::vector<int64_t> target_shape(const Row &row) {
  int64_t samples = row.inputs[0].shape[0];
  if (row.training.loss.starts_with("sparse")) return {samples};
  return {samples, last_units(row)};
}

std::string build_info() {
  dl4_blob *blob = nullptr;
  check(dl4_build_info(&blob));
  return text(blob);
}

}  // namespace bench
