#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/page.h"
#include "../../api/pet.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../schema.h"

namespace petstore::store {

// A bitmap is a string of at most 512 MB, so the last bit is 2^32 - 1. The same
// number is in create_pets.lua.
inline constexpr api::PetId kMaxPets = 4'000'000'000;

// Builds the commands that read and write pets, and parses their replies. Sends
// nothing.
class PetCommands {
public:
    explicit PetCommands(const Schema& schema) : schema_(schema) {}

    const Schema& schema() const noexcept { return schema_; }

    // MGET of both numbers, for Version::parse().
    redis::Command version() const;

    // The newest entries, for ChangeLog::add().
    redis::Command change_log(std::int64_t entries) const;

    // --- one pet -----------------------------------------------------------
    redis::Command get(api::PetId id) const;

    // A whole bucket, for Bucket::parse().
    redis::Command bucket(std::int64_t number) const;

    // --- pages -------------------------------------------------------------
    // An unfiltered page needs no script: ids are dense, so its rows are a
    // range of one bucket or two. The commands ask for one row more than the
    // page has, to learn whether there is a next page.
    std::vector<redis::Command> list_all(const api::ListQuery& query) const;

    // A filtered page: a script that searches the status's bitmap, as far as
    // Redis can within a fraction of a millisecond. A page of a large catalogue
    // may need more calls: PageReader::rest(). `last_id` is the latest known, 0
    // for none.
    redis::Command list_by_status(const api::ListQuery& query,
                                  api::PetId last_id = 0) const;

    // --- operators ---------------------------------------------------------
    redis::Command set_status(api::PetId id, api::Status status) const;
    redis::Command last_id() const;
    // Reply: 1 done, 0 there are no pets.
    redis::Command clear_caches() const;

private:
    const Schema& schema_;
};

// Builds a page from the replies to list_all() or list_by_status(), in the
// order the commands were sent. A damaged record fails the whole page: a client
// that mirrors the catalogue would delete a pet that is left out.
class PageReader {
public:
    explicit PageReader(const api::ListQuery& query) : query_(query) {}

    // Adds the reply to command number `index`. False if the reply is malformed
    // or has a damaged record: see damaged_bucket().
    bool add(std::size_t index, const redis::Reply& reply);

    // What another call for a filtered page must read after the last add(), if
    // pets up to `last_id` existed before it was read: how many rows, and from
    // where. nullopt if the page is complete.
    std::optional<api::ListQuery> rest(api::PetId last_id) const noexcept;

    // The bucket that command number `index` of an unfiltered page reads.
    std::int64_t bucket(std::size_t index) const noexcept;

    // The bucket that made add() return false.
    std::int64_t damaged_bucket() const noexcept { return damaged_bucket_; }

    // After the last add(): the first pet that an unfiltered page lacks
    // although pets up to `last_id` existed before it was read; 0 for none.
    api::PetId missing(api::PetId last_id) const noexcept;

    // After the last add().
    enum class Form { array, lines };
    struct Page {
        std::string body;  // JSON array, or one object per line
        bool more = false;
        api::PetId last = 0;  // id of the last row, 0 for none
        api::PetId next = 0;  // id of the next page's first row, 0 for none
    };
    Page finish(Form form = Form::array);

private:
    // The record is [offset, offset + size) of records_.
    struct Row {
        api::PetId id;
        std::size_t offset;
        std::size_t size;
    };

    bool add_slice(std::size_t index, const redis::Reply& reply);
    bool add_filtered(const redis::Reply& reply);
    bool add_row(api::PetId id, std::string_view record);

    api::ListQuery query_;
    std::vector<Row> rows_;
    std::string records_;
    api::PetId next_ = 0;
    std::int64_t damaged_bucket_ = 0;
    std::size_t calls_ = 0;               // of the script of a filtered page
    api::PetId searched_ = query_.after;  // by them: up to this id
    // A bucket had fewer rows than asked for, or the bitmap has ended.
    bool ended_ = false;
};

}  // namespace petstore::store
