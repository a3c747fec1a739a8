#include "runtime/nn/model_file.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/graph/npy.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace troupe::nn {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view metadata_key = "__metadata__";
constexpr std::size_t length_bytes = 8;
constexpr std::size_t alignment = 8;  // of the data, as the format's own writer does

Error corrupt(const std::string& what) {
  return Error(Errc::data_corruption, what);
}

/// A name from a file, fit for a message.
std::string shown(const std::string& name) {
  auto text = text_of_json(Json(name.substr(0, 80)), {.ascii = true});
  return name.size() > 80 ? text + "…" : text;
}

std::string shown_shape(std::span<const std::uint64_t> shape) {
  constexpr std::size_t most = 8;
  return shape_text(shape.first(std::min(shape.size(), most))) + (shape.size() > most ? "…" : "");
}

/// Product of a shape, or nothing if it does not fit.
std::optional<std::uint64_t> elements_of(std::span<const std::uint64_t> shape) {
  std::uint64_t product = 1;
  for (const auto extent : shape) {
    if (__builtin_mul_overflow(product, extent, &product)) {
      return std::nullopt;
    }
  }
  return product;
}

/// A list of the header; `given` tells an empty one from none.
struct HeaderList {
  bool given = false;
  std::vector<std::uint64_t> numbers;
};

struct HeaderEntry {
  std::string name;
  std::optional<std::string> dtype;
  HeaderList shape;
  HeaderList offsets;
  std::uint64_t begin = 0;  ///< of its data; set when the offsets are checked
  std::uint64_t end = 0;
};

/// Reads a header event by event, so that depth, types and repeated keys are checked before anything
/// is kept: {name: {"dtype": text, "shape": [n…], "data_offsets": [begin, end]}, "__metadata__":
/// {text: text}}.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<HeaderEntry> entries;
  std::map<std::string, std::string> metadata;
  std::string problem;

  bool start_object(std::size_t) override {
    if (depth_ > 1) {
      return unexpected();
    }
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(string_t& text) override {
    key_ = text;
    if (depth_ == 1) {
      return begin_entry();
    }
    if (in_metadata_) {
      return !metadata.contains(key_) || expected("each key of __metadata__ once");
    }
    return true;
  }
  bool string(string_t& text) override {
    if (depth_ == 2 && in_metadata_) {
      metadata.emplace(key_, text);
      return true;
    }
    if (depth_ == 2 && key_ == "dtype" && !entries.back().dtype) {
      entries.back().dtype = text;
      return true;
    }
    return unexpected();
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || (key_ != "shape" && key_ != "data_offsets")) {
      return unexpected();
    }
    auto& entry = entries.back();
    auto& target = key_ == "shape" ? entry.shape : entry.offsets;
    if (std::exchange(target.given, true)) {
      return expected(fmt::format("\"{}\" once", key_));
    }
    numbers_ = &target.numbers;
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    numbers_ = nullptr;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (numbers_ == nullptr) {
      return unexpected();
    }
    numbers_->push_back(value);
    return true;
  }
  bool number_integer(number_integer_t) override { return unexpected(); }
  bool number_float(number_float_t, const string_t&) override { return unexpected(); }
  bool boolean(bool) override { return unexpected(); }
  bool null() override { return unexpected(); }
  bool binary(binary_t&) override { return unexpected(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    problem = fmt::format("header: expected JSON, found something else at its byte {}", position);
    return false;
  }

 private:
  bool begin_entry() {
    in_metadata_ = key_ == metadata_key;
    if (in_metadata_) {
      const bool first = !std::exchange(had_metadata_, true);
      return first || expected("__metadata__ once");
    }
    if (!names_.insert(key_).second) {
      return expected("each name once");
    }
    entries.emplace_back().name = key_;
    return true;
  }
  bool expected(std::string_view what) {
    const auto& place = depth_ < 2 || in_metadata_ || entries.empty() ? key_ : entries.back().name;
    problem = fmt::format("header: at {}: expected {}", shown(place), what);
    return false;
  }
  bool unexpected() {
    if (depth_ < 2) {
      return expected("an object of tensors, each an object");
    }
    return expected(in_metadata_ ? "text as value of __metadata__"
                                 : "\"dtype\" (text), \"shape\" and \"data_offsets\" (lists of "
                                   "integers from 0), each once, and nothing else");
  }

  std::set<std::string> names_;
  std::string key_;
  std::vector<std::uint64_t>* numbers_ = nullptr;
  std::size_t depth_ = 0;
  bool in_metadata_ = false;
  bool had_metadata_ = false;
};

