#pragma once

#include <string_view>

#include "request_task.h"

namespace petstore::service {

// What a request gets for its path and method alone. `allow`: the methods that
// the path has.

void answer_options(RequestTask& task, std::string_view allow);  // 204
void answer_document(RequestTask& task);  // the location's OpenAPI document
void refuse_method(RequestTask& task, std::string_view allow);  // 405

// Whether a change must not be made because of If-Match or If-None-Match (RFC
// 9110, section 13.2). Nothing that can be changed has an ETag; what
// "If-None-Match: *" wants to create is taken to exist.
bool is_precluded(const Request& request) noexcept;
void refuse_condition(RequestTask& task);  // 412

}  // namespace petstore::service
