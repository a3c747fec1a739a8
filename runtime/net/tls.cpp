#include "runtime/net/tls.hpp"

#include "runtime/net/tls_context.hpp"

#include <boost/system/error_code.hpp>

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

namespace troupe::net {
namespace {

namespace ssl = boost::asio::ssl;
using ErrorCode = boost::system::error_code;

Status check_file(const std::filesystem::path& file, const char* what) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) {
    return Error(Errc::not_found,
                 fmt::format("{} {}: {}", what, file.string(), std::strerror(errno)));
  }
  if (!S_ISREG(found.st_mode)) {
    return Error(Errc::invalid_argument,
                 fmt::format("{} {}: expected a regular file", what, file.string()));
  }
  return ok_status();
}

Status check_key_mode(const std::filesystem::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0 && (found.st_mode & 077U) != 0) {
    return Error(Errc::failed_precondition,
                 fmt::format("key {}: expected mode 0600, found {:04o}: others than its owner may "
                             "use it; try: chmod 600",
                             file.string(), found.st_mode & 07777U));
  }
  return ok_status();
}

Error wrong_file(const std::filesystem::path& file, const char* what) {
  return {Errc::invalid_argument, fmt::format("{} {}: expected PEM, found something else ({})",
                                              what, file.string(), openssl_reason())};
}

/// One certificate and one key for both roles, and no session that outlives its connection.
Status set_up(SSL_CTX* context) {
  if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_num_tickets(context, 0) != 1) {
    return Error(Errc::internal, "TLS 1.3 is not available: " + openssl_reason());
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return ok_status();
}

Status load_files(SSL_CTX* context, const TlsFiles& files) {
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return wrong_file(files.certificate, "certificate");
  }
  // A key of another certificate is refused here already, with a reason of its own.
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const bool other = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH ||
                       ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_TYPE_MISMATCH;
    const auto wrong = wrong_file(files.key, "key");
    if (!other) {
      return wrong;
    }
    return Error(Errc::failed_precondition,
                 fmt::format("key {} does not belong to certificate {}", files.key.string(),
                             files.certificate.string()));
  }
  if (SSL_CTX_load_verify_file(context, files.authority.c_str()) != 1) {
    return wrong_file(files.authority, "authority");
  }
  return ok_status();
}

}  // namespace

std::string openssl_reason() {
  const char* text = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return text != nullptr ? text : "no reason given";
}

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsFiles& files) {
  TROUPE_RETURN_IF_ERROR(check_file(files.certificate, "certificate"));
  TROUPE_RETURN_IF_ERROR(check_file(files.key, "key"));
  TROUPE_RETURN_IF_ERROR(check_file(files.authority, "authority"));
  TROUPE_RETURN_IF_ERROR(check_key_mode(files.key));
  ERR_clear_error();
  SSL_CTX* made = SSL_CTX_new(TLS_method());
  if (made == nullptr) {
    return Error(Errc::out_of_memory, "TLS: " + openssl_reason());
  }
  ssl::context context(made);  // owns it
  TROUPE_RETURN_IF_ERROR(set_up(made));
  TROUPE_RETURN_IF_ERROR(load_files(made, files));
  return std::shared_ptr<const TlsContext>(std::make_shared<AsioTlsContext>(std::move(context)));
}

}  // namespace troupe::net
