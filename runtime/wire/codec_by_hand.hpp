#pragma once
/// \file codec_by_hand.hpp
/// Codecs of the messages that are many or large: hops, rows, batches and states. They pack lists
/// into segments and check them against each other. Only for runtime/wire/*.cpp and tests.
#include "runtime/wire/fields.hpp"
#include "runtime/wire/methods.hpp"
#include "schema/batches.capnp.h"
#include "schema/recovery.capnp.h"
#include "schema/rows.capnp.h"
#include "schema/sampling.capnp.h"

#include <type_traits>

namespace troupe::net {

// ---- their structs in the schema ----

template <class SchemaStruct>
struct ByHand {
  using Root = SchemaStruct;
};
template <>
struct Fields<HopRequest> : ByHand<wire::HopRequest> {};
template <>
struct Fields<HopReply> : ByHand<wire::HopReply> {};
template <>
struct Fields<RowRequest> : ByHand<wire::RowRequest> {};
template <>
struct Fields<RowReply> : ByHand<wire::RowReply> {};
template <>
struct Fields<SampleBatch> : ByHand<wire::SampleBatch> {};
template <>
struct Fields<ReadyBatch> : ByHand<wire::ReadyBatch> {};
template <>
struct Fields<StateReply> : ByHand<wire::TrainingState> {};
template <>
struct Fields<Restore> : ByHand<wire::Restore> {};
template <>
struct Fields<KeepState> : ByHand<wire::KeepState> {};

// ---- codecs ----

template <class T>
using ReadAs = std::type_identity<T>;

void encode_by_hand(const HopRequest& message, Frame& frame);
void encode_by_hand(const HopReply& message, Frame& frame);
void encode_by_hand(const RowRequest& message, Frame& frame);
void encode_by_hand(const RowReply& message, Frame& frame);
void encode_by_hand(const SampleBatch& message, Frame& frame);
void encode_by_hand(const ReadyBatch& message, Frame& frame);
void encode_by_hand(const StateReply& message, Frame& frame);
void encode_by_hand(const Restore& message, Frame& frame);
void encode_by_hand(const KeepState& message, Frame& frame);

Result<HopRequest> decode_by_hand(const Frame& frame, ReadAs<HopRequest>);
Result<HopReply> decode_by_hand(const Frame& frame, ReadAs<HopReply>);
Result<RowRequest> decode_by_hand(const Frame& frame, ReadAs<RowRequest>);
Result<RowReply> decode_by_hand(const Frame& frame, ReadAs<RowReply>);
Result<SampleBatch> decode_by_hand(const Frame& frame, ReadAs<SampleBatch>);
Result<ReadyBatch> decode_by_hand(const Frame& frame, ReadAs<ReadyBatch>);
Result<StateReply> decode_by_hand(const Frame& frame, ReadAs<StateReply>);
Result<Restore> decode_by_hand(const Frame& frame, ReadAs<Restore>);
Result<KeepState> decode_by_hand(const Frame& frame, ReadAs<KeepState>);

}  // namespace troupe::net
