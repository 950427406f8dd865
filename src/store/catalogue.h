#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../api/page.h"
#include "../api/pet.h"
#include "../resp/command.h"
#include "../resp/reply.h"
#include "schema.h"
#include "script.h"

namespace petstore::store {

// The commands that read and write pets, and what their replies mean. Builds
// commands, sends nothing.
class Catalogue {
public:
    explicit Catalogue(const Schema& schema) : schema_(schema) {}

    const Schema& schema() const noexcept { return schema_; }

    // For Version::parse(), in one step of Redis.
    resp::Command version() const;

    // --- one pet -----------------------------------------------------------
    resp::Command get(api::PetId id) const;

    // A whole bucket, for Bucket::parse().
    resp::Command bucket(std::int64_t number) const;

    // --- pages -------------------------------------------------------------
    // A page without a filter needs no script: ids are dense, so its rows are
    // a stretch of one bucket or two. The commands ask for one row more than
    // the page, which tells whether there is a next one; all go out in one
    // write.
    std::vector<resp::Command> list_all(const api::ListQuery& query) const;

    // A filtered page: one script over the status's bitmap. With `eval` its
    // text is sent instead of its digest, after NOSCRIPT.
    resp::Command list_by_status(const api::ListQuery& query, bool eval) const;

    // --- create ------------------------------------------------------------
    struct Idempotency {
        api::Digest key;   // SHA-256 of the Idempotency-Key
        api::Digest body;  // SHA-256 of the request's body
    };
    resp::Command create(const api::NewPet& pet, std::string_view account,
                         const std::optional<Idempotency>& idempotency,
                         bool eval) const;

    struct Created {
        enum class Result { created, replayed, key_reused, invalid } result;
        api::PetId id = 0;
    };
    static Created parse_created(const resp::Reply& reply) noexcept;

    // --- operators ---------------------------------------------------------
    resp::Command set_status(api::PetId id, api::Status status,
                             bool eval) const;
    resp::Command last_id() const;
    // Reply: 1 done, 0 there is no catalogue.
    resp::Command clear_caches(bool eval) const;

private:
    const Schema& schema_;
};

// Puts a page together from the replies to list_all() or list_by_status(), in
// the order the commands were sent. A page with a damaged record is none: what
// is left out of it is deleted by clients that keep a copy.
class PageReader {
public:
    explicit PageReader(const api::ListQuery& query) : query_(query) {}

    // `index`: which command the reply belongs to. False for a reply that is
    // none of the expected shapes, or has a damaged record: see
    // damaged_bucket().
    bool add(std::size_t index, const resp::Reply& reply);

    // The bucket that a command reads.
    std::int64_t bucket(std::size_t index) const noexcept;

    // The one that add() has refused.
    std::int64_t damaged_bucket() const noexcept { return damaged_bucket_; }

    // Once all replies are in: the first pet of an unfiltered page that was not
    // found although there were pets up to `last_id` before it was read; 0 for
    // none.
    api::PetId missing(api::PetId last_id) const noexcept;

    // Once all replies are in.
    enum class Form { array, lines };
    struct Page {
        std::string body;  // JSON array, or one object a line
        bool more = false;
        api::PetId last = 0;   // id of the last row, 0 for none
        api::PetId reach = 0;  // of the row more, which tells of a next page
    };
    Page finish(Form form = Form::array);

private:
    // The record is a part of records_.
    struct Row {
        api::PetId id;
        std::size_t offset;
        std::size_t size;
    };

    bool add_slice(std::size_t index, const resp::Reply& reply);
    bool add_filtered(const resp::Reply& reply);
    bool add_row(api::PetId id, std::string_view record);

    api::ListQuery query_;
    std::vector<Row> rows_;
    std::string records_;
    api::PetId reach_ = 0;
    std::int64_t damaged_bucket_ = 0;
    // A bucket ended early: nothing of the next one belongs to this page.
    bool ended_ = false;
};

}  // namespace petstore::store
