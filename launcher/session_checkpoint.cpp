// Checkpoints of sessions: what the ranks' save hooks give, and tensors.
#include "launcher/seconds.hpp"
#include "launcher/session_state.hpp"
#include "runtime/run/state_pieces.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

std::string blob_of(const Session::State& state, const DistTensor::State& tensor) {
  return tensor_blob(state.describe(tensor));
}

}  // namespace

unsigned Session::State::flags() const {
  if (rank() != 0) {
    return 0;
  }
  const double seconds = run->job.checkpoint.seconds;
  const bool writes =
      writing.valid() && writing.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  return (seconds > 0 && seconds_since(last_checkpoint) >= seconds ? checkpoint_wanted : 0) |
         (run->stop ? stop_wanted : 0) | (writes ? still_writing : 0);
}

bool Session::State::due(unsigned wanted) const {
  const auto& every = run->job.checkpoint;
  const bool kept = every.epochs > 0 || every.steps > 0 || every.seconds > 0;
  const bool by_steps = every.steps > 0 && position.global_step % every.steps == 0;
  const bool by_epochs =
      every.epochs > 0 && position.step == steps && (position.epoch + 1) % every.epochs == 0;
  const bool asked = (wanted & (checkpoint_wanted | stop_wanted)) != 0 && (kept || save);
  return by_steps || by_epochs || asked;
}

/// The deadline of a wait would be for one round: each begins it again.
Status Session::State::wait_until_written() {
  constexpr std::chrono::milliseconds longest_round{1000};
  const auto round = std::min(longest_round, deadline() / 4);
  bool printed = run->say == nullptr;
  for (bool waits = true; waits;) {
    Contribute request;
    if (rank() == 0 && writing.wait_for(round) != std::future_status::ready) {
      request.number = still_writing;
      if (!std::exchange(printed, true)) {
        run->say(fmt::format("waiting until the checkpoint of step {} is written", written_step));
      }
    }
    TROUPE_ASSIGN_OR_RETURN(const auto all, together(std::move(request), deadline()));
    waits = all->number > 0;
  }
  return ok_status();
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
    for (const auto& [name, tensor] : tensors) {
      checkpoint.training.blobs[blob_of(*this, *tensor)];  // its rows are read from the holders
    }
    if (checkpoint.training.blobs.empty() && tables() == nullptr) {
      if (!std::exchange(told_of_nothing, true) && run->say) {
        run->say(
            "no checkpoint is written: the program has no save hook, tensor or learned rows; try: "
            "on_save() before the first epoch()");
      }
      return ok_status();
    }
    finish_writing();
    TROUPE_ASSIGN_OR_RETURN(checkpoint.tables, keep_learned());
    if (run->write_checkpoint) {
      TROUPE_ASSIGN_OR_RETURN(const auto kept, keep_tensors());
      checkpoint.tensors = kept;
      written_step = position.global_step;
      writing =
          std::async(std::launch::async, [shared = run, what = std::move(checkpoint), kept = kept] {
            auto written = shared->write_checkpoint(what);
            if (kept) {
              kept->drop();
            }
            return written;
          });
    }
  }
  if (!tensors.empty()) {  // nobody writes until all holders have the copy
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
    const bool made = std::ranges::any_of(tensors, [&, &blob = name](const auto& tensor) {
      return blob_of(*this, *tensor.second) == blob;
    });
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
  return tensors.empty() ? ok_status() : restore_tensors();
}

Status Session::State::restore_tensors() {
  const bool any = std::ranges::any_of(run->resume->training.blobs,
                                       [](const auto& blob) { return is_tensor_blob(blob.first); });
  if (rank() == 0 && any) {
    const auto& saved = run->resume->tensors;
    if (!run->load_tensors && !saved) {
      return Error(Errc::failed_precondition,
                   fmt::format("checkpoint of step {}: expected rows of tensors, found none",
                               run->resume->training.global_step));
    }
    TROUPE_RETURN_IF_ERROR(run->load_tensors
                               ? run->load_tensors()
                               : load_tensors(*place.system, place.host->holders, *saved));
  }
  const auto all = together(Contribute{}, deadline());
  return all ? ok_status() : Status(all.error());
}

}  // namespace troupe
