#pragma once
/// \file methods.hpp
/// The table of methods: what each request is answered with, in which class of traffic both travel,
/// and what the answer is charged with. Codecs, proxies, fuzz targets and the table in
/// docs/protocol.md follow it.
#include "runtime/base/saturating.hpp"
#include "runtime/feature/embedding/messages.hpp"
#include "runtime/feature/ready_batch.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/feature/tensor_messages.hpp"
#include "runtime/net/frame.hpp"
#include "runtime/sample/edge_questions.hpp"
#include "runtime/sample/links/graph_questions.hpp"
#include "runtime/sample/one_hop.hpp"
#include "runtime/wire/membership.hpp"
#include "runtime/wire/messages.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace troupe::net {

// ---- the largest answer that a request takes, as a frame; charged to the window ----

/// An answer that has nothing to say. A failure, which may come instead of any answer, takes no more.
inline constexpr std::uint64_t small_reply_bytes = largest_failure_bytes;
/// The answer to a command.
inline constexpr std::uint64_t control_reply_bytes = std::uint64_t{64} << 10;
/// A state or parameters, whose size the requester does not know. A larger answer is charged when it
/// is there (Endpoint, large answers).
inline constexpr std::uint64_t unknown_reply_bytes = std::uint64_t{16} << 10;

// Where it follows from the request; an estimate where the requester cannot know.
std::uint64_t reply_bytes(const HopRequest& request);
std::uint64_t reply_bytes(const RowRequest& request);
std::uint64_t reply_bytes(const GradientChunk& request);
std::uint64_t reply_bytes(const SampleBatch& request);
inline std::uint64_t reply_bytes(const HasEdges& request) {
  return small_reply_bytes + request.nodes.size();
}
inline std::uint64_t reply_bytes(const FindNodes& request) {
  return small_reply_bytes + sizeof(NodeId) * request.places.size();
}
inline std::uint64_t reply_bytes(const CountEdges& request) {
  return small_reply_bytes + sizeof(std::uint64_t) * request.nodes.size();
}
inline std::uint64_t reply_bytes(const ReadLearned& request) {
  return small_reply_bytes + sizeof(float) * learned_values(request.sections);
}
inline std::uint64_t reply_bytes(const RankEntities& request) {
  return small_reply_bytes + 2 * sizeof(std::uint64_t) * request.keys.size();
}
inline std::uint64_t reply_bytes(const ReadTensor& request) {
  return plus(small_reply_bytes, tensor_bytes(request.places(), request.row_bytes));
}
/// As if the part had them all: place and both ends of each.
inline std::uint64_t reply_bytes(const FindEdges& request) {
  return small_reply_bytes + 3 * sizeof(std::uint64_t) * request.edges.size();
}

/// Charge for the answer to a request: a number of bytes, or a function of the request.
template <class Request>
class ReplyCharge {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  constexpr ReplyCharge(std::uint64_t bytes) : bytes_(bytes) {}
  constexpr ReplyCharge(std::uint64_t (*of)(const Request&)) : of_(of) {}
  // NOLINTEND(google-explicit-constructor)
  std::uint64_t operator()(const Request& request) const {
    return of_ != nullptr ? of_(request) : bytes_;
  }

 private:
  std::uint64_t bytes_ = 0;
  std::uint64_t (*of_)(const Request&) = nullptr;
};

// ---- the table ----

/// Whether an answer waits for work without a bound of its own, so that its request has the long
/// deadline.
enum class Answer : std::uint8_t { prompt, at_length };

struct MethodTraffic {
  TrafficClass request;
  TrafficClass reply;
};

template <class RequestType, class ReplyType>
struct MethodEntry {
  using Request = RequestType;
  using Reply = ReplyType;

  std::uint32_t number;  ///< On the wire; never reused
  std::string_view name;
  MethodTraffic traffic;
  ReplyCharge<Request> charge;
  Answer answer;
};

