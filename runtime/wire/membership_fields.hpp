#pragma once
/// \file membership_fields.hpp
/// How the messages of membership.hpp travel: their fields. Only for codecs and tests.
#include "runtime/net/frame_message.hpp"
#include "runtime/wire/fields.hpp"
#include "runtime/wire/membership.hpp"
#include "runtime/wire/message_fields.hpp"
#include "schema/membership.capnp.h"

namespace troupe::net {

inline constexpr std::size_t max_word_bytes = 256;
inline constexpr std::size_t max_job_text_bytes = std::size_t{1} << 20;
inline constexpr std::size_t max_processes = 65536;

// ---- joining ----

template <>
struct Fields<ProcessInstance> {
  using Root = wire::ProcessInstance;
  static constexpr std::tuple fields{field::value("process", &ProcessInstance::process),
                                     field::value("incarnation", &ProcessInstance::incarnation)};
};

template <>
struct Fields<Join> {
  using Root = wire::Join;
  static constexpr std::tuple fields{field::value("instance", &Join::instance),
                                     field::text("address", &Join::address, max_word_bytes),
                                     field::text("version", &Join::version, max_word_bytes),
                                     field::text("name", &Join::name, max_word_bytes)};
};

template <>
struct Fields<Welcome> {
  using Root = wire::Welcome;
  static constexpr std::tuple fields{field::text("job", &Welcome::job, max_job_text_bytes),
                                     field::text("folder", &Welcome::folder, max_text_bytes),
                                     field::text("store", &Welcome::store, max_text_bytes),
                                     field::value("storeChecksum", &Welcome::store_checksum),
                                     field::value("generation", &Welcome::generation),
                                     field::value("resume", &Welcome::resume),
                                     field::value("ownProgram", &Welcome::own_program),
                                     field::value("incarnation", &Welcome::incarnation),
                                     field::value("infers", &Welcome::infers),
                                     field::value("embeddings", &Welcome::embeddings)};
};

template <>
struct Fields<Ready> {
  using Root = wire::Ready;
  static constexpr std::tuple fields{field::value("instance", &Ready::instance),
                                     field::value("code", &Ready::code),
                                     field::cut_text("why", &Ready::why, max_text_bytes)};
};

template <>
struct Fields<Members::Entry> {
  using Root = wire::Members::Entry;
  static constexpr std::tuple fields{
      field::value("instance", &Members::Entry::instance),
      field::text("address", &Members::Entry::address, max_word_bytes)};
};

template <>
struct Fields<Members> {
  using Root = wire::Members;
  static constexpr std::tuple fields{field::value("number", &Members::number),
                                     field::value("generation", &Members::generation),
                                     field::list("entries", &Members::entries, max_processes)};

  static Status check(std::string_view message, const Members& members) {
    const auto& entries = members.entries;
    for (std::size_t i = 1; i < entries.size(); ++i) {
      const auto before = entries[i - 1].instance.process;
      if (entries[i].instance.process <= before) {
        return corrupt_message(
            message, fmt::format("entries: expected ascending processes, found {} after {}",
                                 raw(entries[i].instance.process), raw(before)));
      }
    }
    return ok_status();
  }
};

// ---- starting and ending processes ----

template <>
struct Fields<SpawnProcess> {
  using Root = wire::SpawnProcess;
  static constexpr std::tuple fields{field::value("instance", &SpawnProcess::instance),
                                     field::text("name", &SpawnProcess::name, max_word_bytes)};
};

template <>
struct Fields<KillProcess> {
  using Root = wire::KillProcess;
  static constexpr std::tuple fields{field::value("instance", &KillProcess::instance)};
};

template <>
struct Fields<ProcessExited> {
  using Root = wire::ProcessExited;
  static constexpr std::tuple fields{field::value("instance", &ProcessExited::instance),
                                     field::cut_text("how", &ProcessExited::how, max_text_bytes)};
};

template <>
struct Fields<PeerUnreachable> {
  using Root = wire::PeerUnreachable;
  static constexpr std::tuple fields{field::value("instance", &PeerUnreachable::instance),
                                     field::value("peer", &PeerUnreachable::peer),
                                     field::cut_text("why", &PeerUnreachable::why, max_text_bytes)};
};

template <>
struct Fields<RanksEnded> {
  using Root = wire::RanksEnded;
  static constexpr std::tuple fields{
      field::value("instance", &RanksEnded::instance),
      field::value("code", &RanksEnded::code),
      field::cut_text("why", &RanksEnded::why, max_text_bytes),
      field::spread("batches", &RanksEnded::batches),
      field::value("steps", &RanksEnded::steps),
      field::list("tables", &RanksEnded::tables, max_tables, "tables")};
};

template <>
struct Fields<StopRanks> {
  using Root = wire::StopRanks;
  static constexpr std::tuple<> fields{};
};

template <>
struct Fields<EndProcess> {
  using Root = wire::EndProcess;
  static constexpr std::tuple fields{field::value("code", &EndProcess::code),
                                     field::cut_text("why", &EndProcess::why, max_text_bytes)};
};

template <>
struct Fields<LinkTotals> {
  using Root = wire::LinkTotals;
  static constexpr std::tuple fields{field::counters<LinkTotals>()};
};

// ---- notices ----

template <>
struct Fields<InferenceState> {
  using Root = wire::Notice::Inference;
  static constexpr std::tuple fields{field::value("process", &InferenceState::process),
                                     field::value("layer", &InferenceState::layer),
                                     field::value("layers", &InferenceState::layers),
                                     field::value("done", &InferenceState::done),
                                     field::value("total", &InferenceState::total)};

  static Status check(std::string_view message, const InferenceState& state) {
    if (state.layers > 0 && (state.layer >= state.layers || state.done > state.total)) {
      return corrupt_message(
          message, fmt::format("expected a layer below {} and work of at most {}, found layer {} "
                               "and work {}",
                               state.layers, state.total, state.layer, state.done));
    }
    return ok_status();
  }
};

template <>
struct Fields<Notice> {
  using Root = wire::Notice;
  static constexpr std::tuple fields{field::cut_text("text", &Notice::text, max_text_bytes),
                                     field::value("rank", &Notice::rank),
                                     field::value("epoch", &Notice::epoch),
                                     field::value("step", &Notice::step),
                                     field::value("steps", &Notice::steps),
                                     field::value("globalStep", &Notice::global_step),
                                     field::value("loss", &Notice::loss),
                                     field::value("lr", &Notice::lr),
                                     field::value("seconds", &Notice::seconds),
                                     field::value("inference", &Notice::inference)};
};

}  // namespace troupe::net
