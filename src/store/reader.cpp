#include "reader.h"

#include <optional>

#include "failure.h"
#include "record.h"

namespace petstore::store {

namespace {

api::Error damaged()
{
    return {api::ErrorCode::internal_error,
            "The store gave an answer that could not be read."};
}

api::Error no_such_pet()
{
    return {api::ErrorCode::pet_not_found, "There is no pet with this id."};
}

}  // namespace

// One read on its way. Lives until its last reply came, then tells its waiters.
class Reader::Load final : public ReplyHandler {
public:
    Load(Reader& owner, const ReadKey& key)
        : owner_(owner), key_(key), session_(owner.link_.session())
    {}

    // Sends the commands; false if the load failed and is gone.
    bool begin() noexcept
    {
        sending_ = true;
        try {
            send_commands();
        } catch (...) {
            error_ = damaged();
        }
        sending_ = false;
        return !end_if_complete();
    }

    void confirm(const Version& version) { version_ = version; }
    const std::optional<Version>& version() const noexcept { return version_; }
    void add(ReadWaiter& waiter) { waiters_.push_back(&waiter); }

    void on_reply(const resp::Reply& reply) noexcept override
    {
        const std::size_t index = seen_++;
        sending_ = true;
        try {
            if (!error_) {
                take(index, reply);
            }
        } catch (...) {
            error_ = damaged();
        }
        sending_ = false;
        end_if_complete();
    }

    void on_loss(Loss loss) noexcept override
    {
        ++seen_;
        if (!error_) {
            error_ = failure_of(loss, false);
        }
        end_if_complete();
    }

private:
    void send_commands()
    {
        if (key_.is_pet()) {
            return send(owner_.catalogue_.get(key_.id));
        }
        const auto query = key_.query();
        page_.emplace(query);
        if (query.status) {
            return send(owner_.catalogue_.list_by_status(query, false));
        }
        for (const auto& command : owner_.catalogue_.list_all(query)) {
            send(command);
        }
    }

    void send(const resp::Command& command)
    {
        ++sent_;
        owner_.link_.send(command, *this);
    }

    void take(std::size_t index, const resp::Reply& reply)
    {
        if (reply.is_error()) {
            if (reply.error_code() == "NOSCRIPT" && !eval_) {
                eval_ = true;
                seen_ = 0;
                sent_ = 0;
                send(owner_.catalogue_.list_by_status(key_.query(), true));
                return;
            }
            error_ = failure_of(reply, false);
        } else if (page_) {
            if (!page_->add(index, reply)) {
                error_ = damaged();
            }
        } else if (reply.is(resp::Type::nil)) {
            error_ = no_such_pet();
        } else {
            record_ = reply.text();
        }
    }

    // Every command that was sent comes back, so only then may the load go.
    bool end_if_complete() noexcept
    {
        if (sending_ || seen_ < sent_) {
            return false;
        }
        end();
        return true;
    }

    void end() noexcept
    {
        ReadResult result = api::Error{};
        try {
            if (!error_) {
                result = finish();
            } else {
                result = *error_;
            }
        } catch (...) {
            result = damaged();
        }
        const auto found = owner_.loads_.find(key_);
        if (found != owner_.loads_.end() && found->second == this) {
            owner_.loads_.erase(found);
        }
        for (ReadWaiter* waiter : waiters_) {
            waiter->on_read(result);
        }
        delete this;
    }

    ReadResult finish()
    {
        auto answer = std::make_shared<Answer>();
        if (page_) {
            auto page = page_->finish();
            answer->body = std::move(page.body);
            answer->last = page.more ? page.last : 0;
            answer->grows = !page.more;
        } else {
            const auto pet = decode_record(key_.id, record_);
            if (!pet) {
                return damaged();
            }
            api::append_pet_json(answer->body, *pet);
        }
        if (version_ && session_ == owner_.link_.session()) {
            answer->version = *version_;
            owner_.cache_.put(key_, answer);
        }
        return std::shared_ptr<const Answer>(std::move(answer));
    }

    Reader& owner_;
    const ReadKey key_;
    const std::uint64_t session_;
    std::optional<Version> version_;
    std::vector<ReadWaiter*> waiters_;
    std::optional<api::Error> error_;
    std::string record_;
    std::optional<PageReader> page_;
    std::size_t sent_ = 0;
    std::size_t seen_ = 0;
    bool eval_ = false;
    // A command can be lost before send() returns: not the time to go.
    bool sending_ = false;
};

Reader::Reader(TurnLink& link, const Catalogue& catalogue,
               std::size_t cache_bytes)
    : link_(link), catalogue_(catalogue), cache_(cache_bytes)
{}

// After a lost connection, or when the catalogue is smaller than it was, what
// was read before may have been undone.
void Reader::forget_if_lost()
{
    if (session_ != link_.session()) {
        session_ = link_.session();
        newest_ = 0;
        cache_.clear();
    }
}

std::shared_ptr<const Answer> Reader::find(const ReadKey& key,
                                           const Version& now)
{
    forget_if_lost();
    if (now.last_id < newest_) {
        cache_.clear();
    }
    newest_ = now.last_id;
    auto answer = cache_.find(key);
    return answer != nullptr && answer->is_current(now) ? answer : nullptr;
}

bool Reader::read_ahead(const ReadKey& key)
{
    forget_if_lost();
    const bool unlikely = key.is_pet() && newest_ != 0 && key.id > newest_;
    if (unlikely || cache_.find(key) != nullptr || loads_.count(key) != 0) {
        return false;
    }
    return start(key) != nullptr;
}

void Reader::confirm(const ReadKey& key, const Version& now)
{
    const auto found = loads_.find(key);
    if (found != loads_.end() && !found->second->version()) {
        found->second->confirm(now);
    }
}

void Reader::read(const ReadKey& key, const std::optional<Version>& now,
                  ReadWaiter& waiter)
{
    const auto found = loads_.find(key);
    Load* load = now && found != loads_.end() && found->second->version()
                         && found->second->version()->covers(*now)
                     ? found->second
                     : nullptr;
    if (load == nullptr) {
        load = start(key);
        if (load == nullptr) {
            waiter.on_read(failure_of(Loss::not_sent, false));
            return;
        }
        if (now) {
            load->confirm(*now);
        }
    }
    load->add(waiter);
}

// nullptr when the commands could not be sent.
Reader::Load* Reader::start(const ReadKey& key)
{
    auto* load = new Load(*this, key);
    loads_[key] = load;
    return load->begin() ? load : nullptr;
}

}  // namespace petstore::store