namespace method_table {

using enum TrafficClass;
using enum Answer;
template <class Request, class Reply>
using Of = MethodEntry<Request, Reply>;
inline constexpr MethodTraffic commands{control, control};

/// By number. New ones are added at the end.
inline constexpr std::tuple methods{
    Of<HopRequest, HopReply>{1, "sample_neighbors", {samples, samples}, reply_bytes, prompt},
    Of<RowRequest, RowReply>{2, "read_rows", {rows, rows}, reply_bytes, prompt},
    Of<GradientChunk, GradientSum>{
        3, "reduce_gradients", {gradients, gradients}, reply_bytes, at_length},
    Of<SampleBatch, ReadyBatch>{4, "sample_batch", {control, rows}, reply_bytes, at_length},
    Of<HasEdges, EdgesThere>{5, "has_edges", {samples, samples}, reply_bytes, prompt},
    Of<FindNodes, NodesFound>{8, "find_nodes", {samples, samples}, reply_bytes, prompt},
    Of<CountEdges, EdgesCounted>{9, "count_edges", {samples, samples}, reply_bytes, prompt},
    Of<FindEdges, EdgesFound>{10, "find_edges", {samples, samples}, reply_bytes, prompt},
    Of<SparseGradients, Done>{11, "add_gradients", {updates, control}, small_reply_bytes, prompt},
    Of<ReadLearned, LearnedRows>{12, "read_learned", {learned, learned}, reply_bytes, at_length},
    Of<KeepLearned, Done>{13, "keep_learned", commands, small_reply_bytes, at_length},
    Of<BeginLearned, Done>{14, "begin_learned", commands, small_reply_bytes, at_length},
    Of<DigestLearned, LearnedDigests>{15, "digest_learned", commands, control_reply_bytes,
                                      at_length},
    Of<EpochRequest, EpochResult>{16, "run_epoch", commands, control_reply_bytes, at_length},
    Of<InferRequest, InferResult>{17, "infer_layer", commands, control_reply_bytes, at_length},
    Of<ScoreRequest, ScoreResult>{18, "score", commands, control_reply_bytes, at_length},
    Of<KeepBest, Done>{19, "keep_best", commands, small_reply_bytes, at_length},
    Of<Finish, FinishResult>{20, "finish", commands, control_reply_bytes, at_length},
    Of<TakeState, StateReply>{
        21, "take_state", {control, gradients}, unknown_reply_bytes, at_length},
    Of<Restore, Done>{22, "restore", {rows, control}, small_reply_bytes, at_length},
    Of<Regroup, Done>{23, "regroup", commands, small_reply_bytes, at_length},
    Of<Introduce, Done>{24, "introduce", commands, small_reply_bytes, at_length},
    Of<Ping, Pong>{25, "ping", commands, small_reply_bytes, prompt},
    Of<ActorDown, Done>{26, "actor_down", commands, small_reply_bytes, prompt},
    Of<ReadParameters, ParameterVector>{
        28, "read_parameters", {control, gradients}, unknown_reply_bytes, prompt},
    Of<ReadStart, StateReply>{
        29, "read_start", {control, gradients}, unknown_reply_bytes, at_length},
    Of<KeepState, Done>{30, "keep_state", {rows, control}, small_reply_bytes, at_length},
    Of<RankEpoch, Done>{31, "rank_epoch", commands, small_reply_bytes, at_length},
    Of<Join, Welcome>{32, "join", commands, control_reply_bytes, at_length},
    Of<Ready, Done>{33, "ready", commands, small_reply_bytes, at_length},
    Of<Members, Done>{34, "members", commands, small_reply_bytes, at_length},
    Of<SpawnProcess, Done>{35, "spawn_process", commands, small_reply_bytes, at_length},
    Of<KillProcess, Done>{36, "kill_process", commands, small_reply_bytes, at_length},
    Of<ProcessExited, Done>{37, "process_exited", commands, small_reply_bytes, at_length},
    Of<EndProcess, LinkTotals>{38, "end_process", commands, control_reply_bytes, at_length},
    Of<Notice, Done>{39, "notice", commands, small_reply_bytes, at_length},
    Of<RanksEnded, Done>{40, "ranks_ended", commands, small_reply_bytes, at_length},
    Of<StopRanks, Done>{41, "stop_ranks", commands, small_reply_bytes, at_length},
    Of<PeerUnreachable, Done>{42, "peer_unreachable", commands, small_reply_bytes, at_length},
    Of<ReadCopy, CopyPiece>{43, "read_copy", {control, rows}, unknown_reply_bytes, at_length},
    Of<LoadCopy, Done>{44, "load_copy", {rows, control}, small_reply_bytes, at_length},
    Of<RankEntities, EntityCounts>{45, "rank_entities", {learned, learned}, reply_bytes, at_length},
    Of<FollowLearned, LearnedState>{46, "follow_learned", commands, small_reply_bytes, at_length},
    Of<PullLearned, LearnedEvent>{47, "pull_learned", {control, rows}, unknown_reply_bytes, prompt},
    Of<LoadStart, Done>{50, "load_start", commands, small_reply_bytes, at_length},
    Of<MakeTensor, Done>{51, "make_tensor", commands, small_reply_bytes, prompt},
    Of<WriteTensor, Done>{52, "write_tensor", {rows, control}, small_reply_bytes, prompt},
    Of<ReadTensor, TensorRows>{53, "read_tensor", {rows, rows}, reply_bytes, prompt},
    Of<KeepTensors, Done>{54, "keep_tensors", commands, small_reply_bytes, prompt},
    Of<DropTensors, Done>{55, "drop_tensors", commands, small_reply_bytes, prompt},
    Of<ReadTensorCopy, CopiedTensors>{
        56, "read_tensor_copy", {control, rows}, unknown_reply_bytes, prompt},
    Of<LoadTensors, Done>{57, "load_tensors", {rows, control}, small_reply_bytes, prompt},
};

}  // namespace method_table
using method_table::methods;

