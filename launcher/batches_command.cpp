#include "launcher/batch_files.hpp"
#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/print_error.hpp"
#include "launcher/read_job.hpp"
#include "launcher/say_line.hpp"
#include "launcher/seconds.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/staged_directory.hpp"

#include <chrono>
#include <cstdio>
#include <fmt/format.h>

namespace troupe {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// All processes of "local" are on this host, where one of them makes the same batches.
Status check_launch(const Job& job, const Say& say) {
  const auto& launch = job.cluster.launch;
  if (launch == "local") {
    say("batches: samples in one process, with the parts and threads of the job");
  } else if (launch != "simulate") {
    return Error(Errc::unimplemented,
                 fmt::format("batches: expected launch \"simulate\" or \"local\", found \"{}\": "
                             "batches outside a run are made from all parts on one host\n"
                             "try: --set cluster.launch=simulate on a host that has memory for the "
                             "whole graph",
                             launch));
  }
  return ok_status();
}

/// How many batches are wanted of those that an epoch has.
Result<std::uint64_t> count_of(const Job& job, const BatchesArguments& arguments,
                               std::uint64_t batches) {
  if (batches == 0) {
    return Error(Errc::not_found,
                 fmt::format("/dataset/split: expected training seeds in the split \"{}\", found "
                             "none, so an epoch has no batches\ntry: another split",
                             job.dataset.split));
  }
  const auto count = arguments.count.value_or(batches);
  if (count > batches) {
    return Error(Errc::invalid_argument,
                 fmt::format("--count: expected at most {}, the batches of an epoch, found {}\n"
                             "try: no --count for all of them, or a smaller sample.batch_size",
                             batches, count));
  }
  return count;
}

std::string summary(const BatchesRequest& request, const std::vector<WrittenBatch>& batches) {
  WrittenBatch all;
  for (const auto& batch : batches) {
    all.seeds += batch.seeds;
    all.nodes += batch.nodes;
    all.edges += batch.edges;
  }
  return fmt::format("{} batch{} of epoch {}: {} seeds, {} nodes, {} edges", batches.size(),
                     batches.size() == 1 ? "" : "es", request.epoch + std::uint64_t{1}, all.seeds,
                     all.nodes, all.edges);
}

Status write_epoch(const PreparedRun& run, const BatchesArguments& arguments,
                   StagedDirectory& folder, const Say& say) {
  const auto began = SteadyClock::now();
  TROUPE_ASSIGN_OR_RETURN(const auto source, BatchSource::open(run.job, run.store));
  BatchesRequest request;
  request.epoch = arguments.epoch - 1;
  request.digest = run.job.digest;
  TROUPE_ASSIGN_OR_RETURN(request.count, count_of(run.job, arguments, source.num_batches()));
  ComputePool pool(compute_threads(run.job.cluster));
  TROUPE_ASSIGN_OR_RETURN(const auto batches, write_batches(folder.path(), source, request, pool));
  TROUPE_RETURN_IF_ERROR(write_new_text_file(folder.path() / "batches.json",
                                             batches_json(run.job, source, request, batches)));
  TROUPE_RETURN_IF_ERROR(folder.commit(Flush::no));
  say(fmt::format("{}, in {}, {:.1f} s", summary(request, batches), arguments.out.string(),
                  seconds_since(began)));
  if (request.digest != DigestMode::off) {
    say(fmt::format("batches {}", to_string(digest_of_batches(batches))));
  }
  return ok_status();
}

}  // namespace

ExitCode batches_command(const BatchesArguments& arguments) {
  const EndAtSignal end_at_signal;
  const Say say = say_line;
  const auto job = read_job_or_print(arguments.job);
  if (!job) {
    return ExitCode::usage;
  }
  if (const auto can = check_launch(*job, say); !can) {  // before the data is imported
    return print_error(can.error());
  }
  auto folder = StagedDirectory::create(arguments.out);
  if (!folder) {
    return print_error(Error(folder.error()).with("--out"));
  }
  std::optional<PreparedRun> run;
  if (const auto code = prepare_run(arguments.job, say, run, JobTrainer::own); !run) {
    return code;
  }
  const auto done = write_epoch(*run, arguments, *folder, say);
  return done ? ExitCode::done : print_error(done.error());
}

}  // namespace troupe
