// A list of what has an id: indexed by that alone, so that no other number finds its way in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace dl4 {

// Id: an enum of its own over an integer, or an integer.
template <class Id, class T>
class Table {
 public:
  Table() = default;
  // `v` for each item of `like`.
  template <class Like>
  explicit Table(const Like &like, T v = T()) {
    grow(like, std::move(v));
  }

  // `v` for the items that `like` has gained since.
  template <class Like>
  void grow(const Like &like, T v = T()) {
    list_.resize(static_cast<size_t>(like.size()), v);
  }
  // For n more: what is pushed then can't fail half way.
  void make_room(size_t n) {
    if (list_.capacity() - list_.size() < n) list_.reserve(std::max(2 * list_.capacity(), list_.size() + n));
  }
  Id push_back(T v) {
    list_.push_back(std::move(v));
    return static_cast<Id>(list_.size() - 1);
  }
  void pop_back() { list_.pop_back(); }

  size_t size() const { return list_.size(); }
  bool has(Id id) const { return static_cast<size_t>(id) < list_.size(); }
  Id next() const { return static_cast<Id>(list_.size()); }  // of what is pushed next
  std::vector<Id> ids() const {
    std::vector<Id> all;
    for (size_t i = 0; i < list_.size(); ++i) all.push_back(static_cast<Id>(i));
    return all;
  }
  decltype(auto) operator[](Id id) { return list_[static_cast<size_t>(id)]; }
  decltype(auto) operator[](Id id) const { return list_[static_cast<size_t>(id)]; }
  T &back() { return list_.back(); }
  const T &back() const { return list_.back(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  std::vector<T> list_;
};

}  // namespace dl4
