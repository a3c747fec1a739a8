// Replies against their questions, and their way into the batch.
#include "runtime/feature/row_collection_state.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

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

}  // namespace troupe
