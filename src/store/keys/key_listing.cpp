#include "key_listing.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "../../redis/error_table.h"
#include "../failure.h"

namespace petstore::store {

class ListKeys::Read final : public redis::ReplyHandler {
public:
    Read(ListKeys& list, const std::string& id,
         const api::Digest& digest) noexcept
        : list_(list), id_(id), digest_(digest)
    {}

    const api::Digest& digest() const noexcept { return digest_; }

    // Its server is away.
    void give_up() noexcept
    {
        add([&](KeyListing& listing) {
            listing.unread.push_back(id_);
            list_.away_.insert(list_.group_of(digest_));
        });
    }

private:
    void on_reply(const redis::Reply& reply) noexcept override
    {
        if (reply.is_error() && !redis::is_wrong_type(reply)) {
            const Failure failure = failure_of(reply, false);
            return list_.ended(&failure);
        }
        add([&](KeyListing& listing) {
            StoredKey key(digest_);
            const auto found = StoredKeyCommands::parse(reply, key);
            if (found == Found::invalid) {
                listing.damaged.push_back(id_);
            } else if (found == Found::absent || key.record.id != id_) {
                listing.missing.push_back(id_);
            } else {
                listing.keys.push_back(std::move(key));
            }
        });
    }

    void on_no_reply(redis::NoReply cause) noexcept override
    {
        if (!list_.keys_.is_cluster()) {
            const Failure failure = failure_of(cause, false);
            return list_.ended(&failure);
        }
        give_up();
    }

    template <typename Add>
    void add(Add&& add) noexcept
    {
        try {
            add(list_.listing_);
        } catch (...) {
            const Failure failure = read_not_sent();
            return list_.ended(&failure);
        }
        list_.ended(nullptr);
    }

    ListKeys& list_;
    const std::string& id_;
    const api::Digest& digest_;
};

ListKeys::ListKeys(Waiter<KeyListing>& waiter, const KeyServers& servers)
    : Operation(waiter, servers),
      scan_(redis::Scan::of_hash(schema_.key_index()))
{}

ListKeys::~ListKeys() = default;

void ListKeys::start()
{
    ask(keys_, scan_.next(), [this](const redis::Reply& reply) {
        const redis::Reply* const entries = scan_.take(reply);
        if (entries == nullptr) {
            return refuse_damaged("unexpected reply of Redis to HSCAN");
        }
        take_entries(*entries);
        scan_.done() ? read_records() : start();
    });
}

void ListKeys::take_entries(const redis::Reply& entries)
{
    for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
        std::string id(entries[i].text());
        if (const auto digest = api::digest_of_hex(entries[i + 1].text())) {
            index_.emplace(std::move(id), *digest);
        } else {
            listing_.damaged_entries.insert(std::move(id));
        }
    }
}

void ListKeys::read_records()
{
    listing_.keys.reserve(index_.size());
    reads_.reserve(index_.size());
    for (const auto& [id, digest] : index_) {
        reads_.emplace_back(*this, id, digest);
    }
    if (reads_.empty()) {
        return complete();
    }
    send_reads();
}

std::size_t ListKeys::group_of(const api::Digest& digest) const
{
    return keys_.group_of(schema_.key_record(digest));
}

// A link may end a command before send() returns.
void ListKeys::send_reads() noexcept
{
    sending_ = true;
    while (!failure_ && sent_ < reads_.size() && sent_ - ended_ < kAtOnce) {
        Read& read = reads_[sent_++];
        try {
            // Waiting once for a server that is away is enough.
            if (away_.count(group_of(read.digest())) != 0) {
                read.give_up();
            } else {
                keys_.send(KeyCommands(schema_).get(read.digest()), read);
            }
        } catch (...) {
            ++ended_;
            failure_ = read_not_sent();
        }
    }
    sending_ = false;
    if (ended_ == (failure_ ? sent_ : reads_.size())) {
        complete();
    }
}

void ListKeys::ended(const Failure* failure) noexcept
{
    ++ended_;
    if (failure != nullptr && !failure_) {
        failure_ = *failure;
    }
    if (!sending_) {
        send_reads();
    }
}

void ListKeys::complete() noexcept
{
    if (failure_) {
        return fail(std::move(*failure_));
    }
    std::sort(listing_.keys.begin(), listing_.keys.end(),
              [](const StoredKey& a, const StoredKey& b) {
                  return std::tie(a.record.created, a.record.id)
                         < std::tie(b.record.created, b.record.id);
              });
    finish(std::move(listing_));
}

}  // namespace petstore::store
