#include "launcher/predict_request.hpp"

#include "launcher/early_checks.hpp"
#include "runtime/run/node_request.hpp"
#include "runtime/run/pair_outputs.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

Status check_exact(const Job& job) {
  if (job.sample.time.given()) {
    return Error(
        Errc::unimplemented,
        "predict: expected a job without sample.time, found one: exact inference reads edges "
        "of all times\ntry: predictions.npy of the run, which has the test seeds");
  }
  return ok_status();
}

Status check_input_rows(const Job& job, const PredictArguments& arguments) {
  if (arguments.embeddings) {
    return Error(Errc::invalid_argument,
                 arguments.learned
                     ? "--embeddings: expected none with --learned, found both"
                     : "--embeddings: expected a model of 2 layers or more, found none\ntry: "
                       "without it the rows are written that the model compares");
  }
  if (arguments.learned && job.embedding.empty()) {
    return Error(Errc::invalid_argument,
                 "--learned: expected a job with \"embedding\", found none");
  }
  return ok_status();
}

Status check_rows(const Job& job, const PredictArguments& arguments) {
  if (wants_input_rows(job, arguments)) {
    return check_input_rows(job, arguments);
  }
  TROUPE_RETURN_IF_ERROR(check_exact(job));
  if (arguments.embeddings && job.model.layers < 2) {
    return Error(Errc::invalid_argument,
                 fmt::format("--embeddings: expected a model of 2 layers or more, whose last one "
                             "has inputs of its own, found {}",
                             job.model.layers));
  }
  return ok_status();
}

/// \param option  that asks for pairs
Status check_pairs(const Job& job, const PredictArguments& arguments, const char* option) {
  if (!job.task.links()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a job that learns links, found task.kind \"{}\"", option,
                             job.task.kind));
  }
  if (arguments.embeddings || arguments.learned || !arguments.node_type.empty()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected none of --embeddings, --learned and --node-type, which "
                             "are of rows of nodes",
                             option));
  }
  if (arguments.links == all_links) {
    TROUPE_RETURN_IF_ERROR(check_all_links(job));
  }
  return wants_input_rows(job, arguments) ? ok_status() : check_exact(job);
}

Status check_top(const Job& job, const PredictArguments& arguments) {
  TROUPE_RETURN_IF_ERROR(check_pairs(job, arguments, "--top"));
  if (job.task.knowledge()) {
    return arguments.links.empty()
               ? Status(Error(Errc::invalid_argument,
                              "--top: expected --links with \"knowledge\": the triples whose one "
                              "end is asked for\ntry: --links test, or a file of heads and "
                              "relations"))
               : ok_status();
  }
  if (!arguments.links.empty() || arguments.complete == "head") {
    return Error(Errc::invalid_argument,
                 fmt::format("--top: expected --nodes with task.kind \"{}\", found {}, which "
                             "\"knowledge\" takes",
                             job.task.kind, arguments.links.empty() ? "--complete" : "--links"));
  }
  if (job.task.classes > 1) {
    return Error(Errc::invalid_argument,
                 fmt::format("--top: expected a decoder with one score, found {} classes",
                             job.task.classes));
  }
  return ok_status();
}

Error edge_type_without_pairs() {
  return Error(Errc::invalid_argument,
               "--edge-type: expected --links or --top, whose pairs it is of, found neither");
}

/// Options that would change nothing.
Status check_effects(const Job& job, const PredictArguments& arguments) {
  const auto& roles = arguments.leave_out;
  if (roles.size() > 1 && std::ranges::find(roles, "none") != roles.end()) {
    return Error(Errc::invalid_argument,
                 "--leave-out: expected none alone, or roles, found none and a role");
  }
  if (!arguments.edge_type.empty() && !job.task.links()) {
    return edge_type_without_pairs();
  }
  return ok_status();
}

Status check_files(const PredictArguments& arguments) {
  if (!arguments.links.empty()) {
    const bool known = is_role(arguments.links) || arguments.links == all_links;
    return known ? ok_status() : check_readable("--links", arguments.links);
  }
  for (const auto& source : arguments.nodes) {
    TROUPE_RETURN_IF_ERROR(check_source(source));
    if (!is_role(source) && source != "all") {
      TROUPE_RETURN_IF_ERROR(check_readable("--nodes", source));
    }
  }
  return ok_status();
}

}  // namespace

Status check_edge_type(const PredictArguments& arguments, const PredictedTask& task) {
  const bool pairs = !arguments.links.empty() || arguments.top > 0;
  return arguments.edge_type.empty() || pairs || !task.links.empty()
             ? ok_status()
             : Status(edge_type_without_pairs());
}

bool wants_input_rows(const Job& job, const PredictArguments& arguments) {
  return arguments.learned || job.model.layers == 0 || job.task.knowledge();
}

Status check_request(const Job& job, const PredictArguments& arguments) {
  TROUPE_RETURN_IF_ERROR(check_effects(job, arguments));
  TROUPE_RETURN_IF_ERROR(arguments.top > 0          ? check_top(job, arguments)
                         : !arguments.links.empty() ? check_pairs(job, arguments, "--links")
                                                    : check_rows(job, arguments));
  return check_files(arguments);
}

}  // namespace troupe
