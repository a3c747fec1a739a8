#pragma once
/// \file heterogeneous_support.hpp
/// A small heterogeneous graph as a store, with features of different width per type, and jobs on it.
#include "runtime/base/executor.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/stream_store.hpp"
#include "runtime/job/job_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::testing {

inline constexpr std::uint64_t authors = 240;
inline constexpr std::uint64_t papers = 500;
inline constexpr std::uint64_t venues = 9;

/// Authors of three classes write papers that appear in venues of their class; of the authors' own
/// columns little can be learned. Who wrote what has weights, what appeared where has times; both have
/// features. Authors and writing have named columns.
inline Status write_heterogeneous_store(const std::filesystem::path& out) {
  InlineExecutor executor;
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, {}, executor));
  const FeatureInfo narrow{DType::f32, 5, 1.0F};
  const FeatureInfo bytes{DType::u8, 12, 1.0F};
  const FeatureInfo one_hot{DType::f32, venues, 1.0F};
  const LabelInfo classes{LabelInfo::Kind::classes, 3};
  TROUPE_ASSIGN_OR_RETURN(
      const auto author,
      writer.add_node_type({"author",
                            authors,
                            narrow,
                            classes,
                            {{"age", DType::i64, {}}, {"at", DType::f64, {2}}}}));
  TROUPE_ASSIGN_OR_RETURN(const auto paper, writer.add_node_type({"paper", papers, bytes, {}}));
  TROUPE_ASSIGN_OR_RETURN(const auto venue, writer.add_node_type({"venue", venues, one_hot, {}}));
  const FeatureInfo numbered{DType::f32, 2, 1.0F};
  const FeatureInfo scaled{DType::u8, 3, 0.5F};
  NewEdgeType writing{"writes", author, paper, {.reverse_edges = true}, true, false, numbered};
  writing.columns = {{"kind", DType::u8, {3}}};
  TROUPE_ASSIGN_OR_RETURN(const auto writes, writer.add_edge_type(writing));
  TROUPE_ASSIGN_OR_RETURN(
      const auto appears,
      writer.add_edge_type(
          {"appears", paper, venue, {.reverse_edges = true}, false, true, scaled}));

  DrawStream draw(stream_key(7, {.domain = Domain::generators}), 0);
  std::vector<std::uint64_t> who;
  std::vector<std::uint64_t> what;
  std::vector<std::uint64_t> where;
  std::vector<std::uint64_t> each;
  for (std::uint64_t p = 0; p < papers; ++p) {
    const auto of_class = p % 3;
    for (std::uint32_t k = 0; k <= draw.below(3); ++k) {
      who.push_back(3 * draw.below(authors / 3) + of_class);
      what.push_back(p);
    }
    each.push_back(p);
    where.push_back(draw.below(10) == 0 ? draw.below(venues) : 3 * draw.below(3) + of_class);
  }
  std::vector<float> shares;  // a quarter of them 0
  for (std::size_t e = 0; e < who.size(); ++e) {
    shares.push_back(static_cast<float>(e % 4) * (e % 10 == 1 ? 50.0F : 0.5F));
  }
  TROUPE_RETURN_IF_ERROR(
      writer.add_edges(writes, {.sources = who, .destinations = what, .weights = shares}));
  std::vector<float> of_writing;  // the edge's id, and its third
  for (std::size_t e = 0; e < who.size(); ++e) {
    of_writing.push_back(static_cast<float>(e));
    of_writing.push_back(static_cast<float>(e) / 3);
  }
  TROUPE_RETURN_IF_ERROR(writer.add_edge_features(writes, std::as_bytes(std::span(of_writing))));
  std::vector<std::uint8_t> kinds;  // the edge's id in three bytes
  for (std::size_t e = 0; e < who.size(); ++e) {
    for (const auto byte : {e % 256, e / 256, std::size_t{7}}) {
      kinds.push_back(static_cast<std::uint8_t>(byte));
    }
  }
  TROUPE_RETURN_IF_ERROR(writer.add_edge_column(writes, 0, std::as_bytes(std::span(kinds))));
  std::vector<std::int64_t> ages;
  std::vector<double> at;
  for (std::uint64_t a = 0; a < authors; ++a) {
    ages.push_back(1000 - static_cast<std::int64_t>(a));
    at.push_back(static_cast<double>(a) / 7);
    at.push_back(static_cast<double>(a) * 3);
  }
  TROUPE_RETURN_IF_ERROR(writer.add_column(author, 0, std::as_bytes(std::span(ages))));
  TROUPE_RETURN_IF_ERROR(writer.add_column(author, 1, std::as_bytes(std::span(at))));
  std::vector<std::uint8_t> of_appearing;
  for (std::size_t i = 0; i < papers * scaled.cols; ++i) {
    of_appearing.push_back(static_cast<std::uint8_t>(i * 7));
  }
  TROUPE_RETURN_IF_ERROR(writer.add_edge_features(appears, std::as_bytes(std::span(of_appearing))));
  std::vector<std::int64_t> years;
  for (std::uint64_t p = 0; p < papers; ++p) {
    years.push_back(static_cast<std::int64_t>(1990 + p * 7 % 30));
  }
  TROUPE_RETURN_IF_ERROR(
      writer.add_edges(appears, {.sources = each, .destinations = where, .times = years}));

  std::vector<float> of_authors(authors * narrow.cols);
  for (float& x : of_authors) {
    x = unit_float(draw.next()) - 0.5F;
  }
  std::vector<std::uint8_t> of_papers(papers * bytes.cols);
  for (auto& x : of_papers) {
    x = static_cast<std::uint8_t>(draw.below(3));
  }
  std::vector<float> of_venues(venues * venues);
  for (std::uint64_t v = 0; v < venues; ++v) {
    of_venues[v * venues + v] = 1;
  }
  TROUPE_RETURN_IF_ERROR(writer.add_features(author, std::as_bytes(std::span(of_authors))));
  TROUPE_RETURN_IF_ERROR(writer.add_features(paper, std::as_bytes(std::span(of_papers))));
  TROUPE_RETURN_IF_ERROR(writer.add_features(venue, std::as_bytes(std::span(of_venues))));

  std::vector<std::int64_t> labels;
  std::vector<std::vector<std::uint64_t>> roles(3);
  for (std::uint64_t a = 0; a < authors; ++a) {
    labels.push_back(static_cast<std::int64_t>(a % 3));
    roles[a % 2 == 0 ? 0 : a % 4 == 1 ? 1 : 2].push_back(a);
  }
  TROUPE_RETURN_IF_ERROR(writer.add_labels(author, labels));
  // The same seeds without times, with one for all, and with times of their own.
  for (std::size_t role = 0; role < roles.size(); ++role) {
    const std::string name = role == 0 ? "train" : role == 1 ? "val" : "test";
    std::vector<std::int64_t> times;
    for (const auto a : roles[role]) {
      times.push_back(1990 + static_cast<std::int64_t>(a * 7 % 30));
    }
    const std::vector<std::int64_t> one(times.size(), 2005);
    TROUPE_RETURN_IF_ERROR(writer.set_seeds("", name, author, roles[role]));
    TROUPE_RETURN_IF_ERROR(writer.set_seeds("in_2005", name, author, roles[role], one));
    TROUPE_RETURN_IF_ERROR(writer.set_seeds("by_year", name, author, roles[role], times));
  }
  const auto some = [](const std::vector<std::uint64_t>& all) { return std::span(all).first(200); };
  TROUPE_RETURN_IF_ERROR(writer.set_links("written", "train", writes, {some(who), some(what)}));
  // With the classes of the papers as labels.
  std::vector<float> classes_of(what.size());
  std::ranges::transform(what, classes_of.begin(),
                         [](std::uint64_t p) { return static_cast<float>(p % 3); });
  const auto rated = [&](std::size_t first, std::size_t count) {
    return LinkPiece{.sources = std::span(who).subspan(first, count),
                     .destinations = std::span(what).subspan(first, count),
                     .times = {},
                     .labels = std::span(classes_of).subspan(first, count)};
  };
  TROUPE_RETURN_IF_ERROR(writer.set_links("rated", "train", writes, rated(0, 200)));
  TROUPE_RETURN_IF_ERROR(writer.set_links("rated", "val", writes, rated(200, 80)));
  TROUPE_RETURN_IF_ERROR(writer.set_links("rated", "test", writes, rated(280, 80)));
  // Links of two edge types between three node types, with the types' numbers as labels.
  for (const auto& [name, first, written, appeared] :
       {std::tuple{"train", 0U, 150U, 90U}, std::tuple{"val", 150U, 40U, 30U},
        std::tuple{"test", 190U, 50U, 30U}}) {
    TROUPE_RETURN_IF_ERROR(writer.open_links("both", name,
                                             {.type = writes,
                                              .times = false,
                                              .labels = true,
                                              .relations = 2,
                                              .types = {writes, appears}}));
    const std::vector<float> of_writes(written, 0);
    const std::vector<float> of_appears(appeared, 1);
    TROUPE_RETURN_IF_ERROR(
        writer.add_links("both", name,
                         {.sources = std::span(who).subspan(first, written),
                          .destinations = std::span(what).subspan(first, written),
                          .times = {},
                          .labels = of_writes}));
    TROUPE_RETURN_IF_ERROR(
        writer.add_links("both", name,
                         {.sources = std::span(each).subspan(first, appeared),
                          .destinations = std::span(where).subspan(first, appeared),
                          .times = {},
                          .labels = of_appears}));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto info, writer.finish());
  return info.node_types.size() == 3 ? ok_status()
                                     : Status(Error(Errc::internal, "expected three node types"));
}

