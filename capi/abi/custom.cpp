// User-defined kinds: host functions as ops.
#include "kinds/custom.hpp"

#include <algorithm>

#include "options.hpp"

namespace dl4::capi {
namespace {

struct CustomOptions {
  std::string doc;
  int64_t outputs = 1;
  std::vector<std::string> weights;
  enum class Direction { up, down, unknown };
  Direction direction = Direction::unknown;
  void fields(kinds::Fields &f) {
    f("doc", doc, "what the kind does, for readers of the registry");
    f("outputs", outputs, "outputs of a layer").within(1, max_outputs);
    f("weights", weights, "names of a layer's weights");
    f("direction", direction, {"up", "down"},
      "whether a greater value of a metric is a better one, for callbacks of mode \"auto\"; null: it can't be "
      "told")
        .null_means(Direction::unknown);
  }
  static constexpr int64_t max_outputs = 64;
};

struct Functions {
  std::string name;
  size_t outputs, weights;
  dl4_shape_fn shape;
  dl4_forward_fn forward;
  dl4_backward_fn backward;
  Release release;
};

// Tensor handles over the memory of a run.
struct Handles final : kernels::Bound {
  explicit Handles(size_t n_src) : n_src(n_src) {}
  // Adds a handle for the kernel's next argument; without an argument it stays null.
  void add(const ops::Operand &o, bool read_only, bool has_argument = true) {
    tensors.push_back(Ref<dl4_tensor>::adopt(new dl4_tensor(o.dtype, o.shape, nullptr, nullptr)));
    tensors.back()->read_only = read_only;
    slots.push_back(nullptr);
    arguments.push_back(has_argument ? next++ : -1);
  }
  void add(ops::Operands operands, bool read_only) {
    for (const ops::Operand &o : operands) add(o, read_only);
  }
  void point(void *const *args) noexcept {
    for (size_t i = 0; i < slots.size(); ++i) {
      void *p = arguments[i] < 0 ? nullptr : args[arguments[i]];
      slots[i] = p ? &*tensors[i] : nullptr;
      tensors[i]->data = Bytes(Bytes(), static_cast<std::byte *>(p));
    }
  }

  const size_t n_src;
  std::vector<Ref<dl4_tensor>> tensors;
  std::vector<dl4_tensor *> slots;  // null: unread
  std::vector<int> arguments;
  int next = 0;
};

class Function final : public ops::CustomFunction {
 public:
  Function(std::shared_ptr<const Functions> f, std::string config) : f_(std::move(f)), config_(std::move(config)) {}

  const std::string &name() const override { return f_->name; }
  size_t weights() const override { return f_->weights; }
  bool has_backward() const override { return f_->backward; }

  std::vector<Shape> infer(ops::Operands src) const override {
    if (!f_->shape) return std::vector<Shape>(f_->outputs, src.back().shape);
    std::vector<int32_t> ranks;
    std::vector<int64_t> dims;
    for (const ops::Operand &o : src) {
      ranks.push_back(o.shape.rank());
      for (int64_t d : o.shape.dims()) dims.push_back(d);
    }
    const size_t n = f_->outputs + f_->weights;
    std::vector<int32_t> out_ranks(n, -1);
    std::vector<int64_t> out_dims(n * max_rank, -1);
    const int32_t answer = call_host("shape function", f_->name, [&] {
      return f_->shape(f_->release.user, config_.c_str(), ranks.data(), dims.data(), static_cast<int64_t>(src.size()),
                       out_ranks.data(), out_dims.data(), static_cast<int64_t>(n));
    });
    if (answer != 0)
      throw Error(Code::callback_failed, text("the shape function of \"", f_->name, "\" gave ", answer))
          .with("answer", std::to_string(answer));
    std::vector<Shape> shapes;
    for (size_t i = 0; i < n; ++i) shapes.push_back(shape_of(out_ranks[i], out_dims.data() + i * max_rank, "out_dims"));
    return shapes;
  }

