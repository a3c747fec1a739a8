#include "runtime/feature/row_collection.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/feature/batch_digester.hpp"
#include "runtime/feature/row_placement.hpp"
#include "runtime/feature/staged_rows.hpp"
#include "runtime/feature/table_collection.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace troupe {
struct RowCollection::State {
  const PartitionBook& book;
  std::shared_ptr<const CollectOptions> options;
  Batch batch;
  std::vector<RowQuestion> questions;
  /// [question][section][node] -> its batch-local index
  std::vector<std::vector<PooledVector<std::uint32_t>>> places;
  std::vector<bool> answered;
  std::size_t open = 0;
  std::uint32_t distinct_seeds = 0;
  PooledVector<std::int64_t> seed_labels;  ///< [distinct seeds] or empty
  Matrix seed_targets;                     ///< [distinct seeds, columns] or empty
  bool labels_seen = false;
  std::shared_ptr<const RowCache> cache;
  FutureReads future;
  std::optional<FutureCache::LookUp> future_rows;     ///< while questions are made
  std::vector<PooledVector<NodeId>> cached;           ///< [types]
  std::span<const std::shared_ptr<const Part>> here;  ///< while questions are made
  std::uint64_t halo_rows = 0;
  std::optional<BatchDigester> digester;  ///< the batch is digested here
  std::shared_ptr<const RowSlots> slots;  ///< rows are left to a device; null: they are placed here
  std::optional<RowStaging> staging;      ///< of these
  /// [question][section] memory of the rows that are staged; empty: none
  std::vector<std::vector<std::span<std::byte>>> staged;
  std::optional<TableCollection> tables;  ///< after prepare()

  State(const PartitionBook& b, std::shared_ptr<const CollectOptions> o)
      : book(b), options(std::move(o)) {}

  const SampledBatch& sampled() const { return *batch.sampled; }
  /// Nodes of a type that rows and original ids are wanted of: the first so many.
  std::size_t wanted_nodes(std::size_t type) const {
    if (!options->seeds_only) {
      return sampled().nodes[type].ids.size();
    }
    return type == raw(sampled().seed_type) ? distinct_seeds : 0;
  }
  bool wants_rows(std::size_t type) const { return options->decoders[type].cols() > 0; }

  void prepare();
  void begin_staging();
  void put_row(NodeTypeId type, std::uint32_t place, std::span<const std::byte> row);
  std::span<std::byte> stage(NodeTypeId type, PartId part, std::span<const std::uint32_t> group);
  bool take_from_cache(NodeTypeId type, std::uint32_t place, PartId owner);
  template <class Cache>
  void take_from(const Cache& from, std::uint32_t row, NodeTypeId type, std::uint32_t place);
  bool take_from_halo(NodeTypeId type, std::uint32_t place, PartId owner);
  void ask(NodeTypeId type, std::vector<std::size_t>& question_of);
  void ask_tables(std::vector<std::size_t>& question_of);
  std::size_t question_for(PartId part, std::vector<std::size_t>& question_of);
  Status check_open(std::uint32_t question) const;
  /// The section of a question and what is known of it.
  struct Asked {
    PartId part;
    const RowSection& section;
    std::span<const std::uint32_t> places;
    bool with_original_ids;
  };
  Asked asked(std::uint32_t question, std::size_t section) const;
  static Error corrupt(const Asked& of, const std::string& what);
  Result<std::vector<RowSectionView>> open_reply(std::uint32_t question,
                                                 const RowReply& reply) const;
  Status check_sizes(const Asked& of, const RowSectionView& reply) const;
  Status take_labels(const Asked& of, const RowSectionView& reply);
  void take_original_ids(const Asked& of, const RowSectionView& reply);
  void take_original_ids_from(const Asked& of, const Part& part);
  Status read_part(std::uint32_t question, const Part& part,
                   std::vector<std::vector<ComingRows>>& rows);
  Status check_table(const Asked& of, const PartNodes& nodes) const;
  void take_rows(std::uint32_t question, std::size_t section, const ComingRows& from,
                 std::vector<std::vector<ComingRows>>& rows) const;
  void place(std::size_t type, std::vector<ComingRows>& sources, bool last);
  void place_all(std::vector<std::vector<ComingRows>>& by_type, std::size_t answered_now);
  void close(std::uint32_t question) {
    answered[question] = true;
    --open;
  }
  void spread_labels();
};

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

