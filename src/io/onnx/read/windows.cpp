#include "io/onnx/read/windows.hpp"

#include "base/error.hpp"

namespace dl4::io::onnx {

std::optional<int64_t> same_total(const Window &w, size_t i, const Dim &n) {
  if (w.strides[i] == 1) return w.reach(i) - 1;
  if (!n.known()) return {};
  return std::max<int64_t>((ceil_div(n.factor, w.strides[i]) - 1) * w.strides[i] + w.reach(i) - n.factor, 0);
}

namespace {

void read_pads(const Op &op, Window &w, const std::vector<Dim> &dims) {
  const std::string mode = op.string("auto_pad");
  w.pads.assign(w.axes(), {0, 0});
  if (mode == "VALID") return;
  if (mode == "SAME_UPPER") {
    w.same = true;
    return;
  }
  if (mode == "SAME_LOWER") {
    for (size_t i = 0; i < w.axes(); ++i) {
      const auto total = same_total(w, i, dims[i + 2]);
      if (!total) op.refuse("\"auto_pad\" SAME_LOWER over a free axis is not supported");
      w.pads[i] = {*total - *total / 2, *total / 2};
    }
    return;
  }
  const Ints pads = op.integers("pads").value_or(Ints(2 * w.axes(), 0));
  if (pads.size() != 2 * w.axes()) fail(Code::corrupt_file, "has ", pads.size(), " pads for ", w.axes(), " axes");
  w.same = true;
  for (size_t i = 0; i < w.axes(); ++i) {
    w.pads[i] = {pads[i], pads[i + w.axes()]};
    if (w.pads[i][0] < 0 || w.pads[i][1] < 0 || w.pads[i][0] > max_dim || w.pads[i][1] > max_dim)
      op.refuse("has pads of ", w.pads[i][0], " and ", w.pads[i][1]);
    const auto total = same_total(w, i, dims[i + 2]);
    w.same = w.same && total && w.pads[i][0] == *total / 2 && w.pads[i][1] == *total - *total / 2;
  }
}
}  // namespace

Window window(const Op &op, Ints size, const std::vector<Dim> &dims) {
  if (dims.size() != size.size() + 2 || size.empty() || size.size() > 3)
    op.refuse("over ", size.size(), " axes of a value of ", dims.size(), " is not supported, only over one to three");
  Window w;
  const Ints ones(size.size(), 1);
  w.strides = op.integers("strides").value_or(ones), w.dilations = op.integers("dilations").value_or(ones);
  w.size = std::move(size);
  for (const Ints *list : {&w.size, &w.strides, &w.dilations}) {
    if (list->size() != w.axes()) fail(Code::corrupt_file, "has ", list->size(), " numbers for ", w.axes(), " axes");
    for (int64_t n : *list)
      if (n < 1 || n > 1 << 24) fail(Code::corrupt_file, "has a size, stride or dilation of ", n);
  }
  w.ceil = op.integer("ceil_mode", 0) != 0;
  read_pads(op, w, dims);
  return w;
}

Node padded(const Op &op, Node x, const Margins &pads) {
  if (std::all_of(pads.begin(), pads.end(), [](const auto &p) { return p[0] == 0 && p[1] == 0; })) return x;
  return op.layer(of_rank("ZeroPadding", pads.size()).c_str(), {{"padding", margins_json(pads)}}, {x});
}
}  // namespace dl4::io::onnx
