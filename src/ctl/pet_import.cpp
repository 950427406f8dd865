#include "pet_import.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

#include "../store/catalogue.h"
#include "exit.h"
#include "output.h"
#include "pet_line.h"
#include "progress.h"

namespace petstore::ctl {

namespace {

constexpr std::size_t kWindow = 512;
// What a pet needs is far below; a file without line ends is no NDJSON.
constexpr std::size_t kMaxLine = 64 * 1024;

// Lines of a stream, at most kMaxLine long.
class LineReader {
public:
    explicit LineReader(std::istream& in) : in_(in), buffer_(kMaxLine + 1) {}

    // False at the end. Throws Failure.
    bool next(std::string_view& line)
    {
        errno = 0;
        in_.getline(buffer_.data(),
                    static_cast<std::streamsize>(buffer_.size()));
        const auto got = static_cast<std::size_t>(in_.gcount());
        if (in_.bad()) {
            throw Failure("cannot read: " + std::string(std::strerror(errno)));
        }
        if (in_.eof() && got == 0) {
            return false;
        }
        ++number_;
        bytes_ += got;
        if (in_.fail() && !in_.eof()) {
            throw Failure("line " + std::to_string(number_)
                          + ": longer than 64 KiB");
        }
        // The line end is counted, unless the file ends without one.
        line = {buffer_.data(), in_.eof() ? got : got - 1};
        return true;
    }

    std::uint64_t number() const noexcept { return number_; }
    std::uint64_t bytes() const noexcept { return bytes_; }

private:
    std::istream& in_;
    std::vector<char> buffer_;
    std::uint64_t number_ = 0;
    std::uint64_t bytes_ = 0;
};

class Importer {
public:
    explicit Importer(Context& context)
        : redis_(context.redis()), catalogue_(context.schema())
    {
        window_.reserve(kWindow);
    }

    void add(api::NewPet pet)
    {
        window_.push_back(std::move(pet));
        if (window_.size() == kWindow) {
            flush();
        }
    }

    // Throws Failure; imported() is right even then.
    void flush()
    {
        // Whatever happens, nothing is sent twice.
        auto pets = std::move(window_);
        window_.clear();
        while (!pets.empty()) {
            pets = send(pets);
        }
    }

    std::uint64_t imported() const noexcept { return imported_; }

private:
    // Returns those that are still to be created, because Redis has forgotten
    // the script between the first command, which brings it, and theirs.
    std::vector<api::NewPet> send(const std::vector<api::NewPet>& pets)
    {
        for (std::size_t i = 0; i < pets.size(); ++i) {
            redis_.send(catalogue_.create(pets[i], {}, std::nullopt, i == 0));
        }
        std::vector<api::NewPet> left;
        std::string error;
        for (std::size_t i = 0; i < pets.size(); ++i) {
            const resp::Reply& reply = receive(pets.size() - i);
            if (reply.error_code() == "NOSCRIPT") {
                left.push_back(pets[i]);
            } else if (store::Catalogue::parse_created(reply).result
                       == store::Catalogue::Created::Result::created) {
                ++imported_;
            } else if (error.empty()) {
                error = reply.is_error() ? std::string(reply.text())
                                         : "unexpected reply";
            }
        }
        if (!error.empty()) {
            throw Failure("Redis: " + error);
        }
        return left;
    }

    const resp::Reply& receive(std::size_t waiting)
    {
        try {
            return redis_.receive_any();
        } catch (const Failure& lost) {
            throw Failure(std::string(lost.what()) + "; up to "
                          + std::to_string(waiting)
                          + " more may have been created");
        }
    }

    RedisSession& redis_;
    store::Catalogue catalogue_;
    std::vector<api::NewPet> window_;
    std::uint64_t imported_ = 0;
};

bool is_blank(std::string_view line)
{
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

void import_lines(LineReader& lines, Importer& importer, Progress& progress)
{
    std::string_view line;
    while (lines.next(line)) {
        if (is_blank(line)) {
            continue;
        }
        auto pet = parse_pet_line(line);
        if (const auto* error = std::get_if<api::Error>(&pet)) {
            throw Failure("line " + std::to_string(lines.number()) + ": "
                          + std::string(error->message.text()));
        }
        importer.add(std::get<api::NewPet>(std::move(pet)));
        progress.update(importer.imported(), lines.bytes());
    }
}

}  // namespace

void import_pets(Context& context, const std::string& file)
{
    std::ifstream opened;
    std::optional<std::uint64_t> total;
    if (file != "-") {
        opened.open(file, std::ios::binary);
        std::error_code error;
        if (!opened || std::filesystem::is_directory(file, error)) {
            throw Failure(file + ": " + std::strerror(opened ? EISDIR : errno));
        }
        const auto size = std::filesystem::file_size(file, error);
        if (!error) {
            total = size;
        }
    }
    LineReader lines(file == "-" ? std::cin : opened);
    Importer importer(context);
    Progress progress(total);

    std::string wrong;
    try {
        import_lines(lines, importer, progress);
    } catch (const Failure& failure) {
        wrong = failure.what();
    }
    // A bad line stops the import, and what came before it is still created.
    try {
        importer.flush();
    } catch (const Failure& failure) {
        if (wrong.empty()) {
            wrong = failure.what();
        }
    }
    progress.clear();

    const std::string count =
        "imported " + std::to_string(importer.imported()) + " pets";
    if (!wrong.empty()) {
        throw Failure(count + "; " + wrong);
    }
    if (context.json()) {
        print_json({{"imported", importer.imported()}});
    }
    say(count);
}

}  // namespace petstore::ctl
