#include "actors/holder_tensors.hpp"

#include "actors/ask_replicas.hpp"

namespace troupe {

Status HolderTensors::read(std::uint32_t part, const Take& take) const {
  caf::scoped_actor self(system_);
  ReadTensorCopy what{.step = step_};
  for (bool ended = false; !ended;) {
    TROUPE_ASSIGN_OR_RETURN(const auto piece, ask_any<CopiedTensors>(self, *holders_[part], what));
    if (!piece->name.empty()) {
      TROUPE_RETURN_IF_ERROR(take(*piece));
    }
    const bool onward = piece->next_tensor > what.tensor ||
                        (piece->next_tensor == what.tensor && piece->next_row > what.row);
    if (!piece->last && !onward) {
      return Error(Errc::data_corruption,
                   fmt::format("{}: expected rows after row {} of tensor {}, found row {} of {}",
                               holders_[part]->what, what.row, what.tensor, piece->next_row,
                               piece->next_tensor));
    }
    what.tensor = piece->next_tensor;
    what.row = piece->next_row;
    ended = piece->last;
  }
  return ok_status();
}

void HolderTensors::drop() const {
  caf::scoped_actor self(system_);
  for (const auto& replicas : holders_) {
    for (const auto& holder : replicas->actors) {
      // A holder that does not answer has lost the copy, or drops it for the next one.
      static_cast<void>(ask_replica<net::Done>(self, holder, Ref<DropTensors>(DropTensors{step_}),
                                               std::chrono::seconds(3)));
    }
  }
}

Status load_tensors(caf::actor_system& system, const PartHolders& holders,
                    const TensorSource& from) {
  caf::scoped_actor self(system);
  std::uint64_t operation = 0;
  const auto send = [&](const TensorPiece& piece, bool last) -> Status {
    LoadTensors load{piece, ++operation};
    load.last = last;
    const Ref<LoadTensors> message(std::move(load));
    for (const auto& replicas : holders) {
      TROUPE_RETURN_IF_ERROR(tell_every(self, *replicas, message));
    }
    return ok_status();
  };
  for (std::uint32_t part = 0; part < from.parts(); ++part) {
    TROUPE_RETURN_IF_ERROR(
        from.read(part, [&](const TensorPiece& piece) { return send(piece, false); }));
  }
  return send({}, true);
}

}  // namespace troupe
