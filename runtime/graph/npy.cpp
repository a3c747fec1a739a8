#include "runtime/graph/npy.hpp"

#include "runtime/base/mapped_file.hpp"

#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace troupe {
namespace {

constexpr std::string_view magic{"\x93NUMPY", 6};
constexpr std::size_t largest_rank = 8;

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::uint64_t>> shape;
};

/// Reads the Python dictionary in the header, e.g. `{'descr': '<f4', 'fortran_order': False,
/// 'shape': (3, 4), }`.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  /// Nothing if the text is not such a dictionary.
  std::optional<Header> parse() {
    Header header;
    if (!take("{")) {
      return std::nullopt;
    }
    while (!take("}")) {
      if (!parse_entry(header) || (!take(",") && !peek('}'))) {
        return std::nullopt;
      }
    }
    skip_space();
    const bool complete = header.descr && header.fortran_order && header.shape;
    return complete && rest_.empty() ? std::optional(std::move(header)) : std::nullopt;
  }

 private:
  void skip_space() {
    const auto first = rest_.find_first_not_of(" \t\n");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
  }
  bool peek(char c) {
    skip_space();
    return !rest_.empty() && rest_.front() == c;
  }
  bool take(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) {
      return false;
    }
    rest_.remove_prefix(token.size());
    return true;
  }

  std::optional<std::string> parse_string() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) {
      return std::nullopt;
    }
    const auto end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::optional<std::vector<std::uint64_t>> parse_shape() {
    std::vector<std::uint64_t> shape;
    if (!take("(")) {
      return std::nullopt;
    }
    while (!take(")")) {
      skip_space();
      std::uint64_t extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc{} || shape.size() == largest_rank) {
        return std::nullopt;
      }
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      shape.push_back(extent);
      if (!take(",") && !peek(')')) {
        return std::nullopt;
      }
    }
    return shape;
  }

  bool parse_entry(Header& header) {
    const auto key = parse_string();
    if (!key || !take(":")) {
      return false;
    }
    if (*key == "descr" && !header.descr) {
      if (peek('[')) {  // a structured dtype: let the caller name it
        header.descr = "structured";
        const auto end = rest_.find(']');
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
        return true;
      }
      header.descr = parse_string();
      return header.descr.has_value();
    }
    if (*key == "fortran_order" && !header.fortran_order) {
      if (take("True")) {
        header.fortran_order = true;
      } else if (take("False")) {
        header.fortran_order = false;
      }
      return header.fortran_order.has_value();
    }
    if (*key == "shape" && !header.shape) {
      header.shape = parse_shape();
      return header.shape.has_value();
    }
    return false;
  }

  std::string_view rest_;
};

Error corrupt(std::string_view name, const std::string& what) {
  return Error(Errc::data_corruption, fmt::format("{}: {}", name, what));
}

Result<NpyType> parse_type(const std::string& descr, std::string_view name) {
  constexpr std::string_view known = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 ";
  const bool little = descr.size() == 3 && (descr[0] == '<' || descr[0] == '|' || descr[0] == '=');
  const bool one_byte = descr.size() == 3 && descr[2] == '1';
  if ((little || (one_byte && descr[0] == '>')) &&
      known.find(descr.substr(1) + " ") != std::string_view::npos) {
    return NpyType{descr[1], static_cast<std::uint8_t>(descr[2] - '0')};
  }
  return Error(
      Errc::unimplemented,
      fmt::format(
          "{}: expected little-endian bool, integers or floats of at most 8 bytes, got dtype "
          "\"{}\"\ntry: array.astype('<f4') or '<i8' before numpy.save",
          name, descr));
}

struct Preamble {
  std::size_t header_begin = 0;
  std::size_t data_begin = 0;
};

/// Finds the header's text by magic, version and length.
Result<Preamble> parse_preamble(std::span<const std::byte> file, std::string_view name) {
  if (file.size() < 10 || std::memcmp(file.data(), magic.data(), magic.size()) != 0) {
    return corrupt(name, "expected a NumPy array (.npy), found no \\x93NUMPY at its start");
  }
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(file[i]); };
  const auto major = byte(6);
  if ((major != 1 && major != 2) || byte(7) != 0) {
    return Error(
        Errc::unimplemented,
        fmt::format("{}: expected .npy version 1.0 or 2.0, found {}.{}", name, major, byte(7)));
  }
  const std::size_t begin = major == 1 ? 10 : 12;
  if (file.size() < begin) {
    return corrupt(name,
                   fmt::format("expected a header, the file ends after {} bytes", file.size()));
  }
  std::size_t length = byte(8) | byte(9) << 8;
  if (major == 2) {
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (length > file.size() - begin) {
    return corrupt(name, fmt::format("expected a header of {} bytes, the file ends after {}",
                                     length, file.size() - begin));
  }
  return Preamble{begin, begin + length};
}

