// JSON values that keep the order of their keys, their parser and writer. The only JSON code in the library.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dl4 {

// 16 bytes: a number, a string of up to 14 bytes, a block of exactly the needed size, or a holder of a value that
// copies share. Members of an object are found by linear search; code that looks up many builds an index.
class Json {
  enum class Type : uint8_t { null, boolean, integer, natural, real, string, array, object, shared };

 public:
  class Ref;
  using List = std::initializer_list<Ref>;
  // A member's name. The compiler computes the length of a literal.
  struct Key : std::string_view {
    template <size_t N>
    constexpr Key(const char (&literal)[N]) : std::string_view(literal, N - 1) {}
    template <class T>
    requires std::is_same_v<T, const char *> Key(const T &s) : std::string_view(s) {}
    constexpr Key(std::string_view s) : std::string_view(s) {}
    Key(const std::string &s) : std::string_view(s) {}
  };

  Json() noexcept = default;
  Json(std::nullptr_t) noexcept {}
  template <class T>
  requires std::is_arithmetic_v<T> Json(T v)
  noexcept {
    if constexpr (std::is_same_v<T, bool>)
      put(Type::boolean, v);
    else if constexpr (std::is_floating_point_v<T>)
      put(Type::real, static_cast<double>(v));
    else if (std::is_signed_v<T> || static_cast<uint64_t>(v) <= INT64_MAX)
      put(Type::integer, static_cast<int64_t>(v));
    else
      put(Type::natural, static_cast<uint64_t>(v));
  }
  Json(std::string_view s);
  Json(const std::string &s) : Json(std::string_view(s)) {}
  Json(const char *s) : Json(std::string_view(s)) {}
  // From a range whose elements convert to Json: vectors, spans.
  template <class R>
  requires(!std::is_same_v<R, Json> && !std::is_base_of_v<std::string_view, R>) && requires(const R &list) {
    Json(*list.begin());
  }
  Json(const R &list) : Json(array()) {
    for (const auto &item : list) push_back(item);
  }
  // {{"key", value}, ...} makes an object, any other list an array.
  Json(List list);
  Json(const Json &other);
  Json(Json &&other) noexcept
      : bytes_(other.bytes_), length_(other.length_), type_(std::exchange(other.type_, Type::null)) {}
  Json &operator=(Json other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(length_, other.length_);
    std::swap(type_, other.type_);
    return *this;
  }
  ~Json() {
    if (type_ >= Type::string) free();
  }

  static Json array(List items = {});
  static Json object() noexcept {
    Json j;
    j.put(Type::object, static_cast<Block *>(nullptr));
    return j;
  }

  bool is_null() const noexcept { return type_ == Type::null; }
  bool is_boolean() const noexcept { return type_ == Type::boolean; }
  bool is_number() const noexcept { return is_integer() || type_ == Type::real; }
  bool is_integer() const noexcept { return is_int64() || type_ == Type::natural; }
  bool is_int64() const noexcept { return type_ == Type::integer; }
  bool is_uint64() const noexcept { return type_ == Type::natural || (is_int64() && take<int64_t>() >= 0); }
  bool is_string() const noexcept { return type_ == Type::string; }
  bool is_array() const noexcept { return plain().type_ == Type::array; }
  bool is_object() const noexcept { return plain().type_ == Type::object; }

  // The value as bool, int64_t, uint64_t, double, std::string, std::string_view or a vector of those. Refuses other
  // types and integers out of range.
  template <class T>
  T get() const {
    if constexpr (std::is_same_v<T, bool>) {
      return boolean();
    } else if constexpr (std::is_same_v<T, int64_t>) {
      return int64();
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      return uint64();
    } else if constexpr (std::is_same_v<T, double>) {
      return number();
    } else if constexpr (std::is_constructible_v<T, std::string_view>) {
      return T(string());
    } else {
      T list;
      for (const Json &item : need_array()) list.push_back(item.get<typename T::value_type>());
      return list;
    }
  }

  // Length of an array or object, else 0.
  size_t size() const noexcept { return is_object() ? count() / 2 : count(); }
  bool empty() const noexcept { return size() == 0; }

  const Json *begin() const noexcept { return is_array() ? values() : nullptr; }
  const Json *end() const noexcept { return is_array() ? values() + count() : nullptr; }
  const Json &operator[](size_t i) const;
  Json &operator[](size_t i) {
    unshare();
    return const_cast<Json &>(std::as_const(*this)[i]);
  }
  // Appends; null becomes an array first.
  void push_back(Json v);

  // Null pointer if there is no such member or this is no object.
  const Json *find(Key key) const noexcept;
  bool contains(Key key) const noexcept { return find(key) != nullptr; }
  const Json &at(Key key) const;  // refuses a missing key
  const Json &operator[](Key key) const { return at(key); }
  Json value(Key key, Json otherwise) const;
  // Adds a null member if the key is missing. null becomes an object first.
  Json &operator[](Key key);
  void erase(Key key);
  // Sets every member of `other`, an object.
  void update(const Json &other);
  // Adds a member without searching: the key must be new.
  void append(Key key, Json v);

  // An array or object that copies share, with data derived from it. It is immutable: changing a copy gives that copy
  // its own elements.
  class Shared;
  static Json share(std::unique_ptr<const Shared> s) noexcept;
  const Shared *shared() const noexcept { return type_ == Type::shared ? take<const Shared *>() : nullptr; }

