// Matrix products by oneDNN: best with a constant right-hand side, which is packed once.
#include "backend/cpu/kernels/gemm/gemm.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"
#include "backend/cpu/kernels/onednn/dnnl_kernel.hpp"
#include "backend/cpu/kernels/single_threaded.hpp"

namespace dl4::kernels {
namespace {

using namespace onednn;

struct Making {
  Gemm g;
  const Constant *constant;
  GemmCut how;
  Scratch scratch;
  PackedForms own;  // used if the constant has none
  std::string name;

  // Descriptor of `items` of the batch (2D if one), `rows` and `cols`.
  Desc matrix(int64_t items, int64_t stride, int64_t rows, int64_t cols, int64_t ld, bool trans) const {
    int64_t down = trans ? 1 : ld, across = trans ? ld : 1;
    if (items == 1 && how.pieces == 1 && g.batch > 1)
      return strided({1, rows, cols}, {checked_mul(rows, cols), down, across});
    if (g.batch > 1 && how.pieces == 1) {
      if (stride == 0) return strided({1, rows, cols}, {checked_mul(rows, cols), down, across});  // broadcast
      return strided({items, rows, cols}, {stride, down, across});
    }
    return strided({rows, cols}, {down, across});
  }

  auto describe(const GemmPart &p, const Desc &weights) const {
    int64_t items = p.item1 - p.item0;
    Desc a = matrix(items, g.stride_a, p.rows(), g.k, g.lda, g.trans_a);
    Desc c = matrix(items, g.stride_c, p.rows(), p.cols(), g.ldc, false);
    if (!g.bias) return make<dnnl::matmul>(engine(), attributes(), a, weights, c);
    bool flat = g.batch == 1 || how.pieces > 1;
    return make<dnnl::matmul>(engine(), attributes(), a, weights, flat ? plain({1, p.cols()}) : plain({1, 1, p.cols()}),
                              c);
  }

  auto shared(const GemmPart &p, bool any_weights) const {
    std::string key = text("matmul", g.batch > 1, how.pieces == 1, g.trans_a, g.trans_b, g.bias, any_weights);
    for (int64_t v : {p.item1 - p.item0, p.rows(), p.cols(), g.k, g.lda, g.ldc, g.stride_a, g.stride_c,
                      any_weights ? 0 : g.ldb, any_weights ? 0 : g.stride_b})
      key += ' ' + std::to_string(v);
    return share<dnnl::matmul>(key, [&] { return describe(p, any_weights ? any({g.k, p.cols()}) : raw_weights(p)); });
  }

  Desc raw_weights(const GemmPart &p) const {
    return matrix(p.item1 - p.item0, g.stride_b, g.k, p.cols(), g.ldb, g.trans_b);
  }

  // The packed right-hand side of a part. B is packed as a whole, shared by all cuts, if a range of columns has the
  // same layout there as packed alone.
  Operand packed(const GemmPart &p, const Desc &wanted) {
    Constant c{constant->data, constant->forms ? constant->forms : &own};
    Operand o{DNNL_ARG_WEIGHTS, wanted, Operand::fixed};
    Desc whole = describe({0, 1, 0, p.rows(), 0, g.n}, any({g.k, g.n})).weights_desc();
    Layout l = layout(wanted), w = layout(whole);
    int64_t block = 1;
    for (size_t i = 0; i < l.inner_blocks.size(); i++)
      if (l.inner_axes[i] == 1) block = checked_mul(block, l.inner_blocks[i]);
    bool shared = l.blocked && w.blocked && l.strides == w.strides && l.inner_blocks == w.inner_blocks &&
                  l.inner_axes == w.inner_axes && p.col0 % block == 0;
    Desc from = matrix(1, 0, g.k, shared ? g.n : p.cols(), g.ldb, g.trans_b);
    if (shared) {
      auto all = pack(c, 0, from, whole, "");
      auto *at = static_cast<float *>(all->memory.get_data_handle()) + checked_mul(p.col0 / block, l.strides[1]);
      o.memory = Memory(wanted, engine(), at);
      o.owner = all;
    } else {
      auto part = pack(c, checked_mul(p.col0, g.trans_b ? g.ldb : 1), from, wanted, name);
      o.memory = part->memory;
      o.owner = part;
    }
    return o;
  }

