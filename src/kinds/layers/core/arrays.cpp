// Pad, Tile, OneHot, Cumsum, Cumprod, Sort, Argsort, TopK of keras.ops as layers.
#include <numeric>

#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

constexpr Port any_shape{"x", "(...)"};

// Permutation that moves the axis to the end, and back.
std::vector<int> axis_last(int rank, int axis) {
  std::vector<int> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  return perm;
}

// Gathers the positions of an axis in that order.
Id in_places(Call &c, Id x, int axis, const std::vector<int32_t> &places) {
  Tensor ids = make_tensor(DType::i32, {static_cast<int64_t>(places.size())});
  std::copy(places.begin(), places.end(), ids.as<int32_t>());
  std::vector<int> perm(static_cast<size_t>(c.e.rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[0], perm[static_cast<size_t>(axis)]);
  const Id rows = axis == 0 ? x : ops::transpose(c.e, x, perm);
  const Id y = ops::gather(c.e, rows, c.e.constant(std::move(ids)));
  return axis == 0 ? y : ops::transpose(c.e, y, perm);
}

struct Pad final : LayerOf<Pad> {
  static constexpr const char *keras = "numpy.Pad";
  static constexpr const char *doc = "Places before and after along axes: keras.ops.pad.";
  std::vector<std::array<int64_t, 2>> pad_width;
  enum class Mode { constant, reflect, symmetric, edge } mode = Mode::constant;
  std::optional<double> constant_values;

  void fields(Fields &f) override {
    f("pad_width", pad_width, "how many before and after each axis")
        .required("[[0, 0], [1, 1], [1, 0]]")
        .within(0, max_dim);
    f("mode", mode, {"constant", "reflect", "symmetric", "edge"},
      "\"constant\": a number; \"edge\": the first and last place; \"reflect\" and \"symmetric\": the places "
      "mirrored, without and with the edge")
        .among_others();
    f("constant_values", constant_values, "the number; null: 0");
  }
  static constexpr PlainFacts plain{.inputs = {any_shape}, .outputs = {{"y", "(...)"}}};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(pad_width.size()));
    Id y = c.x();
    const DType type = c.e.dtype(y);
    const double v = constant_values.value_or(0);
    const bool moved = mode == Mode::constant && v != 0;
    // Padding adds zeros, so a constant is added where a padded mask of ones is 0.
    Id inside = moved ? ops::fill(c.e, DType::f32, 1, y, c.shape().rank(), {}) : ops::none;
    for (size_t i = 0; i < pad_width.size(); ++i) {
      const auto [before, after] = pad_width[i];
      const auto axis = static_cast<int>(i);
      if (before == 0 && after == 0) continue;
      if (mode != Mode::constant) {
        y = in_places(c, y, axis, mirrored(c, axis, before, after));
        continue;
      }
      y = ops::pad(c.e, y, axis, before, after);
      if (moved) inside = ops::pad(c.e, inside, axis, before, after);
    }
    if (moved)
      y = ops::select(c.e, ops::binary(c.e, ops::Binary::greater, inside, c.e.scalar(0)), y, c.e.scalar(v, type));
    return {{y}};
  }

 private:
  std::vector<int32_t> mirrored(Call &c, int axis, int64_t before, int64_t after) const {
    const int64_t n = c.shape()[axis];
    if (n == free_dim) fail(Code::shape_mismatch, "axis ", axis, " should be known, got ", c.shape());
    const int64_t most = mode == Mode::reflect ? n - 1 : mode == Mode::symmetric ? n : n > 0 ? max_dim : 0;
    if (std::max(before, after) > most)
      fail(Code::shape_mismatch, "\"pad_width\": expected at most ", most, " for axis ", axis, " of ", c.shape());
    if (checked_add(before, n, after) > 1 << 24)
      fail(Code::unsupported, "\"pad_width\": more than ", 1 << 24, " places along axis ", axis);
    std::vector<int32_t> places;
    for (int64_t i = -before; i < n + after; ++i) {
      const int64_t off = mode == Mode::reflect ? 0 : 1;
      int64_t at = i < 0 ? -i - off : i >= n ? 2 * (n - 1) - i + off : i;
      if (mode == Mode::edge) at = std::clamp<int64_t>(i, 0, n - 1);
      places.push_back(static_cast<int32_t>(at));
    }
    return places;
  }
};

struct Tile final : LayerOf<Tile> {
  static constexpr const char *keras = "numpy.Tile";
  static constexpr const char *doc = "The whole several times along axes: keras.ops.tile.";
  std::vector<int64_t> repeats;

  void fields(Fields &f) override {
    f("repeats", repeats, "how often along each of the last axes").required("2").within(1, max_dim);
  }
  static constexpr PlainFacts plain{.inputs = {any_shape}, .outputs = {{"y", "(...)"}}};
  std::vector<Symbol> call(Call &c) const override {
    Id y = c.x();
    while (c.e.rank(y) < static_cast<int>(repeats.size())) y = ops::expand_dims(c.e, y, 0);
    const int first = c.e.rank(y) - static_cast<int>(repeats.size());
    for (size_t i = 0; i < repeats.size(); ++i) {
      if (repeats[i] == 1) continue;
      const int axis = first + static_cast<int>(i);
      // Repeats along a new axis in front of this one, then merges the two.
      const Shape s = c.e.shape(y);
      const Id copies = ops::repeat(c.e, ops::expand_dims(c.e, y, axis), axis, repeats[i]);
      bool known = true;
      for (int k = axis; k < s.rank(); ++k) known = known && s[k] != free_dim;
      if (known) {
        y = ops::reshape(c.e, copies, axis, s.last(s.rank() - axis).with(0, checked_mul(s[axis], repeats[i])));
      } else {
        if (repeats[i] > 1000) fail(Code::unsupported, "\"repeats\": at most 1000 where axes are free");
        y = ops::concat(c.e, std::vector<Id>(static_cast<size_t>(repeats[i]), y), axis);
      }
    }
    return {{y}};
  }
};

