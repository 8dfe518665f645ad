// One complete program in C++: a handle of six lines makes every object of dl4.h its own owner, errors are exceptions.
#include <dl4/dl4.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

struct Release {
  void operator()(void *object) const { dl4_release(object); }
};
template <class T>
using Handle = std::unique_ptr<T, Release>;

static void check(dl4_error *error) {
  if (const Handle<dl4_error> e{error}) throw std::runtime_error(dl4_error_message(e.get()));
}

// make<dl4_model>(dl4_graph_build, g, ...): the last parameter of the function is what comes out.
template <class T, class F, class... A>
static Handle<T> make(F function, A... arguments) {
  T *out = nullptr;
  check(function(arguments..., &out));
  return Handle<T>(out);
}

static Handle<dl4_attrs> attrs(const std::string &json) {
  auto a = make<dl4_attrs>(dl4_attrs_create);
  check(dl4_attrs_merge_json(a.get(), json.c_str()));
  return a;
}

static dl4_node dense(dl4_graph *g, dl4_node x, const std::string &json) {
  dl4_node y;
  check(dl4_graph_add(g, "Dense", nullptr, attrs(json).get(), nullptr, &x, 1, &y, 1));
  return y;
}

static bool learn() {
  std::array<float, 8> cases = {0, 0, 0, 1, 1, 0, 1, 1};
  std::array<float, 4> answers = {0, 1, 1, 0};
  const std::array<int64_t, 2> any = {-1, 2}, x_dims = {4, 2}, y_dims = {4, 1};

  const auto g = make<dl4_graph>(dl4_graph_create, nullptr);
  dl4_node in;
  check(dl4_graph_input(g.get(), "x", DL4_FLOAT32, 2, any.data(), &in));
  const dl4_node hidden = dense(g.get(), in, R"({"units": 8, "activation": "tanh"})");
  const dl4_node out = dense(g.get(), hidden, R"({"units": 1, "activation": "sigmoid"})");
  const auto model = make<dl4_model>(dl4_graph_build, g.get(), &in, 1, &out, 1);

  const auto x = make<dl4_tensor>(dl4_tensor_wrap, nullptr, DL4_FLOAT32, 2, x_dims.data(), nullptr, cases.data(),
                                  sizeof cases, nullptr, nullptr);
  const auto y = make<dl4_tensor>(dl4_tensor_wrap, nullptr, DL4_FLOAT32, 2, y_dims.data(), nullptr, answers.data(),
                                  sizeof answers, nullptr, nullptr);
  dl4_tensor *xs = x.get(), *ys = y.get();
  const auto data = make<dl4_dataset>(dl4_dataset_from_tensors, nullptr, &xs, 1, &ys, 1, nullptr, 0, nullptr);
  const auto trainer = make<dl4_trainer>(
      dl4_trainer_create, model.get(),
      attrs(R"({"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.05}},
                "loss": "BinaryCrossentropy"})").get());
  check(dl4_trainer_fit(trainer.get(), data.get(), nullptr, attrs(R"({"epochs": 300})").get(), nullptr, nullptr,
                        nullptr, nullptr));

  const auto session = make<dl4_session>(dl4_session_create, model.get(), nullptr);
  dl4_tensor *result = nullptr;
  check(dl4_session_run(session.get(), &xs, 1, &result, 1, nullptr));
  const Handle<dl4_tensor> owned(result);
  const auto *p = static_cast<const float *>(dl4_tensor_data(result));
  bool right = true;
  for (size_t i = 0; i < 4; ++i) {
    std::printf("%g xor %g = %.3f\n", cases[2 * i], cases[2 * i + 1], p[i]);
    right = right && (p[i] > 0.5f) == (answers[i] > 0.5f);
  }
  return right;
}

int main() {
  try {
    return learn() ? 0 : 1;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "xor: %s\n", e.what());
    return 1;
  }
}