  // Members in order: for (const auto &[key, value] : j.items()).
  class Items;
  Items items() const noexcept;

  // Compares numbers by value and members in order.
  friend bool operator==(const Json &a, const Json &b) noexcept { return a.equals(b); }

  struct Limits {
    int64_t members = 10'000;    // per object
    int64_t memory = INT64_MAX;  // peak bytes
  };
  // Refuses with INVALID_ARGUMENT what is not JSON (RFC 8259), duplicate keys in an object, nesting deeper than 64 and
  // numbers past the range of double; with OUT_OF_MEMORY what would exceed the limit. Takes time proportional to the
  // text, and at most 5 times its bytes plus 16 MiB.
  static Json parse(std::string_view text, const Limits &limits);
  static Json parse(std::string_view text) { return parse(text, Limits()); }
  // Numbers use the shortest form that reads back the same; infinities and NaN become null. With an indent, each member
  // and item has its own line. Refuses strings that are not UTF-8.
  std::string dump(int indent = -1) const;
  // The text, shortened for quoting in an error message.
  std::string shown() const;

 private:
  friend class JsonReader;
  // Heap block: the bytes of a string, or the values of an array or object. An object alternates keys and values.
  struct Block;
  static constexpr uint8_t on_heap = 255;

  template <class T>
  void put(Type type, T v) noexcept {
    static_assert(sizeof v <= 8);
    std::memcpy(bytes_.data(), &v, sizeof v);
    type_ = type;
  }
  template <class T>
  T take() const noexcept {
    T v;
    std::memcpy(&v, bytes_.data(), sizeof v);
    return v;
  }
  const Json &plain() const noexcept;
  void unshare();
  Block *block() const noexcept;
  size_t count() const noexcept;
  Json *values() const noexcept;
  void free() noexcept;
  void make_room(size_t n);
  void add(Json v) noexcept;  // capacity must suffice
  static Json moved(Type type, Json *first, size_t n);
  void need(bool holds, const char *what) const;
  bool boolean() const;
  int64_t int64() const;
  uint64_t uint64() const;
  double number() const;
  std::string_view string() const;
  const Json &need_array() const;
  bool equals(const Json &other) const noexcept;

  alignas(8) std::array<char, 14> bytes_{};
  uint8_t length_ = 0;  // of a short string, or on_heap
  Type type_ = Type::null;
};

class Json::Shared {
 public:
  explicit Shared(Json v) : value((v.unshare(), std::move(v))) {}
  virtual ~Shared() = default;
  Shared(const Shared &) = delete;
  Shared &operator=(const Shared &) = delete;
  const Json value;

 private:
  friend class Json;
  mutable std::atomic<int64_t> owners_{1};
};

inline const Json &Json::plain() const noexcept {
  const Shared *s = shared();
  return s ? s->value : *this;
}

// An element of a braced list: a pointer to the source value and the function that converts it. It owns nothing, so
// call sites have nothing to destroy; it lives as long as the call expression.
class Json::Ref {
 public:
  template <class T>
  requires(!std::is_same_v<T, Ref> && !std::is_same_v<T, List> &&
           std::is_convertible_v<const T &, Json>) constexpr Ref(const T &v) {
    if constexpr (std::is_null_pointer_v<T>) {
      make_ = null;
    } else if constexpr (std::is_same_v<T, bool>) {
      at_.natural = v;
      make_ = boolean;
    } else if constexpr (std::is_floating_point_v<T>) {
      at_.real = static_cast<double>(v);
      make_ = real;
    } else if constexpr (std::is_arithmetic_v<T>) {
      at_.natural = static_cast<uint64_t>(v);
      make_ = std::is_signed_v<T> ? integer : natural;
    } else if constexpr (std::is_convertible_v<const T &, const char *>) {
      at_.chars = v;
      make_ = text;
    } else {
      at_.any = &v;
      make_ = copy<T>;
    }
  }
  Ref(Json &&v) : at_{.any = &v}, make_(move) {}
  constexpr Ref(const List &list) : at_{.any = &list}, make_(Ref::list) {}

 private:
  friend class Json;
  union At {
    uint64_t natural;
    double real;
    const char *chars;
    const void *any;
  };

  Json value() const { return make_(at_); }
  bool is_text() const;
  const List *as_list() const { return make_ == list ? static_cast<const List *>(at_.any) : nullptr; }

  static Json null(At at);
  static Json boolean(At at);
  static Json integer(At at);
  static Json natural(At at);
  static Json real(At at);
  static Json text(At at);
  static Json list(At at);
  static Json move(At at);
  template <class T>
  static Json copy(At at) {
    return Json(*static_cast<const T *>(at.any));
  }

  At at_{};
  Json (*make_)(At);
};

class Json::Items {
 public:
  class Iterator {
   public:
    explicit Iterator(const Json *at) : at_(at) {}
    std::pair<std::string_view, const Json &> operator*() const { return {at_[0].string(), at_[1]}; }
    Iterator &operator++() {
      at_ += 2;
      return *this;
    }
    bool operator!=(const Iterator &other) const { return at_ != other.at_; }

   private:
    const Json *at_;
  };

  Items(const Json *first, size_t n) : first_(first), n_(n) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(first_ + n_); }

 private:
  const Json *first_;
  size_t n_;
};

inline Json::Items Json::items() const noexcept { return is_object() ? Items(values(), count()) : Items(nullptr, 0); }

}  // namespace dl4