struct OneHot final : LayerOf<OneHot> {
  static constexpr const char *keras = "nn.OneHot";
  static constexpr const char *doc =
      "1 at the place of a new axis that an integer names, else 0; all 0 for one outside: keras.ops.one_hot.";
  int64_t num_classes = 0, axis = -1;
  enum class To { float32, int32, boolean } dtype = To::float32;

  void fields(Fields &f) override {
    f("num_classes", num_classes, "places of the new axis").required("3").within(1, 1 << 22);
    f("axis", axis, "where the new axis stands in the output");
    f("dtype", dtype, {"float32", "int32", "bool"}, "the type of the output");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), integers"}},
                                    .outputs = {{"y", "(...) with an axis more"}}};
  std::vector<Symbol> call(Call &c) const override {
    const DType type = c.e.dtype(c.x());
    if (type != DType::i32 && type != DType::i64 && type != DType::u8)
      fail(Code::invalid_argument, "input 0: expected integers, found dtype=", type);
    const int at = c.shape().inserted(0, 1).axis(axis);
    std::vector<int64_t> dims(static_cast<size_t>(c.shape().rank()) + 1, 1);
    dims[static_cast<size_t>(at)] = num_classes;
    Tensor t = make_tensor(DType::i64, Shape(dims));
    std::iota(t.as<int64_t>(), t.as<int64_t>() + num_classes, 0);
    const Id x = ops::expand_dims(c.e, ops::cast(c.e, c.x(), DType::i64), at);
    const Id hot = ops::binary(c.e, ops::Binary::equal, x, c.e.constant(std::move(t)));
    constexpr DType types[] = {DType::f32, DType::i32, DType::boolean};
    return {{ops::cast(c.e, hot, types[static_cast<size_t>(dtype)])}};
  }
};

struct Cumulated final : LayerOf<Cumulated> {
  struct Row : Entry {
    bool product;
  };
  explicit Cumulated(const Row &row) : row(row) {}
  const Row &row;
  int64_t axis = 0;
  bool exclusive = false, reverse = false;

  void fields(Fields &f) override {
    f("axis", axis, "the axis").required("1");
    f("exclusive", exclusive, "whether each place leaves out itself");
    f("reverse", reverse, "whether it begins at the end");
  }
  static constexpr PlainFacts plain{.inputs = {any_shape}, .outputs = {{"y", "(...)"}}};
  std::vector<Symbol> call(Call &c) const override {
    return {{ops::cumulate(c.e, c.x(), c.shape().axis(axis), {row.product, exclusive, reverse})}};
  }
};

constexpr Cumulated::Row cumulated[] = {
    {row_of<Cumulated>("Cumsum", "The sums along an axis so far: keras.ops.cumsum.", "", "numpy."), false},
    {row_of<Cumulated>("Cumprod", "The products along an axis so far: keras.ops.cumprod.", "", "numpy."), true},
};

struct Ordered final : LayerOf<Ordered> {
  struct Row : Entry {
    bool places;
  };
  explicit Ordered(const Row &row) : row(row) {}
  const Row &row;
  int64_t axis = -1;
  bool descending = false;

  void fields(Fields &f) override {
    f("axis", axis, "the axis");
    f("descending", descending, "whether the largest stands first");
  }
  static constexpr PlainFacts plain{.inputs = {any_shape}, .outputs = {{"y", "(...)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    const int at = c.shape().axis(axis), rank = c.shape().rank();
    const bool last = at == rank - 1;
    const std::vector<int> perm = axis_last(rank, at);
    const ops::Sorted s = ops::sort(c.e, last ? c.x() : ops::transpose(c.e, c.x(), perm), descending);
    const Id y = row.places ? s.places : s.y;
    return {{last ? y : ops::transpose(c.e, y, perm)}};
  }
};

constexpr Ordered::Row ordered[] = {
    {row_of<Ordered>("Sort", "An axis in order: keras.ops.sort.", "", "numpy."), false},
    {row_of<Ordered>("Argsort",
                     "From which place each element of an ordered axis comes, of equals the first: int32: "
                     "keras.ops.argsort.",
                     "", "numpy."),
     true},
};

struct TopK final : LayerOf<TopK> {
  static constexpr const char *keras = "math.TopK";
  static constexpr const char *doc =
      "The k largest of the last axis, and their places as int32, the first of equals: keras.ops.top_k.";
  int64_t k = 0;
  bool sorted = true;

  void fields(Fields &f) override {
    f("k", k, "how many").required("2").within(1, max_dim);
    f("sorted", sorted, "promises their order: they always are");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(..., N)"}},
                                    .outputs = {{"values", "(..., k)"}, {"indices", "(..., k)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    const ops::Sorted s = ops::sort(c.e, c.x(), true);
    return {{ops::slice(c.e, s.y, -1, 0, k)}, {ops::slice(c.e, s.places, -1, 0, k)}};
  }
};

}  // namespace
DL4_KINDS(arrays, Pad, Tile, OneHot, TopK)
DL4_TABLE(Cumulations, cumulated)
DL4_TABLE(Orderings, ordered)
}  // namespace dl4::kinds
