// Preloaded into nginx: gives a host name the addresses that a test wants it to
// have. /etc/hosts is the machine's, and glibc offers nothing for one process.
#include <dlfcn.h>
#include <netdb.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

// E2E_HOST: the name and its addresses, separated by spaces. A path instead of
// addresses is a file with one; the name does not resolve until it exists.
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
    // glibc frees a list element by element, so lists may be joined.
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