Status RowCollection::State::check_open(std::uint32_t question) const {
  if (question >= questions.size() || answered[question]) {
    return Error(Errc::invalid_argument,
                 fmt::format("collecting rows: no reply is awaited for question {} of {}", question,
                             questions.size()));
  }
  return ok_status();
}

RowCollection::State::Asked RowCollection::State::asked(std::uint32_t question,
                                                        std::size_t section) const {
  const auto& of = questions[question];
  return {of.part, of.request.sections[section], places[question][section],
          of.request.with_original_ids};
}

Error RowCollection::State::corrupt(const Asked& of, const std::string& what) {
  return Error(Errc::data_corruption, fmt::format("rows from part {}, node type {}: {}",
                                                  raw(of.part), raw(of.section.node_type), what));
}

/// The sections of a reply, as many as the question has.
Result<std::vector<RowSectionView>> RowCollection::State::open_reply(std::uint32_t question,
                                                                     const RowReply& reply) const {
  const auto& of = questions[question];
  auto views = sections_of(reply);
  if (!views) {
    return std::move(views).error().with(fmt::format("rows from part {}", raw(of.part)));
  }
  if (views->size() != of.request.sections.size()) {
    return Error(Errc::data_corruption,
                 fmt::format("rows from part {}: expected {} node types, got {}", raw(of.part),
                             of.request.sections.size(), views->size()));
  }
  return views;
}

Status RowCollection::State::check_sizes(const Asked& of, const RowSectionView& reply) const {
  const std::size_t nodes = of.section.nodes.size();
  const std::size_t row_bytes =
      of.section.with_rows ? options->decoders[raw(of.section.node_type)].row_bytes() : 0;
  if (of.section.with_rows &&
      (reply.row_bytes != row_bytes || reply.rows.size() != nodes * row_bytes)) {
    return corrupt(of, fmt::format("expected {} rows of {} bytes, got {} bytes in rows of {}",
                                   nodes, row_bytes, reply.rows.size(), reply.row_bytes));
  }
  const std::size_t original_ids = of.with_original_ids ? nodes : 0;
  if (reply.original_ids.size() != original_ids) {
    return corrupt(of, fmt::format("expected {} original ids, got {}", original_ids,
                                   reply.original_ids.size()));
  }
  const std::size_t labels = of.section.label_nodes;
  if (!reply.labels.empty() && reply.labels.size() != labels) {
    return corrupt(of,
                   fmt::format("expected {} labels or none, got {}", labels, reply.labels.size()));
  }
  if (!reply.targets.empty() && (labels == 0 || reply.targets.size() % labels != 0)) {
    return corrupt(of, fmt::format("expected targets of {} nodes or none, got {} numbers", labels,
                                   reply.targets.size()));
  }
  return ok_status();
}

