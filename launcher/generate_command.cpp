#include "launcher/bytes_option.hpp"
#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/import_progress.hpp"
#include "launcher/print_error.hpp"
#include "launcher/print_graph.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"

#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace troupe {
namespace {

/// What is given as text, into the options.
Status read_arguments(const GenerateArguments& arguments, GenerateOptions& options) {
  TROUPE_ASSIGN_OR_RETURN(options.train, parse_split_size("train", arguments.train));
  TROUPE_ASSIGN_OR_RETURN(options.val, parse_split_size("val", arguments.val));
  TROUPE_ASSIGN_OR_RETURN(options.test, parse_split_size("test", arguments.test));
  TROUPE_ASSIGN_OR_RETURN(options.writer.memory_bytes, bytes_option("--memory", arguments.memory));
  options.feature_dtype = parse_dtype(arguments.feature_dtype).value_or(DType::f32);
  const auto labels = arguments.labels.value_or(arguments.npy ? "random" : "learnable");
  options.labels = labels == "random" ? LabelKind::random : LabelKind::learnable;
  return ok_status();
}

/// \param write  makes the store
template <class Write>
ExitCode make_store(const GenerateArguments& arguments, GenerateOptions& options,
                    const Write& write) {
  const EndAtSignal end_at_signal;
  const auto began = std::chrono::steady_clock::now();
  ImportProgressLine line;
  if (::isatty(STDERR_FILENO) == 1) {
    options.writer.progress = [&line](const ImportProgress& progress) { line.show(progress); };
  }
  ComputePool pool(threads_or_all(arguments.threads));
  const Result<GraphInfo> graph = write(pool);
  if (!graph) {
    return print_error(graph.error());
  }
  print_graph(*graph);
  fmt::print("{:.1f} s, store in {}\n", seconds_since(began), arguments.out.string());
  return ExitCode::done;
}

ExitCode make_npy(const GenerateArguments& arguments, const generate::OneTypeGraph& graph,
                  const GenerateOptions& options) {
  const EndAtSignal end_at_signal;
  const auto began = std::chrono::steady_clock::now();
  ComputePool pool(threads_or_all(arguments.threads));
  const auto summary = generate::write_npy(graph, options, pool, arguments.out);
  if (!summary) {
    return print_error(summary.error());
  }
  fmt::print("{} nodes, {} edges; in-degree: median {}, highest {}, {} nodes without\n",
             graph.nodes, summary->edges, summary->median_degree, summary->max_degree,
             summary->isolated_nodes);
  fmt::print("{:.1f} s, at most {:.2f} GiB in memory, files in {}\n", seconds_since(began),
             static_cast<double>(summary->memory_bytes) / (1U << 30), arguments.out.string());
  return ExitCode::done;
}

/// \param describe  makes a graph of the options
template <class Options, class Describe>
ExitCode generate_one_type(const GenerateArguments& arguments, Options& options,
                           const Describe& describe) {
  if (const auto read = read_arguments(arguments, options); !read) {
    return print_error(read.error());
  }
  const Result<generate::OneTypeGraph> graph = describe(options);
  if (!graph) {
    return print_error(graph.error());
  }
  if (arguments.npy) {
    return make_npy(arguments, *graph, options);
  }
  return make_store(arguments, options, [&](Executor& executor) {
    return generate::write_store(*graph, options, executor, arguments.out);
  });
}

}  // namespace

ExitCode generate_command(const GenerateArguments& arguments, RmatOptions options) {
  return generate_one_type(arguments, options, rmat_graph);
}

ExitCode generate_command(const GenerateArguments& arguments, PowerlawOptions options) {
  return generate_one_type(arguments, options, powerlaw_graph);
}

ExitCode generate_command(const GenerateArguments& arguments, SbmOptions options) {
  auto of_blocks = arguments;
  of_blocks.labels = "learnable";  // also with --npy
  return generate_one_type(of_blocks, options, sbm_graph);
}

ExitCode generate_command(const GenerateHeterogeneousArguments& arguments,
                          HeterogeneousOptions options) {
  if (const auto read = read_arguments(arguments.all, options); !read) {
    return print_error(read.error());
  }
  auto schema = arguments.schema.empty() ? citation_schema(arguments.nodes, options)
                                         : read_heterogeneous_schema(arguments.schema, options);
  if (!schema) {
    return print_error(schema.error());
  }
  options.schema = *std::move(schema);
  return make_store(arguments.all, options, [&](Executor& executor) {
    return generate_heterogeneous(options, executor, arguments.all.out);
  });
}

}  // namespace troupe