/// 300 nodes of three classes without features, each with edges from four of its class.
/// \param features  of the nodes, row after row, where they are to have some
/// \param weighted  edges have weights: 0 between two nodes of which one number is even and one odd
inline Status write_featureless_store(const std::filesystem::path& out,
                                      std::span<const float> features = {}, bool weighted = false) {
  constexpr std::uint64_t nodes = 300;
  const auto columns = features.empty()
                           ? std::optional<FeatureInfo>()
                           : std::optional(FeatureInfo{DType::f32, features.size() / nodes, 1.0F});
  InlineExecutor executor;
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, {}, executor));
  const LabelInfo classes{LabelInfo::Kind::classes, 3};
  TROUPE_ASSIGN_OR_RETURN(const auto node, writer.add_node_type({"node", nodes, columns, classes}));
  TROUPE_ASSIGN_OR_RETURN(const auto edge,
                          writer.add_edge_type({"edge", node, node, {}, weighted}));
  DrawStream draw(stream_key(9, {.domain = Domain::generators}), 0);
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> destinations;
  std::vector<float> weights;
  std::vector<std::int64_t> labels;
  std::vector<std::vector<std::uint64_t>> roles(3);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    labels.push_back(static_cast<std::int64_t>(i % 3));
    roles[i % 2 == 0 ? 0 : i % 4 == 1 ? 1 : 2].push_back(i);
    for (int k = 0; k < 4; ++k) {
      sources.push_back(3 * draw.below(nodes / 3) + i % 3);
      destinations.push_back(i);
      if (weighted) {
        weights.push_back((sources.back() + i) % 2 == 0 ? 1.0F + static_cast<float>(k) : 0.0F);
      }
    }
  }
  TROUPE_RETURN_IF_ERROR(writer.add_edges(
      edge, {.sources = sources, .destinations = destinations, .weights = weights}));
  TROUPE_RETURN_IF_ERROR(writer.add_labels(node, labels));
  if (!features.empty()) {
    TROUPE_RETURN_IF_ERROR(writer.add_features(node, std::as_bytes(features)));
  }
  TROUPE_RETURN_IF_ERROR(writer.set_seeds("", "train", node, roles[0]));
  TROUPE_RETURN_IF_ERROR(writer.set_seeds("", "val", node, roles[1]));
  TROUPE_RETURN_IF_ERROR(writer.set_seeds("", "test", node, roles[2]));
  TROUPE_ASSIGN_OR_RETURN(const auto info, writer.finish());
  return info.node_types.size() == 1 ? ok_status()
                                     : Status(Error(Errc::internal, "expected one node type"));
}