/// The first reply with seeds says whether their type has labels; all others must agree.
Status RowCollection::State::take_labels(const Asked& of, const RowSectionView& reply) {
  const std::uint64_t count = of.section.label_nodes;
  if (count == 0) {
    return ok_status();
  }
  const std::size_t columns = reply.targets.size() / count;
  if (!labels_seen) {
    labels_seen = true;
    seed_labels.resize(reply.labels.empty() ? 0 : distinct_seeds);
    seed_targets = Matrix(columns == 0 ? 0 : distinct_seeds, columns);
  }
  if (reply.labels.empty() != seed_labels.empty() || columns != seed_targets.cols()) {
    return corrupt(
        of, fmt::format("labels differ from another part's: {} labels, {} target "
                        "columns where that had {} and {}",
                        reply.labels.size(), columns, seed_labels.size(), seed_targets.cols()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t place = of.places[i];
    if (!seed_labels.empty()) {
      seed_labels[place] = reply.labels[i];
    }
    std::copy_n(reply.targets.data() + i * columns, columns, seed_targets.data() + place * columns);
  }
  return ok_status();
}

void RowCollection::State::take_original_ids(const Asked& of, const RowSectionView& reply) {
  auto& originals = batch.rows[raw(of.section.node_type)].original_ids;
  for (std::size_t i = 0; i < reply.original_ids.size(); ++i) {
    originals[of.places[i]] = reply.original_ids[i];
  }
}

void RowCollection::State::take_original_ids_from(const Asked& of, const Part& part) {
  if (!of.with_original_ids) {
    return;
  }
  auto& originals = batch.rows[raw(of.section.node_type)].original_ids;
  each_original_id(part.nodes_of(of.section.node_type), of.section.nodes,
                   [&](std::size_t i, OriginalId id) { originals[of.places[i]] = id; });
}

Status RowCollection::State::check_table(const Asked& of, const PartNodes& nodes) const {
  const auto& decoder = options->decoders[raw(of.section.node_type)];
  if (!nodes.features || nodes.features->row_bytes() != decoder.row_bytes()) {
    return corrupt(of,
                   fmt::format("expected rows of {} bytes, the part has {}", decoder.row_bytes(),
                               nodes.features ? nodes.features->row_bytes() : 0));
  }
  return ok_status();
}

/// Notes rows of a section that are to be placed, or stages them.
void RowCollection::State::take_rows(std::uint32_t question, std::size_t section,
                                     const ComingRows& from,
                                     std::vector<std::vector<ComingRows>>& rows) const {
  if (staging) {
    copy_rows_as_stored(from, staged[question][section]);
  } else {
    rows[raw(questions[question].request.sections[section].node_type)].push_back(from);
  }
}

/// Puts rows of one type in their places.
/// \param last  All others are in place, and all original ids: blocks are digested as they come
void RowCollection::State::place(std::size_t type, std::vector<ComingRows>& sources, bool last) {
  const auto& decoder = options->decoders[type];
  const auto out = batch.rows[type].features.view();
  const bool digests = last && digester;
  // In the order of places whatever the number of sources, which touches each page once.
  const bool in_blocks = digests || sources.size() > 1;
  const std::size_t block = in_blocks ? rows_in_cache(decoder.cols()) : out.rows;
  for (std::size_t first = 0; first < out.rows; first += block) {
    const auto end = std::min(first + block, out.rows);
    for (auto& rows : sources) {
      place_rows(decoder, rows, end, out);
    }
    if (digests) {
      digester->feed_rows(batch, type, end);
    }
  }
}

/// \param by_type       Rows of the questions that are answered now
/// \param answered_now  So many
void RowCollection::State::place_all(std::vector<std::vector<ComingRows>>& by_type,
                                     std::size_t answered_now) {
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    if (!by_type[type].empty()) {
      place(type, by_type[type], open == answered_now);
    }
  }
}

/// From distinct seeds to seeds.
void RowCollection::State::spread_labels() {
  const auto& seed_index = sampled().seed_index;
  if (!seed_labels.empty()) {
    batch.labels.reserve(seed_index.size());
    for (const std::uint32_t place : seed_index) {
      batch.labels.push_back(seed_labels[place]);
    }
  }
  if (seed_targets.cols() > 0) {
    batch.targets = Matrix(seed_index.size(), seed_targets.cols());
    for (std::size_t i = 0; i < seed_index.size(); ++i) {
      std::ranges::copy(seed_targets.view().row(seed_index[i]),
                        batch.targets.view().row(i).begin());
    }
  }
}

/// All but the rows, which are noted.
Status RowCollection::State::read_part(std::uint32_t question, const Part& part,
                                       std::vector<std::vector<ComingRows>>& rows) {
  TROUPE_RETURN_IF_ERROR(check_open(question));
  const auto& of_question = questions[question];
  if (part.id != of_question.part) {
    return Error(Errc::invalid_argument,
                 fmt::format("collecting rows: question {} is for part {}, got part {}", question,
                             raw(of_question.part), raw(part.id)));
  }
  // Labels are few: they go the way of a reply.
  TROUPE_ASSIGN_OR_RETURN(const RowReply reply, read_part_labels(part, of_question.request));
  TROUPE_ASSIGN_OR_RETURN(const auto sections, open_reply(question, reply));
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const auto of = asked(question, i);
    const auto& nodes = part.nodes_of(of.section.node_type);
    if (of.section.with_rows) {
      TROUPE_RETURN_IF_ERROR(check_table(of, nodes));
      take_rows(question, i, {.nodes = of.section.nodes, .places = of.places, .part = &nodes},
                rows);
    }
    TROUPE_RETURN_IF_ERROR(take_labels(of, sections[i]));
    take_original_ids_from(of, part);
  }
  return tables->place_from(part, of_question.request.tables, batch);
}

