// JSON values: construction, copies, ownership of blocks.
#include "base/json.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <stdexcept>

#include "base/error.hpp"

namespace dl4 {

struct Json::Block {
  uint32_t size, capacity;  // in bytes for a string, else in values

  char *chars() { return reinterpret_cast<char *>(this + 1); }
  Json *values() { return reinterpret_cast<Json *>(this + 1); }

  static Block *make(size_t capacity, size_t item) {
    static_assert(sizeof(Block) % alignof(Json) == 0);
    if (capacity > UINT32_MAX) throw std::length_error("a JSON value of more than 2^32 items");
    return new (::operator new(sizeof(Block) + capacity * item)) Block{0, static_cast<uint32_t>(capacity)};
  }
};

Json::Json(std::string_view s) {
  if (s.size() <= bytes_.size()) {
    std::copy(s.begin(), s.end(), bytes_.begin());
    length_ = static_cast<uint8_t>(s.size());
    type_ = Type::string;
    return;
  }
  Block *b = Block::make(s.size(), 1);
  std::copy(s.begin(), s.end(), b->chars());
  b->size = b->capacity;
  put(Type::string, b);
  length_ = on_heap;
}

Json Json::Ref::null(At) { return {}; }
Json Json::Ref::boolean(At at) { return at.natural != 0; }
Json Json::Ref::integer(At at) { return static_cast<int64_t>(at.natural); }
Json Json::Ref::natural(At at) { return at.natural; }
Json Json::Ref::real(At at) { return at.real; }
Json Json::Ref::text(At at) { return at.chars; }
Json Json::Ref::list(At at) { return *static_cast<const List *>(at.any); }
Json Json::Ref::move(At at) { return std::move(*static_cast<Json *>(const_cast<void *>(at.any))); }

bool Json::Ref::is_text() const {
  if (make_ == copy<Json> || make_ == move) return static_cast<const Json *>(at_.any)->is_string();
  return make_ == text || make_ == copy<std::string> || make_ == copy<std::string_view>;
}

Json::Json(List list) : Json() {
  const bool members = std::all_of(list.begin(), list.end(), [](const Ref &r) {
    const List *pair = r.as_list();
    return pair && pair->size() == 2 && pair->begin()->is_text();
  });
  *this = members ? object() : array();
  make_room(members ? 2 * list.size() : list.size());
  for (const Ref &r : list) {
    if (!members) {
      add(r.value());
      continue;
    }
    add(r.as_list()->begin()[0].value());
    add(r.as_list()->begin()[1].value());
  }
}

// The delegated constructor has made a null, so an exception below frees what was copied so far.
Json::Json(const Json &other) : Json() {
  if (const Shared *s = other.shared()) {
    s->owners_.fetch_add(1, std::memory_order_relaxed);
    put(Type::shared, s);
  } else if (!other.block()) {
    bytes_ = other.bytes_;
    length_ = other.length_;
    type_ = other.type_;
  } else if (other.is_string()) {
    *this = Json(other.string());
  } else {
    put(other.type_, static_cast<Block *>(nullptr));
    make_room(other.count());
    for (size_t i = 0; i < other.count(); ++i) add(Json(other.values()[i]));
  }
}

Json Json::array(List items) {
  Json j;
  j.put(Type::array, static_cast<Block *>(nullptr));
  j.make_room(items.size());
  for (const Ref &r : items) j.add(r.value());
  return j;
}

// An array or object made of n values, which are moved from and become null.
Json Json::moved(Type type, Json *first, size_t n) {
  Json j;
  j.put(type, static_cast<Block *>(nullptr));
  j.make_room(n);
  for (size_t i = 0; i < n; ++i) j.add(std::move(first[i]));
  return j;
}

Json Json::share(std::unique_ptr<const Shared> s) noexcept {
  Json j;
  j.put(Type::shared, s.release());
  return j;
}

void Json::unshare() {
  if (shared()) *this = Json(plain());
}

Json::Block *Json::block() const noexcept {
  const Json &j = plain();
  const bool has = j.type_ == Type::array || j.type_ == Type::object || (j.is_string() && j.length_ == on_heap);
  return has ? j.take<Block *>() : nullptr;
}

size_t Json::count() const noexcept { return !is_string() && block() ? block()->size : 0; }
Json *Json::values() const noexcept { return block() ? block()->values() : nullptr; }

void Json::free() noexcept {
  if (const Shared *s = shared()) {
    if (s->owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete s;
    return;
  }
  Block *b = block();
  if (!b) return;
  std::destroy_n(values(), count());
  ::operator delete(b);
}

void Json::make_room(size_t n) {
  Block *old = block();
  if (old ? old->capacity - old->size >= n : n == 0) return;
  const size_t size = count();
  Block *b = Block::make(old ? std::max(2 * size, size + n) : n, sizeof(Json));
  std::uninitialized_move_n(values(), size, b->values());
  b->size = static_cast<uint32_t>(size);
  ::operator delete(old);  // its values are null after the move
  put(type_, b);
}

void Json::add(Json v) noexcept { new (values() + block()->size++) Json(std::move(v)); }

void Json::push_back(Json v) {
  if (is_null()) *this = array();
  need(is_array(), "a list");
  unshare();
  make_room(1);
  add(std::move(v));
}

void Json::append(Key key, Json v) {
  Json k(key);
  if (is_null()) *this = object();
  need(is_object(), "an object");
  unshare();
  make_room(2);
  add(std::move(k));
  add(std::move(v));
}

const Json &Json::operator[](size_t i) const {
  need(is_array(), "a list");
  if (i >= count()) fail(Code::invalid_argument, "expected a list of at least ", i + 1, ", got ", shown());
  return values()[i];
}

const Json *Json::find(Key key) const noexcept {
  for (const auto &[name, value] : items())
    if (name == key) return &value;
  return nullptr;
}

const Json &Json::at(Key key) const {
  need(is_object(), "an object");
  const Json *found = find(key);
  if (!found) fail(Code::invalid_argument, '"', std::string_view(key), "\" is missing");
  return *found;
}

Json Json::value(Key key, Json otherwise) const {
  const Json *found = find(key);
  return found ? *found : otherwise;
}

Json &Json::operator[](Key key) {
  unshare();
  if (const Json *found = find(key)) return const_cast<Json &>(*found);
  append(key, nullptr);
  return values()[count() - 1];
}

void Json::erase(Key key) {
  unshare();
  const Json *found = find(key);
  if (!found) return;
  auto *first = const_cast<Json *>(found) - 1;
  std::move(first + 2, values() + count(), first);
  std::destroy_n(values() + count() - 2, 2);
  block()->size -= 2;
}

void Json::update(const Json &other) {
  other.need(other.is_object(), "an object");
  if (is_null()) *this = object();
  need(is_object(), "an object");
  unshare();
  make_room(other.count());  // before the index is built, so that what it points to does not move
  std::map<std::string_view, Json *> index;
  for (const auto &[key, value] : items()) index.emplace(key, const_cast<Json *>(&value));
  for (const auto &[key, value] : other.items()) {
    auto it = index.find(key);
    if (it == index.end())
      append(key, value);
    else
      *it->second = value;
  }
}

void Json::need(bool holds, const char *what) const {
  if (!holds) fail(Code::invalid_argument, "expected ", what, ", got ", shown());
}

bool Json::boolean() const {
  need(is_boolean(), "true or false");
  return take<bool>();
}

int64_t Json::int64() const {
  need(is_int64(), "an integer");
  return take<int64_t>();
}

uint64_t Json::uint64() const {
  need(is_uint64(), "an integer of at least 0");
  return take<uint64_t>();
}

double Json::number() const {
  need(is_number(), "a number");
  if (type_ == Type::real) return take<double>();
  return is_int64() ? static_cast<double>(take<int64_t>()) : static_cast<double>(take<uint64_t>());
}

std::string_view Json::string() const {
  need(is_string(), "a string");
  if (length_ != on_heap) return {bytes_.data(), length_};
  return {block()->chars(), block()->size};
}

const Json &Json::need_array() const {
  need(is_array(), "a list");
  return *this;
}

bool Json::equals(const Json &other) const noexcept {
  if (is_number() && other.is_number()) {
    if (is_integer() && other.is_integer()) return type_ == other.type_ && take<uint64_t>() == other.take<uint64_t>();
    return number() == other.number();
  }
  if (shared() || other.shared()) return &plain() == &other.plain() || plain().equals(other.plain());
  if (type_ != other.type_) return false;
  if (is_null()) return true;
  if (is_boolean()) return take<bool>() == other.take<bool>();
  if (is_string()) return string() == other.string();
  return std::equal(values(), values() + count(), other.values(), other.values() + other.count());
}

}  // namespace dl4
