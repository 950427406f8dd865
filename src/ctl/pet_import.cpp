#include "pet_import.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "../api/json.h"
#include "../store/pets/pet_batch.h"
#include "cluster_session.h"
#include "exit.h"
#include "interruption.h"
#include "line_reader.h"
#include "output.h"
#include "progress.h"

namespace petstore::ctl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRetryPause(100);

// Sends pets in batches, each after the reply to the previous one, so that no
// pet is created after one that failed.
class Importer {
public:
    Importer(RedisSession& redis, const store::Schema& schema,
             const Interruption& interruption)
        : redis_(redis), batch_(schema), catalogue_(schema.last_pet_id()),
          interruption_(interruption)
    {
        pets_.reserve(store::PetBatch::kMaxPets);
    }

    // `line`: the pet's line number.
    void add(api::NewPet pet, std::uint64_t line)
    {
        pets_.push_back(std::move(pet));
        lines_.push_back(line);
        if (pets_.size() == store::PetBatch::kMaxPets) {
            flush();
        }
    }

    // Throws Failure; the counters are correct even then.
    void flush()
    {
        if (pets_.empty()) {
            return;
        }
        // Cleared before sending, so nothing is ever sent twice.
        auto pets = std::exchange(pets_, {});
        auto lines = std::exchange(lines_, {});
        pets_.reserve(store::PetBatch::kMaxPets);
        const auto until = Clock::now() + ClusterSession::kPatience;
        for (;;) {
            const std::string error = create(pets, lines);
            if (error.empty()) {
                return;
            }
            if (!may_pass(error) || interruption_.requested()
                || Clock::now() >= until) {
                throw Failure("line " + std::to_string(lines.front())
                              + ": Redis: " + error);
            }
            std::this_thread::sleep_for(kRetryPause);
        }
    }

    std::uint64_t imported() const noexcept { return imported_; }

    // Further pets that may have been created.
    std::uint64_t in_doubt() const noexcept { return in_doubt_; }

    // "imported 7 pets, the last one from line 8"
    std::string report() const
    {
        if (in_doubt_ > 0) {
            return "imported between " + std::to_string(imported_) + " and "
                   + pets_text(imported_ + in_doubt_);
        }
        std::string text = "imported " + pets_text(imported_);
        if (imported_ > 0) {
            text += ", the last one from line " + std::to_string(last_line_);
        }
        return text;
    }

private:
    // Removes those that were created, and returns the error of the next one.
    std::string create(std::vector<api::NewPet>& pets,
                       std::vector<std::uint64_t>& lines)
    {
        const auto created = store::PetBatch::parse(send(pets), pets.size());
        if (!created) {
            in_doubt_ = pets.size();
            throw Failure("unexpected reply of Redis");
        }
        imported_ += created->count;
        if (created->count > 0) {
            last_line_ = lines[created->count - 1];
        }
        const auto count = static_cast<std::ptrdiff_t>(created->count);
        pets.erase(pets.begin(), pets.begin() + count);
        lines.erase(lines.begin(), lines.begin() + count);
        return created->error;
    }

    // In a Cluster, while the catalogue moves to another server, the script
    // does not find the lists that are on the other one, and changes nothing.
    bool may_pass(const std::string& error) const
    {
        return redis_.is_cluster()
               && (error.find("non local key") != std::string::npos
                   || error.compare(0, 7, "DAMAGED") == 0);
    }

    const redis::Reply& send(const std::vector<api::NewPet>& pets)
    {
        try {
            interruption_.watch(redis_.descriptor(catalogue_));
            // If Redis replies with an error, it has not run the script.
            return redis_.call(batch_.create(pets));
        } catch (const LostConnection& lost) {
            in_doubt_ = lost.sent() ? pets.size() : 0;
            throw;
        }
    }

    RedisSession& redis_;
    store::PetBatch batch_;
    const std::string catalogue_;  // one of its Redis keys
    const Interruption& interruption_;
    std::vector<api::NewPet> pets_;
    std::vector<std::uint64_t> lines_;
    std::uint64_t imported_ = 0;
    std::uint64_t last_line_ = 0;
    std::uint64_t in_doubt_ = 0;
};

bool is_blank(std::string_view line)
{
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

class Import {
public:
    Import(RedisSession& redis, const store::Schema& schema, LineReader& lines)
        : lines_(lines), importer_(redis, schema, interruption_),
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
                 + std::string(failure.what()));
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
            importer_.add(std::move(*pet), lines_.number());
            progress_.update(importer_.imported(), lines_.bytes());
        }
        if (interruption_.requested()) {
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

        auto pet = api::parse_new_pet(line, api::IdMember::ignore);
        if (const auto* error = std::get_if<api::Error>(&pet)) {
            throw Failure("line " + std::to_string(lines_.number()) + ": "
                          + std::string(error->message.text()));
        }
        return std::get<api::NewPet>(std::move(pet));
    }

    [[noreturn]] void stop(const std::string& reason)
    {
        progress_.clear();
        throw Failure(importer_.report() + "; " + reason);
    }

    LineReader& lines_;
    Interruption interruption_;
    Importer importer_;
    Progress progress_;
};

}  // namespace

void import_pets(Context& context, const std::string& file)
{
    LineReader lines(file);
    Import import(context.pets(), context.schema(), lines);
    import.run();
    if (context.json()) {
        print_json({{"imported", import.imported()}});
    }
    say("imported " + pets_text(import.imported()));
}

}  // namespace petstore::ctl