  // oneDNN 3.7 reads a row of A, and writes a column of C, as if its elements were adjacent: 1x6x2 with A transposed
  // and lda 5, and 8x1x23 with ldc 10, come out wrong.
  bool is_right(const GemmPart &p) const {
    return (p.rows() > 1 || !g.trans_a || g.lda == 1) && (p.cols() > 1 || g.ldc == 1);
  }

  // Empty if oneDNN has only its reference implementation, or is wrong.
  Calls slice(const GemmPart &p) {
    if (!is_right(p)) return {};
    auto bytes = [](int64_t n, int64_t stride, int64_t first, int64_t step, int64_t more = 0) {
      return checked_mul(checked_add(checked_mul(n, stride), checked_mul(first, step), more), sizeof(float));
    };
    bool may_pack = constant && g.batch == 1;
    auto made = shared(p, may_pack);
    if (is_reference(made->pd)) return {};
    Layout l = layout(made->pd.weights_desc());
    bool packs = may_pack && (!l.blocked || !l.inner_blocks.empty());
    if (may_pack && !packs) made = shared(p, false);
    const auto &pd = made->pd;
    if (is_reference(pd)) return {};
    name = std::string("dnnl_gemm ") + pd.impl_info_str() + (packs ? ", packed" : "");
    Call call{made->primitive, {}, made};
    call.operands.push_back(
        {DNNL_ARG_SRC, pd.src_desc(), 0, bytes(p.item0, g.stride_a, p.row0, g.trans_a ? 1 : g.lda)});
    if (packs)
      call.operands.push_back(packed(p, pd.weights_desc()));
    else
      call.operands.push_back(
          {DNNL_ARG_WEIGHTS, pd.weights_desc(), 1, bytes(p.item0, g.stride_b, p.col0, g.trans_b ? g.ldb : 1)});
    if (g.bias) call.operands.push_back({DNNL_ARG_BIAS, pd.bias_desc(), 2, bytes(0, 0, p.col0, 1)});
    call.operands.push_back(
        {DNNL_ARG_DST, pd.dst_desc(), Operand::out(0), bytes(p.item0, g.stride_c, p.row0, g.ldc, p.col0)});
    add_scratchpad(call.operands, pd, scratch);
    return {std::move(call)};
  }
};

// Without anything to multiply: the bias, or zeros.
void only_bias(const Gemm &g, const GemmCut &how, int64_t slice, const Run &r) {
  GemmPart p = how.part_of(g, slice);
  const float *bias = g.bias ? r.in<float>(2) + p.col0 : nullptr;
  for (int64_t item = p.item0; item < p.item1; item++)
    fill(bias, r.out<float>(0) + item * g.stride_c + p.row0 * g.ldc + p.col0, p.rows(), p.cols(), g.ldc);
}

Step epilogue(const Gemm &g, const GemmCut &how) {
  if (!g.epilogue) return {};
  return [g, how](int64_t slice, const Run &r) {
    GemmPart p = how.part_of(g, slice);
    for (int64_t item = p.item0; item < p.item1; item++)
      g.epilogue(r.out<float>(0) + item * g.stride_c + p.row0 * g.ldc + p.col0, p.rows(), p.cols(), g.ldc);
  };
}

}  // namespace

std::unique_ptr<Kernel> dnnl_gemm(const Gemm &given, int64_t slices, const Constant *b) try {
  SingleThreaded one;
  MakesPrimitives own_primitives;
  Gemm g = dense(given);
  Making m{g, b, cut(g, slices, 32, 4, 64), {}, {}, {}};
  std::vector<Calls> all(static_cast<size_t>(m.how.slices));
  Step before;
  if (g.k <= 0) {
    m.name = "fill";
    before = [g, how = m.how](int64_t slice, const Run &r) { only_bias(g, how, slice, r); };
  } else {
    for (size_t s = 0; s < all.size(); s++) {
      all[s] = m.slice(m.how.part_of(g, static_cast<int64_t>(s)));
      if (all[s].empty()) return nullptr;
    }
  }
  if (m.how.slices > 1) m.name += m.how.pieces == 1 ? ", by items" : m.how.by_columns ? ", by columns" : ", by rows";
  return std::make_unique<DnnlKernel>(m.name, std::move(all), m.scratch.bytes(), before, epilogue(g, m.how));
} catch (const dnnl::error &) {
  return nullptr;
}

}  // namespace dl4::kernels