// ---- what follows from it ----

template <class... T>
struct MessageList {
  static constexpr std::size_t size = sizeof...(T);

  /// Place of a message, `size` if it is not there.
  template <class Message>
  static constexpr std::size_t place_of() {
    constexpr std::array is_it{std::is_same_v<T, Message>..., true};
    std::size_t place = 0;
    while (!is_it[place]) {
      ++place;
    }
    return place;
  }

  template <class Message>
  using With = std::conditional_t<(std::is_same_v<T, Message> || ...), MessageList,
                                  MessageList<T..., Message>>;
};

template <class List, class... Entries>
struct MessagesOf {
  using Type = List;
};
template <class List, class First, class... Rest>
struct MessagesOf<List, First, Rest...> {
  using WithRequest = typename List::template With<typename First::Request>;
  using WithBoth = typename WithRequest::template With<typename First::Reply>;
  using Type = typename MessagesOf<WithBoth, Rest...>::Type;
};
template <class... Entries>
auto messages_of(const std::tuple<Entries...>&) ->
    typename MessagesOf<MessageList<>, Entries...>::Type;

/// Every message once, in the order of the table.
using Messages = decltype(messages_of(methods));

/// Place in the table of the first method that a message belongs to.
template <class Message, class... Entries>
constexpr std::size_t first_method(const std::tuple<Entries...>& /*table*/) {
  constexpr std::array belongs{(std::is_same_v<typename Entries::Request, Message> ||
                                std::is_same_v<typename Entries::Reply, Message>)...};
  std::size_t place = 0;
  while (!belongs[place]) {  // out of bounds, an error of compilation, for any other type
    ++place;
  }
  return place;
}

/// The method that a message belongs to, the first one of an answer to several.
template <class Message>
inline constexpr const auto& method_of = std::get<first_method<Message>(methods)>(methods);

/// Numbers of all methods, in order.
inline constexpr auto method_numbers =
    std::apply([](const auto&... entry) { return std::array{entry.number...}; }, methods);

constexpr bool method_numbers_ascend() {
  for (std::size_t i = 1; i < method_numbers.size(); ++i) {
    if (method_numbers[i] <= method_numbers[i - 1]) {
      return false;
    }
  }
  return true;
}
static_assert(method_numbers_ascend(), "methods are in the order of their numbers, none twice");

}  // namespace troupe::net
