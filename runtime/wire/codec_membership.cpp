#include "runtime/base/cut_text.hpp"
#include "runtime/net/error_codes.hpp"
#include "runtime/wire/codec.hpp"
#include "runtime/wire/codec_support.hpp"
#include "schema/membership.capnp.h"

namespace troupe::net {
namespace {

constexpr std::size_t max_word_bytes = 256;
constexpr std::size_t max_job_text_bytes = std::size_t{1} << 20;
constexpr std::uint32_t max_processes = 65536;

ProcessLife read_life(wire::ProcessLife::Reader in) {
  return {static_cast<ProcessId>(in.getProcess()), in.getIncarnation()};
}

void write_life(const ProcessLife& life, wire::ProcessLife::Builder out) {
  out.setProcess(raw(life.process));
  out.setIncarnation(life.incarnation);
}

std::string cut(const std::string& sentence) {
  return std::string(cut_text(sentence, max_text_bytes));
}

}  // namespace

void Wire<Join>::encode(const Join& message, Frame& frame) {
  write_message<wire::Join>(frame, [&](wire::Join::Builder out) {
    write_life(message.life, out.initLife());
    out.setAddress(message.address.c_str());
    out.setVersion(message.version.c_str());
    out.setName(message.name.c_str());
  });
  frame.segments.clear();
}

Result<Join> Wire<Join>::decode(const Frame& frame) {
  return read_small<Join, wire::Join>(frame, "Join", [](wire::Join::Reader in) -> Result<Join> {
    Join out{read_life(in.getLife()), {}, {}, {}};
    TROUPE_ASSIGN_OR_RETURN(out.address, read_text("Join", in.getAddress(), max_word_bytes));
    TROUPE_ASSIGN_OR_RETURN(out.version, read_text("Join", in.getVersion(), max_word_bytes));
    TROUPE_ASSIGN_OR_RETURN(out.name, read_text("Join", in.getName(), max_word_bytes));
    return out;
  });
}

std::uint64_t Wire<Join>::reply_bytes(const Join&) {
  return control_reply_bytes;
}

void Wire<Welcome>::encode(const Welcome& message, Frame& frame) {
  write_message<wire::Welcome>(frame, [&](wire::Welcome::Builder out) {
    out.setJob(message.job.c_str());
    out.setFolder(message.folder.c_str());
    out.setStore(message.store.c_str());
    out.setStoreChecksum(message.store_checksum);
    out.setGeneration(message.generation);
    out.setResume(message.resume);
    out.setOwnProgram(message.own_program);
    out.setIncarnation(message.incarnation);
  });
  frame.segments.clear();
}

Result<Welcome> Wire<Welcome>::decode(const Frame& frame) {
  return read_small<Welcome, wire::Welcome>(
      frame, "Welcome", [](wire::Welcome::Reader in) -> Result<Welcome> {
        Welcome out;
        TROUPE_ASSIGN_OR_RETURN(out.job, read_text("Welcome", in.getJob(), max_job_text_bytes));
        TROUPE_ASSIGN_OR_RETURN(out.folder, read_text("Welcome", in.getFolder(), max_text_bytes));
        TROUPE_ASSIGN_OR_RETURN(out.store, read_text("Welcome", in.getStore(), max_text_bytes));
        out.store_checksum = in.getStoreChecksum();
        out.generation = in.getGeneration();
        out.resume = in.getResume();
        out.own_program = in.getOwnProgram();
        out.incarnation = in.getIncarnation();
        return out;
      });
}

void Wire<Ready>::encode(const Ready& message, Frame& frame) {
  write_message<wire::Ready>(frame, [&](wire::Ready::Builder out) {
    write_life(message.life, out.initLife());
    out.setCode(static_cast<std::uint16_t>(message.code));
    out.setWhy(cut(message.why).c_str());
  });
  frame.segments.clear();
}

Result<Ready> Wire<Ready>::decode(const Frame& frame) {
  return read_small<Ready, wire::Ready>(
      frame, "Ready", [](wire::Ready::Reader in) -> Result<Ready> {
        Ready out{read_life(in.getLife()), errc_from_wire(in.getCode()), {}};
        TROUPE_ASSIGN_OR_RETURN(out.why, read_text("Ready", in.getWhy(), max_text_bytes));
        return out;
      });
}

std::uint64_t Wire<Ready>::reply_bytes(const Ready&) {
  return reply_overhead_bytes;
}

void Wire<Members>::encode(const Members& message, Frame& frame) {
  write_message<wire::Members>(frame, [&](wire::Members::Builder out) {
    out.setNumber(message.number);
    out.setGeneration(message.generation);
    auto entries = out.initEntries(static_cast<unsigned>(message.entries.size()));
    for (unsigned i = 0; i < entries.size(); ++i) {
      write_life(message.entries[i].life, entries[i].initLife());
      entries[i].setAddress(message.entries[i].address.c_str());
    }
  });
  frame.segments.clear();
}

Result<Members> Wire<Members>::decode(const Frame& frame) {
  return read_small<Members, wire::Members>(
      frame, "Members", [](wire::Members::Reader in) -> Result<Members> {
        Members out{in.getNumber(), in.getGeneration(), {}};
        const auto entries = in.getEntries();
        if (entries.size() > max_processes) {
          return corrupt_message("Members", fmt::format("entries: expected at most {}, found {}",
                                                        max_processes, entries.size()));
        }
        for (const auto entry : entries) {
          const auto life = read_life(entry.getLife());
          if (!out.entries.empty() && life.process <= out.entries.back().life.process) {
            return corrupt_message(
                "Members", fmt::format("entries: expected ascending processes, "
                                       "found {} after {}",
                                       raw(life.process), raw(out.entries.back().life.process)));
          }
          TROUPE_ASSIGN_OR_RETURN(auto address,
                                  read_text("Members", entry.getAddress(), max_word_bytes));
          out.entries.push_back({life, std::move(address)});
        }
        return out;
      });
}

std::uint64_t Wire<Members>::reply_bytes(const Members&) {
  return reply_overhead_bytes;
}

// ---- starting and ending processes ----

void Wire<SpawnProcess>::encode(const SpawnProcess& message, Frame& frame) {
  write_message<wire::SpawnProcess>(frame, [&](wire::SpawnProcess::Builder out) {
    write_life(message.life, out.initLife());
    out.setName(message.name.c_str());
  });
  frame.segments.clear();
}
Result<SpawnProcess> Wire<SpawnProcess>::decode(const Frame& frame) {
  return read_small<SpawnProcess, wire::SpawnProcess>(
      frame, "SpawnProcess", [](wire::SpawnProcess::Reader in) -> Result<SpawnProcess> {
        TROUPE_ASSIGN_OR_RETURN(auto name, read_text("SpawnProcess", in.getName(), max_word_bytes));
        return SpawnProcess{read_life(in.getLife()), std::move(name)};
      });
}
std::uint64_t Wire<SpawnProcess>::reply_bytes(const SpawnProcess&) {
  return reply_overhead_bytes;
}

void Wire<KillProcess>::encode(const KillProcess& message, Frame& frame) {
  write_message<wire::KillProcess>(
      frame, [&](wire::KillProcess::Builder out) { write_life(message.life, out.initLife()); });
  frame.segments.clear();
}
Result<KillProcess> Wire<KillProcess>::decode(const Frame& frame) {
  return read_small<KillProcess, wire::KillProcess>(
      frame, "KillProcess", [](wire::KillProcess::Reader in) -> Result<KillProcess> {
        return KillProcess{read_life(in.getLife())};
      });
}
std::uint64_t Wire<KillProcess>::reply_bytes(const KillProcess&) {
  return reply_overhead_bytes;
}

void Wire<ProcessExited>::encode(const ProcessExited& message, Frame& frame) {
  write_message<wire::ProcessExited>(frame, [&](wire::ProcessExited::Builder out) {
    write_life(message.life, out.initLife());
    out.setHow(cut(message.how).c_str());
  });
  frame.segments.clear();
}
Result<ProcessExited> Wire<ProcessExited>::decode(const Frame& frame) {
  return read_small<ProcessExited, wire::ProcessExited>(
      frame, "ProcessExited", [](wire::ProcessExited::Reader in) -> Result<ProcessExited> {
        TROUPE_ASSIGN_OR_RETURN(auto how, read_text("ProcessExited", in.getHow(), max_text_bytes));
        return ProcessExited{read_life(in.getLife()), std::move(how)};
      });
}
std::uint64_t Wire<ProcessExited>::reply_bytes(const ProcessExited&) {
  return reply_overhead_bytes;
}

void Wire<RanksEnded>::encode(const RanksEnded& message, Frame& frame) {
  write_message<wire::RanksEnded>(frame, [&](wire::RanksEnded::Builder out) {
    write_life(message.life, out.initLife());
    out.setCode(static_cast<std::uint16_t>(message.code));
    out.setWhy(cut(message.why).c_str());
    out.setBatchesLow(message.batches.low);
    out.setBatchesHigh(message.batches.high);
    out.setSteps(message.steps);
  });
  frame.segments.clear();
}
Result<RanksEnded> Wire<RanksEnded>::decode(const Frame& frame) {
  return read_small<RanksEnded, wire::RanksEnded>(
      frame, "RanksEnded", [](wire::RanksEnded::Reader in) -> Result<RanksEnded> {
        TROUPE_ASSIGN_OR_RETURN(auto why, read_text("RanksEnded", in.getWhy(), max_text_bytes));
        return RanksEnded{read_life(in.getLife()),
                          errc_from_wire(in.getCode()),
                          std::move(why),
                          {in.getBatchesLow(), in.getBatchesHigh()},
                          in.getSteps()};
      });
}
std::uint64_t Wire<RanksEnded>::reply_bytes(const RanksEnded&) {
  return reply_overhead_bytes;
}

void Wire<PeerUnreachable>::encode(const PeerUnreachable& message, Frame& frame) {
  write_message<wire::PeerUnreachable>(frame, [&](wire::PeerUnreachable::Builder out) {
    write_life(message.life, out.initLife());
    write_life(message.peer, out.initPeer());
    out.setWhy(cut(message.why).c_str());
  });
  frame.segments.clear();
}
Result<PeerUnreachable> Wire<PeerUnreachable>::decode(const Frame& frame) {
  return read_small<PeerUnreachable, wire::PeerUnreachable>(
      frame, "PeerUnreachable", [](wire::PeerUnreachable::Reader in) -> Result<PeerUnreachable> {
        PeerUnreachable out{read_life(in.getLife()), read_life(in.getPeer()), {}};
        TROUPE_ASSIGN_OR_RETURN(out.why, read_text("PeerUnreachable", in.getWhy(), max_text_bytes));
        return out;
      });
}
std::uint64_t Wire<PeerUnreachable>::reply_bytes(const PeerUnreachable&) {
  return reply_overhead_bytes;
}

void Wire<StopRanks>::encode(const StopRanks&, Frame& frame) {
  write_message<wire::StopRanks>(frame, [](wire::StopRanks::Builder) {});
  frame.segments.clear();
}
Result<StopRanks> Wire<StopRanks>::decode(const Frame& frame) {
  return read_small<StopRanks, wire::StopRanks>(
      frame, "StopRanks", [](wire::StopRanks::Reader) -> Result<StopRanks> { return StopRanks{}; });
}
std::uint64_t Wire<StopRanks>::reply_bytes(const StopRanks&) {
  return reply_overhead_bytes;
}

void Wire<EndProcess>::encode(const EndProcess& message, Frame& frame) {
  write_message<wire::EndProcess>(frame, [&](wire::EndProcess::Builder out) {
    out.setCode(static_cast<std::uint16_t>(message.code));
    out.setWhy(cut(message.why).c_str());
  });
  frame.segments.clear();
}
Result<EndProcess> Wire<EndProcess>::decode(const Frame& frame) {
  return read_small<EndProcess, wire::EndProcess>(
      frame, "EndProcess", [](wire::EndProcess::Reader in) -> Result<EndProcess> {
        TROUPE_ASSIGN_OR_RETURN(auto why, read_text("EndProcess", in.getWhy(), max_text_bytes));
        return EndProcess{errc_from_wire(in.getCode()), std::move(why)};
      });
}
std::uint64_t Wire<EndProcess>::reply_bytes(const EndProcess&) {
  return control_reply_bytes;
}

void Wire<LinkTotals>::encode(const LinkTotals& message, Frame& frame) {
  write_message<wire::LinkTotals>(frame, [&](wire::LinkTotals::Builder out) {
    out.setRequests(message.requests);
    out.setResent(message.resent);
    out.setBytes(message.bytes);
    out.setInterruptions(message.interruptions);
    out.setMaxInFlightBytes(message.max_in_flight_bytes);
    out.setMaxQueuedBytes(message.max_queued_bytes);
  });
  frame.segments.clear();
}
Result<LinkTotals> Wire<LinkTotals>::decode(const Frame& frame) {
  return read_small<LinkTotals, wire::LinkTotals>(
      frame, "LinkTotals", [](wire::LinkTotals::Reader in) -> Result<LinkTotals> {
        return LinkTotals{.requests = in.getRequests(),
                          .resent = in.getResent(),
                          .bytes = in.getBytes(),
                          .interruptions = in.getInterruptions(),
                          .max_in_flight_bytes = in.getMaxInFlightBytes(),
                          .max_queued_bytes = in.getMaxQueuedBytes()};
      });
}

void Wire<Notice>::encode(const Notice& message, Frame& frame) {
  write_message<wire::Notice>(frame, [&](wire::Notice::Builder out) {
    out.setText(cut(message.text).c_str());
    out.setRank(raw(message.rank));
    out.setEpoch(message.epoch);
    out.setStep(message.step);
    out.setSteps(message.steps);
    out.setGlobalStep(message.global_step);
    out.setLoss(message.loss);
    out.setLr(message.lr);
    out.setSeconds(message.seconds);
    if (const auto& state = message.inference; state.layers > 0) {
      auto inference = out.initInference();
      inference.setProcess(raw(state.process));
      inference.setLayer(state.layer);
      inference.setLayers(state.layers);
      inference.setDone(state.done);
      inference.setTotal(state.total);
    }
  });
  frame.segments.clear();
}

namespace {

Result<InferenceState> read_inference(wire::Notice::Inference::Reader in) {
  const InferenceState state{.process = static_cast<ProcessId>(in.getProcess()),
                             .layer = in.getLayer(),
                             .layers = in.getLayers(),
                             .done = in.getDone(),
                             .total = in.getTotal()};
  if (state.layers > 0 && (state.layer >= state.layers || state.done > state.total)) {
    return Error(Errc::data_corruption,
                 fmt::format("Notice: expected a layer below {} and work of at most {}, found "
                             "layer {} and work {}",
                             state.layers, state.total, state.layer, state.done));
  }
  return state;
}

}  // namespace

Result<Notice> Wire<Notice>::decode(const Frame& frame) {
  return read_small<Notice, wire::Notice>(
      frame, "Notice", [](wire::Notice::Reader in) -> Result<Notice> {
        TROUPE_ASSIGN_OR_RETURN(auto text, read_text("Notice", in.getText(), max_text_bytes));
        TROUPE_ASSIGN_OR_RETURN(const auto inference, read_inference(in.getInference()));
        return Notice{.text = std::move(text),
                      .rank = static_cast<Rank>(in.getRank()),
                      .epoch = in.getEpoch(),
                      .step = in.getStep(),
                      .steps = in.getSteps(),
                      .global_step = in.getGlobalStep(),
                      .loss = in.getLoss(),
                      .lr = in.getLr(),
                      .seconds = in.getSeconds(),
                      .inference = inference};
      });
}
std::uint64_t Wire<Notice>::reply_bytes(const Notice&) {
  return reply_overhead_bytes;
}

}  // namespace troupe::net
