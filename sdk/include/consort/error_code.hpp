// consort/error_code.hpp — a consort_status as a std::error_code: a category, and how it compares with std::errc.
//
// Beside consort.hpp, which does not include it, for <system_error> is not free. Values; nothing throws.
//   catch (const consort::Error &e) { const std::error_code code = consort::code(e); if (code == std::errc::timed_out) … }
#ifndef CONSORT_ERROR_CODE_HPP
#define CONSORT_ERROR_CODE_HPP
#include <consort/cpp/error.hpp>

#include <string>
#include <system_error>

namespace consort::inline face {

// The statuses by their names, as an enumeration of error codes.
enum class Status : int {
  ok = CONSORT_OK,
  again = CONSORT_AGAIN,
  invalid = CONSORT_E_INVAL,
  no_memory = CONSORT_E_NOMEM,
  unsupported = CONSORT_E_UNSUPPORTED,
  busy = CONSORT_E_BUSY,
  io = CONSORT_E_IO,
  cancelled = CONSORT_E_CANCELLED,
  device_lost = CONSORT_E_DEVICE_LOST,
  peer_lost = CONSORT_E_PEER_LOST,
  abi = CONSORT_E_ABI,
  internal = CONSORT_E_INTERNAL,
  timeout = CONSORT_E_TIMEOUT,
  truncated = CONSORT_E_TRUNCATED,
  poisoned = CONSORT_E_POISONED,
  stale = CONSORT_E_STALE,
  stopped = CONSORT_E_STOPPED,
};

namespace detail {

class Category final : public std::error_category {
 public:
  const char *name() const noexcept override { return "consort"; }
  std::string message(int status) const override { return consort_status_name(status); }
  // The condition of the C++ library that says the same, where there is one.
  std::error_condition default_error_condition(int status) const noexcept override {
    switch (status) {
      case CONSORT_E_INVAL: return std::errc::invalid_argument;
      case CONSORT_E_NOMEM: return std::errc::not_enough_memory;
      case CONSORT_E_UNSUPPORTED: return std::errc::not_supported;
      case CONSORT_E_BUSY: return std::errc::device_or_resource_busy;
      case CONSORT_E_IO: return std::errc::io_error;
      case CONSORT_E_CANCELLED: return std::errc::operation_canceled;
      case CONSORT_E_DEVICE_LOST: return std::errc::no_such_device;
      case CONSORT_E_PEER_LOST: return std::errc::connection_reset;
      case CONSORT_E_TIMEOUT: return std::errc::timed_out;
      case CONSORT_E_TRUNCATED: return std::errc::no_buffer_space;
      case CONSORT_AGAIN: return std::errc::resource_unavailable_try_again;
      default: return {status, *this};  // a status that the library has no word for
    }
  }
};

}  // namespace detail

// The category of statuses; one object for the program, whose messages are the names of the statuses.
inline const std::error_category &category() noexcept {
  static const detail::Category one;
  return one;
}
// Makes an std::error_code of a status.
inline std::error_code make_error_code(Status status) noexcept { return {static_cast<int>(status), category()}; }
// The status that a call of the C API has answered, or that an Error holds.
inline std::error_code code(consort_status status) noexcept { return {status, category()}; }
inline std::error_code code(const Error &error) noexcept { return {error.status(), category()}; }

}  // namespace consort::inline face

template <>
struct std::is_error_code_enum<consort::Status> : std::true_type {};
#endif
