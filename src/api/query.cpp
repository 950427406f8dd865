#include "query.h"

#include <algorithm>

#include "text.h"

namespace petstore::api {

Error invalid_parameter(std::string_view name, std::string_view problem)
{
    std::string message(name);
    message.append(" ").append(problem).append(".");
    return {ErrorCode::invalid_parameter, std::move(message)};
}

std::optional<Error>
read_query(std::string_view query,
           std::initializer_list<QueryParameter*> parameters)
{
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        const std::size_t equals = std::min(pair.find('='), pair.size());
        const auto name = form_decode(pair.substr(0, equals));
        for (QueryParameter* known : parameters) {
            if (name != known->name) {
                continue;
            }
            if (known->value) {
                return invalid_parameter(known->name,
                                         "must not be given twice");
            }
            known->value =
                form_decode(pair.substr(std::min(equals + 1, pair.size())));
            if (!known->value) {
                return invalid_parameter(known->name,
                                         "is not correctly encoded");
            }
        }
    }
    return std::nullopt;
}

std::optional<Error> read_limit(const QueryParameter& parameter, int& limit)
{
    if (!parameter.value) {
        return std::nullopt;
    }
    const auto number = parse_int64(*parameter.value);
    if (!number || *number < 1 || *number > kMaxPageLimit) {
        return invalid_parameter(parameter.name,
                                 "must be an integer from 1 to 100");
    }
    limit = static_cast<int>(*number);
    return std::nullopt;
}

}  // namespace petstore::api
