#pragma once
/// \file predict_rows.hpp
/// Rows of nodes with a trained model, for `troupe predict`: inferred by its layers, or as it reads them.
#include "launcher/commands.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/simulated_cluster.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/triple_names.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// Parameters of a saved model, and its learned rows, which lie beside it.
/// \errors as read_model(); invalid_argument, not_found, data_corruption: the files of learned rows;
///   failed_precondition: these are of other nodes than the store's
Status read_setup(const PreparedRun& run, const std::filesystem::path& file, RunSetup& setup);

enum class InputColumns : std::uint8_t { all, learned };
/// Rows as the model reads them, features before learned columns. \errors as input_rows()
Result<Matrix> read_input_rows(const PreparedRun& run, const RunSetup& setup, InputColumns columns,
                               const SeedList& nodes);

/// That the outputs of each process on a job's hosts fit into one answer.
/// \param job  fitted to its graph
/// \errors invalid_argument: they do not, with the process and the bytes
Status check_answers(const Job& job, const PartitionedStore& store, const InferenceTask& task);
/// Outputs of nodes by exact inference, with its progress: with launch "simulate" or "local" in this process, which
/// a signal ends; else on the job's hosts, where a signal ends the call.
/// \requires there is no EndAtSignal
/// \errors those of a run; cancelled: a signal
Result<RunResult> infer(const PreparedRun& run, RunSetup setup, InferenceTask task);

using SayLine = std::function<void(const std::string&)>;

/// The nodes that are asked for. \errors as find_nodes()
/// \param names  of the type, which .txt files then have; null: they have ids
Result<SeedList> nodes_of(const PreparedRun& run, const PredictArguments& arguments,
                          NodeTypeId type, const SayLine& say, const NodeNames* names = nullptr);

/// Rows of lists of nodes as a decoder compares them: outputs of the last layer, or without layers what the model
/// reads.
/// \param setup  of read_setup()
/// \requires as infer()
Result<std::vector<std::shared_ptr<const Matrix>>> compared_rows(const PreparedRun& run,
                                                                 const RunSetup& setup,
                                                                 std::vector<SeedList> lists);
/// Writes what the decoder makes of pairs of nodes: `troupe predict --links`.
/// \param names  of names_of_triples()
Status predict_links(const PreparedRun& run, const PredictArguments& arguments,
                     const TripleNames* names, const SayLine& say);
/// Writes the nodes that it scores highest with each of some: `troupe predict --top`.
/// \param names  of names_of_triples(); those of other graphs it reads itself
Status predict_top(const PreparedRun& run, const PredictArguments& arguments,
                   const TripleNames* names, const SayLine& say);

std::filesystem::path folder_of_predictions(const Job& job, const PredictArguments& arguments);

}  // namespace troupe