/// Checks one entry but for where its data lie.
Status check_entry(HeaderEntry& entry) {
  const auto name = shown(entry.name);
  const auto& offsets = entry.offsets.numbers;
  if (!entry.dtype || !entry.shape.given || offsets.size() != 2) {
    return corrupt(fmt::format(
        "tensor {}: expected \"dtype\", \"shape\" and two \"data_offsets\", some are missing",
        name));
  }
  if (*entry.dtype != "F32") {
    return corrupt(
        fmt::format("tensor {}: expected dtype F32, found {}", name, shown(*entry.dtype)));
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  const auto elements = elements_of(entry.shape.numbers);
  const auto bytes = entry.end - entry.begin;
  if (!elements || entry.begin > entry.end || bytes % sizeof(float) != 0 ||
      bytes / sizeof(float) != *elements) {
    return corrupt(fmt::format("tensor {}: expected data_offsets of shape {}, found [{}, {}]", name,
                               shown_shape(entry.shape.numbers), entry.begin, entry.end));
  }
  return ok_status();
}

/// Checks that the entries, put in the order of their data, cover it without gap or overlap.
Status check_cover(std::vector<HeaderEntry>& entries, std::uint64_t data_bytes) {
  std::ranges::stable_sort(entries, [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const auto& entry : entries) {
    if (entry.begin != end || entry.end > data_bytes) {
      return corrupt(fmt::format(
          "tensor {}: expected data that begin at {} and end by {}, found data_offsets [{}, {}]",
          shown(entry.name), end, data_bytes, entry.begin, entry.end));
    }
    end = entry.end;
  }
  if (end != data_bytes) {
    return corrupt(fmt::format("expected {} bytes of data, found {}", end, data_bytes));
  }
  return ok_status();
}

Status read_header(std::string_view text, HeaderReader& reader) {
  if (text.empty() || text.front() != '{') {
    return corrupt("header: expected a JSON object that begins at its first byte");
  }
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) {
    return corrupt(reader.problem);
  }
  for (auto& entry : reader.entries) {
    TROUPE_RETURN_IF_ERROR(check_entry(entry));
  }
  return ok_status();
}

std::string header_of(const TensorFile& file) {
  auto header = Json::object();
  if (!file.metadata.empty()) {
    header[std::string(metadata_key)] = file.metadata;
  }
  std::uint64_t begin = 0;
  for (const auto& tensor : file.tensors) {
    TROUPE_ASSERT(elements_of(tensor.shape) == tensor.values.size() &&
                      tensor.name != metadata_key && !header.contains(tensor.name),
                  "tensor", tensor.name, tensor.values.size());
    const auto end = begin + tensor.values.size() * sizeof(float);
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  auto text = text_of_json(header);
  text.append((alignment - (length_bytes + text.size()) % alignment) % alignment, ' ');
  return text;
}

std::size_t layout_size(const ParameterLayout& layout) {
  std::size_t size = 0;
  for (const auto& slice : layout) {
    size = std::max(size, slice.offset + slice.size());
  }
  return size;
}

/// A column may be written as a vector or as a matrix of one column.
bool has_shape(const NamedTensor& tensor, const ParameterSlice& slice) {
  const std::vector<std::uint64_t> vector{slice.rows};
  const std::vector<std::uint64_t> matrix{slice.rows, slice.cols};
  return tensor.shape == matrix || (slice.cols == 1 && tensor.shape == vector);
}

}  // namespace

std::vector<std::byte> encode_tensors(const TensorFile& file) {
  const auto header = header_of(file);
  std::size_t size = length_bytes + header.size();
  for (const auto& tensor : file.tensors) {
    size += tensor.values.size() * sizeof(float);
  }
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < length_bytes; ++i) {
    bytes[i] = static_cast<std::byte>(header.size() >> (8 * i) & 0xFF);
  }
  std::memcpy(bytes.data() + length_bytes, header.data(), header.size());
  auto* out = bytes.data() + length_bytes + header.size();
  for (const auto& tensor : file.tensors) {
    const auto data = std::as_bytes(std::span(tensor.values));
    out = std::ranges::copy(data, out).out;
  }
  return bytes;
}

