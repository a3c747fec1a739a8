#pragma once
/// \file process_list.hpp
/// Processes as job files list them, one a line, in place of a placement:
///
///     host=K [name=NAME] [parts=LIST] [maps=LIST] [ranks=LIST] [samples_for=LIST]
///
/// where a LIST is like 0,2-4.
#include "runtime/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What one process holds. The lists are ascending, without repeats.
struct ProcessSpec {
  std::uint32_t host = 0;
  std::string name = {};                  ///< in messages; empty: "process K of host H"
  std::vector<std::uint32_t> parts = {};  ///< it has their holders
  std::vector<std::uint32_t> maps = {};   ///< further parts of its host that it reads in place
  std::vector<std::uint32_t> ranks = {};  ///< that it trains
  std::vector<std::uint32_t> samples_for = {};  ///< ranks elsewhere whose batches are made here
  friend bool operator==(const ProcessSpec&, const ProcessSpec&) = default;
};

/// \errors invalid_argument: what is wrong with which word
Result<ProcessSpec> parse_process(std::string_view line);

/// Whether the processes make a run: ranks 0..W-1 once each, every part somewhere, batches made for ranks
/// that do not make their own.
/// \param hosts, parts  of the job
/// \errors invalid_argument: what is missing, or twice
Status check_processes(const std::vector<ProcessSpec>& processes, std::uint32_t hosts,
                       std::uint32_t parts);

/// Numbers as "0,2-4" (ascending, each once) for lines like these.
/// \errors invalid_argument, naming `what`
Result<std::vector<std::uint32_t>> parse_number_list(std::string_view what, std::string_view text,
                                                     std::uint32_t most);

}  // namespace troupe
