#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "../api/page.h"
#include "version.h"

namespace petstore::store {

// What a read asks for: one pet, or a page. Small and comparable, so that it is
// the key of caches.
struct ReadKey {
    enum class Kind : char { pet, page, available, pending, sold };

    Kind kind = Kind::pet;
    std::int32_t limit = 0;  // of a page
    std::int64_t id = 0;     // the pet's, or the one a page starts after

    static ReadKey of_pet(api::PetId id) noexcept { return {Kind::pet, 0, id}; }
    static ReadKey of_page(const api::ListQuery& query) noexcept;

    bool is_pet() const noexcept { return kind == Kind::pet; }
    bool is_filtered() const noexcept
    {
        return kind != Kind::pet && kind != Kind::page;
    }
    api::ListQuery query() const noexcept;  // of a page

    bool operator==(const ReadKey& other) const noexcept
    {
        return kind == other.kind && limit == other.limit && id == other.id;
    }

    struct Hash {
        std::size_t operator()(const ReadKey& key) const noexcept;
    };
};

// The answer to a read, ready to be sent. Shared by the cache and the responses
// on their way.
struct Answer {
    std::string body;
    api::PetId last = 0;  // of a page with a next one: its last id
    Version version;      // the catalogue was at least like this when read

    // A pet, and a page that has a next one, stay as they are when pets are
    // added: those get higher ids. The last page does not.
    bool grows = false;

    bool is_current(const Version& now) const noexcept
    {
        return version.changes == now.changes
               && (!grows || version.last_id == now.last_id);
    }
};

// One worker's memory of answers: bounded by their size, least recently used
// out first. Whether one is still true is asked with today's version, which
// came with the limiter's reply.
class AnswerCache {
public:
    explicit AnswerCache(std::size_t max_bytes);

    // nullptr for none; the answer found may be out of date.
    std::shared_ptr<const Answer> find(const ReadKey& key);
    // Not kept when there is no memory for it.
    void put(const ReadKey& key, std::shared_ptr<const Answer> answer) noexcept;
    void clear() noexcept;

    std::size_t bytes() const noexcept { return bytes_; }

    // How many answers of a usual page fit into `bytes`.
    static std::size_t usual_number(std::size_t bytes) noexcept;

private:
    using Order = std::list<ReadKey>;
    struct Entry {
        std::shared_ptr<const Answer> answer;
        Order::iterator used;
    };

    static std::size_t size_of(const Answer& answer) noexcept;
    void drop_last() noexcept;

    const std::size_t max_bytes_;
    std::size_t bytes_ = 0;
    std::unordered_map<ReadKey, Entry, ReadKey::Hash> entries_;
    Order order_;  // most recently used first
};

}  // namespace petstore::store
