#pragma once

#include <exception>
#include <optional>
#include <string>

#include "../exit.h"
#include "context.h"

namespace petstore::ctl {

// Changes a record by administration.update(). What `change` throws ends the
// update, and is thrown once that has ended.
template <typename Record, typename Administration, typename Name,
          typename Change>
Record update(Context& context, Administration&& administration,
              const Name& name, const Change& change)
{
    std::exception_ptr invalid;
    const auto guarded = [&](auto&... of) -> std::optional<store::Failure> {
        try {
            change(of...);
            return std::nullopt;
        } catch (...) {
            invalid = std::current_exception();
            return store::Failure{{api::ErrorCode::invalid_field, ""}};
        }
    };
    try {
        return context.await<Record>([&](auto& waiter) {
            administration.update(name, guarded, waiter);
        });
    } catch (const Failure&) {
        if (invalid) {
            std::rethrow_exception(invalid);
        }
        throw;
    }
}

}  // namespace petstore::ctl
