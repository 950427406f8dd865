#include "pet_commands.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <unistd.h>
#include <vector>

#include "../../redis/error_table.h"
#include "../../store/pets/pet_commands.h"
#include "../../store/pets/record.h"
#include "../command_line/words.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "../terminal/progress.h"
#include "../terminal/terminal.h"
#include "pet_count.h"

namespace petstore::ctl {

namespace {

// Pages per round trip.
constexpr int kWindow = 32;

struct Pending {
    store::PageReader reader;
    std::size_t commands;
    std::optional<std::int64_t> damaged;  // number of the bucket
};

// Standard output, or a file. The file is opened with the first write: damage
// that is found before the first pet does not empty an earlier export.
class Output {
public:
    explicit Output(const std::string& file) : file_(file) {}

    bool is_on_terminal() const
    {
        return file_ == "-" && is_terminal(STDOUT_FILENO);
    }

    void write(const std::string& lines)
    {
        std::ostream& out = file_ == "-" ? std::cout : opened();
        errno = 0;
        if (!(out << lines << std::flush)) {
            throw Failure("cannot write: "
                          + std::string(std::strerror(errno ? errno : EIO)));
        }
    }

private:
    std::ostream& opened()
    {
        if (!stream_.is_open()) {
            stream_.open(file_, std::ios::binary | std::ios::trunc);
            if (!stream_) {
                throw Failure(cannot_open(file_));
            }
        }
        return stream_;
    }

    const std::string& file_;
    std::ofstream stream_;
};

class Exporter {
public:
    Exporter(Context& context, Output& out)
        : redis_(context.pets(Access::read)), schema_(context.schema()),
          commands_(schema_), out_(out)
    {}

    void run()
    {
        const store::Position end = count_pets(redis_, schema_);
        Progress progress(static_cast<std::uint64_t>(end));
        bool more = end > 0;
        if (!more) {
            out_.write("");
        }
        while (more) {
            more = window(end);
            // The progress would stand among the pets.
            if (!out_.is_on_terminal()) {
                progress.update(static_cast<std::uint64_t>(last_),
                                static_cast<std::uint64_t>(last_));
            }
        }
    }

private:
    void read_ids()
    {
        const redis::Reply& reply = redis_.receive();
        auto ids = reply.size() == 2 ? store::PetIds::parse(reply[1].text())
                                     : std::nullopt;
        if (!ids) {
            throw damaged_key(schema_.segments());
        }
        ids_ = std::move(*ids);
    }

    // Reads and writes kWindow pages. The start of each page is known in
    // advance. The ids are read last, because a pet created meanwhile may have
    // begun a segment. Returns whether there are more.
    bool window(store::Position end)
    {
        std::vector<Pending> pages;
        for (int i = 0; i < kWindow; ++i) {
            store::PageQuery query;
            query.limit = api::kMaxPageLimit;
            query.after = last_ + i * api::kMaxPageLimit;
            const auto commands = commands_.list_all(query);
            for (const redis::Command& command : commands) {
                redis_.send(command);
            }
            pages.push_back(
                {store::PageReader(query), commands.size(), std::nullopt});
        }
        redis_.send(commands_.ids());
        for (Pending& page : pages) {
            read(page);
        }
        read_ids();
        for (Pending& page : pages) {
            if (page.damaged) {
                throw stopped(*page.damaged);
            }
            const store::Position missing = page.reader.missing(end);
            const auto done =
                page.reader.finish(ids_, store::PageReader::Form::lines);
            out_.write(done.body);
            if (done.last) {
                last_ = done.last;
                last_id_ = done.last_id;
            }
            if (missing) {
                throw stopped(store::bucket_of(missing));
            }
            if (!done.more) {
                return false;
            }
        }
        return true;
    }

    void read(Pending& page)
    {
        for (std::size_t i = 0; i < page.commands; ++i) {
            const redis::Reply& reply = redis_.receive_any();
            if (reply.is_error() && !redis::is_wrong_type(reply)) {
                redis_.check(reply);
            }
            if (!page.reader.add(i, reply) && !page.damaged) {
                page.damaged = page.reader.damaged_bucket();
            }
        }
    }

    Failure stopped(std::int64_t bucket) const
    {
        return Failure("stopped after pet " + std::to_string(last_id_)
                       + ": the Redis key " + schema_.bucket(bucket)
                       + " is damaged");
    }

    RedisSession& redis_;
    const store::Schema& schema_;
    store::PetCommands commands_;
    Output& out_;
    store::PetIds ids_;
    store::Position last_ = 0;
    api::PetId last_id_ = 0;
};

}  // namespace

void export_pets(Context& context, const PetExport& options)
{
    Output out(options.file);
    Exporter(context, out).run();
}

}  // namespace petstore::ctl