/// Bytes of the data, or nothing if the product does not fit.
std::optional<std::uint64_t> data_bytes(NpyType type, std::span<const std::uint64_t> shape) {
  std::uint64_t bytes = type.bytes;
  for (const auto extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

Segment aligned(const Segment& file, std::span<const std::byte> data, std::size_t alignment) {
  if (data.empty()) {
    return {};
  }
  if (reinterpret_cast<std::uintptr_t>(data.data()) % alignment == 0) {
    return {file.owner, data};
  }
  Buffer copy(data.size());
  std::memcpy(copy.data(), data.data(), data.size());
  return std::move(copy).freeze();
}

}  // namespace

std::string to_string(NpyType type) {
  return fmt::format("{}{}{}", type.bytes == 1 ? '|' : '<', type.kind, int{type.bytes});
}

NpyType npy_type(DType dtype) noexcept {
  switch (dtype) {
    case DType::i32:
    case DType::i64:
      return {'i', static_cast<std::uint8_t>(size_bytes(dtype))};
    case DType::f16:
    case DType::f32:
    case DType::f64:
      return {'f', static_cast<std::uint8_t>(size_bytes(dtype))};
    case DType::boolean:
      return {'b', 1};
    default:
      return {'u', static_cast<std::uint8_t>(size_bytes(dtype))};
  }
}

std::uint64_t NpyArray::size() const noexcept {
  std::uint64_t product = 1;
  for (const auto extent : shape) {
    product *= extent;
  }
  return product;
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> start, std::uint64_t file_bytes,
                                   std::string_view name) {
  TROUPE_ASSIGN_OR_RETURN(const auto preamble, parse_preamble(start, name));
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  const auto header =
      HeaderParser(text.substr(preamble.header_begin, preamble.data_begin - preamble.header_begin))
          .parse();
  if (!header) {
    return corrupt(name,
                   "expected a header with descr, fortran_order and shape, found something else");
  }
  TROUPE_ASSIGN_OR_RETURN(const auto type, parse_type(*header->descr, name));
  if (*header->fortran_order && header->shape->size() > 1) {
    return Error(Errc::unimplemented,
                 fmt::format("{}: expected rows in C order, found Fortran order, shape {}\n"
                             "try: numpy.ascontiguousarray(array) before numpy.save",
                             name, shape_text(*header->shape)));
  }
  const auto expected = data_bytes(type, *header->shape);
  const auto found = file_bytes - preamble.data_begin;
  if (!expected || *expected != found) {
    return corrupt(name, fmt::format("expected {} bytes of data for shape {} of {}, found {}",
                                     expected ? fmt::to_string(*expected) : "more than 2^64",
                                     shape_text(*header->shape), to_string(type), found));
  }
  return NpyHeader{type, *header->shape, preamble.data_begin};
}

Result<NpyArray> parse_npy(const Segment& file, std::string_view name) {
  TROUPE_ASSIGN_OR_RETURN(auto header, parse_npy_header(file.bytes, file.bytes.size(), name));
  auto data = aligned(file, file.bytes.subspan(header.data_begin), header.type.bytes);
  return NpyArray{header.type, std::move(header.shape), std::move(data)};
}

Result<NpyArray> map_npy(const std::filesystem::path& path) {
  TROUPE_ASSIGN_OR_RETURN(const auto file, map_file(path));
  return parse_npy(file, path.string());
}

std::string npy_header(NpyType type, std::span<const std::uint64_t> shape) {
  auto dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", to_string(type),
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t before = 10;
  const auto unpadded = before + dictionary.size() + 1;
  dictionary.append((64 - unpadded % 64) % 64, ' ');
  dictionary.push_back('\n');
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xFF),
             static_cast<char>(dictionary.size() >> 8)};
  return header + dictionary;
}

}  // namespace troupe
