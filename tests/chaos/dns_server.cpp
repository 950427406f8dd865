#include "dns_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace petstore::e2e {

namespace {

constexpr std::size_t kHeader = 12;
constexpr char kTypeA = 1;

// The first question, without the rest of the query.
std::string question_of(const std::string& query)
{
    std::size_t end = kHeader;
    while (end < query.size() && query[end] != 0) {
        end += static_cast<unsigned char>(query[end]) + 1;
    }
    return query.substr(kHeader, end + 5 - kHeader);
}

std::string reply_to(const std::string& query, const DnsServer::Answer& answer)
{
    const std::string question = question_of(query);
    const bool asks_a = question.at(question.size() - 3) == kTypeA;
    const std::size_t count = asks_a ? answer.addresses.size() : 0;
    std::string reply = query.substr(0, 2);
    reply += {'\x81', static_cast<char>(0x80 | answer.code),
              0,      1,
              0,      static_cast<char>(count),
              0,      0,
              0,      0};
    reply += question;
    for (std::size_t i = 0; i < count; ++i) {
        in_addr address{};
        inet_pton(AF_INET, answer.addresses[i].c_str(), &address);
        // A pointer to the name, A, IN, a TTL of 1, 4 bytes.
        reply += {'\xc0', '\x0c', 0, kTypeA, 0, 1, 0, 0, 0, 1, 0, 4};
        reply.append(reinterpret_cast<const char*>(&address), sizeof(address));
    }
    return reply;
}

}  // namespace

DnsServer::DnsServer(Answer answer)
    : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
      port_(free_port()), answer_(std::move(answer))
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, own_address().c_str(), &address.sin_addr);
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    if (bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address))
        != 0) {
        throw HarnessError("the DNS server cannot bind");
    }
    thread_ = std::thread([this] { run(); });
}

DnsServer::~DnsServer()
{
    ending_ = true;
    thread_.join();
    close(socket_);
}

void DnsServer::set(Answer answer)
{
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
}

std::string DnsServer::resolver(const std::string& more) const
{
    return "resolver " + own_address() + ":" + std::to_string(port_)
           + " ipv6=off " + more + "; ";
}

void DnsServer::run()
{
    std::vector<Due> due;
    while (!ending_) {
        pollfd poll_fd{socket_, POLLIN, 0};
        if (poll(&poll_fd, 1, 5) == 1) {
            receive(due);
        }
        const auto now = Clock::now();
        const auto later =
            std::partition(due.begin(), due.end(),
                           [&](const Due& reply) { return reply.at > now; });
        for (auto reply = later; reply != due.end(); ++reply) {
            sendto(socket_, reply->bytes.data(), reply->bytes.size(), 0,
                   reinterpret_cast<const sockaddr*>(reply->client.data()),
                   static_cast<socklen_t>(reply->client.size()));
        }
        due.erase(later, due.end());
    }
}

void DnsServer::receive(std::vector<Due>& due)
{
    char query[512];
    sockaddr_in client{};
    socklen_t size = sizeof(client);
    const auto n = recvfrom(socket_, query, sizeof(query), 0,
                            reinterpret_cast<sockaddr*>(&client), &size);
    if (n <= static_cast<ssize_t>(kHeader)) {
        return;
    }
    ++queries_;
    const std::lock_guard lock(mutex_);
    if (!answer_.silent) {
        due.push_back({Clock::now() + answer_.delay,
                       reply_to({query, static_cast<std::size_t>(n)}, answer_),
                       {reinterpret_cast<const char*>(&client), size}});
    }
}

}  // namespace petstore::e2e
