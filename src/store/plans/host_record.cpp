#include "host_record.h"

#include "../../api/digest.h"
#include "../../api/text.h"

namespace petstore::store {

namespace {

// Bytes that are not UTF-8 become "_".
void append_text(std::string& json, std::string_view text)
{
    std::string valid(text);
    if (!api::is_utf8(text)) {
        for (char& c : valid) {
            c = static_cast<unsigned char>(c) < 0x80 ? c : '_';
        }
    }
    api::append_json_string(json, valid);
}

}  // namespace

std::string host_field(const HostOfPlans& host)
{
    constexpr std::size_t kDigits = 16;
    const api::Digest digest = api::sha256(host.name + host.configuration);
    return api::to_hex(api::bytes_of(digest)).substr(0, kDigits);
}

std::string host_json(const HostOfPlans& host, const api::NamedLimits& plans)
{
    std::string json = R"({"host":)";
    append_text(json, host.name);
    append_text(json.append(R"(,"config":)"), host.configuration);
    append_text(json.append(R"(,"version":)"), host.version);
    json.append(R"(,"plans":{)");
    for (const auto& [name, limits] : plans) {
        json.append(json.back() == '{' ? "" : ",");
        append_text(json, name);
        api::append_int(json.append(":["), limits.minute);
        api::append_int(json.append(","), limits.day);
        if (limits.has_month()) {
            api::append_int(json.append(","), limits.month);
        }
        json.push_back(']');
    }
    return json.append("}}");
}

}  // namespace petstore::store
