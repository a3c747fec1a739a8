#pragma once
/// \file codec.hpp
/// Messages to frames and back, with schema/*.capnp as the specification. Encoding never fails;
/// decoding checks everything: sizes against each other, ranges of enums, limits of Cap'n Proto.
/// Ids are range-checked by who uses them.
#include "runtime/feature/ready_batch.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/feature/writable_tensors.hpp"
#include "runtime/net/frame.hpp"
#include "runtime/sample/one_hop.hpp"
#include "runtime/wire/membership.hpp"
#include "runtime/wire/messages.hpp"

namespace troupe::net {

/// One specialisation per message type:
///   static constexpr Method method;                 (requests and their replies share it)
///   static constexpr TrafficClass traffic;
/// static void encode(const T&, Frame&);           fills meta and segments; lists over 64 Ki
/// elements and all bulk data are segments static Result<T> decode(const Frame&);
/// \errors data_corruption: what was expected, what was found Requests also have static
///   std::uint64_t reply_bytes(const T&);     the largest answer that is taken, as a frame; charged
///   to the window. An estimate where the asker cannot know: Endpoint, large answers
template <class T>
struct Wire;

#define TROUPE_WIRE_REPLY(T, METHOD, CLASS)                      \
  template <>                                                    \
  struct Wire<T> {                                               \
    static constexpr Method method = Method::METHOD;             \
    static constexpr TrafficClass traffic = TrafficClass::CLASS; \
    static void encode(const T& message, Frame& frame);          \
    static Result<T> decode(const Frame& frame);                 \
  };
#define TROUPE_WIRE_REQUEST(T, METHOD, CLASS)                    \
  template <>                                                    \
  struct Wire<T> {                                               \
    static constexpr Method method = Method::METHOD;             \
    static constexpr TrafficClass traffic = TrafficClass::CLASS; \
    static void encode(const T& message, Frame& frame);          \
    static Result<T> decode(const Frame& frame);                 \
    static std::uint64_t reply_bytes(const T& message);          \
  };

TROUPE_WIRE_REQUEST(HopRequest, sample_neighbors, samples)
TROUPE_WIRE_REPLY(HopReply, sample_neighbors, samples)
TROUPE_WIRE_REQUEST(RowRequest, read_rows, rows)
TROUPE_WIRE_REPLY(RowReply, read_rows, rows)
TROUPE_WIRE_REQUEST(GradientChunk, reduce_gradients, gradients)
TROUPE_WIRE_REPLY(GradientSum, reduce_gradients, gradients)
TROUPE_WIRE_REQUEST(SampleBatch, sample_batch, control)
TROUPE_WIRE_REPLY(ReadyBatch, sample_batch, rows)
TROUPE_WIRE_REQUEST(EpochRequest, run_epoch, control)
TROUPE_WIRE_REPLY(EpochResult, run_epoch, control)
TROUPE_WIRE_REQUEST(RankEpoch, rank_epoch, control)
TROUPE_WIRE_REQUEST(InferRequest, infer_layer, control)
TROUPE_WIRE_REPLY(InferResult, infer_layer, control)
TROUPE_WIRE_REQUEST(ScoreRequest, score, control)
TROUPE_WIRE_REPLY(ScoreResult, score, control)
TROUPE_WIRE_REQUEST(KeepBest, keep_best, control)
TROUPE_WIRE_REQUEST(Finish, finish, control)
TROUPE_WIRE_REPLY(FinishResult, finish, control)
TROUPE_WIRE_REPLY(Done, keep_best, control)
TROUPE_WIRE_REQUEST(TakeState, take_state, control)
TROUPE_WIRE_REPLY(StateReply, take_state, gradients)
TROUPE_WIRE_REQUEST(Restore, restore, rows)
TROUPE_WIRE_REQUEST(ReadStart, read_start, control)
TROUPE_WIRE_REQUEST(KeepState, keep_state, rows)
TROUPE_WIRE_REQUEST(Regroup, regroup, control)
TROUPE_WIRE_REQUEST(Introduce, introduce, control)
TROUPE_WIRE_REQUEST(Ping, ping, control)
TROUPE_WIRE_REPLY(Pong, ping, control)
TROUPE_WIRE_REQUEST(ActorDown, actor_down, control)
TROUPE_WIRE_REQUEST(WriteRows, write_rows, rows)
TROUPE_WIRE_REQUEST(ReadParameters, read_parameters, control)
TROUPE_WIRE_REPLY(ParameterVector, read_parameters, gradients)
TROUPE_WIRE_REQUEST(Join, join, control)
TROUPE_WIRE_REPLY(Welcome, join, control)
TROUPE_WIRE_REQUEST(Ready, ready, control)
TROUPE_WIRE_REQUEST(Members, members, control)
TROUPE_WIRE_REQUEST(SpawnProcess, spawn_process, control)
TROUPE_WIRE_REQUEST(KillProcess, kill_process, control)
TROUPE_WIRE_REQUEST(ProcessExited, process_exited, control)
TROUPE_WIRE_REQUEST(EndProcess, end_process, control)
TROUPE_WIRE_REPLY(LinkTotals, end_process, control)
TROUPE_WIRE_REQUEST(Notice, notice, control)
TROUPE_WIRE_REQUEST(RanksEnded, ranks_ended, control)
TROUPE_WIRE_REQUEST(StopRanks, stop_ranks, control)
TROUPE_WIRE_REQUEST(PeerUnreachable, peer_unreachable, control)

#undef TROUPE_WIRE_REQUEST
#undef TROUPE_WIRE_REPLY

/// The frame of a message, with method and class in its header; the rest of the header is for the
/// endpoint and its user.
template <class T>
Frame to_frame(const T& message) {
  Frame frame;
  frame.head.method = static_cast<std::uint32_t>(Wire<T>::method);
  frame.head.traffic = Wire<T>::traffic;
  Wire<T>::encode(message, frame);
  return frame;
}

/// What one GradientChunk of so many bytes charges to a link's window at most: the frame and the
/// largest answer, in a run of so many ranks.
std::uint64_t gradient_exchange_bytes(std::uint64_t values_bytes, std::uint64_t world);
/// GradientChunk::sum_bytes of a share of a slice of so many bytes.
std::uint64_t gradient_sum_bytes(std::uint64_t values_bytes, Rank owner, std::uint64_t world);

}  // namespace troupe::net
