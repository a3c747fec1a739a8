#pragma once
/// \file library_functions.hpp
/// Functions of a shared library that is loaded when it is wanted, as those of drivers and NVIDIA are.
#include <dlfcn.h>
#include <string>

namespace troupe::gpu {

/// Lifecycle: find() each function, then missing(). The library is never unloaded: other parts of a program
///   may use it
class LibraryFunctions {
 public:
  /// \param file  looked for as the loader does
  explicit LibraryFunctions(const char* file) : opened_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (opened_ == nullptr) {
      why_ = dlerror();
    }
  }

  bool opened() const { return opened_ != nullptr; }
  /// Why it is not opened.
  const std::string& why() const { return why_; }
  /// \param function  a pointer to a function. \requires opened()
  template <class Function>
  void find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(opened_, symbol));
    missing_ = function == nullptr ? symbol : missing_;
  }
  /// One that was not found; null: all were.
  const char* missing() const { return missing_; }

 private:
  void* opened_;
  std::string why_;
  const char* missing_ = nullptr;
};

}  // namespace troupe::gpu