RowCollection::RowCollection(const PartitionBook& book,
                             std::shared_ptr<const CollectOptions> options,
                             std::shared_ptr<const SampledBatch> sampled,
                             std::shared_ptr<const RowCache> cache,
                             std::span<const std::shared_ptr<const Part>> here, FutureReads future,
                             std::shared_ptr<const RowSlots> slots)
    : state_(std::make_unique<State>(book, std::move(options))) {
  if (state_->options->source.kind == RowSource::Kind::features) {
    state_->cache = std::move(cache);
    state_->here = here;
    state_->future = std::move(future);
    state_->slots = std::move(slots);
  }
  state_->batch.sampled = std::move(sampled);
  state_->prepare();
  state_->here = {};
}

RowCollection::~RowCollection() = default;
RowCollection::RowCollection(RowCollection&&) noexcept = default;
RowCollection& RowCollection::operator=(RowCollection&&) noexcept = default;

const std::vector<RowQuestion>& RowCollection::questions() const {
  return state_->questions;
}

Status RowCollection::answer(std::uint32_t question, const RowReply& reply) {
  State& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.check_open(question));
  TROUPE_ASSIGN_OR_RETURN(const auto sections, s.open_reply(question, reply));
  std::vector<std::vector<ComingRows>> rows(s.batch.rows.size());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const auto of = s.asked(question, i);
    TROUPE_RETURN_IF_ERROR(s.check_sizes(of, sections[i]));
    TROUPE_RETURN_IF_ERROR(s.take_labels(of, sections[i]));
    s.take_original_ids(of, sections[i]);
    if (of.section.with_rows) {
      s.take_rows(question, i,
                  {.nodes = of.section.nodes, .places = of.places, .packed = sections[i].rows},
                  rows);
    }
  }
  const auto& asked = s.questions[question];
  TROUPE_RETURN_IF_ERROR(s.tables->place(asked.part, asked.request.tables, reply, s.batch));
  s.place_all(rows, 1);
  if (s.future.cache && s.future.cache->covers(asked.part)) {
    s.future.cache->insert(asked, sections);
  }
  s.close(question);
  return ok_status();
}

Status RowCollection::answer_from(std::span<const PartHere> parts) {
  State& s = *state_;
  std::vector<std::vector<ComingRows>> rows(s.batch.rows.size());
  for (const auto& [question, part] : parts) {
    TROUPE_RETURN_IF_ERROR(s.read_part(question, part, rows));
  }
  s.place_all(rows, parts.size());
  for (const auto& [question, part] : parts) {
    s.close(question);
  }
  return ok_status();
}

Status RowCollection::answer_from(std::uint32_t question, const Part& part) {
  const PartHere one{question, part};
  return answer_from({&one, 1});
}

std::uint64_t RowCollection::cached_rows() const {
  std::uint64_t rows = 0;
  for (const auto& of_type : state_->cached) {
    rows += of_type.size();
  }
  return rows;
}

std::vector<PooledVector<NodeId>> RowCollection::cacheable(const std::vector<bool>& here) const {
  auto nodes = state_->cached;
  for (const auto& question : state_->questions) {
    if (here[raw(question.part)]) {
      continue;
    }
    for (const auto& section : question.request.sections) {
      if (section.with_rows) {
        const auto unlabelled = std::span(section.nodes).subspan(section.label_nodes);
        auto& of_type = nodes[raw(section.node_type)];
        of_type.insert(of_type.end(), unlabelled.begin(), unlabelled.end());
      }
    }
  }
  return nodes;
}

std::uint64_t RowCollection::halo_rows() const {
  return state_->halo_rows;
}

bool RowCollection::done() const {
  return state_->open == 0;
}

Batch RowCollection::take() && {
  TROUPE_ASSERT(done(), "rows are missing: open questions", state_->open);
  state_->spread_labels();
  if (state_->staging) {
    state_->batch.staged = std::make_shared<const StagedRows>(std::move(*state_->staging).take());
  }
  if (state_->digester) {
    state_->batch.digest = state_->digester->finish(state_->batch);
  }
  return std::move(state_->batch);
}

}  // namespace troupe
