// Checkpoints of sessions: what the ranks' save hooks give, and the writable tensors.
#include "launcher/session_state.hpp"
#include "runtime/run/state_pieces.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::uint64_t rows_at_once = std::uint64_t{1} << 16;

std::string tensor_blob(const Session::State::TensorKey& key) {
  return tensor_blob(key.first, key.second);
}

/// Calls `each(ids, original ids)` for all nodes of a type, some at once.
template <class Each>
Status for_all_nodes(Session::State& state, NodeTypeId type, Each each) {
  const std::uint64_t count = state.place.host->book->count(type);
  CollectOptions ids_only;
  ids_only.decoders.assign(state.place.host->graph->node_types.size(), RowDecoder::plain(0));
  ids_only.with_labels = false;
  for (std::uint64_t first = 0; first < count; first += rows_at_once) {
    std::vector<NodeId> nodes(std::min(rows_at_once, count - first));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i] = static_cast<NodeId>(first + i);
    }
    TROUPE_ASSIGN_OR_RETURN(const auto rows, state.read(nodes, type, ids_only));
    TROUPE_RETURN_IF_ERROR(each(nodes, rows.original_ids));
  }
  return ok_status();
}

/// A whole tensor, in order of original ids.
Result<std::vector<std::byte>> read_whole(Session::State& state,
                                          const Session::State::TensorKey& key) {
  TROUPE_ASSIGN_OR_RETURN(const auto cols, state.columns_of(key));
  const auto row_bytes = cols * sizeof(float);
  std::vector<std::byte> bytes(state.place.host->book->count(key.second) * row_bytes);
  const auto read =
      for_all_nodes(state, key.second, [&](const auto& nodes, const auto& original) -> Status {
        TROUPE_ASSIGN_OR_RETURN(const auto rows, state.read_tensor(key, nodes));
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          std::memcpy(bytes.data() + raw(original[i]) * row_bytes, rows.view().row(i).data(),
                      row_bytes);
        }
        return ok_status();
      });
  TROUPE_RETURN_IF_ERROR(read);
  return bytes;
}

Status write_whole(Session::State& state, const Session::State::TensorKey& key,
                   std::span<const std::byte> bytes) {
  TROUPE_ASSIGN_OR_RETURN(const auto cols, state.columns_of(key));
  const auto row_bytes = cols * sizeof(float);
  const auto expected = state.place.host->book->count(key.second) * row_bytes;
  if (bytes.size() != expected) {
    return Error(Errc::failed_precondition,
                 fmt::format("checkpoint: {}: expected {} bytes ({} columns), found {}",
                             tensor_blob(key), expected, cols, bytes.size()));
  }
  return for_all_nodes(state, key.second, [&](const auto& nodes, const auto& original) -> Status {
    Matrix rows(nodes.size(), cols);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::memcpy(rows.view().row(i).data(), bytes.data() + raw(original[i]) * row_bytes,
                  row_bytes);
    }
    return state.write(key, nodes, rows.view(), false);
  });
}

}  // namespace

bool Session::State::due(double number) const {
  const auto& every = run->job.checkpoint;
  const bool kept = every.epochs > 0 || every.steps > 0 || every.seconds > 0;
  const bool by_steps = every.steps > 0 && position.global_step % every.steps == 0;
  const bool by_epochs =
      every.epochs > 0 && position.step == steps && (position.epoch + 1) % every.epochs == 0;
  const bool asked = number >= checkpoint_wanted && (kept || save);
  return by_steps || by_epochs || asked;
}

Status Session::State::save_all() {
  auto mine = std::make_shared<net::TrainingState>(position);
  if (save) {
    mine->blobs[rank_blob(place.options.rank)] = save();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto offered, ask<net::Done>(OfferState{std::move(mine)}));
  static_cast<void>(offered);
  last_checkpoint = std::chrono::steady_clock::now();
  if (rank() == 0) {
    TROUPE_ASSIGN_OR_RETURN(const auto gathered,
                            ask<GatheredStates>(GatherStates{position.global_step}));
    Checkpoint checkpoint;
    checkpoint.job = run->job.json;
    checkpoint.training = position;
    for (const auto& state : gathered->states) {
      checkpoint.training.blobs.insert(state->blobs.begin(), state->blobs.end());
    }
    for (const auto& [key, cols] : tensors) {
      TROUPE_ASSIGN_OR_RETURN(checkpoint.training.blobs[tensor_blob(key)], read_whole(*this, key));
    }
    finish_writing();
    TROUPE_ASSIGN_OR_RETURN(checkpoint.tables, keep_learned());
    if (run->write_checkpoint) {
      writing = std::async(std::launch::async, [shared = run, kept = std::move(checkpoint)] {
        return shared->write_checkpoint(kept);
      });
    }
  }
  if (!tensors.empty()) {  // nobody writes while rank 0 reads
    TROUPE_ASSIGN_OR_RETURN(const auto all, together(Contribute{}, deadline()));
    static_cast<void>(all);
  }
  return ok_status();
}

void Session::State::finish_writing() {
  if (!writing.valid()) {
    return;
  }
  const auto written = writing.get();
  if (!written && run->say) {
    run->say(fmt::format("no checkpoint was written: {}", written.error().what()));
  }
}

Status Session::State::restore_all() {
  if (std::exchange(restored, true) || !run->resume) {
    return ok_status();
  }
  const auto& blobs = run->resume->training.blobs;
  const auto mine = blobs.find(rank_blob(place.options.rank));
  if ((mine != blobs.end()) != static_cast<bool>(restore)) {
    return Error(Errc::failed_precondition,
                 mine != blobs.end()
                     ? fmt::format("rank {}: the checkpoint holds {} bytes of it, but it has no "
                                   "restore hook; try: on_restore before the first epoch()",
                                   rank(), mine->second.size())
                     : fmt::format("rank {}: it has a restore hook, but the checkpoint holds "
                                   "nothing of it",
                                   rank()));
  }
  for (const auto& [name, bytes] : blobs) {
    const bool made = std::ranges::any_of(
        tensors, [&blob = name](const auto& tensor) { return tensor_blob(tensor.first) == blob; });
    if (is_tensor_blob(name) && !made) {
      return Error(Errc::failed_precondition,
                   fmt::format("rank {}: the checkpoint holds {}, which was not made; try: "
                               "make_tensor before the first epoch()",
                               rank(), name));
    }
  }
  if (restore) {
    const auto done = restore(mine->second);
    if (!done) {
      return Error(done.error()).with(fmt::format("rank {}: restoring its state", rank()));
    }
  }
  if (tensors.empty()) {
    return ok_status();
  }
  if (rank() == 0) {
    for (const auto& [key, cols] : tensors) {
      const auto saved = blobs.find(tensor_blob(key));
      if (saved != blobs.end()) {
        TROUPE_RETURN_IF_ERROR(write_whole(*this, key, saved->second));
      }
    }
  }
  const auto all = together(Contribute{}, deadline());
  return all ? ok_status() : Status(all.error());
}

}  // namespace troupe
