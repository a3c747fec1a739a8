#include "launcher/commands.hpp"
#include "launcher/print_error.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"

#include <chrono>
#include <cstdio>
#include <fmt/format.h>

namespace troupe {

ExitCode generate_rmat_command(const GenerateRmatArguments& arguments) {
  const auto began = std::chrono::steady_clock::now();
  ComputePool pool(threads_or_all(arguments.threads));
  const auto summary = generate_rmat(arguments.options, pool, arguments.out);
  if (!summary) {
    return print_error(summary.error());
  }
  fmt::print("{} nodes, {} edges; in-degree: median {}, highest {}, {} nodes without\n",
             arguments.options.nodes, summary->edges, summary->median_degree, summary->max_degree,
             summary->isolated_nodes);
  fmt::print("{:.1f} s, at most {:.2f} GiB in memory, files in {}\n", seconds_since(began),
             static_cast<double>(summary->memory_bytes) / (1U << 30), arguments.out.string());
  return ExitCode::done;
}

}  // namespace troupe
