// The headers of the standard library that most files include. config.make
// precompiles them and includes them in front of each file of the module; every
// file still names what it needs, as petstorectl and the tests are built
// without.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
