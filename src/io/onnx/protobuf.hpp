// Protocol Buffers' wire format: consecutive fields as views of existing bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace dl4::io {

struct Field {
  enum class Type { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  int64_t number = 0;
  Type type = Type::varint;
  uint64_t value = 0;      // bits of a number
  std::string_view bytes;  // of a message, a string or a packed list

  int64_t integer() const { return static_cast<int64_t>(value); }
  float real() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
};

// Iterates over a message's fields. Refuses truncation and groups with CORRUPT_FILE, naming the message.
class Message {
 public:
  Message(std::string_view bytes, const char *what) : bytes_(bytes), what_(what) {}

  bool next(Field &field);

 private:
  std::string_view bytes_;
  const char *what_;
};

// Removes a varint from the front of packed bytes.
uint64_t take_varint(std::string_view &bytes, const char *what);
uint64_t take_fixed(std::string_view &bytes, size_t size, const char *what);

// Calls f(bits) for the numbers of a field, packed or not.
template <class F>
void each_varint(const Field &field, const char *what, F f) {
  if (field.type == Field::Type::varint) return f(field.value);
  for (std::string_view left = field.bytes; !left.empty();) f(take_varint(left, what));
}
template <class F>
void each_fixed(const Field &field, size_t size, const char *what, F f) {
  if (field.type != Field::Type::bytes) return f(field.value);
  for (std::string_view left = field.bytes; !left.empty();) f(take_fixed(left, size, what));
}

// Writes a message's fields.
class MessageWriter {
 public:
  std::string bytes;

  void varint(int64_t number, int64_t value);
  void real(int64_t number, float value);
  void text(int64_t number, std::string_view value);
  void message(int64_t number, const MessageWriter &value) { text(number, value.bytes); }

 private:
  void raw(uint64_t value);
};

}  // namespace dl4::io
