#include "pet_commands.h"

#include <optional>
#include <utility>
#include <vector>

#include "../../api/json.h"
#include "../../redis/error_table.h"
#include "../../store/pets/pet_batch.h"
#include "../../store/pets/pet_ids.h"
#include "../exit.h"
#include "../redis/redis_error.h"
#include "../terminal/interruption.h"
#include "../terminal/output.h"
#include "../terminal/progress.h"
#include "line_reader.h"

namespace petstore::ctl {

namespace {

// Leaves room for the ids that follow, from Redis's clock or above the last
// one.
constexpr api::PetId kMostGiven = store::PetIds::kMaxId / 2;

// Sends pets in batches, each after the reply to the previous one, so that no
// pet is created after one that failed. Redis creates one batch while the lines
// of the next are read.
class Importer {
public:
    Importer(RedisSession& redis, const store::Schema& schema)
        : redis_(redis), filling_(schema), sent_(schema)
    {}

    // `line`: the pet's line number. `id`: 0 unless it is given. Throws
    // Failure, like flush(); the counters are correct even then.
    void add(const api::NewPet& pet, api::PetId id, std::uint64_t line)
    {
        if (filling_.pets.size() == 0) {
            filling_.id = id;
        } else if (id != 0
                   && id
                          != filling_.id
                                 + static_cast<api::PetId>(
                                     filling_.pets.size())) {
            finish();
            send();
            filling_.id = id;
        }
        filling_.pets.add(pet);
        filling_.lines.push_back(line);
        if (filling_.pets.full()) {
            finish();
            send();
        }
    }

    // Waits for the pets that were sent.
    void finish()
    {
        while (sent_.pets.size() != 0) {
            if (const redis::Reply* const error = receive()) {
                const auto line = sent_.lines.front();
                // Drop the rest, so that they are never sent again.
                sent_.remove_first(sent_.pets.size());
                if (store::is_taken(*error)) {
                    throw Failure(
                        "ids can be kept only in a catalogue without other pets");
                }
                throw RedisError("line " + std::to_string(line) + ": Redis",
                                 error->text());
            }
        }
    }

    // Creates all pets that were added.
    void flush()
    {
        finish();
        if (filling_.pets.size() != 0) {
            send();
            finish();
        }
    }

    std::uint64_t imported() const noexcept { return imported_; }

    // "imported 7 pets, the last one from line 8"
    std::string report() const
    {
        if (in_doubt_ > 0) {
            return "imported between " + std::to_string(imported_) + " and "
                   + count_text(imported_ + in_doubt_, "pet");
        }
        std::string text = "imported " + count_text(imported_, "pet");
        if (imported_ > 0) {
            text += ", the last one from line " + std::to_string(last_line_);
        }
        return text;
    }

private:
    struct Batch {
        explicit Batch(const store::Schema& schema) : pets(schema) {}

        void remove_first(std::size_t count)
        {
            pets.remove_first(count);
            id += id != 0 ? static_cast<api::PetId>(count) : 0;
            lines.erase(lines.begin(),
                        lines.begin() + static_cast<std::ptrdiff_t>(count));
        }

        store::PetBatch pets;
        std::vector<std::uint64_t> lines;
        api::PetId id = 0;  // of the first pet, if it is given
    };

    // sent_ must be empty.
    void send()
    {
        std::swap(filling_, sent_);
        as_text_ = false;
        call();
    }

    void call()
    {
        auto command =
            sent_.id == 0
                ? sent_.pets.create()
                : sent_.pets.create_at(
                    static_cast<store::Position>(imported_) + 1, sent_.id);
        if (as_text_) {
            command.use_script_text();
        }
        redis_.send(command);
        redis_.flush();
    }

    // Removes the created pets from sent_ and returns the error of the next
    // one, valid until the next call. If there is none but pets are left, they
    // were sent again: in a Cluster, the link waits until the catalogue has
    // moved if a reply is nothing but the error.
    const redis::Reply* receive()
    {
        const redis::Reply& reply = next_reply();
        if (redis::is_unknown_script(reply) && !as_text_) {
            as_text_ = true;
            call();
            return nullptr;
        }
        const store::CreatedPets created = sent_.pets.read(reply);
        if (!created.valid()) {
            in_doubt_ = sent_.pets.size();
            sent_.remove_first(in_doubt_);
            throw Failure("unexpected reply of Redis");
        }
        imported_ += created.count();
        if (created.count() > 0) {
            last_line_ = sent_.lines[created.count() - 1];
        }
        sent_.remove_first(created.count());
        if (created.error() != nullptr && created.count() > 0) {
            call();
            return nullptr;
        }
        return created.error();
    }

