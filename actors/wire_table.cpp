#include "actors/wire_table.hpp"

#include "actors/message.hpp"

#include <caf/all.hpp>

#include <array>

namespace troupe {
namespace {

template <class T>
bool holds(const caf::type_erased_tuple& content) {
  return content.size() == 1 && content.match_element<Ref<T>>(0);
}

template <class T>
void encode(const caf::type_erased_tuple& content, net::Frame& frame) {
  net::Wire<T>::encode(*content.get_as<Ref<T>>(0), frame);
  frame.head.method = static_cast<std::uint32_t>(net::Wire<T>::method);
  frame.head.traffic = net::Wire<T>::traffic;
}

template <class T>
Result<caf::message> decode(const net::Frame& frame) {
  TROUPE_ASSIGN_OR_RETURN(auto value, net::Wire<T>::decode(frame));
  return caf::make_message(Ref<T>(std::move(value)));
}

template <class Request, class Reply>
constexpr WireEntry entry(bool long_running) {
  return {
      .method = net::Wire<Request>::method,
      .long_running = long_running,
      .is_request = &holds<Request>,
      .encode_request =
          [](const caf::type_erased_tuple& content, net::Frame& frame) {
            encode<Request>(content, frame);
            return net::Wire<Request>::reply_bytes(*content.get_as<Ref<Request>>(0));
          },
      .decode_request = &decode<Request>,
      .is_reply = &holds<Reply>,
      .encode_reply = &encode<Reply>,
      .decode_reply = &decode<Reply>,
  };
}

constexpr std::array entries = {
    entry<HopRequest, HopReply>(false),
    entry<RowRequest, RowReply>(false),
    entry<net::GradientChunk, net::GradientSum>(true),
    entry<SampleBatch, ReadyBatch>(true),
    entry<net::EpochRequest, net::EpochResult>(true),
    entry<net::RankEpoch, net::Done>(true),
    entry<net::InferRequest, net::InferResult>(true),
    entry<net::ScoreRequest, net::ScoreResult>(true),
    entry<net::KeepBest, net::Done>(true),
    entry<net::Finish, net::FinishResult>(true),
    entry<net::TakeState, net::StateReply>(true),
    entry<net::Restore, net::Done>(true),
    entry<net::ReadStart, net::StateReply>(true),
    entry<net::KeepState, net::Done>(true),
    entry<net::Regroup, net::Done>(true),
    entry<net::Introduce, net::Done>(true),
    entry<net::Ping, net::Pong>(false),
    entry<WriteRows, net::Done>(false),
    entry<net::ReadParameters, net::ParameterVector>(false),
    entry<net::Join, net::Welcome>(true),
    entry<net::Ready, net::Done>(true),
    entry<net::Members, net::Done>(true),
    entry<net::SpawnProcess, net::Done>(true),
    entry<net::KillProcess, net::Done>(true),
    entry<net::ProcessExited, net::Done>(true),
    entry<net::EndProcess, net::LinkTotals>(true),
    entry<net::Notice, net::Done>(true),
    entry<net::RanksEnded, net::Done>(true),
    entry<net::StopRanks, net::Done>(true),
    entry<net::PeerUnreachable, net::Done>(true),
};

}  // namespace

const WireEntry* find_wire_entry(const caf::type_erased_tuple& content) {
  for (const auto& candidate : entries) {
    if (candidate.is_request(content)) {
      return &candidate;
    }
  }
  return nullptr;
}

const WireEntry* find_wire_entry(std::uint32_t method) {
  for (const auto& candidate : entries) {
    if (static_cast<std::uint32_t>(candidate.method) == method) {
      return &candidate;
    }
  }
  return nullptr;
}

}  // namespace troupe
