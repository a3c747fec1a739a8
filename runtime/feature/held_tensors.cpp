#include "runtime/feature/held_tensors.hpp"

#include "runtime/base/saturating.hpp"
#include "runtime/feature/embedding/initial_rows.hpp"
#include "runtime/graph/half.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace troupe {
namespace {

Error refused_tensor(const Part& part, const std::string& name, const std::string& what) {
  return {Errc::invalid_argument,
          fmt::format("tensor \"{}\" of part {}: {}", name, raw(part.id), what)};
}

// ---- numbers ----

/// Number type, and how two of them are added. Whole numbers wrap.
template <class T>
struct Number {
  using Word = T;
  static T from(float value) { return static_cast<T>(value); }
  static T sum(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(
          static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
    } else {
      return a + b;
    }
  }
};
/// Sums of half precision are made in float32 and rounded to the nearest.
struct F16 {
  using Word = std::uint16_t;
  static Word from(float value) { return float_to_f16(value); }
  static Word sum(Word a, Word b) { return float_to_f16(f16_to_float(a) + f16_to_float(b)); }
};
struct Bf16 {
  using Word = std::uint16_t;
  static Word from(float value) { return float_to_bf16(value); }
  static Word sum(Word a, Word b) { return float_to_bf16(bf16_to_float(a) + bf16_to_float(b)); }
};

/// Calls `f(kind)` with the kind of numbers of a dtype.
/// \requires is_tensor_dtype(dtype)
template <class F>
void with_number(DType dtype, F f) {
  switch (dtype) {
    case DType::f64:
      return f(Number<double>{});
    case DType::f16:
      return f(F16{});
    case DType::bf16:
      return f(Bf16{});
    case DType::i32:
      return f(Number<std::int32_t>{});
    case DType::i64:
      return f(Number<std::int64_t>{});
    case DType::u8:
      return f(Number<std::uint8_t>{});
    default:
      return f(Number<float>{});
  }
}

/// Memory of a segment may lie at any address.
template <class Kind>
void add_row(std::byte* to, const std::byte* from, std::size_t bytes) {
  using Word = typename Kind::Word;
  for (std::size_t at = 0; at < bytes; at += sizeof(Word)) {
    Word a;
    Word b;
    std::memcpy(&a, to + at, sizeof(Word));
    std::memcpy(&b, from + at, sizeof(Word));
    a = Kind::sum(a, b);
    std::memcpy(to + at, &a, sizeof(Word));
  }
}

// ---- the start ----

/// Original id of a row: of nodes that of the node, else its number.
OriginalId original_of(const Part& part, const MakeTensor& request, std::uint64_t local) {
  if (static_cast<TensorOf>(request.of) == TensorOf::nodes) {
    return static_cast<OriginalId>(part.nodes[request.type].original_ids[local]);
  }
  return static_cast<OriginalId>(request.first + local);
}

void fill(const Part& part, const MakeTensor& request, std::span<std::byte> values) {
  EmbeddingOptions like;
  like.name = request.name;
  like.dim = request.cols;
  const bool normal = static_cast<TensorStart>(request.start) == TensorStart::normal;
  like.init = {normal ? "normal" : "uniform", request.size, request.size};
  const InitialRows start(like, request.seed);
  std::vector<float> row(request.cols);
  with_number(static_cast<DType>(request.dtype), [&]<class Kind>(Kind) {
    using Word = typename Kind::Word;
    std::byte* to = values.data();
    for (std::uint64_t i = 0; i < request.count; ++i) {
      start.fill(original_of(part, request, i), row);
      for (const float value : row) {
        const Word word = Kind::from(value);
        std::memcpy(to, &word, sizeof(Word));
        to += sizeof(Word);
      }
    }
  });
}

Status check_make(const Part& part, const MakeTensor& request) {
  const auto refuse = [&](const std::string& what) {
    return refused_tensor(part, request.name, what);
  };
  const auto dtype = static_cast<DType>(request.dtype);
  if (request.of > static_cast<std::uint8_t>(TensorOf::rows) ||
      request.start > static_cast<std::uint8_t>(TensorStart::normal) ||
      request.dtype > static_cast<std::uint8_t>(DType::boolean) || !is_tensor_dtype(dtype)) {
    return refuse(
        fmt::format("expected rows, numbers and a start that are known, found {}, {} "
                    "and {}",
                    request.of, request.dtype, request.start));
  }
  if (request.start != 0 && !is_float_dtype(dtype)) {
    return refuse(fmt::format("expected zeros as the start of {} numbers", to_string(dtype)));
  }
  const auto row_bytes = times(request.cols, size_bytes(dtype));
  if (request.cols == 0 || row_bytes > max_tensor_row_bytes ||
      times(request.count, row_bytes) > max_tensor_bytes ||
      plus(request.first, request.count) == unlimited) {
    return refuse(fmt::format("expected 1 to {} bytes per row and {} in all, found {} rows of {}",
                              max_tensor_row_bytes, max_tensor_bytes, request.count, row_bytes));
  }
  if (static_cast<TensorOf>(request.of) == TensorOf::nodes) {
    const bool known = request.type < part.nodes.size();
    const auto first = known ? raw(part.nodes[request.type].first) : 0;
    const auto count = known ? part.nodes[request.type].count : 0;
    if (!known || first != request.first || count != request.count) {
      return refuse(fmt::format("expected the {} nodes from {} on of type {}, found {} from {} on",
                                count, first, request.type, request.count, request.first));
    }
  }
  return ok_status();
}

}  // namespace

