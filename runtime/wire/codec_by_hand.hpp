#pragma once
/// \file codec_by_hand.hpp
/// Codecs of the messages that are many or large: hops, rows, batches and states. They pack lists
/// into segments and check them against each other. Only for runtime/wire/*.cpp.
#include "runtime/wire/methods.hpp"

#include <type_traits>

namespace troupe::net {

template <class T>
using ReadAs = std::type_identity<T>;

void encode_by_hand(const HopRequest& message, Frame& frame);
void encode_by_hand(const HopReply& message, Frame& frame);
void encode_by_hand(const RowRequest& message, Frame& frame);
void encode_by_hand(const RowReply& message, Frame& frame);
void encode_by_hand(const WriteRows& message, Frame& frame);
void encode_by_hand(const SampleBatch& message, Frame& frame);
void encode_by_hand(const ReadyBatch& message, Frame& frame);
void encode_by_hand(const StateReply& message, Frame& frame);
void encode_by_hand(const Restore& message, Frame& frame);
void encode_by_hand(const KeepState& message, Frame& frame);

Result<HopRequest> decode_by_hand(const Frame& frame, ReadAs<HopRequest>);
Result<HopReply> decode_by_hand(const Frame& frame, ReadAs<HopReply>);
Result<RowRequest> decode_by_hand(const Frame& frame, ReadAs<RowRequest>);
Result<RowReply> decode_by_hand(const Frame& frame, ReadAs<RowReply>);
Result<WriteRows> decode_by_hand(const Frame& frame, ReadAs<WriteRows>);
Result<SampleBatch> decode_by_hand(const Frame& frame, ReadAs<SampleBatch>);
Result<ReadyBatch> decode_by_hand(const Frame& frame, ReadAs<ReadyBatch>);
Result<StateReply> decode_by_hand(const Frame& frame, ReadAs<StateReply>);
Result<Restore> decode_by_hand(const Frame& frame, ReadAs<Restore>);
Result<KeepState> decode_by_hand(const Frame& frame, ReadAs<KeepState>);

}  // namespace troupe::net