/// Two layers of 16, 32 seeds per batch, 2 epochs; other fanouts for one edge type.
inline std::string heterogeneous_job_text(const std::filesystem::path& store,
                                          const std::filesystem::path& output) {
  return fmt::format(R"({{
    "dataset": {{ "path": "{}" }},
    "sample": {{ "fanout": {{ "*": [5, 4], "rev_writes": [3, 0] }}, "batch_size": 32 }},
    "model": {{ "kind": "graphsage", "hidden": 16, "norm": "layer", "dropout": 0.3, "input_dropout": 0.1 }},
    "train": {{ "epochs": 2, "optimizer": {{ "kind": "adam", "lr": 0.01 }} }},
    "eval": {{ "mode": "sampled" }},
    "seed": 1,
    "output": "{}"
  }})",
                     store.string(), output.string());
}

inline Result<Job> heterogeneous_job(const std::filesystem::path& store,
                                     const std::filesystem::path& output,
                                     const std::vector<std::string>& overrides) {
  TROUPE_ASSIGN_OR_RETURN(auto reading,
                          parse_job(heterogeneous_job_text(store, output), "", overrides));
  if (!reading.problems.empty()) {
    return Error(Errc::invalid_argument, to_string(reading.problems));
  }
  return std::move(reading.job);
}

}  // namespace troupe::testing
