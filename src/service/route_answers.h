#pragma once

#include <string_view>

#include "task.h"

namespace petstore::service {

// What a request gets for its path and method alone. `allow`: the methods that
// the path has.

void answer_options(Task& task, std::string_view allow);  // 204
void answer_document(Task& task);  // the OpenAPI document of the location
void refuse_method(Task& task, std::string_view allow);  // 405

// Whether a change must not be made because of If-Match or If-None-Match (RFC
// 9110, section 13.2). Nothing that can be changed has an ETag; what
// "If-None-Match: *" wants to create is taken to exist.
bool is_precluded(const Request& request) noexcept;
void refuse_condition(Task& task);  // 412

}  // namespace petstore::service
