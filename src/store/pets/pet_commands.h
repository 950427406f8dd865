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
#include "pet_ids.h"
#include "record.h"

namespace petstore::store {

// A bitmap is a string of at most 512 MB, so the last bit is 2^32 - 1. The same
// number is in create_pets.lua.
inline constexpr Position kMaxPets = 4'000'000'000;

// A page as the pets are stored.
struct PageQuery {
    int limit = 20;
    std::optional<api::Status> status;
    Position after = 0;  // exclusive; 0 = from the start
};

// Builds the commands that read and write pets, and parses their replies. Sends
// nothing.
class PetCommands {
public:
    explicit PetCommands(const Schema& schema) : schema_(schema) {}

    const Schema& schema() const noexcept { return schema_; }

    // MGET of both numbers, for Version::parse().
    redis::Command version() const;

    // MGET of the number of changes and of the value for PetIds::parse().
    redis::Command ids() const;

    // The newest entries, for ChangeLog::add().
    redis::Command change_log(std::int64_t entries) const;

    // --- one pet -----------------------------------------------------------
    redis::Command get(Position position) const;

    // A whole bucket, for Bucket::parse().
    redis::Command bucket(std::int64_t number) const;

    // --- pages -------------------------------------------------------------
    // An unfiltered page needs no script: its rows are a range of one bucket or
    // two. The commands ask for one row more than the page has, to learn
    // whether there is a next page.
    std::vector<redis::Command> list_all(const PageQuery& query) const;

    // A filtered page: a script that searches the status's bitmap, as far as
    // Redis can within a fraction of a millisecond. A page of a large catalogue
    // may need more calls: PageReader::rest(). `count` is the latest known, 0
    // for none.
    redis::Command list_by_status(const PageQuery& query,
                                  Position count = 0) const;

    // --- operators ---------------------------------------------------------
    redis::Command set_status(api::PetId id, api::Status status) const;
    redis::Command count() const;
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
    explicit PageReader(const PageQuery& query) : query_(query) {}

    // Adds the reply to command number `index`. False if the reply is malformed
    // or has a damaged record: see damaged_bucket().
    bool add(std::size_t index, const redis::Reply& reply);

    // What another call for a filtered page must read after the last add(), if
    // there were `count` pets before it was read: how many rows, and from
    // where. nullopt if the page is complete.
    std::optional<PageQuery> rest(Position count) const noexcept;

    // The bucket that command number `index` of an unfiltered page reads.
    std::int64_t bucket(std::size_t index) const noexcept;

    // The bucket that made add() return false.
    std::int64_t damaged_bucket() const noexcept { return damaged_bucket_; }

    // After the last add(): the first pet that an unfiltered page lacks
    // although there were `count` pets before it was read; 0 for none.
    Position missing(Position count) const noexcept;

    // After the last add(): leaves out pets that were created after there were
    // `count`, whose ids may not be known.
    void drop_after(Position count) noexcept;

    // After the last add().
    enum class Form { array, lines };
    struct Page {
        std::string body;  // JSON array, or one object per line
        bool more = false;
        Position last = 0;       // of the last row, 0 for none
        Position next = 0;       // of the next page's first row, 0 for none
        api::PetId last_id = 0;  // of the last row
    };
    Page finish(const PetIds& ids, Form form = Form::array);

private:
    // The record is [offset, offset + size) of records_.
    struct Row {
        Position position;
        std::size_t offset;
        std::size_t size;
    };

    bool add_slice(std::size_t index, const redis::Reply& reply);
    bool add_filtered(const redis::Reply& reply);
    bool add_row(Position position, std::string_view record);

    PageQuery query_;
    std::vector<Row> rows_;
    std::string records_;
    Position next_ = 0;
    std::int64_t damaged_bucket_ = 0;
    std::size_t calls_ = 0;             // of the script of a filtered page
    Position searched_ = query_.after;  // by them: up to this position
    // A bucket had fewer rows than asked for, or the bitmap has ended.
    bool ended_ = false;
};

}  // namespace petstore::store
