#pragma once

#include <string_view>

#include "task.h"

namespace petstore::service {

// What a request gets for its path and method alone. `allow`: the methods that
// the path has.

void answer_options(Task& task, std::string_view allow);  // 204
void answer_document(Task& task);  // the OpenAPI document of the location
void refuse_method(Task& task, std::string_view allow);  // 405

}  // namespace petstore::service
