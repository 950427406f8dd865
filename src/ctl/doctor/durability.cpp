#include "durability.h"

#include "../../api/text.h"

namespace petstore::ctl {

namespace {

// WAITAOF requires Redis 7.2.
bool has_waitaof(const std::string& version)
{
    const auto dot = version.find('.');
    if (dot == std::string::npos) {
        return false;
    }
    const auto major = api::parse_int64(version.substr(0, dot));
    const auto minor = api::parse_int64(
        version.substr(dot + 1, version.find('.', dot + 1) - dot - 1));
    return major && minor && (*major > 7 || (*major == 7 && *minor >= 2));
}

std::string reachable_replicas(const DurabilityFacts& facts)
{
    if (!facts.replicas) {
        return "replicas=N unknown";
    }
    if (*facts.replicas == 0) {
        return "no replicas=N (none is connected)";
    }
    const std::string most = std::to_string(*facts.replicas);
    std::string text = "replicas=" + most;
    if (*facts.replicas > 1) {
        text = "replicas=1 to " + most;
    }
    if (facts.min_replicas) {
        text += " (min-replicas-to-write is "
                + std::to_string(*facts.min_replicas) + ")";
    }
    return text;
}

std::string reachable_fsync(const DurabilityFacts& facts)
{
    if (facts.version.empty() || !facts.append_only) {
        return "fsync unknown";
    }
    if (!has_waitaof(facts.version)) {
        return "no fsync (it needs Redis 7.2)";
    }
    if (!*facts.append_only) {
        return "no fsync (it needs appendonly yes)";
    }
    if (facts.fsync == "no") {
        return "no fsync (it needs appendfsync always or everysec)";
    }
    if (facts.fsync == "everysec") {
        return "fsync (with a petstore_redis_timeout of 3s or more)";
    }
    return "fsync";
}

}  // namespace

std::string durability_row(const DurabilityFacts& facts)
{
    if (!facts.append_only) {
        return "";
    }
    if (*facts.append_only) {
        return facts.fsync ? "AOF, fsync " + *facts.fsync : "";
    }
    if (!facts.snapshots) {
        return "";
    }
    return facts.snapshots->empty() ? "nothing on disk" : "snapshots";
}

std::string reachable_durability(const DurabilityFacts& facts)
{
    return reachable_replicas(facts) + ", " + reachable_fsync(facts);
}

}  // namespace petstore::ctl
