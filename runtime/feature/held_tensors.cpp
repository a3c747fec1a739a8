#include "runtime/feature/held_tensors.hpp"

#include "runtime/base/saturating.hpp"
#include "runtime/feature/tensor_numbers.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <span>
#include <utility>

namespace troupe {
namespace {

Error refused_tensor(const Part& part, const std::string& name, const std::string& what) {
  return {Errc::invalid_argument,
          fmt::format("tensor \"{}\" of part {}: {}", name, raw(part.id), what)};
}

/// What the rows of a part start as.
TensorStartRows start_of(const Part& part, const MakeTensor& request) {
  TensorStartRows start{.dtype = static_cast<DType>(request.dtype),
                        .cols = request.cols,
                        .first = request.first,
                        .ids = {}};
  if (static_cast<TensorOf>(request.of) == TensorOf::nodes) {
    start.ids = part.nodes[request.type].original_ids;
  }
  if (request.start != 0) {
    EmbeddingOptions like;
    like.name = request.name;
    like.dim = request.cols;
    const bool normal = static_cast<TensorStart>(request.start) == TensorStart::normal;
    like.init = {normal ? "normal" : "uniform", request.size, request.size};
    start.random.emplace(like, request.seed);
  }
  return start;
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

std::uint64_t piece_rows(const TensorPiece& piece) {
  std::uint64_t rows = piece.ids.size();
  for (std::size_t i = 1; i < piece.runs.size(); i += 2) {
    rows = plus(rows, piece.runs[i]);
  }
  return rows;
}

Status check_tensor_piece(std::string_view where, const TensorPiece& piece) {
  const auto dtype = static_cast<DType>(piece.dtype);
  const bool known = piece.dtype <= static_cast<std::uint16_t>(DType::boolean) &&
                     is_tensor_dtype(dtype) &&
                     piece.of <= static_cast<std::uint16_t>(TensorOf::rows);
  const bool of_nodes = static_cast<TensorOf>(piece.of) == TensorOf::nodes;
  const auto row_bytes = known ? times(piece.cols, size_bytes(dtype)) : 0;
  const auto& other = of_nodes ? piece.runs : piece.ids;
  const auto rows = piece_rows(piece);
  const bool empty = piece.ids.empty() && piece.runs.empty() && piece.values.empty();
  const bool fits = known && row_bytes > 0 && row_bytes <= max_tensor_row_bytes && other.empty() &&
                    piece.runs.size() % 2 == 0 &&
                    times(rows, row_bytes) == piece.values.bytes.size();
  if (piece.name.empty() ? !empty : !fits || piece.name.size() > max_tensor_name) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected rows of a tensor with a name, found {} rows of {} bytes "
                             "in {} bytes, {} ids and {} ends of runs",
                             where, rows, row_bytes, piece.values.bytes.size(), piece.ids.size(),
                             piece.runs.size()));
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
    const auto who =
        writer == tensor_loader ? "the checkpoint" : fmt::format("rank {}", raw(writer));
    return Error(Errc::failed_precondition,
                 fmt::format("part {}: expected write {} of {}, found write {}: what was "
                             "written before is lost here; try: --resume from the last checkpoint",
                             raw(part.id), last + 1, who, operation));
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
  const auto row_bytes = request.cols * size_bytes(static_cast<DType>(request.dtype));
  tensors_.emplace(request.tensor, Tensor{request, TensorBlocks(request.count, row_bytes,
                                                                start_of(part, request))});
  return ok_status();
}

Status HeldTensors::no_room(const Part& part, const Tensor& tensor) {
  return Error(Errc::out_of_memory, fmt::format("tensor \"{}\" of part {}: no memory for its rows",
                                                tensor.facts.name, raw(part.id)));
}

Status HeldTensors::check(const Tensor& tensor, const Part& part, const TensorPlaces& places,
                          std::uint64_t row_bytes) {
  if (!places.ids.empty() && places.count > 0) {
    return refused_tensor(part, tensor.facts.name,
                          fmt::format("expected ids or a range, found {} ids and a range of {}",
                                      places.ids.size(), places.count));
  }
  if (row_bytes != tensor.rows.row_bytes()) {
    return refused_tensor(
        part, tensor.facts.name,
        fmt::format("expected {} bytes per row, found {}", tensor.rows.row_bytes(), row_bytes));
  }
  const auto end = tensor.facts.first + tensor.facts.count;
  const auto stranger = std::ranges::find_if(
      places.ids, [&](std::uint64_t id) { return id < tensor.facts.first || id >= end; });
  const bool range_fits =
      places.count == 0 || (places.first >= tensor.facts.first && places.first < end &&
                            places.count <= end - places.first);
  if (stranger != places.ids.end() || !range_fits) {
    return refused_tensor(
        part, tensor.facts.name,
        fmt::format("expected rows in [{}, {}), found {}", tensor.facts.first, end,
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
  const auto row_bytes = tensor.rows.row_bytes();
  const auto first = tensor.facts.first;
  if (request.values.bytes.size() != places.size() * row_bytes) {
    return refused_tensor(part, tensor.facts.name,
                          fmt::format("expected {} rows of {} bytes, found {} bytes", places.size(),
                                      row_bytes, request.values.bytes.size()));
  }
  try {  // before anything is written
    for (const auto id : places.ids) {
      tensor.rows.prepare(id - first, 1);
    }
    tensor.rows.prepare(places.first - first, places.count);
  } catch (const std::bad_alloc&) {
    return no_room(part, tensor);
  }
  with_tensor_number(static_cast<DType>(tensor.facts.dtype), [&]<class Kind>(Kind) {
    const std::byte* from = request.values.bytes.data();
    const auto put = [&](std::uint64_t id) {
      std::byte* to = tensor.rows.writable(id - first);
      if (request.add) {
        add_tensor_row<Kind>(to, from, row_bytes);
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
  if (const auto bytes = tensor_bytes(places, request.row_bytes); bytes > max_tensor_read_bytes) {
    return refused_tensor(part, tensor.facts.name,
                          fmt::format("expected at most {} bytes in one request, found {}",
                                      max_tensor_read_bytes, bytes));
  }
  Buffer buffer(places.size() * tensor.rows.row_bytes());
  std::byte* to = buffer.data();
  for (const auto id : places.ids) {
    tensor.rows.read(id - tensor.facts.first, 1, to);
    to += tensor.rows.row_bytes();
  }
  tensor.rows.read(places.first - tensor.facts.first, places.count, to);
  return TensorRows{std::move(buffer).freeze()};
}

}  // namespace troupe