    const redis::Reply& next_reply()
    {
        try {
            return redis_.receive_any();
        } catch (const LostConnection& lost) {
            drop(lost.sent());
            throw;
        } catch (const Failure&) {
            drop(false);
            throw;
        }
    }

    void drop(bool in_doubt)
    {
        in_doubt_ = in_doubt ? sent_.pets.size() : 0;
        sent_.remove_first(sent_.pets.size());
    }

    RedisSession& redis_;
    Batch filling_;
    Batch sent_;  // empty if no reply is due
    bool as_text_ = false;
    std::uint64_t imported_ = 0;
    std::uint64_t last_line_ = 0;
    std::uint64_t in_doubt_ = 0;
};

class Import {
public:
    Import(RedisSession& redis, const store::Schema& schema, LineReader& lines,
           bool keep_ids)
        : lines_(lines), keep_ids_(keep_ids), importer_(redis, schema),
          progress_(lines.size())
    {}

    // Throws Failure.
    void run()
    {
        bool whole = false;
        try {
            whole = read();
        } catch (const Failure& failure) {
            stop((interruption_.requested() ? "interrupted; " : "")
                     + std::string(failure.what()),
                 failure.kind());
        }
        if (!whole) {
            stop("interrupted");
        }
        progress_.clear();
    }

    std::uint64_t imported() const noexcept { return importer_.imported(); }

private:
    // False if interrupted; pets not sent by then are not created.
    bool read()
    {
        for (;;) {
            std::optional<api::NewPet> pet;
            try {
                pet = next();
            } catch (const Failure&) {
                importer_.flush();  // creates the pets before the invalid line
                throw;
            }
            if (!pet) {
                break;
            }
            importer_.add(*pet, keep_ids_ ? id_ : 0, lines_.number());
            progress_.update(importer_.imported(), lines_.bytes());
        }
        if (interruption_.requested()) {
            importer_.finish();
            return false;
        }
        importer_.flush();
        return true;
    }

    // nullopt at the end of the file, or if interrupted.
    std::optional<api::NewPet> next()
    {
        std::string_view line;
        do {
            if (interruption_.requested()
                || !lines_.next(line, interruption_)) {
                return std::nullopt;
            }
        } while (is_blank(line));

        const api::PetId before = std::exchange(id_, 0);
        auto pet = api::parse_exported_pet(line, id_);
        if (const auto* error = std::get_if<api::Error>(&pet)) {
            throw invalid_line(error->message.text());
        }
        if (keep_ids_ && (id_ <= before || id_ > kMostGiven)) {
            throw invalid_line(
                "id must be an integer above that of the pet before, and at most "
                + std::to_string(kMostGiven) + ".");
        }
        return std::get<api::NewPet>(std::move(pet));
    }

    Failure invalid_line(std::string_view problem) const
    {
        // Of a request, in messages for clients of the API.
        constexpr std::string_view kBody = "The body ";
        if (problem.starts_with(kBody)) {
            problem.remove_prefix(kBody.size());
        }
        return Failure("line " + std::to_string(lines_.number()) + ": "
                       + std::string(problem));
    }

    [[noreturn]] void stop(const std::string& reason,
                           Failure::Kind kind = Failure::Kind::failed)
    {
        progress_.clear();
        throw Failure(importer_.report() + "; " + reason, kind);
    }

    LineReader& lines_;
    const bool keep_ids_;
    api::PetId id_ = 0;  // of the pet that was read last
    Interruption interruption_;
    Importer importer_;
    Progress progress_;
};

}  // namespace

void import_pets(Context& context, const PetImport& options)
{
    LineReader lines(options.file);
    Import import(context.pets(Access::change), context.schema(), lines,
                  options.keep_ids);
    import.run();
    if (context.json()) {
        print_json({{"imported", import.imported()}});
    }
    say("imported " + count_text(import.imported(), "pet"));
}

}  // namespace petstore::ctl
