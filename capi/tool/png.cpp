// Pictures, by libpng: pixels as they stand in the file, whatever it says of gamma, as Keras's load_img takes them.
#include "arrays.hpp"
#include "system.hpp"

#ifdef DL4_TOOL_PNG
#include <png.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#endif

namespace dl4::tool {

#ifdef DL4_TOOL_PNG
namespace {

// libpng leaves by longjmp: what is called between here and there has nothing to be destroyed.
struct Reader {
  explicit Reader(const std::string &path) : file(os::open(path, false)) {
    if (!file) throw Refusal(files, "cannot open \"" + path + "\": " + std::strerror(errno));
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, ignore);
    info = png ? png_create_info_struct(png) : nullptr;
  }
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;
  ~Reader() {
    png_destroy_read_struct(png ? &png : nullptr, info ? &info : nullptr, nullptr);
    std::fclose(file);
  }

  static void leave(png_structp png, png_const_charp why) {
    auto &reader = *static_cast<Reader *>(png_get_error_ptr(png));
    std::snprintf(reader.why, sizeof reader.why, "%s", why);
    png_longjmp(png, 1);
  }
  static void ignore(png_structp, png_const_charp) {}

  // Up to the pixels, which come as 1 grey, 3 colours, each with transparency behind it or not.
  bool begin() {
    if (setjmp(png_jmpbuf(png))) return false;
    png_init_io(png, file);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    return true;
  }
  bool pixels(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_read_image(png, rows);
    png_read_end(png, nullptr);
    return true;
  }

  FILE *file;
  png_structp png = nullptr;
  png_infop info = nullptr;
  char why[200] = "";
};

}  // namespace

Tensor read_png(const std::string &path, int64_t channels) {
  constexpr int64_t most_pixels = 100'000'000;
  const auto refuse = [&](const std::string &why) { throw Refusal(refused, '"' + path + "\": " + why); };
  Reader reader(path);
  if (!reader.info) throw std::bad_alloc();
  if (!reader.begin()) refuse(std::string("it is no sound PNG file: ") + reader.why);
  const int64_t height = png_get_image_height(reader.png, reader.info),
                width = png_get_image_width(reader.png, reader.info), n = png_get_channels(reader.png, reader.info);
  constexpr const char *meanings[] = {"", "1 channel (grey)", "2 channels (grey, transparency)", "3 channels (colours)",
                                      "4 channels (colours, transparency)"};
  if (channels >= 0 && n != channels)
    refuse(std::string("it has ") + meanings[n] + ", the model takes " + std::to_string(channels));
  if (height > most_pixels / width)
    refuse(std::to_string(width) + " x " + std::to_string(height) + " pixels; at most 100 million are read");
  if (png_get_bit_depth(reader.png, reader.info) != 8) refuse("pixels of 16 bits; at most 8 are read");
  std::vector<uint8_t> bytes(static_cast<size_t>(height * width * n));
  std::vector<png_bytep> rows;
  for (int64_t i = 0; i < height; ++i) rows.push_back(bytes.data() + i * width * n);
  if (!reader.pixels(rows.data())) refuse(std::string("it is no sound PNG file: ") + reader.why);
  const Tensor t = Tensor::zeros<uint8_t>({1, height, width, n});
  std::copy(bytes.begin(), bytes.end(), t.data<uint8_t>().begin());
  return t;
}
#else
Tensor read_png(const std::string &path, int64_t) {
  throw Refusal(refused, '"' + path + "\": this dl4 was built without libpng");
}
#endif

}  // namespace dl4::tool
