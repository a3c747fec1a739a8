#pragma once
/// \file secrets.hpp
/// What makes a process one of the run: the token and, with TLS, the run's certificate and its key.
/// Handed to a child on its standard input only; to another host by a file that only its owner may
/// read.
#include "runtime/base/result.hpp"
#include "runtime/net/tls.hpp"
#include "runtime/net/token.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

struct Secrets {
  net::Token token;
  std::optional<net::TlsPem> tls;  ///< nothing: links are not encrypted
  bool tls_inside = false;         ///< links inside a machine are encrypted, too
};

/// For the standard input of a child: a line with the token; with TLS " tls" behind it, or " tls-between"
/// if links inside a machine are plain, then the three PEM texts, each closed by an empty line.
std::string to_input(const Secrets& secrets);
/// Takes just that from a descriptor, nothing behind it.
/// \errors invalid_argument: what is wrong with it, never what it holds
Result<Secrets> read_secrets(int descriptor);

/// Writes the text of to_input() as a new file with mode 0600, which is whole from its first moment on.
/// \errors not_found: no such folder; failed_precondition: it exists, or cannot be written
Status write_secrets(const Secrets& secrets, const std::filesystem::path& file);
/// \errors not_found; those of net::check_secret_file() and of the other one
Result<Secrets> read_secrets(const std::filesystem::path& file);

/// Null without TLS. \errors those of net::TlsContext
Result<std::shared_ptr<const net::TlsContext>> tls_context(const Secrets& secrets);

}  // namespace troupe
