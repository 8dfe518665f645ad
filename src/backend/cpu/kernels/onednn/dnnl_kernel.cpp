// Binds and runs oneDNN primitives, using the C interface where the C++ one would allocate.
#include "backend/cpu/kernels/onednn/dnnl_kernel.hpp"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string_view>
#include <unordered_map>

#include "backend/cpu/kernels/single_threaded.hpp"

namespace dl4::kernels::onednn {
namespace {

// The memory objects of a list of calls in one frame, call by call.
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
      if (r.report->ends()) return false;
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
    auto *base = o.source >= Operand::first_out    ? r.out<char>(o.source - Operand::first_out)
                 : o.source == Operand::in_scratch ? static_cast<char *>(r.scratch)
                                                   : const_cast<char *>(r.in<char>(o.source));
    void *p = base ? base + o.offset : o.instead >= 0 ? static_cast<char *>(r.scratch) + o.instead : nullptr;
    if (p == pointers[i]) return;
    dnnl_memory_set_data_handle(args[i].memory, p);
    pointers[i] = p;
  }

  dnnl::stream stream{engine()};
  std::vector<Memory> memories;
  std::vector<void *> pointers;  // current pointer of each memory
  std::vector<dnnl_exec_arg_t> args;
};

// Never destroyed: kernels may outlive static destructors.
struct Pool {
  Mutex mutex;
  std::map<std::string, std::weak_ptr<const void>> made;
  int makers = 0, capacity = 0;                   // capacity of oneDNN's cache before the first MakesPrimitives
  std::vector<std::shared_ptr<const void>> held;  // while a MakesPrimitives exists

  static Pool &get() {
    static auto *pool = new Pool;
    return *pool;
  }
};

// Whether the primitive may use "gemm:jit", which in 2.6 to 3.7 points the stack pointer into a heap buffer.
// Implementations named "jit..." use only their own code.
bool moves_the_stack(const Call &call) {
  const char *name = nullptr;
  const auto pd = call.primitive.get_primitive_desc();
  return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) != dnnl_success ||
         !std::string_view(name).starts_with("jit");
}

// Blocks signals on the thread while such a primitive runs, except faults of its own: a signal handler's frame would
// overwrite memory below the moved stack pointer.
class SignalsWait {
 public:
  explicit SignalsWait(bool needed) noexcept : needed_(needed) {
    if (needed_) pthread_sigmask(SIG_BLOCK, &held(), &before_);
  }
  ~SignalsWait() {
    if (needed_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalsWait(const SignalsWait &) = delete;
  SignalsWait &operator=(const SignalsWait &) = delete;

 private:
  static const sigset_t &held() noexcept {
    static const sigset_t all_but_faults = [] {
      sigset_t s;
      sigfillset(&s);
      for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&s, fault);
      return s;
    }();
    return all_but_faults;
  }

  const bool needed_;
  sigset_t before_;
};

struct BoundWork final : Bound {
  std::vector<BoundCalls> slices;
  std::unique_ptr<BoundCalls> finish;
  std::atomic<int64_t> finished{0};  // number of slices
};

}  // namespace

std::shared_ptr<const void> find_made(const std::string &key) {
  Pool &pool = Pool::get();
  std::lock_guard lock(pool.mutex);
  auto at = pool.made.find(key);
  return at == pool.made.end() ? nullptr : at->second.lock();
}

void keep_made(const std::string &key, std::shared_ptr<const void> made) {
  Pool &pool = Pool::get();
  std::lock_guard lock(pool.mutex);
  pool.made[key] = made;
  if (pool.makers > 0) pool.held.push_back(std::move(made));
}

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

