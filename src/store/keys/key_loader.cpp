#include "key_loader.h"

#include <utility>

#include "../../redis/error_table.h"
#include "../failure.h"

namespace petstore::store {

namespace {

Failure not_upgraded_failure()
{
    return Failure{{api::ErrorCode::service_unavailable,
                    "The service is being upgraded. Try again later."}};
}

}  // namespace

// A lookup in flight: of the key's record, then of its account's, and of the
// plans if it is a plan that was unknown so far.
class KeyLoader::Load final : public KeyLoader::Loads::Item,
                              public redis::ReplyHandler,
                              public Waiter<api::AccountRecord>,
                              public Waiter<Done> {
public:
    Load(Loads& loads, const api::Digest& digest, KeyLoader& owner,
         const Required& required)
        : Item(loads, digest), owner_(owner), number_(++owner.started_),
          epoch_(required.epoch), account_(required.account),
          generation_(owner.accounts_link_.connection_generation(account_)),
          started_(required.now)
    {}

    std::uint64_t number() const noexcept { return number_; }
    std::int64_t epoch() const noexcept { return epoch_; }
    const std::string& account() const noexcept { return account_; }
    std::uint64_t generation() const noexcept { return generation_; }
    Monotonic started() const noexcept { return started_; }

    // The key's record.
    void on_reply(const redis::Reply& reply) noexcept override
    {
        attempt([&] {
            if (reply.is_error() && !redis::is_wrong_type(reply)) {
                return fail(failure_of(reply, Purpose::read));
            }
            StoredKey stored(key());
            const RecordFound found = KeyCommands::parse(reply, stored);
            if (found == RecordFound::invalid) {
                owner_.log_.damaged(owner_.keys_.name(key()));
                return fail(Failure{damage_error()});
            }
            if (found == RecordFound::absent) {
                return finish_with(Outcome<Ref<CachedKey>>(nullptr));
            }
            record_ = std::move(stored.record);
            if (record_.disabled) {  // refused whatever its account permits
                return finish({});
            }
            owner_.read_account(record_.account, *this);
        });
    }

    void on_no_reply(redis::NoReply cause) noexcept override
    {
        fail(failure_of(cause, Purpose::read));
    }

    // Its account's record.
    void on_result(const Outcome<api::AccountRecord>& account) noexcept override
    {
        attempt([&] {
            if (account.failed()) {
                return fail(*account.failure());
            }
            if (account.value().deleted != 0) {
                return finish_with(Outcome<Ref<CachedKey>>(nullptr));
            }
            if (owner_.knows_plan(record_, account.value())) {
                return finish(account.value());
            }
            account_record_ = account.value();
            plans_read_ = !owner_.plans_.being_read();
            owner_.plans_.read_and_wait(*this);
        });
    }

    // The plans. A read that was on its way when the records arrived may be
    // older than the plan.
    void on_result(const Outcome<Done>& plans) noexcept override
    {
        attempt([&] {
            if (plans.failed() || !owner_.plans_.answered()) {
                return fail(unavailable());
            }
            if (plans_read_ || owner_.knows_plan(record_, account_record_)) {
                return finish(account_record_);
            }
            plans_read_ = true;
            owner_.plans_.read_and_wait(*this);
        });
    }

private:
    // `step` destroys this at its end, if at all.
    template <typename Step>
    void attempt(Step&& step) noexcept
    {
        try {
            step();
        } catch (...) {
            fail(unavailable());
        }
    }

    void finish(const api::AccountRecord& account)
    {
        finish_with(
            Outcome<Ref<CachedKey>>(owner_.cache(*this, record_, account)));
    }

    void fail(const Failure& failure) noexcept
    {
        finish_with(Outcome<Ref<CachedKey>>(failure));
    }

    void finish_with(const Outcome<Ref<CachedKey>>& outcome) noexcept
    {
        owner_.unknown_ -= account_.empty() ? 1 : 0;
        end(outcome);
    }

    KeyLoader& owner_;
    const std::uint64_t number_;
    const std::int64_t epoch_;
    const std::string account_;       // empty if unknown
    const std::uint64_t generation_;  // of the account's link before the load
    const Monotonic started_;
    api::KeyRecord record_;
    api::AccountRecord account_record_;
    bool plans_read_ = false;  // or being read, since the records arrived
};

// The read of an account's record, for all lookups of its keys that may share
// it.
class KeyLoader::AccountRead final : public KeyLoader::AccountReads::Item,
                                     public redis::ReplyHandler {
public:
    AccountRead(AccountReads& reads, const std::string& account,
                KeyLoader& owner)
        : Item(reads, account), owner_(owner), newest_load_(owner.started_)
    {}

    bool started_after(const Load& load) const noexcept
    {
        return newest_load_ >= load.number();
    }

    void on_reply(const redis::Reply& reply) noexcept override
    {
        try {
            end(owner_.take_account(key(), reply));
        } catch (...) {
            fail(unavailable());
        }
    }

    void on_no_reply(redis::NoReply cause) noexcept override
    {
        fail(failure_of(cause, Purpose::read));
    }

private:
    void fail(const Failure& failure) noexcept
    {
        end(Outcome<api::AccountRecord>(failure));
    }

    KeyLoader& owner_;
    const std::uint64_t newest_load_;  // when the read started
};

KeyLoader::KeyLoader(const Links& links, const Schema& schema,
                     PlansInForce& plans, KeyCache& cache, KeyLog& log)
    : link_(links.main), accounts_link_(links.accounts), keys_(schema),
      accounts_(schema), plans_(plans), cache_(cache), log_(log)
{}

KeyLoader::~KeyLoader() = default;

void KeyLoader::load(const api::Digest& digest, const Required& required,
                     Waiter<Ref<CachedKey>>& waiter) noexcept
{
    try {
        // A lookup sent before the account's epoch was known may return older
        // records.
        Load* const load = loads_.find(digest);
        if (load != nullptr && load->epoch() >= required.epoch) {
            load->join(&waiter);
        } else if (may_start(required)) {
            start(digest, required, waiter);
        } else {
            log_.report(Event::lookup_refused);
            waiter.on_result(unavailable());
        }
    } catch (...) {
        waiter.on_result(unavailable());
    }
}

bool KeyLoader::may_start(const Required& required) const noexcept
{
    return loads_.size() < kMaxLoads
           && (!required.account.empty() || unknown_ < kMaxUnknown);
}

void KeyLoader::start(const api::Digest& digest, const Required& required,
                      Waiter<Ref<CachedKey>>& waiter)
{
    const auto command = keys_.read(digest);
    Load& load = loads_.start(digest, &waiter, *this, required);
    unknown_ += required.account.empty() ? 1 : 0;
    link_.send(command, load);
}

// The account's record must be read after the required epoch was known and, so
// that the epoch in the key's record holds for both, after the key's record
// was: the servers of a Cluster give no such order.
void KeyLoader::read_account(const std::string& account, Load& load)
{
    AccountRead* const read = account_reads_.find(account);
    if (read != nullptr && read->started_after(load)
        && (load.epoch() != 0 || !link_.is_cluster())) {
        return read->join(&load);
    }
    const auto command = accounts_.read(account);
    link_.send(command, account_reads_.start(account, &load, *this));
}

Outcome<api::AccountRecord> KeyLoader::take_account(const std::string& account,
                                                    const redis::Reply& reply)
{
    if (reply.is_error() && !redis::is_wrong_type(reply)) {
        return failure_of(reply, Purpose::read);
    }
    auto found = AccountCommands::parse(reply, account);
    switch (found.result) {
    case RecordFound::absent:
        log_.not_upgraded(account);
        return not_upgraded_failure();
    case RecordFound::invalid:
        log_.damaged(accounts_.name(account));
        return Failure{damage_error()};
    case RecordFound::found:
        break;
    }
    return std::move(found.record);
}

bool KeyLoader::knows_plan(const api::KeyRecord& record,
                           const api::AccountRecord& account) const
{
    const api::PlanTable& plans = plans_.table();
    return plans.knows(plans.plan_in_force(record, account).plan);
}

// The generation of the account's link before the records were read. If the
// account was unknown then, and any account's generation has changed since,
// this one's may have changed too. The key then gets an outdated generation, so
// that the limiter reports the current epoch and both records are read again.
std::uint32_t KeyLoader::generation_of(const std::string& account,
                                       const Load& load) const noexcept
{
    if (load.account() == account) {
        return static_cast<std::uint32_t>(load.generation());
    }
    const auto now = static_cast<std::uint32_t>(
        accounts_link_.connection_generation(account));
    return load.account().empty()
                   && load.generation()
                          == accounts_link_.connection_generation({})
               ? now
               : now - 1;
}

Ref<CachedKey> KeyLoader::cache(const Load& load, const api::KeyRecord& record,
                                const api::AccountRecord& account)
{
    const api::PlanTable& plans = plans_.table();
    const api::PlanInForce plan = plans.plan_in_force(record, account);
    auto key = make_ref<CachedKey>();
    key->record = CachedRecord(record, account, plan.plan);
    key->set_limits(plan);
    if (!key->record.disabled && !plans.knows(plan.plan)) {
        log_.unknown_plan(record.id, plan.plan);
    }
    // Records read after the account's epoch was known are at least that new.
    // Otherwise the epoch in the key's record counts: if it is the account's,
    // nothing has changed since that write, and the account's record was read
    // later. The epoch in the account's record proves nothing: the key may have
    // changed between the two reads, before the account did.
    key->epoch = load.epoch() == 0 ? record.epoch : load.epoch();
    key->generation = generation_of(record.account, load);
    key->asked = load.started();
    key->account = cache_.account(record.account);
    cache_.put(load.key(), key);
    return key;
}

}  // namespace petstore::store