bool is_float_dtype(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

bool is_tensor_dtype(DType dtype) noexcept {
  return is_float_dtype(dtype) || dtype == DType::i32 || dtype == DType::i64 || dtype == DType::u8;
}

std::uint64_t tensor_bytes(const TensorPlaces& places, std::uint64_t row_bytes) {
  return times(places.size(), row_bytes);
}

Status check_tensor_places(std::string_view message, const TensorPlaces& places,
                           std::uint64_t row_bytes) {
  if (row_bytes > max_tensor_row_bytes || tensor_bytes(places, row_bytes) > max_tensor_bytes) {
    return Error(
        Errc::data_corruption,
        fmt::format("{}: expected at most {} bytes per row and {} in all, found {} rows "
                    "of {} bytes",
                    message, max_tensor_row_bytes, max_tensor_bytes, places.size(), row_bytes));
  }
  return ok_status();
}

// ---- operations ----

Result<bool> HeldTensors::is_next(const Part& part, Rank writer, std::uint64_t operation) const {
  const auto before = last_operation_.find(writer);
  const std::uint64_t last = before == last_operation_.end() ? 0 : before->second;
  if (operation != 0 && operation <= last) {
    return false;
  }
  if (operation != last + 1) {
    return Error(Errc::failed_precondition,
                 fmt::format("part {}: expected write {} of rank {}, found write {}: what was "
                             "written before is lost here; try: --resume from the last checkpoint",
                             raw(part.id), last + 1, raw(writer), operation));
  }
  return true;
}

Status HeldTensors::make(const Part& part, const MakeTensor& request) {
  TROUPE_ASSIGN_OR_RETURN(const bool next, is_next(part, request.writer, request.operation));
  if (next) {
    TROUPE_RETURN_IF_ERROR(apply(part, request));
    last_operation_[request.writer] = request.operation;
  }
  return ok_status();
}

Result<const HeldTensors::Tensor*> HeldTensors::find(const Part& part, std::uint32_t tensor) const {
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end()) {
    return Error(Errc::not_found,
                 fmt::format("tensor {} of part {}: not there", tensor, raw(part.id)));
  }
  return &found->second;
}

Status HeldTensors::apply(const Part& part, const MakeTensor& request) {
  if (request.gone) {
    TROUPE_RETURN_IF_ERROR(find(part, request.tensor));
    tensors_.erase(request.tensor);
    return ok_status();
  }
  TROUPE_RETURN_IF_ERROR(check_make(part, request));
  if (tensors_.size() == max_tensors || tensors_.contains(request.tensor)) {
    return refused_tensor(part, request.name,
                          fmt::format("expected at most {} tensors and another number than {}",
                                      max_tensors, request.tensor));
  }
  const auto dtype = static_cast<DType>(request.dtype);
  Tensor made{.name = request.name,
              .first = request.first,
              .count = request.count,
              .dtype = dtype,
              .row_bytes = request.cols * size_bytes(dtype),
              .values = {}};
  try {
    made.values.resize(made.count * made.row_bytes);
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory,
                 fmt::format("tensor \"{}\" of part {}: {} rows of {} bytes do not fit",
                             request.name, raw(part.id), made.count, made.row_bytes));
  }
  if (request.start != 0) {
    fill(part, request, made.values);
  }
  tensors_.emplace(request.tensor, std::move(made));
  return ok_status();
}

