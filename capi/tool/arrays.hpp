// Arrays in files: NumPy's, CSV, PNG, JSON.
#pragma once

#include "models.hpp"

namespace dl4::tool {

// Numbers in rows. A first line of which no cell is a number is left out.
struct Csv {
  std::vector<double> values;
  int64_t rows = 0, columns = 0;
};
Csv read_csv(const std::string &path);

// Cells in columns, by the names in the first line, or by `names` with commas between them, where there is no such
// line. A cell in quotes may have commas, and quotes written twice.
struct Columns {
  std::string path;
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> cells;  // by column
  std::vector<int64_t> rows;                    // of each cell of a column the row of the file, from 1
};
Columns read_columns(const std::string &path, const std::string &names);
inline constexpr const char *columns_help = "the names of all columns of a .csv file without a line of names: A,B,C";
// The column of that name as `slot` takes it, strings or numbers of one each row.
Tensor column_of(const Columns &table, const std::string &name, const Slot &slot, double scale);
// Rows of values [B] or [B, N] below the names of their slots.
std::string table_of(const std::vector<Slot> &slots, const Tensors &values);

// The picture in a file, [1, H, W, C] of uint8: C is 1 grey, 3 colours, or 2 or 4 with transparency. Refuses another
// number of channels than `channels`; -1 takes any.
Tensor read_png(const std::string &path, int64_t channels);

// The array in a .npy, .csv or .png file as input `slot` takes it: of its type and, without a batch axis or in rows of
// numbers, in its shape. scale: what numbers are multiplied by.
Tensor read_input(const std::string &path, const Slot &slot, double scale);
// A slot by its place, and the file that it is read from or written to.
struct Place {
  size_t slot;
  std::string file;
};
// "NAME=FILE", or a FILE alone: that of slot `otherwise`. what: "input" or "output".
Place place_of(const std::vector<Slot> &slots, const std::string &told, size_t otherwise, const std::string &what);
// Of each slot its files, joined to one batch.
Tensors read_inputs(const std::vector<Slot> &slots, const std::vector<std::string> &told, double scale);
// Of values in rows, n from column `first` on of each, as rows of the shape `dims`, whose first axis is the rows.
Tensor columns_of(const Csv &csv, int64_t first, int64_t n, const Dims &dims, const std::string &path);
// The same numbers in another type. Refuses what the type can't hold.
Tensor converted(const Tensor &t, int32_t dtype, double scale, const std::string &path);
// Tensors [B, ...] one behind the other.
Tensor joined(const Tensors &parts);

// In the form that the end of the path says: .npy, .csv (at most two axes) or .json.
void write_array(const std::string &path, const Tensor &t);
// Nested lists.
Json json_of(const Tensor &t);
// The first numbers of a tensor, for people.
std::string preview(const Tensor &t);

}  // namespace dl4::tool