namespace {

// Opaque memory has no name to share it by.
std::shared_ptr<const Made<dnnl::reorder>> reordering(const Desc &from, const Desc &to) {
  auto describe = [&] { return dnnl::reorder::primitive_desc(engine(), from, engine(), to, attributes()); };
  if (layout(from).blocked && layout(to).blocked)
    return share<dnnl::reorder>("reorder " + name_of(from, "") + " to " + name_of(to, ""), describe, true);
  auto pd = describe();
  return std::make_shared<const Made<dnnl::reorder>>(Made<dnnl::reorder>{pd, dnnl::reorder(pd)});
}

}  // namespace

DnnlKernel::DnnlKernel(std::string name, std::vector<Calls> slices, int64_t scratch, Step before, Step after,
                       Finish finish)
    : Kernel(std::move(name), static_cast<int64_t>(slices.size()), scratch),
      calls_(std::move(slices)),
      before_(std::move(before)),
      after_(std::move(after)),
      finish_(std::move(finish)),
      signals_wait_(std::any_of(finish_.calls.begin(), finish_.calls.end(), moves_the_stack) ||
                    std::any_of(calls_.begin(), calls_.end(), [](const Calls &slice) {
                      return std::any_of(slice.begin(), slice.end(), moves_the_stack);
                    })) {}

std::unique_ptr<Bound> DnnlKernel::bind() const {
  SingleThreaded one;
  auto bound = std::make_unique<BoundWork>();
  for (const Calls &calls : calls_) bound->slices.emplace_back(calls);
  bound->finish = std::make_unique<BoundCalls>(finish_.calls);
  return bound;
}

void DnnlKernel::run(int64_t slice, const Run &r) const noexcept {
  const SignalsWait wait(signals_wait_);
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
  auto made = reordering(from.desc, to.desc);
  from.name = DNNL_ARG_FROM;
  to.name = DNNL_ARG_TO;
  Call call{made->primitive, {std::move(from), std::move(to)}, made};
  add_scratchpad(call.operands, made->pd, scratch);
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
    MakesPrimitives own;
    auto packed = std::make_shared<PackedMemory>();
    packed->bytes = static_cast<int64_t>(to.get_size());
    packed->data = allocate(packed->bytes);
    packed->memory = Memory(to, engine(), packed->data.get());
    Memory source(from, engine(), const_cast<float *>(c.data + offset));
    auto made = reordering(from, to);
    std::unordered_map<int, Memory> args{{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, packed->memory}};
    const Desc working = made->pd.scratchpad_desc();
    Bytes scratch = allocate(static_cast<int64_t>(working.get_size()));
    if (working.get_size() > 0) args.emplace(DNNL_ARG_SCRATCHPAD, Memory(working, engine(), scratch.get()));
    dnnl::stream stream(engine());
    made->primitive.execute(stream, args);
    stream.wait();
    return packed;
  };
  if (!c.forms) return std::static_pointer_cast<const PackedMemory>(fill());
  std::string name = name_of(to, key) + " from " + name_of(from, key) + " at " + std::to_string(offset);
  return std::static_pointer_cast<const PackedMemory>(c.forms->get(name, fill));
}

}  // namespace dl4::kernels::onednn

namespace dl4::kernels {

MakesPrimitives::MakesPrimitives() {
  auto &pool = onednn::Pool::get();
  std::lock_guard lock(pool.mutex);
  if (pool.makers++ > 0) return;
  if (dnnl_get_primitive_cache_capacity(&pool.capacity) != dnnl_success) pool.capacity = 0;
  dnnl_set_primitive_cache_capacity(0);
}

MakesPrimitives::~MakesPrimitives() {
  auto &pool = onednn::Pool::get();
  std::vector<std::shared_ptr<const void>> unheld;  // destroyed without the lock
  std::lock_guard lock(pool.mutex);
  if (--pool.makers > 0) return;
  int now = 0;  // unless someone else has changed it
  if (dnnl_get_primitive_cache_capacity(&now) == dnnl_success && now == 0)
    dnnl_set_primitive_cache_capacity(pool.capacity);
  unheld.swap(pool.held);
  std::erase_if(pool.made, [](const auto &entry) { return entry.second.expired(); });
}

}  // namespace dl4::kernels
