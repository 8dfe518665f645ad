// A list indexed by one id type only, so that no other integer can index it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace dl4 {

// All ids of a list, in order, for iteration.
template <class Id>
struct Ids {
  struct iterator {
    size_t at;
    Id operator*() const { return static_cast<Id>(at); }
    iterator &operator++() {
      ++at;
      return *this;
    }
    bool operator==(const iterator &) const = default;
  };
  iterator from, to;
  iterator begin() const { return from; }
  iterator end() const { return to; }
  operator std::vector<Id>() const {
    std::vector<Id> all;
    for (Id id : *this) all.push_back(id);
    return all;
  }
};

// Id: a distinct enum over an integer type.
template <class Id, class T>
class Table {
 public:
  Table() = default;
  // `v` for each item of `like`.
  template <class Like>
  explicit Table(const Like &like, T v = T()) {
    grow(like, std::move(v));
  }

  // Appends `v` for the items added to `like` since, and returns their ids.
  template <class Like>
  Ids<Id> grow(const Like &like, T v = T()) {
    size_t before = list_.size();
    list_.resize(like.size(), v);
    return {{before}, {list_.size()}};
  }
  // Reserves room for n more, so that pushing them can't fail halfway.
  void make_room(size_t n) {
    if (list_.capacity() - list_.size() < n) list_.reserve(std::max(2 * list_.capacity(), list_.size() + n));
  }
  Id push_back(T v) {
    list_.push_back(std::move(v));
    return static_cast<Id>(list_.size() - 1);
  }
  void pop_back() { list_.pop_back(); }
  void shrink(size_t n) { list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(n), list_.end()); }

  size_t size() const { return list_.size(); }
  bool has(Id id) const { return static_cast<size_t>(id) < list_.size(); }
  Id next() const { return static_cast<Id>(list_.size()); }  // the id of the next item pushed
  Ids<Id> ids() const { return {{0}, {list_.size()}}; }
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
