// The bodies of the admin API. A table says which members each operation takes.
#include "admin_body.h"

#include <utility>

#include "date.h"
#include "json_object.h"
#include "pet.h"
#include "text.h"

namespace petstore::api {

namespace {

enum BodyOf : unsigned {
    kAction = 1,  // unbanAccount, resetAccount
    kNewAccount = 2,
    kAccount = 4,  // an existing one
    kNewKey = 8,
    kKey = 16,
    kRotation = 32,
    kPlan = 64,
};
constexpr unsigned kAccounts = kNewAccount | kAccount;
constexpr unsigned kKeys = kNewKey | kKey;

unsigned body_of(Operation operation) noexcept
{
    switch (operation) {
    case Operation::unban_account:
    case Operation::reset_account:
        return kAction;
    case Operation::create_account:
        return kNewAccount;
    case Operation::update_account:
        return kAccount;
    case Operation::create_key:
        return kNewKey;
    case Operation::update_key:
        return kKey;
    case Operation::rotate_key:
        return kRotation;
    case Operation::put_plan:
        return kPlan;
    default:
        return 0;
    }
}

// The problem with a value, worded to follow the field's name; nullptr for
// none.
using Problem = const char*;
using MemberKind = JsonMember::Kind;

using TextProblem = Problem(std::string_view text);

template <AdminBody::Text AdminBody::*text, TextProblem& problem>
Problem take_text(JsonMember& member, AdminBody& body)
{
    auto& field = body.*text;
    if (member.kind == MemberKind::null) {
        field.emplace();
        return nullptr;
    }
    if (member.kind != MemberKind::text) {
        return "must be a string";
    }
    const Problem wrong = problem(member.text);
    field = std::move(member.text);
    return wrong;
}

// An empty text removes it.
Problem new_label_problem(std::string_view text)
{
    return text.empty() ? nullptr : label_problem(text);
}

// An empty text would remove it.
Problem id_problem(std::string_view text)
{
    return is_id(text) ? nullptr : "must be an account's id";
}

Problem external_id_problem(std::string_view text)
{
    return is_external_id(text) ? nullptr
                                : "must be 1 to 128 visible ASCII characters";
}

Problem plan_problem(std::string_view text)
{
    return is_plan_name(text)
               ? nullptr
               : "must be 1 to 32 lower-case letters, digits, \"_\" or \"-\"";
}

// Whether it is a moment depends on the time, see AdminBody::apply().
Problem expires_problem(std::string_view text)
{
    return text.empty() ? "must not be empty" : nullptr;
}

template <AdminBody::Number AdminBody::*number>
Problem take_number(JsonMember& member, AdminBody& body)
{
    auto& field = (body.*number).emplace();
    if (member.kind == MemberKind::null) {
        return nullptr;
    }
    if (member.kind != MemberKind::integer || member.number < 1
        || member.number > kMaxLimit) {
        return "must be an integer from 1 to 1000000000000";
    }
    field = member.number;
    return nullptr;
}

Problem take_disabled(JsonMember& member, AdminBody& body)
{
    if (member.kind != MemberKind::null && member.kind != MemberKind::boolean) {
        return "must be true or false";
    }
    body.disabled = member.flag;
    return nullptr;
}

Problem take_scopes(JsonMember& member, AdminBody& body)
{
    static constexpr char kProblem[] =
        "must be an array of 1 to 16 names of 1 to 64 lower-case letters, digits and \":._-\"";
    body.scopes = "read,write";
    if (member.kind == MemberKind::null) {
        return nullptr;
    }
    if (member.kind != MemberKind::texts || member.texts.empty()) {
        return kProblem;
    }
    body.scopes->clear();
    for (const std::string& name : member.texts) {
        if (!is_scope(name)) {
            return kProblem;
        }
        body.scopes->append(body.scopes->empty() ? "" : ",").append(name);
    }
    KeyRecord scratch;
    return set_scopes(scratch, *body.scopes) ? nullptr : kProblem;
}

Problem take_sha256(JsonMember& member, AdminBody& body)
{
    if (member.kind == MemberKind::null) {
        return nullptr;
    }
    body.sha256 = digest_of_hex(member.text);
    return member.kind == MemberKind::text && body.sha256
               ? nullptr
               : "must be 64 hexadecimal digits";
}

Problem take_grace(JsonMember& member, AdminBody& body)
{
    if (member.kind == MemberKind::null) {
        return nullptr;
    }
    const auto seconds = parse_duration(member.text);
    if (member.kind != MemberKind::text || !seconds || *seconds < 0
        || *seconds > kMaxGrace) {
        return "must be a duration such as \"90s\", \"15m\", \"24h\" or \"7d\", at most \"3650d\"";
    }
    body.grace_seconds = *seconds;
    return nullptr;
}

struct BodyMember {
    std::string_view name;
    Problem (*take)(JsonMember& member, AdminBody& body);
    unsigned writable;  // in these bodies
    unsigned readable;  // in the objects that these bodies are of
};

constexpr BodyMember kBodyMembers[] = {
    {"label", take_text<&AdminBody::label, new_label_problem>,
     kAccounts | kKeys, 0},
    {"plan", take_text<&AdminBody::plan, plan_problem>, kAccounts | kKeys, 0},
    {"per_minute", take_number<&AdminBody::per_minute>,
     kAccounts | kKeys | kPlan, 0},
    {"per_day", take_number<&AdminBody::per_day>, kAccounts | kKeys | kPlan, 0},
    {"per_month", take_number<&AdminBody::per_month>, kAccounts | kKeys | kPlan,
     0},
    {"disabled", take_disabled, kAccounts | kKeys, 0},
    {"external_id", take_text<&AdminBody::external_id, external_id_problem>,
     kAccounts | kNewKey, kKey},
    {"account", take_text<&AdminBody::account, id_problem>, kNewKey, kKey},
    {"scopes", take_scopes, kKeys, 0},
    {"expires", take_text<&AdminBody::expires, expires_problem>, kKeys, 0},
    {"sha256", take_sha256, kNewKey, 0},
    {"grace", take_grace, kRotation, 0},
    {"id", nullptr, 0, kAccounts | kKeys},
    {"created", nullptr, 0, kAccounts | kKeys},
    {"last_used", nullptr, 0, kAccounts},
    {"overrides", nullptr, 0, kKeys},
    {"state", nullptr, 0, kKeys},
    {"last4", nullptr, 0, kKeys},
    {"key", nullptr, 0, kKeys},
    {"name", nullptr, 0, kPlan},
    {"source", nullptr, 0, kPlan},
};

Error field_error(ErrorCode code, std::string_view name, const char* problem)
{
    std::string message(name);
    message.append(" ").append(problem).append(".");
    return {code, std::move(message)};
}

std::optional<Error> take_member(unsigned of, JsonMember& member,
                                 AdminBody& body)
{
    for (const BodyMember& known : kBodyMembers) {
        if (known.name != member.name) {
            continue;
        }
        if (known.writable & of) {
            const Problem problem = known.take(member, body);
            return problem == nullptr
                       ? std::nullopt
                       : std::optional(field_error(ErrorCode::invalid_field,
                                                   known.name, problem));
        }
        if (known.readable & of) {
            return field_error(ErrorCode::read_only_field, known.name,
                               "cannot be set");
        }
    }
    // Without its name, which may be anything, among others a key.
    return Error{ErrorCode::invalid_field,
                 "The body has a member that this operation does not know."};
}

std::optional<Error> check_whole(unsigned of, AdminBody& body)
{
    if (of == kNewAccount || of == kNewKey) {
        // In a new object, null is as good as absent.
        for (AdminBody::Text* text : {&body.external_id, &body.account}) {
            if (*text && (*text)->empty()) {
                text->reset();
            }
        }
    }
    if (of == kNewKey && body.account && body.external_id) {
        return field_error(ErrorCode::invalid_field, "external_id",
                           "must not be given together with account");
    }
    if (of == kPlan) {
        const std::pair<const char*, const AdminBody::Number*> required[] = {
            {"per_minute", &body.per_minute}, {"per_day", &body.per_day}};
        for (const auto& [name, number] : required) {
            if (!*number) {
                return field_error(ErrorCode::missing_field, name,
                                   "is required");
            }
            if (!**number) {
                return field_error(ErrorCode::invalid_field, name,
                                   "must not be null");
            }
        }
    }
    return std::nullopt;
}

void set_own(const AdminBody::Number& number,
             std::optional<std::int64_t>& own) noexcept
{
    if (number) {
        own = *number;
    }
}

void set_own(const AdminBody::Text& text, std::string& own)
{
    if (text) {
        own = *text;
    }
}

}  // namespace

void AdminBody::apply_own(OwnPlan& own) const
{
    set_own(plan, own.plan);
    set_own(per_minute, own.per_minute);
    set_own(per_day, own.per_day);
    set_own(per_month, own.per_month);
}

void AdminBody::apply(AccountRecord& of) const
{
    apply_own(of);
    set_own(label, of.label);
    set_own(external_id, of.external_id);
    of.disabled = disabled.value_or(of.disabled);
}

std::optional<Error> AdminBody::apply(KeyRecord& key, UnixTime now) const
{
    apply_own(key);
    set_own(label, key.label);
    key.disabled = disabled.value_or(key.disabled);
    if (scopes) {
        set_scopes(key, *scopes);
    }
    if (expires) {
        key.expires.reset();
        if (!expires->empty()) {
            key.expires = parse_moment(*expires, now);
            if (!key.expires) {
                return field_error(
                    ErrorCode::invalid_field, "expires",
                    "must be a date such as \"2030-12-31\", a time such as \"2030-12-31T12:00:00Z\", or a duration from now such as \"30d\"");
            }
        }
    }
    return std::nullopt;
}

Limits AdminBody::limits() const
{
    return {per_minute->value(), per_day->value(),
            per_month ? per_month->value_or(0) : 0};
}

std::variant<AdminBody, Error> parse_admin_body(Operation operation,
                                                std::string_view body)
{
    const unsigned of = body_of(operation);
    AdminBody result;
    if (body.empty() && (of & (kAction | kRotation))) {
        return result;
    }
    auto parsed = parse_json_object(body);
    if (auto* error = std::get_if<Error>(&parsed)) {
        return std::move(*error);
    }
    for (JsonMember& member : std::get<std::vector<JsonMember>>(parsed)) {
        if (auto error = take_member(of, member, result)) {
            return std::move(*error);
        }
    }
    if (auto error = check_whole(of, result)) {
        return std::move(*error);
    }
    return result;
}

bool has_admin_body(Operation operation) noexcept
{
    return body_of(operation) != 0;
}

const char* label_problem(std::string_view label) noexcept
{
    if (const char* problem = name_problem(label)) {
        return problem;
    }
    return has_bidi_control(label)
               ? "must not contain characters that reorder text"
               : nullptr;
}

}  // namespace petstore::api