  std::unique_ptr<kernels::Bound> bind_forward(ops::Operands src, ops::Operands dst) const override {
    auto handles = std::make_unique<Handles>(src.size());
    handles->add(src, true);
    handles->add(dst, false);
    return handles;
  }
  std::unique_ptr<kernels::Bound> bind_backward(ops::Operands src, ops::Operands dst) const override {
    auto handles = std::make_unique<Handles>(src.size());
    handles->add(src, true);
    handles->add(dst, true);
    handles->add(dst, true);
    for (const ops::Operand &o : src) handles->add(o, false, o.dtype == DType::f32);
    return handles;
  }

  int32_t forward(void *const *args, kernels::Bound &bound) const override {
    auto &handles = static_cast<Handles &>(bound);
    handles.point(args);
    dl4_tensor **src = handles.slots.data(), **dst = src + handles.n_src;
    return call_host("forward function", f_->name, [&] {
      return f_->forward(f_->release.user, config_.c_str(), src, static_cast<int64_t>(handles.n_src), dst,
                         static_cast<int64_t>(f_->outputs));
    });
  }
  int32_t backward(void *const *args, kernels::Bound &bound) const override {
    auto &handles = static_cast<Handles &>(bound);
    handles.point(args);
    dl4_tensor **src = handles.slots.data(), **dst = src + handles.n_src;
    return call_host("backward function", f_->name, [&] {
      return f_->backward(f_->release.user, config_.c_str(), src, static_cast<int64_t>(handles.n_src), dst,
                          dst + f_->outputs, static_cast<int64_t>(f_->outputs), dst + 2 * f_->outputs);
    });
  }

 private:
  const std::shared_ptr<const Functions> f_;
  const std::string config_;
};

}  // namespace

Json describe_custom_options() { return kinds::describe_fields<CustomOptions>(); }

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_registry_add(const char *category, const char *name, const char *options, dl4_shape_fn shape,
                            dl4_forward_fn forward, dl4_backward_fn backward, void *user, dl4_release_fn release) {
  return guard(__func__, [&] {
    kinds::CustomKind kind{string(category, "category"), string(name, "name"), {}, {}, {}, {}};
    const bool is_layer = kind.category == "layer";
    if (!is_layer && kind.category != "loss" && kind.category != "metric")
      refuse_argument("category", text("expected \"layer\", \"loss\" or \"metric\", got \"", kind.category, '"'));
    constexpr size_t max_name = 256;  // layer names, of at most 1024 bytes, are derived from it
    if (kind.name.empty() || kind.name.size() > max_name)
      refuse_argument("name", text("expected 1 to ", max_name, " bytes, got ", kind.name.size()));
    if (is_layer && (kind.name == "Input" || kind.name == "Constant"))
      refuse_argument("name", text("expected a name that means nothing else in files, got \"", kind.name, '"'));
    if (!forward) refuse_argument("forward", "expected a function, got NULL");
    auto o = read_options<CustomOptions>(options);
    auto refuse = [](const char *key, const std::string &why) {
      throw Error(Code::invalid_argument, text('"', key, "\": ", why)).with("attribute", key);
    };
    if (!is_layer && o.outputs != 1) refuse("outputs", text("expected 1 for a ", kind.category, ", got ", o.outputs));
    if (!is_layer && !o.weights.empty()) refuse("weights", text("expected none for a ", kind.category));
    if (is_layer && o.direction != CustomOptions::Direction::unknown) refuse("direction", "expected null for a layer");
    if (!shape && !o.weights.empty()) refuse("weights", "expected none without a shape function");
    for (size_t i = 0; i < o.weights.size(); ++i)
      if (o.weights[i].empty() || std::find(o.weights.begin(), o.weights.begin() + static_cast<ptrdiff_t>(i),
                                            o.weights[i]) != o.weights.begin() + static_cast<ptrdiff_t>(i))
        refuse("weights", text("expected names that differ, got \"", o.weights[i], '"'));
    const std::shared_ptr<Functions> functions(new Functions{
        kind.name, static_cast<size_t>(o.outputs), o.weights.size(), shape, forward, backward, Release(user)});
    kind.doc = std::move(o.doc);
    kind.weights = std::move(o.weights);
    if (o.direction != CustomOptions::Direction::unknown) kind.rises = o.direction == CustomOptions::Direction::up;
    kind.function = [functions](const std::string &config) { return std::make_shared<Function>(functions, config); };
    kinds::add_custom(std::move(kind));
    functions->release.f = release;
  });
}
