// What lies here already, and which part is asked for the other rows.
#include "runtime/base/assert.hpp"
#include "runtime/feature/row_collection_state.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace troupe {

void RowCollection::State::prepare() {
  const auto types = sampled().nodes.size();
  TROUPE_ASSERT(options->decoders.size() == types, "decoders, node types", options->decoders.size(),
                types);
  TROUPE_ASSERT(!options->seeds_only || options->digest == DigestMode::off,
                "a digest needs the rows of all nodes");
  distinct_seeds = sampled().nodes[raw(sampled().seed_type)].hop_end.front();
  batch.rows.resize(types);
  cached.resize(types);
  if (!slots && options->digest_here && options->digest != DigestMode::off &&
      sampled().key.purpose == Purpose::train) {
    digester.emplace(options->digest);
  }
  if (future.cache) {
    future_rows.emplace(*future.cache, future.turn, future.ticket);
  }
  if (slots) {
    begin_staging();
  }
  constexpr auto none = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> question_of(book.parts(), none);
  for (std::size_t t = 0; t < types; ++t) {
    const std::size_t nodes = wanted_nodes(t);
    if (wants_rows(t) && !staging) {
      batch.rows[t].features = Matrix(nodes, options->decoders[t].cols());
    }
    if (options->wants_original_ids()) {
      batch.rows[t].original_ids.resize(nodes);
    }
    ask(static_cast<NodeTypeId>(t), question_of);
  }
  future_rows.reset();
  ask_tables(question_of);
  open = questions.size();
  answered.resize(questions.size());
}

/// Room for what the device may lack: all rows of other parts.
void RowCollection::State::begin_staging() {
  std::vector<RowStaging::Type> types(batch.rows.size());
  for (std::size_t t = 0; t < types.size(); ++t) {
    if (!wants_rows(t)) {
      continue;
    }
    const auto type = static_cast<NodeTypeId>(t);
    std::vector<std::uint8_t> elsewhere(book.parts());
    for (std::uint32_t p = 0; p < book.parts(); ++p) {
      elsewhere[p] = slots->of_part(type, static_cast<PartId>(p)) == nullptr ? 1 : 0;
    }
    types[t] = {.rows = wanted_nodes(t), .row_bytes = options->decoders[t].row_bytes()};
    for (const auto id : std::span(sampled().nodes[t].ids).first(wanted_nodes(t))) {
      types[t].most_staged += elsewhere[raw(book.owner(type, id))];
    }
  }
  staging.emplace(slots, types);
}

/// A row that lies here already.
void RowCollection::State::put_row(NodeTypeId type, std::uint32_t place,
                                   std::span<const std::byte> row) {
  if (staging) {
    std::ranges::copy(row, staging->stage(type, {&place, 1}).begin());
  } else {
    options->decoders[raw(type)].decode(row, batch.rows[raw(type)].features.view().row(place));
  }
}

/// Finds slots for rows that a part owns.
/// \param group  their places
/// \returns where they are to be written; empty: the device has them
std::span<std::byte> RowCollection::State::stage(NodeTypeId type, PartId part,
                                                 std::span<const std::uint32_t> group) {
  const auto* const slot_of = slots->of_part(type, part);
  if (slot_of == nullptr) {
    return staging->stage(type, group);
  }
  const auto& ids = sampled().nodes[raw(type)].ids;
  const auto first = raw(book.range(type, part).first);
  for (const auto place : group) {
    staging->put(type, place, (*slot_of)(raw(ids[place]) - first));
  }
  return {};
}

/// \returns whether the row is kept: then it is in its place
bool RowCollection::State::take_from_cache(NodeTypeId type, std::uint32_t place, PartId owner) {
  const auto id = sampled().nodes[raw(type)].ids[place];
  if (future_rows && future.cache->covers(owner)) {
    if (const auto row = future_rows->find(type, id, options->wants_original_ids())) {
      take_from(*future_rows, *row, type, place);
      return true;
    }
  }
  const auto row = cache && cache->covers(owner) ? cache->find(type, id) : std::nullopt;
  if (row) {
    take_from(*cache, *row, type, place);
  }
  return row.has_value();
}

template <class Cache>
void RowCollection::State::take_from(const Cache& from, std::uint32_t row, NodeTypeId type,
                                     std::uint32_t place) {
  put_row(type, place, from.row(type, row));
  if (options->wants_original_ids()) {
    batch.rows[raw(type)].original_ids[place] = from.original_id(type, row);
  }
  cached[raw(type)].push_back(sampled().nodes[raw(type)].ids[place]);
}

