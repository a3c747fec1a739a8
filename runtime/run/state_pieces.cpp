#include "runtime/run/state_pieces.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::string_view tensor_prefix = "tensor ";
constexpr std::string_view nodes_prefix = "nodes ";

std::string nodes_blob(std::size_t list) {
  return fmt::format("{}{}", nodes_prefix, list);
}

net::TrainingState without_blobs(const net::TrainingState& state) {
  net::TrainingState rest;
  rest.epoch = state.epoch;
  rest.step = state.step;
  rest.global_step = state.global_step;
  rest.loss_sum = state.loss_sum;
  rest.loss_weight = state.loss_weight;
  rest.batches = state.batches;
  rest.parameters = state.parameters;
  rest.optimizer = state.optimizer;
  rest.best = state.best;
  return rest;
}

/// Blobs by name, where they lie.
using BlobViews = std::vector<std::pair<std::string_view, std::span<const std::byte>>>;

net::TrainingState cut(const net::TrainingState& state, const BlobViews& blobs,
                       std::uint64_t number, std::uint64_t piece_bytes) {
  auto piece = without_blobs(state);
  const auto first = number * piece_bytes;
  std::uint64_t offset = 0;  // of the blob
  for (const auto& [name, blob] : blobs) {
    const auto begin = std::max(first, offset);
    const auto end = std::min(first + piece_bytes, offset + blob.size());
    if (begin < end) {
      const auto part = blob.subspan(begin - offset, end - begin);
      piece.blobs[std::string(name)] = {part.begin(), part.end()};
    } else if (blob.empty() && number == 0) {
      piece.blobs[std::string(name)] = {};
    }
    offset += blob.size();
  }
  return piece;
}

}  // namespace

std::string rank_blob(Rank rank) {
  return fmt::format("rank {}", raw(rank));
}

std::string tensor_blob(std::string_view what) {
  return fmt::format("{}{}", tensor_prefix, what);
}

bool is_tensor_blob(std::string_view name) {
  return name.starts_with(tensor_prefix);
}

net::TrainingState state_of_nodes(std::span<const std::shared_ptr<const SeedList>> lists) {
  net::TrainingState state;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    std::vector<std::uint64_t> numbers = {raw(lists[i]->node_type)};
    numbers.reserve(1 + lists[i]->global.size());
    for (const auto node : lists[i]->global) {
      numbers.push_back(raw(node));
    }
    const auto bytes = std::as_bytes(std::span(numbers));
    state.blobs[nodes_blob(i)] = {bytes.begin(), bytes.end()};
  }
  return state;
}

Result<std::vector<std::shared_ptr<const SeedList>>> lists_of_state(
    const net::TrainingState& state) {
  std::vector<std::shared_ptr<const SeedList>> lists;
  for (auto found = state.blobs.find(nodes_blob(0)); found != state.blobs.end();
       found = state.blobs.find(nodes_blob(lists.size()))) {
    const auto& bytes = found->second;
    std::vector<std::uint64_t> numbers(bytes.size() / sizeof(std::uint64_t));
    if (numbers.empty() || bytes.size() % sizeof(std::uint64_t) != 0) {
      return Error(Errc::data_corruption,
                   fmt::format("nodes to infer: expected 8 bytes for their type and 8 for each, "
                               "found {}",
                               bytes.size()));
    }
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    SeedList nodes;
    nodes.node_type = static_cast<NodeTypeId>(numbers.front());
    for (const auto number : std::span(numbers).subspan(1)) {
      nodes.global.push_back(static_cast<NodeId>(number));
    }
    lists.push_back(std::make_shared<const SeedList>(std::move(nodes)));
  }
  return lists;
}

std::uint64_t count_pieces(const net::TrainingState& state, std::uint64_t piece_bytes) {
  std::uint64_t bytes = 0;
  for (const auto& [name, blob] : state.blobs) {
    bytes += blob.size();
  }
  return std::max<std::uint64_t>((bytes + piece_bytes - 1) / piece_bytes, 1);
}

net::TrainingState piece_of(const net::TrainingState& state, std::uint64_t number,
                            std::uint64_t piece_bytes) {
  return cut(state, {state.blobs.begin(), state.blobs.end()}, number, piece_bytes);
}

net::TrainingState piece_for(std::span<const Rank> ranks, const net::TrainingState& state,
                             std::uint64_t number, std::uint64_t piece_bytes) {
  BlobViews blobs;
  for (const auto& [name, bytes] : state.blobs) {
    const bool own =
        std::ranges::any_of(ranks, [&blob = name](Rank rank) { return rank_blob(rank) == blob; });
    if (own || is_tensor_blob(name) || name.starts_with(nodes_prefix) || name == task_blob) {
      blobs.emplace_back(name, bytes);
    }
  }
  return cut(state, blobs, number, piece_bytes);
}

Result<bool> PieceCollector::add(std::uint64_t number, const net::TrainingState& piece) {
  if (number == 0) {
    state_ = without_blobs(piece);
    step_ = piece.global_step;
    next_ = 0;
  }
  const bool same_state = piece.global_step == step_;
  if (same_state && number > 0 && number + 1 == next_) {
    return false;
  }
  if (!same_state || number != next_) {
    return Error(Errc::failed_precondition,
                 fmt::format("state: expected piece {} of step {}, found piece {} of step {}",
                             next_, step_, number, piece.global_step));
  }
  ++next_;
  for (const auto& [name, bytes] : piece.blobs) {
    auto& whole = state_.blobs[name];
    whole.insert(whole.end(), bytes.begin(), bytes.end());
  }
  return true;
}

}  // namespace troupe
