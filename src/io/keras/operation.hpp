// A Keras operation being converted to layers.
#pragma once

#include "graph/graph.hpp"
#include "io/keras/operations.hpp"

namespace dl4::io::keras {

class Operation {
 public:
  Operation(Graph &g, const Architecture::Layer &layer, int64_t call, const Json &arguments, std::vector<Node> in);
  std::vector<Node> add();

  using Nodes = std::vector<Node>;
  struct Row {
    std::string_view name;  // Keras's class
    Nodes (Operation::*add)();
  };
  // For operations that are more than a layer with the same config.
  static const Row *row_of(std::string_view name);

 private:
  template <class... A>
  [[noreturn]] void refuse(const A &...a) const {
    throw Error(Code::unsupported, text("layer \"", name_, "\": the operation ", class_, ' ', a...))
        .with("layer", name_);
  }

  // ---- arguments ----------------------------------------------------------------------------------------------------
  static bool is_tensor_at(const Json &j) { return j.is_object() && j.contains("tensor"); }
  // A tensor, or numbers as a constant.
  Node value(const Json &j);
  Node at(size_t i);
  Node only();
  Nodes listed();
  bool is_number(size_t i) const { return i < args_.size() && (args_[i].is_number() || args_[i].is_boolean()); }
  Json number(size_t i) const { return args_[i].is_boolean() ? Json(args_[i].get<bool>() ? 1 : 0) : args_[i]; }
  // An attribute, passed in any way; null if missing.
  Json given(const char *key) const { return config_.value(key, nullptr); }
  bool flag(const char *key, bool otherwise) const {
    const Json v = given(key);
    return v.is_null() ? otherwise : kinds::from_json<bool>(v);
  }
  int64_t axis(const Json &j, Node x) const;
  std::vector<int64_t> axes(const Json &j, Node x) const;  // null: all
  std::vector<int64_t> integers(const Json &j, const char *what) const;
  // Refuses attributes other than these, unless they have no effect.
  void need_no_more_than(std::initializer_list<std::string_view> known) const;

  // ---- emitted layers -----------------------------------------------------------------------------------------------
  const Shape &shape(Node v) const { return g_.shape(v); }
  DType dtype(Node v) const { return g_.dtype(v); }
  int rank(Node v) const { return shape(v).rank(); }
  std::string fresh(const std::string &what);
  Node constant(Tensor t);
  Node layer(const std::string &kind, Json config, const Nodes &in);
  Node with_number(const std::string &kind, Node x, double n) { return layer(kind, {{"x2", n}}, {x}); }
  Node cast(Node v, DType to);
  Node transposed(Node v, const std::vector<int64_t> &perm) { return layer("Transpose", {{"perm", perm}}, {v}); }
  std::vector<int64_t> in_order(Node v) const;
  // The value without its mask.
  Node unmasked(Node v);
  // The last layer, which gets the operation's name.
  Nodes finish(const std::string &kind, Json config, Nodes in);
  Nodes finish_as(Node v);  // its value is v
  // A chain of kinds and their configs.
  using Steps = std::vector<std::pair<std::string, Json>>;
  Nodes finish(Steps steps, Node x);
  // A Slice's config for `size` positions of one axis.
  Json block(Node x, size_t axis, int64_t from, int64_t size) const;
  Node part(Node x, size_t axis, int64_t from, int64_t size) { return layer("Slice", block(x, axis, from, size), {x}); }

  // Whether this kind forwards masks.
  static bool keeps_masks(const std::string &kind);

  // ---- operations --------------------------------------------------------------------------------------------------
  // Two operands in the type Keras promotes them to; none: a number.
  struct Pair {
    std::optional<Node> first, second;
    DType type;
  };
  Pair pair(size_t first, size_t second);
  Nodes add_pairwise(const std::string &kind);
  Nodes add_elementwise(const std::string &kind);
  Nodes add_reduction(const std::string &kind);
  Nodes add_where(), add_filled(), add_rounded(), add_activation(), add_cast(), add_mask(), add_norm(), add_normalize(),
      add_moments(), add_matmul(), add_same(), add_listed(), add_one_hot(), add_einsum(), add_sum(), add_argmax();
  Nodes add_pad(), add_pool(), add_blocks(), add_resize(), add_flip_width(), add_matrix_transpose(), add_transpose(),
      add_swapped(), add_moved(), add_reshape(), add_slice(), add_take(), add_roll(), add_split(), add_unstack(),
      add_item();
  // One axis of x[...], as a Slice's attributes: every step-th of `size` positions from `begin`.
  struct Taken {
    int64_t begin = 0, size = -1, step = 1;
    bool dropped = false;  // an index drops the axis
  };
  Taken taken(const Json &item, int64_t dim) const;

  Graph &g_;
  const std::string name_, class_;
  Json config_, args_;
  const Nodes in_;
  int made_ = 0;
};

}  // namespace dl4::io::keras
