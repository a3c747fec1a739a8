#pragma once
/// \file predict_names.hpp
/// Names of nodes for `troupe predict --names`, as an import of text ids keeps them in the job's store.
#include "launcher/commands.hpp"
#include "launcher/prepare_run.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/node_names.hpp"
#include "runtime/data/triple_names.hpp"
#include "runtime/job/link_rules.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

/// Null: they are not asked for.
/// \errors those of NodeNames::read(); not_found: the type has none
Result<std::shared_ptr<const NodeNames>> names_of_type(const PreparedRun& run,
                                                       const PredictArguments& arguments,
                                                       NodeTypeId type);

/// Names of both ends; none where a type has numbers.
struct NamesOfEnds {
  bool asked = false;
  EndTypes types = {};
  std::shared_ptr<const NodeNames> sources = nullptr;
  std::shared_ptr<const NodeNames> destinations = nullptr;
};
/// \errors those of NodeNames::read(); not_found: neither type has names
Result<NamesOfEnds> names_of_ends(const PreparedRun& run, const PredictArguments& arguments,
                                  const EndTypes& ends);

/// The node's name, or its number where the type has no names.
std::string word_of(const std::shared_ptr<const NodeNames>& names, std::uint64_t node);

/// Names of the job's knowledge graph where triples are asked for by them, else null.
/// \errors those of TripleNames::read()
Result<std::shared_ptr<const TripleNames>> names_of_triples(const PreparedRun& run,
                                                            const PredictArguments& arguments);

}  // namespace troupe
