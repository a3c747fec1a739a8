// Learned rows in a program of the user's.
#include "actors/holder_tables.hpp"
#include "launcher/session_state.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

/// Rows in one request for them.
constexpr std::size_t learned_at_once = std::size_t{1} << 16;

std::shared_ptr<SampledBatch> no_nodes(const GraphInfo& graph) {
  auto nodes = std::make_shared<SampledBatch>();
  nodes->nodes.resize(graph.node_types.size());
  return nodes;
}

Error of_learned(const Error& why, const std::string& doing) {
  // A holder that was started again has none.
  const bool lost = why.code() == Errc::not_found || why.code() == Errc::fenced;
  return lost ? Error(Errc::peer_lost, why.what()).with(doing) : Error(why).with(doing);
}

}  // namespace

// ---- what the run does ----

Status Session::State::begin_learned() {
  if (tables() == nullptr) {
    return ok_status();
  }
  if (rank() == 0) {
    const auto step = position.global_step;
    if (step > 0) {
      const auto& saved = run->resume->tables;
      if (!run->load_tables && !saved) {
        return Error(Errc::failed_precondition,
                     fmt::format("checkpoint of step {}: expected learned rows, found none", step));
      }
      TROUPE_RETURN_IF_ERROR(run->load_tables
                                 ? run->load_tables()
                                 : load_tables(*place.system, place.options.learned, *saved, step));
    }
    const auto begun = ask<net::Done>(CommandLearned{CommandLearned::What::begin, step});
    if (!begun) {
      return of_learned(begun.error(), "learned rows");
    }
  }
  const auto all = together(Contribute{}, deadline());
  return all ? ok_status() : Status(all.error());
}

Status Session::State::send_learned() {
  if (tables() == nullptr) {
    return ok_status();
  }
  ShareLearned request;
  request.step = position.global_step;
  if (const auto mine = std::exchange(share, std::nullopt)) {
    const auto nodes = no_nodes(*place.host->graph);
    auto gradients = std::make_shared<LearnedInputs>(nodes->nodes.size());
    for (const auto& table : tables()->tables) {
      const auto type = raw(table.node_type);
      const auto& ids = mine->nodes[type];
      nodes->nodes[type].ids.assign(ids.begin(), ids.end());
      auto& rows = (*gradients)[type];
      rows = Matrix(ids.size(), table.dim);
      std::ranges::copy(mine->rows[type], rows.view().flat().begin());
    }
    request.nodes = nodes;
    request.gradients = std::move(gradients);
    request.weight = mine->weight;
  }
  const auto left = ask<net::Done>(std::move(request));
  return left ? ok_status() : Status(of_learned(left.error(), "gradients of learned rows"));
}

Result<std::shared_ptr<const TableSource>> Session::State::keep_learned() {
  if (tables() == nullptr) {
    return std::shared_ptr<const TableSource>();
  }
  const auto step = position.global_step;
  const auto kept = ask<net::Done>(CommandLearned{CommandLearned::What::keep, step});
  if (!kept) {
    return of_learned(kept.error(), "keeping learned rows");
  }
  return std::shared_ptr<const TableSource>(
      std::make_shared<const HolderTables>(*place.system, place.options.learned, step));
}

Result<std::vector<TableDigest>> Session::State::digest_learned() {
  if (tables() == nullptr || rank() != 0) {
    return std::vector<TableDigest>();
  }
  const auto digested = ask<DigestedLearned>(DigestAllLearned{position.global_step});
  if (!digested) {
    return of_learned(digested.error(), "digest of learned rows");
  }
  return (*digested)->tables;
}

// ---- what the program does ----

Result<Matrix> Session::State::read_learned(const EmbeddingOptions& table,
                                            std::span<const NodeId> nodes) {
  TROUPE_RETURN_IF_ERROR(status);
  TROUPE_RETURN_IF_ERROR(check_nodes(nodes, table.node_type));
  const auto began = std::chrono::steady_clock::now();
  Matrix rows(nodes.size(), table.dim);
  const auto type = raw(table.node_type);
  for (std::size_t first = 0; first < nodes.size(); first += learned_at_once) {
    const auto some = nodes.subspan(first, std::min(learned_at_once, nodes.size() - first));
    const auto wanted = no_nodes(*place.host->graph);
    wanted->nodes[type].ids.assign(some.begin(), some.end());
    const auto got = ask<GatheredLearned>(GatherLearned{wanted, position.global_step});
    if (!got) {
      return keep(of_learned(got.error(), fmt::format("learned rows of {}", table.name))).error();
    }
    const auto& from = (*(*got)->rows)[type];
    std::ranges::copy(from.view().flat(), rows.view().row(first).begin());
  }
  if (in_turn) {
    learned_ns += static_cast<std::uint64_t>((std::chrono::steady_clock::now() - began).count());
  }
  return rows;
}

Status Session::State::add_gradient(const EmbeddingOptions& table, std::span<const NodeId> nodes,
                                    ConstMatrix rows, std::uint64_t terms) {
  TROUPE_RETURN_IF_ERROR(status);
  const auto refused = [&](Errc code, const std::string& what) {
    return Error(code, fmt::format("gradient of {}: {}", table.name, what));
  };
  if (!in_turn) {
    return refused(Errc::failed_precondition, "expected a turn of an epoch, found none");
  }
  TROUPE_RETURN_IF_ERROR(check_nodes(nodes, table.node_type));
  if (rows.rows != nodes.size() || (rows.rows > 0 && rows.cols != table.dim)) {
    return refused(Errc::invalid_argument,
                   fmt::format("expected {} rows of {} columns, got {} of {}", nodes.size(),
                               table.dim, rows.rows, rows.cols));
  }
  const auto before = share ? share->weight : terms;
  if (terms != before || (terms == 0 && !nodes.empty())) {
    return refused(
        Errc::invalid_argument,
        terms == before
            ? std::string("expected at least one term of the loss, got none")
            : fmt::format("expected {} terms, as before in this turn, got {}", before, terms));
  }
  if (!share) {
    const auto types = place.host->graph->node_types.size();
    share = LearnedShare{terms, std::vector<std::vector<NodeId>>(types),
                         std::vector<std::vector<float>>(types)};
  }
  auto& ids = share->nodes[raw(table.node_type)];
  ids.insert(ids.end(), nodes.begin(), nodes.end());
  auto& values = share->rows[raw(table.node_type)];
  const auto flat = rows.flat();
  values.insert(values.end(), flat.begin(), flat.end());
  return ok_status();
}

Result<Embedding> Session::embedding(const std::string& node_type) {
  auto& s = *state_;
  const auto* plan = s.tables();
  std::string names;
  for (const auto& table : plan == nullptr ? std::vector<EmbeddingOptions>() : plan->tables) {
    if (table.name == node_type) {
      return Embedding(s, table);
    }
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", table.name);
  }
  return Error(Errc::not_found,
               fmt::format("embedding: expected a node type with learned rows ({}), got \"{}\"\n"
                           "try: \"embedding\" in the job file",
                           names.empty() ? "the job has none" : names, node_type));
}

Result<Matrix> Embedding::rows(std::span<const NodeId> nodes) {
  return state_->read_learned(table_, nodes);
}

Status Embedding::gradient(std::span<const NodeId> nodes, ConstMatrix rows, std::uint64_t terms) {
  return state_->add_gradient(table_, nodes, rows, terms);
}

}  // namespace troupe
