#pragma once
/// \file learned_fields.hpp
/// How the messages of learned rows travel: the fields of runtime/feature/embedding/messages.hpp. Only
/// for codecs and tests, by way of message_fields.hpp.
#include "runtime/feature/embedding/messages.hpp"
#include "runtime/wire/codec_support.hpp"
#include "runtime/wire/fields.hpp"
#include "schema/learned.capnp.h"

namespace troupe::net {

inline constexpr std::size_t max_tables = 65536;
inline constexpr std::size_t max_copies = 1024;

template <>
struct Fields<LearnedSection> {
  using Root = wire::LearnedSection;
  static constexpr std::tuple fields{field::value("nodeType", &LearnedSection::node_type),
                                     field::value("cols", &LearnedSection::cols),
                                     field::value("nodes", &LearnedSection::nodes)};
};

template <>
struct Fields<SparseGradients> {
  using Root = wire::SparseGradients;
  static constexpr std::tuple fields{
      field::value("generation", &SparseGradients::generation),
      field::value("step", &SparseGradients::step),
      field::value("rank", &SparseGradients::rank),
      field::value("weight", &SparseGradients::weight),
      field::list("sections", &SparseGradients::sections, max_tables, "sections"),
      field::array(0, &SparseGradients::nodes),
      field::array<float>(1, &SparseGradients::rows)};

  static Status check(std::string_view message, const SparseGradients& share) {
    return check_learned(message, share.sections, share.nodes.size(),
                         share.rows.bytes.size() / sizeof(float));
  }
};

template <>
struct Fields<ReadLearned> {
  using Root = wire::ReadLearned;
  static constexpr std::tuple fields{
      field::value("generation", &ReadLearned::generation),
      field::value("step", &ReadLearned::step),
      field::value("best", &ReadLearned::best),
      field::list("sections", &ReadLearned::sections, max_tables, "sections"),
      field::array(0, &ReadLearned::nodes),
      field::value("orLater", &ReadLearned::or_later)};

  static Status check(std::string_view message, const ReadLearned& request) {
    return check_learned(message, request.sections, request.nodes.size(), std::nullopt);
  }
};

template <>
struct Fields<LearnedRows> {
  using Root = wire::LearnedRows;
  static constexpr std::tuple fields{field::array<float>(0, &LearnedRows::rows)};
};

template <>
struct Fields<KeepLearned> {
  using Root = wire::KeepLearned;
  static constexpr std::tuple fields{field::value("generation", &KeepLearned::generation),
                                     field::value("step", &KeepLearned::step),
                                     field::value("best", &KeepLearned::best),
                                     field::value("oldest", &KeepLearned::oldest)};
};

template <>
struct Fields<BeginLearned> {
  using Root = wire::BeginLearned;
  static constexpr std::tuple fields{field::value("generation", &BeginLearned::generation),
                                     field::value("step", &BeginLearned::step)};
};

template <>
struct Fields<DigestLearned> {
  using Root = wire::DigestLearned;
  static constexpr std::tuple fields{field::value("generation", &DigestLearned::generation),
                                     field::value("step", &DigestLearned::step)};
};

template <>
struct Fields<ReadCopy> {
  using Root = wire::ReadCopy;
  static constexpr std::tuple fields{
      field::value("step", &ReadCopy::step), field::value("nodeType", &ReadCopy::node_type),
      field::value("first", &ReadCopy::first), field::value("count", &ReadCopy::count),
      field::value("follower", &ReadCopy::follower)};
};

template <>
struct Fields<FollowLearned> {
  using Root = wire::FollowLearned;
  static constexpr std::tuple fields{field::value("follower", &FollowLearned::follower)};
};

template <>
struct Fields<LearnedState> {
  using Root = wire::LearnedState;
  static constexpr std::tuple fields{
      field::value("generation", &LearnedState::generation),
      field::value("step", &LearnedState::step),
      field::list("kept", &LearnedState::kept, max_copies, "copies")};
};

template <>
struct Fields<PullLearned> {
  using Root = wire::PullLearned;
  static constexpr std::tuple fields{field::value("follower", &PullLearned::follower),
                                     field::value("from", &PullLearned::from),
                                     field::value("last", &PullLearned::last)};
};

template <>
struct Fields<LearnedEvent> {
  using Root = wire::LearnedEvent;
  static constexpr std::tuple fields{
      field::value("kind", &LearnedEvent::kind),
      field::value("generation", &LearnedEvent::generation),
      field::value("step", &LearnedEvent::step),
      field::value("rank", &LearnedEvent::rank),
      field::value("weight", &LearnedEvent::weight),
      field::value("best", &LearnedEvent::best),
      field::value("oldest", &LearnedEvent::oldest),
      field::list("sections", &LearnedEvent::sections, max_tables, "sections"),
      field::array(0, &LearnedEvent::nodes),
      field::array<float>(1, &LearnedEvent::rows)};

  static Status check(std::string_view message, const LearnedEvent& event) {
    return check_learned(message, event.sections, event.nodes.size(),
                         event.rows.bytes.size() / sizeof(float));
  }
};

/// Of a copy's rows, whichever way they go.
inline constexpr std::tuple copy_fields{
    field::value("step", &CopyPiece::step),    field::value("nodeType", &CopyPiece::node_type),
    field::value("steps", &CopyPiece::steps),  field::value("last", &CopyPiece::last),
    field::array(0, &CopyPiece::ids),          field::array<float>(1, &CopyPiece::rows),
    field::array<float>(2, &CopyPiece::state), field::array<float>(3, &CopyPiece::best)};

template <>
struct Fields<CopyPiece> {
  using Root = wire::CopyPiece;
  static constexpr auto fields = copy_fields;
};

template <>
struct Fields<LoadCopy> {
  using Root = wire::LoadCopy;
  static constexpr auto fields = copy_fields;
};

template <>
struct Fields<TableDigest> {
  using Root = wire::TableDigest;
  static constexpr std::tuple fields{field::value("nodeType", &TableDigest::node_type),
                                     field::spread("rows", &TableDigest::rows),
                                     field::spread("best", &TableDigest::best)};
};

template <>
struct Fields<LearnedDigests> {
  using Root = wire::LearnedDigests;
  static constexpr std::tuple fields{
      field::list("tables", &LearnedDigests::tables, max_tables, "tables")};
};

template <>
struct Fields<RankEntities> {
  using Root = wire::RankEntities;
  static constexpr std::tuple fields{field::value("generation", &RankEntities::generation),
                                     field::value("step", &RankEntities::step),
                                     field::value("best", &RankEntities::best),
                                     field::value("nodeType", &RankEntities::node_type),
                                     field::value("cols", &RankEntities::cols),
                                     field::value("score", &RankEntities::score),
                                     field::value("norm", &RankEntities::norm),
                                     field::value("unit", &RankEntities::unit),
                                     field::value("tensor", &RankEntities::tensor),
                                     field::value("hidden", &RankEntities::hidden),
                                     field::array<float>(0, &RankEntities::queries),
                                     field::array(1, &RankEntities::keys),
                                     field::array(2, &RankEntities::offsets),
                                     field::array(3, &RankEntities::left_out)};

  static Status check(std::string_view message, const RankEntities& request) {
    return check_queries(message, request);
  }
};

template <>
struct Fields<EntityCounts> {
  using Root = wire::EntityCounts;
  static constexpr std::tuple fields{field::array(0, &EntityCounts::above),
                                     field::array(1, &EntityCounts::level)};
};

}  // namespace troupe::net
