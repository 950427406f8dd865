#include "label_reader.h"

#include <string>

#include "account_commands.h"

namespace petstore::store {

class LabelReader::Read final : public redis::InFlight<Read>::Item,
                                public redis::ReplyHandler {
public:
    Read(LabelReader& owner, std::string_view account)
        : owner_(owner), account_(account)
    {}

private:
    void on_reply(const redis::Reply& reply) noexcept override
    {
        try {
            const auto found = AccountCommands::parse(reply, account_);
            if (found.result == RecordFound::found) {
                owner_.observer_.on_names(account_, found.record.external_id,
                                          found.record.label);
            }
        } catch (...) {
            // It is asked for again.
        }
        owner_.reads_.end(*this);
    }
    void on_no_reply(redis::NoReply /*cause*/) noexcept override
    {
        owner_.reads_.end(*this);
    }

    LabelReader& owner_;
    const std::string account_;
};

LabelReader::LabelReader(redis::Link& link, const Schema& schema,
                         LabelObserver& observer) noexcept
    : link_(link), schema_(schema), observer_(observer)
{}

LabelReader::~LabelReader() = default;

void LabelReader::read(std::string_view account) noexcept
{
    if (reads_.size() >= kMostReads) {
        return;
    }
    try {
        const auto command = AccountCommands(schema_).read(account);
        link_.send(command, reads_.start(*this, account));
    } catch (...) {
        // It is asked for again.
    }
}

}  // namespace petstore::store
