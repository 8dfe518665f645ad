// Binds and runs oneDNN primitives, through the C interface where the C++ one would allocate.
#include "kernels/dnnl_kernel.hpp"

#include <atomic>

#include "kernels/single_threaded.hpp"

namespace dl4::kernels::onednn {
namespace {

// The memory objects of one list of calls in one frame, call by call.
struct BoundCalls {
  explicit BoundCalls(const Calls &calls) {
    for (const Call &call : calls)
      for (const Operand &o : call.operands) {
        memories.push_back(o.source == Operand::fixed ? o.memory : Memory(o.desc, engine(), nullptr));
        pointers.push_back(nullptr);
        args.push_back({o.name, memories.back().get()});
      }
  }

  bool run(const Calls &calls, const Run &r) noexcept {
    size_t i = 0;
    for (const Call &call : calls) {
      size_t first = i;
      for (const Operand &o : call.operands) {
        if (o.source != Operand::fixed) point(i, o, r);
        i++;
      }
      auto status =
          dnnl_primitive_execute(call.primitive.get(), stream.get(), static_cast<int>(i - first), &args[first]);
      if (status == dnnl_success) continue;
      r.report->raise(Fault::library, status);
      return false;
    }
    return true;
  }

 private:
  void point(size_t i, const Operand &o, const Run &r) noexcept {
    auto *base = static_cast<char *>(o.source == Operand::in_scratch ? r.scratch : r.args[o.source]);
    void *p = base ? base + o.offset : o.instead >= 0 ? static_cast<char *>(r.scratch) + o.instead : nullptr;
    if (p == pointers[i]) return;
    dnnl_memory_set_data_handle(args[i].memory, p);
    pointers[i] = p;
  }

  dnnl::stream stream{engine()};
  std::vector<Memory> memories;
  std::vector<void *> pointers;  // what each memory is set to
  std::vector<dnnl_exec_arg_t> args;
};

struct BoundWork final : Bound {
  std::vector<BoundCalls> slices;
  std::unique_ptr<BoundCalls> finish;
  std::atomic<int64_t> finished{0};  // slices
};

}  // namespace

const dnnl::engine &engine() {
  // Never destroyed: kernels may outlive static destructors.
  static const auto *e = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *e;
}

const dnnl::primitive_attr &attributes() {
  static const auto *a = [] {
    auto *at = new dnnl::primitive_attr;
    at->set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return at;
  }();
  return *a;
}

Desc strided(const Dims &dims, const Dims &strides) { return Desc(dims, Memory::data_type::f32, strides); }

Desc plain(const Dims &dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i--; stride = checked_mul(stride, dims[i])) strides[i] = stride;
  return strided(dims, strides);
}

Desc any(const Dims &dims) { return Desc(dims, Memory::data_type::f32, Memory::format_tag::any); }

std::unique_ptr<Bound> DnnlKernel::bind() const {
  SingleThreaded one;
  auto bound = std::make_unique<BoundWork>();
  for (const Calls &calls : calls_) bound->slices.emplace_back(calls);
  bound->finish = std::make_unique<BoundCalls>(finish_.calls);
  return bound;
}

void DnnlKernel::run(int64_t slice, const Run &r) const noexcept {
  auto &bound = *static_cast<BoundWork *>(r.bound);
  if (before_) before_(slice, r);
  if (bound.slices[static_cast<size_t>(slice)].run(calls_[static_cast<size_t>(slice)], r) && after_) after_(slice, r);
  if (!finish_.sum && finish_.calls.empty()) return;
  if (bound.finished.fetch_add(1, std::memory_order_acq_rel) + 1 < slices) return;
  bound.finished.store(0, std::memory_order_relaxed);
  if (finish_.sum) finish_.sum(slice, r);
  if (bound.finish->run(finish_.calls, r) && finish_.after) finish_.after(slice, r);
}

Call reorder(Operand from, Operand to, Scratch &scratch) {
  dnnl::reorder::primitive_desc pd(engine(), from.desc, engine(), to.desc, attributes());
  from.name = DNNL_ARG_FROM;
  to.name = DNNL_ARG_TO;
  Call call{dnnl::reorder(pd), {std::move(from), std::move(to)}};
  add_scratchpad(call.operands, pd, scratch);
  return call;
}

std::string name_of(const Desc &d, const std::string &key) {
  Layout l = layout(d);
  if (!l.blocked) return "opaque " + std::to_string(d.get_size()) + " " + key;
  std::string s = "blocked";
  auto list = [&](const char *what, const Dims &v) {
    s += what;
    for (auto x : v) s += " " + std::to_string(x);
  };
  list(" padded", l.padded);
  list(" strides", l.strides);
  list(" blocks", l.inner_blocks);
  list(" of", l.inner_axes);
  return s;
}

std::shared_ptr<const PackedMemory> pack(const Constant &c, int64_t offset, const Desc &from, const Desc &to,
                                         const std::string &key) {
  auto fill = [&]() -> std::shared_ptr<const Packed> {
    SingleThreaded one;
    auto packed = std::make_shared<PackedMemory>();
    packed->bytes = static_cast<int64_t>(to.get_size());
    packed->memory = Memory(to, engine());
    Memory source(from, engine(), const_cast<float *>(c.data + offset));
    dnnl::stream stream(engine());
    dnnl::reorder(source, packed->memory).execute(stream, source, packed->memory);
    stream.wait();
    return packed;
  };
  if (!c.forms) return std::static_pointer_cast<const PackedMemory>(fill());
  std::string name = name_of(to, key) + " from " + name_of(from, key) + " at " + std::to_string(offset);
  return std::static_pointer_cast<const PackedMemory>(c.forms->get(name, fill));
}

}  // namespace dl4::kernels::onednn
