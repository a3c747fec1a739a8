// Copies of tensors for checkpoints, read and loaded in pieces.
#include "runtime/base/saturating.hpp"
#include "runtime/feature/held_tensors.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <set>
#include <tuple>

namespace troupe {
namespace {

bool of_nodes(const MakeTensor& facts) {
  return static_cast<TensorOf>(facts.of) == TensorOf::nodes;
}

/// Appends rows of a part to the names of a piece's rows.
void name_rows(const Part& part, const MakeTensor& facts, const TensorBlocks::Made& made,
               TensorPiece& piece) {
  if (of_nodes(facts)) {
    const auto ids = part.nodes[facts.type].original_ids.subspan(made.first, made.rows);
    piece.ids.insert(piece.ids.end(), ids.begin(), ids.end());
    return;
  }
  const auto first = facts.first + made.first;
  auto& runs = piece.runs;
  if (!runs.empty() && runs[runs.size() - 2] + runs.back() == first) {
    runs.back() += made.rows;
  } else {
    runs.insert(runs.end(), {first, made.rows});
  }
}

Error refused_piece(Errc code, const Part& part, const TensorPiece& piece,
                    const std::string& what) {
  return {code, fmt::format("tensor \"{}\" of part {}: {}", piece.name, raw(part.id), what)};
}

std::string start_text(std::uint16_t start, double size, std::uint64_t seed) {
  return start == 0
             ? "zeros"
             : fmt::format("{} of {} from seed {}", start == 1 ? "uniform" : "normal", size, seed);
}

}  // namespace

Status HeldTensors::keep(const Part& part, const KeepTensors& request) {
  TROUPE_ASSIGN_OR_RETURN(const bool next, is_next(part, request.writer, request.operation));
  if (next) {
    copy_.reset();  // before blocks are shared with the next one
    copy_.emplace(Copy{request.step, tensors_});
    last_operation_[request.writer] = request.operation;
  }
  return ok_status();
}

void HeldTensors::drop(const DropTensors& request) {
  if (copy_ && copy_->step == request.step) {
    copy_.reset();
  }
}

Result<CopiedTensors> HeldTensors::read_copy(const Part& part,
                                             const ReadTensorCopy& request) const {
  if (!copy_ || copy_->step != request.step) {
    return Error(Errc::not_found,
                 fmt::format("tensors of part {}: those of step {} are not kept here", raw(part.id),
                             request.step));
  }
  CopiedTensors piece;
  piece.step = request.step;
  const auto found = copy_->tensors.lower_bound(request.tensor);
  if (found == copy_->tensors.end()) {
    piece.last = true;
    return piece;
  }
  const auto& [number, tensor] = *found;
  const auto& facts = tensor.facts;
  piece.name = facts.name;
  piece.of = facts.of;
  piece.type = facts.type;
  piece.dtype = facts.dtype;
  piece.cols = facts.cols;
  piece.start = facts.start;
  piece.size = facts.size;
  piece.seed = facts.seed;
  const auto row_cost = tensor.rows.row_bytes() + (of_nodes(facts) ? sizeof(std::uint64_t) : 0);
  std::vector<TensorBlocks::Made> blocks;
  std::uint64_t rows = 0;
  auto made = tensor.rows.next_made(number == request.tensor ? request.row : 0);
  while (made && (blocks.empty() || (rows + made->rows) * row_cost <= tensor_piece_bytes)) {
    blocks.push_back(*made);
    rows += made->rows;
    made = tensor.rows.next_made(made->first + made->rows);
  }
  Buffer values(rows * tensor.rows.row_bytes());
  std::byte* to = values.data();
  for (const auto& block : blocks) {
    name_rows(part, facts, block, piece);
    const auto bytes = block.rows * tensor.rows.row_bytes();
    std::memcpy(to, block.values, bytes);
    to += bytes;
  }
  piece.values = std::move(values).freeze();
  piece.next_tensor = made ? number : number + 1;
  piece.next_row = made ? made->first : 0;
  piece.last = !made && std::next(found) == copy_->tensors.end();
  return piece;
}

// ---- loading ----

Status HeldTensors::load(const Part& part, const LoadTensors& request) {
  TROUPE_ASSIGN_OR_RETURN(const bool next, is_next(part, tensor_loader, request.operation));
  if (!next) {
    return ok_status();
  }
  TROUPE_RETURN_IF_ERROR(
      check_tensor_piece(fmt::format("tensors of part {}", raw(part.id)), request));
  if (!request.name.empty()) {
    TROUPE_RETURN_IF_ERROR(take_piece(part, request));
  }
  if (request.last) {
    places_.clear();
  }
  last_operation_[tensor_loader] = request.operation;
  return ok_status();
}

Result<HeldTensors::Tensor*> HeldTensors::tensor_of(const Part& part, const TensorPiece& piece) {
  const auto found = std::ranges::find_if(
      tensors_, [&](const auto& tensor) { return tensor.second.facts.name == piece.name; });
  if (found == tensors_.end()) {
    return refused_piece(Errc::failed_precondition, part, piece,
                         "the checkpoint has it, but it was not made");
  }
  const auto& facts = found->second.facts;
  const auto of = [](const auto& what) {
    return std::tuple(what.of, what.type, what.dtype, what.cols);
  };
  if (of(facts) != of(piece)) {
    return refused_piece(
        Errc::data_corruption, part, piece,
        fmt::format("expected kind {}, type {}, dtype {} and {} columns in the checkpoint, found "
                    "{}, {}, {} and {}",
                    facts.of, facts.type, facts.dtype, facts.cols, piece.of, piece.type,
                    piece.dtype, piece.cols));
  }
  const auto made = start_text(facts.start, facts.size, facts.seed);
  const auto kept = start_text(piece.start, piece.size, piece.seed);
  if (made != kept) {
    return refused_piece(
        Errc::failed_precondition, part, piece,
        fmt::format("expected a start of {}, as in the checkpoint, found {}; try: make it as the "
                    "program that wrote the checkpoint did",
                    kept, made));
  }
  return &found->second;
}

const HeldTensors::Places& HeldTensors::places_of(const Part& part, std::uint16_t node_type) {
  const auto [at, is_new] = places_.try_emplace(node_type);
  if (is_new) {
    const auto& ids = part.nodes[node_type].original_ids;
    for (std::uint64_t i = 0; i < ids.size(); ++i) {
      at->second.emplace_back(ids[i], i);
    }
    std::ranges::sort(at->second);
  }
  return at->second;
}

Status HeldTensors::take_piece(const Part& part, const TensorPiece& piece) {
  TROUPE_ASSIGN_OR_RETURN(auto* const tensor, tensor_of(part, piece));
  const auto row_bytes = tensor->rows.row_bytes();
  const auto begin = tensor->facts.first;
  const auto end = begin + tensor->facts.count;
  try {
    if (!piece.ids.empty()) {
      const std::byte* from = piece.values.bytes.data();
      const auto& places = places_of(part, piece.type);
      for (const auto id : piece.ids) {
        const auto at = std::ranges::lower_bound(places, std::pair(id, std::uint64_t{0}));
        if (at != places.end() && at->first == id) {  // else of another part
          tensor->rows.write(at->second, 1, from);
        }
        from += row_bytes;
      }
    }
    const std::byte* from = piece.values.bytes.data();
    for (std::size_t i = 0; i < piece.runs.size(); i += 2) {
      const auto first = piece.runs[i];
      const auto rows = piece.runs[i + 1];
      const auto mine = std::max(first, begin);
      const auto after = std::min(plus(first, rows), end);
      if (mine < after) {
        tensor->rows.write(mine - begin, after - mine, from + (mine - first) * row_bytes);
      }
      from += rows * row_bytes;
    }
  } catch (const std::bad_alloc&) {
    return no_room(part, *tensor);
  }
  return ok_status();
}

std::uint64_t HeldTensors::made_bytes() const {
  std::uint64_t bytes = 0;
  std::set<const std::byte*> counted;
  const auto count = [&](const Tensors& tensors) {
    for (const auto& [number, tensor] : tensors) {
      for (auto made = tensor.rows.next_made(0); made;
           made = tensor.rows.next_made(made->first + made->rows)) {
        bytes += counted.insert(made->values).second ? made->rows * tensor.rows.row_bytes() : 0;
      }
    }
  };
  count(tensors_);
  if (copy_) {
    count(copy_->tensors);
  }
  return bytes;
}

}  // namespace troupe