Result<TensorFile> decode_tensors(std::span<const std::byte> bytes) {
  if (bytes.size() < length_bytes) {
    return corrupt(fmt::format("expected a safetensors file, found {} bytes", bytes.size()));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > bytes.size() - length_bytes) {
    return corrupt(fmt::format("expected a safetensors header of {} bytes, found {} in the file",
                               length, bytes.size() - length_bytes));
  }
  HeaderReader reader;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + length_bytes, length);
  TROUPE_RETURN_IF_ERROR(read_header(text, reader));
  const auto data = bytes.subspan(length_bytes + length);
  TROUPE_RETURN_IF_ERROR(check_cover(reader.entries, data.size()));
  TensorFile file;
  file.metadata = std::move(reader.metadata);
  for (auto& entry : reader.entries) {
    const auto part = data.subspan(entry.begin, entry.end - entry.begin);
    NamedTensor tensor{std::move(entry.name), std::move(entry.shape.numbers),
                       std::vector<float>(part.size() / sizeof(float))};
    std::ranges::copy(part, std::as_writable_bytes(std::span(tensor.values)).begin());
    file.tensors.push_back(std::move(tensor));
  }
  return file;
}

std::vector<NamedTensor> split_parameters(const ParameterLayout& layout,
                                          std::span<const float> parameters) {
  TROUPE_ASSERT(layout_size(layout) == parameters.size(), "parameters", parameters.size(), "of",
                layout_size(layout));
  std::vector<NamedTensor> tensors;
  for (const auto& slice : layout) {
    const auto values = parameters.subspan(slice.offset, slice.size());
    NamedTensor tensor{slice.name, {slice.rows}, {values.begin(), values.end()}};
    if (slice.cols != 1) {
      tensor.shape.push_back(slice.cols);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<std::vector<float>> join_parameters(const ParameterLayout& layout,
                                           const std::vector<NamedTensor>& tensors) {
  std::map<std::string_view, const NamedTensor*> by_name;
  for (const auto& tensor : tensors) {
    if (!by_name.emplace(tensor.name, &tensor).second) {
      return Error(Errc::invalid_argument,
                   fmt::format("tensor {}: expected once, found twice", shown(tensor.name)));
    }
  }
  std::vector<float> parameters(layout_size(layout));
  for (const auto& slice : layout) {
    const auto found = by_name.find(slice.name);
    if (found == by_name.end()) {
      return Error(Errc::invalid_argument,
                   fmt::format("tensor \"{}\": expected shape [{}, {}], found "
                               "no tensor of this name",
                               slice.name, slice.rows, slice.cols));
    }
    if (!has_shape(*found->second, slice) || found->second->values.size() != slice.size()) {
      return Error(Errc::invalid_argument,
                   fmt::format("tensor \"{}\": expected shape [{}, {}], found {}", slice.name,
                               slice.rows, slice.cols, shown_shape(found->second->shape)));
    }
    std::ranges::copy(found->second->values,
                      parameters.begin() + static_cast<std::ptrdiff_t>(slice.offset));
    by_name.erase(found);
  }
  if (!by_name.empty()) {
    return Error(Errc::invalid_argument,
                 fmt::format("tensor {}: expected none of this name, the "
                             "model has {} others",
                             shown(by_name.begin()->second->name), layout.size()));
  }
  return parameters;
}

}  // namespace troupe::nn
