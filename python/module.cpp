// The module `troupe._troupe`: what the Python part of the package stands on (docs/python.md).
#include "launcher/session.hpp"

#include "python/array.hpp"
#include "python/batch.hpp"
#include "python/errors.hpp"
#include "python/session.hpp"
#include "python/stop_signals.hpp"

#include <exception>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <vector>

namespace troupe::python {
namespace {

constexpr int interrupted = 130;

/// Calls `train(session)`, which returns None, or the name of a code and a sentence.
Status call(const py::object& train, Session& session, const StopSignals& signals) {
  const py::gil_scoped_acquire lock;
  signals.unblock_here();
  const auto handle = std::make_shared<SessionHandle>(session);
  try {
    const py::object failed = train(handle);
    if (failed.is_none()) {
      return ok_status();
    }
    const auto pair = py::cast<std::pair<std::string, std::string>>(failed);
    return Error(code_of(pair.first), pair.second);
  } catch (const std::exception& error) {
    return Error(Errc::internal, error.what());
  }
}

/// \returns the exit code
int run(const py::object& train, std::vector<std::string> arguments, bool device_batches) {
  std::vector<char*> words;
  for (auto& word : arguments) {
    words.push_back(word.data());
  }
  words.push_back(nullptr);
  StopSignals signals;
  const py::gil_scoped_release unlocked;
  const auto code = run_ranks(static_cast<int>(arguments.size()), words.data(),
                              [&](Session& session) { return call(train, session, signals); },
                              {.device_batches = device_batches});
  if (code == interrupted) {
    signals.drop_waiting();
  }
  return code;
}

}  // namespace
}  // namespace troupe::python

PYBIND11_MODULE(_troupe, module) {
  troupe::python::bind_arrays(module);
  troupe::python::bind_batches(module);
  troupe::python::bind_sessions(module);
  module.def("run", &troupe::python::run);
}