Status HeldTensors::check(const Tensor& tensor, const Part& part, const TensorPlaces& places,
                          std::uint64_t row_bytes) {
  if (!places.ids.empty() && places.count > 0) {
    return refused_tensor(part, tensor.name,
                          fmt::format("expected ids or a range, found {} ids and a range of {}",
                                      places.ids.size(), places.count));
  }
  if (row_bytes != tensor.row_bytes) {
    return refused_tensor(
        part, tensor.name,
        fmt::format("expected {} bytes per row, found {}", tensor.row_bytes, row_bytes));
  }
  const auto end = tensor.first + tensor.count;
  const auto stranger = std::ranges::find_if(
      places.ids, [&](std::uint64_t id) { return id < tensor.first || id >= end; });
  const bool range_fits =
      places.count == 0 ||
      (places.first >= tensor.first && places.first < end && places.count <= end - places.first);
  if (stranger != places.ids.end() || !range_fits) {
    return refused_tensor(
        part, tensor.name,
        fmt::format("expected rows in [{}, {}), found {}", tensor.first, end,
                    stranger != places.ids.end()
                        ? fmt::format("{}", *stranger)
                        : fmt::format("{} from {} on", places.count, places.first)));
  }
  return ok_status();
}

Status HeldTensors::write(const Part& part, const WriteTensor& request) {
  TROUPE_ASSIGN_OR_RETURN(const bool next, is_next(part, request.writer, request.operation));
  if (!next) {
    return ok_status();
  }
  TROUPE_RETURN_IF_ERROR(find(part, request.tensor));
  auto& tensor = tensors_.at(request.tensor);
  const auto places = request.places();
  TROUPE_RETURN_IF_ERROR(check(tensor, part, places, request.row_bytes));
  const auto row_bytes = tensor.row_bytes;
  if (request.values.bytes.size() != places.size() * row_bytes) {
    return refused_tensor(part, tensor.name,
                          fmt::format("expected {} rows of {} bytes, found {} bytes", places.size(),
                                      row_bytes, request.values.bytes.size()));
  }
  with_number(tensor.dtype, [&]<class Kind>(Kind) {
    const std::byte* from = request.values.bytes.data();
    const auto put = [&](std::uint64_t row) {
      std::byte* to = tensor.values.data() + (row - tensor.first) * row_bytes;
      if (request.add) {
        add_row<Kind>(to, from, row_bytes);
      } else {
        std::memcpy(to, from, row_bytes);
      }
      from += row_bytes;
    };
    std::ranges::for_each(places.ids, put);
    for (std::uint64_t i = 0; i < places.count; ++i) {
      put(places.first + i);
    }
  });
  last_operation_[request.writer] = request.operation;
  return ok_status();
}

Result<TensorRows> HeldTensors::read(const Part& part, const ReadTensor& request) const {
  TROUPE_ASSIGN_OR_RETURN(const auto* const found, find(part, request.tensor));
  const auto& tensor = *found;
  const auto places = request.places();
  TROUPE_RETURN_IF_ERROR(check(tensor, part, places, request.row_bytes));
  Buffer buffer(places.size() * tensor.row_bytes);
  std::byte* to = buffer.data();
  const auto row = [&](std::uint64_t id) {
    return tensor.values.data() + (id - tensor.first) * tensor.row_bytes;
  };
  for (const auto id : places.ids) {
    std::memcpy(to, row(id), tensor.row_bytes);
    to += tensor.row_bytes;
  }
  if (places.count > 0) {
    std::memcpy(to, row(places.first), places.count * tensor.row_bytes);
  }
  return TensorRows{std::move(buffer).freeze()};
}

}  // namespace troupe
