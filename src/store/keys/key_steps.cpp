#include "key_steps.h"

#include <utility>

#include "../../api/text.h"

namespace petstore::store {

void KeySteps::read_index(
    const std::string& id,
    std::function<void(const std::optional<api::Digest>&)> next)
{
    redis::Command command("HGET");
    command.key(schema_.key_index()).own(id);
    ask(keys_, std::move(command),
        [this, id, next = std::move(next)](const redis::Reply& reply) {
            const auto digest = api::digest_of_hex(reply.text());
            if (!digest && !reply.is(redis::Type::nil)) {
                return refuse_damaged("the entry of key " + id + " in "
                                      + schema_.key_index() + " is damaged");
            }
            next(digest);
        });
}

void KeySteps::read_record(const api::Digest& digest,
                           std::function<void(Found, StoredKey)> next)
{
    ask(keys_, commands_.read(digest),
        [digest, next = std::move(next)](const redis::Reply& reply) {
            StoredKey key(digest);
            const Found found = StoredKeyCommands::parse(reply, key);
            next(found, std::move(key));
        });
}

void KeySteps::find_optional(const std::string& id, ThenOptional next)
{
    read_index(id, [this, id, next = std::move(next)](const auto& digest) {
        if (!digest) {
            return next(std::nullopt);
        }
        read_record(*digest, [this, id, next](Found found, StoredKey key) {
            if (found == Found::invalid) {
                return refuse_damaged("the record of key " + id
                                      + " is damaged");
            }
            // An interrupted import can leave an index entry that leads to
            // another id.
            if (found == Found::absent || key.record.id != id) {
                return next(std::nullopt);
            }
            next(std::move(key));
        });
    });
}

void KeySteps::find_optional(const api::Digest& digest, ThenOptional next)
{
    read_record(
        digest, [this, next = std::move(next)](Found found, StoredKey key) {
            if (found == Found::invalid) {
                return refuse_damaged("the record of this key is damaged");
            }
            next(found == Found::found ? std::optional(std::move(key))
                                       : std::nullopt);
        });
}

void KeySteps::find_or_refuse(const std::string& id,
                              std::function<void(StoredKey)> next)
{
    find_optional(id,
                  [this, next = std::move(next)](std::optional<StoredKey> key) {
                      key ? next(std::move(*key)) : refuse_unknown();
                  });
}

// The argument may be an API key, so the message does not repeat it.
void KeySteps::refuse_unknown()
{
    refuse(Refusal::not_found, api::ErrorCode::not_found,
           "there is no key with this id");
}

void KeySteps::write(StoredKey& key, std::optional<std::int64_t> seen,
                     std::function<void(bool written)> next)
{
    change(
        keys_, commands_.write(key, seen),
        [&key, next = std::move(next)](const redis::Reply& reply) {
            const bool written = reply.integer() > 0;
            if (written) {
                key.record.epoch = reply.integer();
            }
            next(written);
        },
        NotInEffectAfter::lost_reply);
}

void KeySteps::store(StoredKey& key, Then next)
{
    key.record.disabled = true;
    key.unfinished = true;

    const auto add_to_index = [this, &key, next = std::move(next)] {
        redis::Command command("HSET");
        command.key(schema_.key_index())
            .own(key.record.id)
            .own(api::to_hex(api::bytes_of(key.digest)));
        change(keys_, std::move(command),
               [next](const redis::Reply&) { next(); });
    };
    // Before the index: if interrupted, the record expires after a day.
    const auto write_record = [=, &key](std::optional<std::int64_t> seen) {
        write(key, seen, [this, add_to_index](bool written) {
            if (!written) {
                return refuse(Refusal::overtaken, api::ErrorCode::bad_request,
                              "another command is adding this key");
            }
            add_to_index();
        });
    };
    read_record(key.digest, [=, &key](Found found, const StoredKey& there) {
        if (found == Found::invalid) {
            return refuse_damaged(
                "this key exists already, and its record is damaged");
        }
        if (found == Found::found && !there.unfinished) {
            return refuse(Refusal::key_exists, api::ErrorCode::bad_request,
                          "this key exists already, its id is "
                              + there.record.id);
        }
        std::optional<std::int64_t> seen;
        if (found == Found::found) {
            key.record.id = there.record.id;
            key.record.account = there.record.account;
            seen = there.record.epoch;
        }
        // The account first: an existing state will take the epoch of the
        // record.
        touch(key.record.account, 0, NotInEffectAfter::no_failure,
              [write_record, seen] { write_record(seen); });
    });
}

void KeySteps::enable(StoredKey& key, std::function<void(bool enabled)> next)
{
    key.record.disabled = false;
    key.unfinished = false;
    write(key, std::move(next));
}

void KeySteps::discard(const std::string& id, const api::Digest& digest,
                       Then next)
{
    remove_record(id, digest, [this, id, next = std::move(next)] {
        redis::Command command("HDEL");
        command.key(schema_.key_index()).own(id);
        change(keys_, std::move(command),
               [next](const redis::Reply&) { next(); });
    });
}

void KeySteps::remove_record(const std::string& id, const api::Digest& digest,
                             const Then& next)
{
    const auto erase_damaged = [=] {
        redis::Command command("DEL");
        command.key(schema_.key_record(digest));
        change(keys_, std::move(command),
               [next](const redis::Reply&) { next(); });
    };
    const auto erase = [=] {
        change(
            keys_, commands_.remove(doomed_), [=](const redis::Reply& reply) {
                reply.integer() == 1 ? next() : remove_record(id, digest, next);
            });
    };
    read_record(digest, [=](Found found, StoredKey key) {
        const api::KeyRecord& record = key.record;
        if (found == Found::absent
            || (found == Found::found && record.id != id)) {
            return next();  // no record, or another key's
        }
        if (found == Found::invalid) {
            return record.account.empty()
                       ? erase_damaged()
                       : announce(record.account, record.epoch, erase_damaged);
        }
        key.record.disabled = true;
        doomed_ = std::move(key);
        write(doomed_, [=](bool written) {
            if (!written) {
                return remove_record(id, digest, next);
            }
            announce(doomed_.record.account, doomed_.record.epoch, erase);
        });
    });
}

}  // namespace petstore::store