/// \returns whether a part here keeps the row for another one: then it is in its place
bool RowCollection::State::take_from_halo(NodeTypeId type, std::uint32_t place, PartId owner) {
  const auto of_owner = [owner](const auto& part) { return part->id == owner; };
  if (std::ranges::any_of(here, of_owner)) {
    return false;
  }
  for (const auto& part : here) {
    const auto& nodes = part->nodes_of(type);
    const auto at = nodes.halo_features
                        ? nodes.halo.rank(raw(sampled().nodes[raw(type)].ids[place]))
                        : std::nullopt;
    if (!at) {
      continue;
    }
    const auto* const slot_of = slots ? slots->of_halo(type, part->id) : nullptr;
    if (slot_of != nullptr) {
      staging->put(type, place, (*slot_of)(*at));
    } else {
      put_row(type, place, nodes.halo_features->row(*at));
    }
    if (options->wants_original_ids()) {
      batch.rows[raw(type)].original_ids[place] =
          static_cast<OriginalId>(nodes.halo_original_ids[*at]);
    }
    ++halo_rows;
    return true;
  }
  return false;
}

/// Groups the nodes of a type by owner. Batch-local order is kept, so seeds come first in every
/// group.
/// \param question_of  [parts] -> question, or past all of them
void RowCollection::State::ask(NodeTypeId type, std::vector<std::size_t>& question_of) {
  const auto& ids = sampled().nodes[raw(type)].ids;
  const bool rows = wants_rows(raw(type));
  const std::uint32_t labelled = labelled_nodes(sampled(), *options, type);
  const bool all = rows || options->wants_original_ids();
  const auto count = all ? static_cast<std::uint32_t>(wanted_nodes(raw(type))) : labelled;
  std::vector<PooledVector<std::uint32_t>> by_part(book.parts());
  const bool caches = cache != nullptr || future_rows.has_value();
  const bool of_one_part = book.parts() == 1 && !caches;
  const bool halos = std::ranges::any_of(
      here, [type](const auto& part) { return part->nodes_of(type).halo_features.has_value(); });
  if (of_one_part) {
    by_part[0].resize(count);
    std::iota(by_part[0].begin(), by_part[0].end(), 0U);
  }
  for (std::uint32_t i = 0; i < count && !of_one_part; ++i) {
    const auto owner = book.owner(type, ids[i]);
    const bool taken =
        rows && i >= labelled &&
        ((halos && take_from_halo(type, i, owner)) || (caches && take_from_cache(type, i, owner)));
    if (!taken) {
      by_part[raw(owner)].push_back(i);
    }
  }
  for (std::uint32_t p = 0; p < by_part.size(); ++p) {
    auto& group = by_part[p];
    if (group.empty()) {
      continue;
    }
    const auto question = question_for(static_cast<PartId>(p), question_of);
    RowSection section;
    section.node_type = type;
    const auto to =
        rows && slots ? stage(type, static_cast<PartId>(p), group) : std::span<std::byte>();
    section.with_rows = rows && (!slots || !to.empty());
    section.row_bytes = section.with_rows ? options->decoders[raw(type)].row_bytes() : 0;
    section.label_bytes =
        raw(type) < options->label_bytes.size() ? options->label_bytes[raw(type)] : 0;
    section.nodes.resize(group.size());
    std::ranges::transform(group, section.nodes.begin(),
                           [&ids](std::uint32_t i) { return ids[i]; });
    const auto first_unlabelled = std::ranges::lower_bound(group, labelled);
    section.label_nodes = static_cast<std::uint64_t>(first_unlabelled - group.begin());
    questions[question].request.sections.push_back(std::move(section));
    places[question].push_back(std::move(group));
    staged[question].push_back(to);
  }
}

/// The question to a part, made where it has none yet.
std::size_t RowCollection::State::question_for(PartId part, std::vector<std::size_t>& question_of) {
  auto& question = question_of[raw(part)];
  if (question >= questions.size()) {
    question = questions.size();
    questions.push_back({.id = static_cast<std::uint32_t>(question), .part = part, .request = {}});
    questions.back().request.source = options->source;
    questions.back().request.with_original_ids = options->wants_original_ids();
    places.emplace_back();
    staged.emplace_back();
  }
  return question;
}

/// Rows of edges, each of the part whose list has the edge.
void RowCollection::State::ask_tables(std::vector<std::size_t>& question_of) {
  tables.emplace(book, *options, batch);
  for (std::uint32_t p = 0; p < book.parts(); ++p) {
    const auto part = static_cast<PartId>(p);
    if (auto sections = tables->sections_for(part); !sections.empty()) {
      questions[question_for(part, question_of)].request.tables = std::move(sections);
    }
  }
}

}  // namespace troupe
