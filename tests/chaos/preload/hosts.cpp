// Preloaded into nginx: makes a host name resolve to addresses chosen by a
// test. /etc/hosts is global, and glibc has nothing for a single process.
#include <dlfcn.h>
#include <netdb.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

// E2E_HOST: the name and its addresses, separated by spaces. Instead of
// addresses, the path of a file with one address; the name does not resolve
// until the file exists.
extern "C" int getaddrinfo(const char* node, const char* service,
                           const addrinfo* hints, addrinfo** found)
{
    using Function = int(const char*, const char*, const addrinfo*, addrinfo**);
    static auto* const real =
        reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "getaddrinfo"));

    const char* host = std::getenv("E2E_HOST");
    std::istringstream words(host != nullptr ? host : "");
    std::string word;
    if (node == nullptr || !(words >> word) || word != node) {
        return real(node, service, hints, found);
    }
    // glibc frees lists element by element, so they may be joined.
    addrinfo* first = nullptr;
    addrinfo** end = &first;
    while (words >> word) {
        if (word.front() == '/' && !(std::ifstream(word) >> word)) {
            return EAI_NONAME;
        }
        const int error = real(word.c_str(), service, hints, end);
        if (error != 0) {
            if (first != nullptr) {
                freeaddrinfo(first);
            }
            return error;
        }
        while (*end != nullptr) {
            end = &(*end)->ai_next;
        }
    }
    *found = first;
    return 0;
}
