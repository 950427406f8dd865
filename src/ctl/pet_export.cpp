#include "pet_export.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <vector>

#include "../api/text.h"
#include "../store/catalogue.h"
#include "exit.h"
#include "output.h"
#include "progress.h"

namespace petstore::ctl {

namespace {

// Pages of one round trip.
constexpr int kWindow = 32;

struct Pending {
    store::PageReader reader;
    std::size_t commands;
};

class Exporter {
public:
    Exporter(Context& context, std::ostream& out)
        : redis_(context.redis()), catalogue_(context.schema()), out_(out)
    {}

    void run()
    {
        const auto end =
            api::parse_int64(redis_.call(catalogue_.last_id()).text());
        Progress progress(end);
        bool more = end.value_or(0) > 0;
        while (more) {
            more = window();
            progress.update(static_cast<std::uint64_t>(last_),
                            static_cast<std::uint64_t>(last_));
        }
        if (last_ < end.value_or(0)) {
            throw Failure("stopped at pet " + std::to_string(last_ + 1)
                          + ", which has no record");
        }
    }

private:
    // Ids are dense, so where the next pages start is known before they are
    // read. True if there is more behind them.
    bool window()
    {
        std::vector<Pending> pages;
        for (int i = 0; i < kWindow; ++i) {
            api::ListQuery query;
            query.limit = api::kMaxPageLimit;
            query.after = last_ + i * api::kMaxPageLimit;
            const auto commands = catalogue_.list_all(query);
            for (const resp::Command& command : commands) {
                redis_.send(command);
            }
            pages.push_back({store::PageReader(query), commands.size()});
        }
        for (Pending& page : pages) {
            for (std::size_t i = 0; i < page.commands; ++i) {
                expect(page.reader.add(i, redis_.receive()));
            }
        }
        for (Pending& page : pages) {
            const auto done =
                page.reader.finish(store::PageReader::Form::lines);
            write(done.body);
            if (done.last) {
                last_ = done.last;
            }
            if (!done.more) {
                return false;
            }
        }
        return true;
    }

    void write(const std::string& lines)
    {
        errno = 0;
        if (!(out_ << lines << std::flush)) {
            throw Failure("cannot write: "
                          + std::string(std::strerror(errno ? errno : EIO)));
        }
    }

    static void expect(bool understood)
    {
        if (!understood) {
            throw Failure("a record in Redis is damaged");
        }
    }

    RedisSession& redis_;
    store::Catalogue catalogue_;
    std::ostream& out_;
    api::PetId last_ = 0;
};

}  // namespace

void export_pets(Context& context, const std::string& file)
{
    if (file == "-") {
        Exporter(context, std::cout).run();
        return;
    }
    context.redis();  // a file is not emptied for a Redis that is away
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    if (!out) {
        throw Failure(file + ": " + std::strerror(errno));
    }
    Exporter(context, out).run();
}

}  // namespace petstore::ctl
