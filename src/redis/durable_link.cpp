#include "durable_link.h"

#include <algorithm>
#include <utility>

#include "error_table.h"
#include "pipeline.h"

namespace petstore::redis {

DurableLink::DurableLink(Link& link, Scheduler& scheduler, Alarm& alarm,
                         Owner& owner, Durability durability,
                         std::uint64_t timeout) noexcept
    : link_(link), scheduler_(scheduler), alarm_(alarm), owner_(owner),
      durability_(durability), timeout_(timeout)
{}

void DurableLink::warm_up() noexcept
{
    if (phase_ == Phase::idle
        && supported_on_ != link_.connection_generation({})) {
        ask();
    }
}

void DurableLink::send(const Command& command, ReplyHandler& handler) noexcept
{
    if (waiting_.size() >= Pipeline::kMaxPending) {
        owner_.queue_full();
        handler.on_no_reply(NoReply::not_sent);
        return;
    }
    try {
        waiting_.emplace_back(*this, command, handler, alarm_.now() + timeout_);
    } catch (...) {
        handler.on_no_reply(NoReply::not_sent);
        return;
    }
    if (waiting_.size() == 1) {
        restart_alarm();
    }
    schedule();
}

void DurableLink::schedule() noexcept
{
    if (!scheduled_) {
        scheduled_ = true;
        scheduler_.schedule(*this, Scheduler::Stage::batch);
    }
}

void DurableLink::run() noexcept
{
    scheduled_ = false;
    if (phase_ != Phase::idle || waiting_.empty()) {
        return;  // the end of the phase schedules this again
    }
    if (supported_on_ == link_.connection_generation({})) {
        send_batch();
    } else {
        ask();
    }
}

void DurableLink::ask() noexcept
{
    phase_ = Phase::asking;
    confirmed_ = false;
    callbacks_ = 1;  // until everything is sent
    send_step(durability_.replicas != 0 ? Step::replicas : Step::disk);
    end_callback();
}

void DurableLink::send_batch() noexcept
{
    phase_ = Phase::batch;
    batch_on_.reset();
    confirmed_ = false;
    too_few_ = false;
    refused_writes_ = 0;
    std::size_t bytes = 0;
    while (!waiting_.empty() && batch_.size() < kMaxBatch
           && bytes < kMaxBatchBytes) {
        bytes += waiting_.front().command().size_bound();
        batch_.splice(batch_.end(), waiting_, waiting_.begin());
    }
    callbacks_ = 1;  // until everything is sent
    for (Write& write : batch_) {
        ++callbacks_;
        link_.send(write.command(), write);
    }
    send_step(durability_.replicas != 0 ? Step::replicas : Step::disk);
    end_callback();
}

void DurableLink::send_step(Step step) noexcept
{
    step_ = step;
    ++callbacks_;
    try {
        link_.send(wait_command(), wait_handler_);
    } catch (...) {
        wait_handler_.on_no_reply(NoReply::not_sent);
    }
}

// While asking, before the first write of a connection, the reply comes at
// once. For a batch, waits until the deadline of its last command; earlier ones
// fail at their own deadlines. A time of 0 would wait forever.
Command DurableLink::wait_command() const
{
    const bool asks = phase_ == Phase::asking;
    std::int64_t time = 1;
    if (!asks) {
        time = std::max<std::int64_t>(
            static_cast<std::int64_t>(batch_.back().deadline() - alarm_.now()),
            1);
    }
    Command command(step_name());
    if (step_ == Step::replicas) {
        command.arg(asks ? 0 : durability_.replicas).arg(time);
    } else {
        // WAITAOF would count only replicas that have the write on disk.
        command.arg(1).arg(0).arg(time);
    }
    return command;
}

const char* DurableLink::step_name() const noexcept
{
    return step_ == Step::replicas ? "WAIT" : "WAITAOF";
}

void DurableLink::note_server() noexcept
{
    if (!batch_on_) {
        batch_on_ = link_.connection_generation({});
    }
}

void DurableLink::take_answer(const Reply& reply) noexcept
{
    note_server();
    if (reply.is_error()) {
        take_refusal(reply);
    } else if (phase_ == Phase::batch && !is_enough(reply)) {
        too_few_ = true;
    } else if (step_ == Step::replicas && durability_.fsync) {
        send_step(Step::disk);
    } else {
        // Since the first reply, the link may have moved to another server,
        // which has nothing of the batch to wait for.
        confirmed_ = phase_ == Phase::asking
                     || batch_on_ == link_.connection_generation({});
    }
}

void DurableLink::take_refusal(const Reply& error) noexcept
{
    supported_on_.reset();
    if (!refused_ && wait_handler_.reports(error)) {
        refused_ = true;
        owner_.unsupported(step_name(), error);
    }
}

bool DurableLink::is_enough(const Reply& reply) const noexcept
{
    if (step_ == Step::replicas) {
        return reply.is(Type::integer)
               && reply.integer() >= durability_.replicas;
    }
    return reply.size() == 2 && reply[0].is(Type::integer)
           && reply[0].integer() >= 1;
}

void DurableLink::end_callback() noexcept
{
    if (--callbacks_ != 0) {
        return;
    }
    if (phase_ == Phase::asking) {
        end_asking();
    } else {
        end_batch();
    }
    restart_alarm();
    if (!waiting_.empty()) {
        schedule();
    }
}

void DurableLink::end_asking() noexcept
{
    phase_ = Phase::idle;
    if (confirmed_) {
        supported_on_ = link_.connection_generation({});
        if (refused_) {
            refused_ = false;
            owner_.supported_again();
        }
        return;
    }
    std::list<Write> refused;
    refused.swap(waiting_);
    for (Write& write : refused) {
        write.fail(NoReply::not_sent);
    }
}

void DurableLink::end_batch() noexcept
{
    phase_ = Phase::idle;
    if (confirmed_) {
        supported_on_ = batch_on_;
    }
    std::list<Write> done;
    done.swap(batch_);
    if (too_few_) {
        report_not_reached(done, [](const Write&) { return true; });
    }
    for (Write& write : done) {
        if (!write.is_pending()) {
            continue;
        }
        if (confirmed_) {
            write.deliver();
        } else {
            write.fail(NoReply::in_doubt);
        }
    }
}

// Called before the handlers, so that the log precedes the responses.
template <typename Fails>
void DurableLink::report_not_reached(const std::list<Write>& writes,
                                     Fails fails) noexcept
{
    const auto count =
        std::count_if(writes.begin(), writes.end(), [&](const Write& write) {
            return write.is_pending() && fails(write);
        });
    if (count != 0) {
        owner_.not_reached(static_cast<std::size_t>(count));
    }
}

void DurableLink::on_alarm() noexcept
{
    const std::uint64_t now = alarm_.now();
    const auto is_over = [now](const Write& write) {
        return static_cast<std::int64_t>(write.deadline() - now) <= 0;
    };
    report_not_reached(batch_, is_over);
    for (Write& write : batch_) {
        if (write.is_pending() && is_over(write)) {
            write.fail(NoReply::in_doubt);
        }
    }
    std::list<Write> late;
    late.splice(late.end(), waiting_, waiting_.begin(),
                std::find_if_not(waiting_.begin(), waiting_.end(), is_over));
    // WAIT blocks the connection even if nothing was written, and there is no
    // command of its batch to report: a script that Redis does not know would
    // never be sent with its text, and nothing would say why.
    if (phase_ == Phase::batch && refused_writes_ == batch_.size()) {
        report_not_reached(late, is_over);
    }
    for (Write& write : late) {
        write.fail(NoReply::not_sent);
    }
    restart_alarm();
}

// Sets the alarm for the oldest command; all have the same timeout.
void DurableLink::restart_alarm() noexcept
{
    const auto oldest =
        std::find_if(batch_.begin(), batch_.end(),
                     [](const Write& write) { return write.is_pending(); });
    if (oldest != batch_.end()) {
        alarm_.set(*this, oldest->deadline());
    } else if (!waiting_.empty()) {
        alarm_.set(*this, waiting_.front().deadline());
    } else {
        alarm_.stop();
    }
}

DurableLink::Write::Write(DurableLink& link, const Command& command,
                          ReplyHandler& handler, std::uint64_t deadline)
    : link_(link), command_(command.owned()), handler_(&handler),
      deadline_(deadline)
{}

void DurableLink::Write::on_reply(const Reply& reply) noexcept
{
    link_.note_server();
    if (reply.is_error()) {
        ++link_.refused_writes_;
    }
    if (handler_ != nullptr) {
        if (reply.is_error()) {
            std::exchange(handler_, nullptr)->on_reply(reply);
        } else {
            try {
                reply_.emplace(reply);
            } catch (...) {
                fail(NoReply::in_doubt);
            }
        }
    }
    link_.end_callback();
}

void DurableLink::Write::on_no_reply(NoReply cause) noexcept
{
    if (handler_ != nullptr) {
        fail(cause);
    }
    link_.end_callback();
}

void DurableLink::Write::deliver() noexcept
{
    std::exchange(handler_, nullptr)->on_reply(reply_->get());
}

void DurableLink::Write::fail(NoReply cause) noexcept
{
    std::exchange(handler_, nullptr)->on_no_reply(cause);
}

void DurableLink::WaitReplyHandler::on_reply(const Reply& reply) noexcept
{
    link_.take_answer(reply);
    link_.end_callback();
}

void DurableLink::WaitReplyHandler::on_no_reply(NoReply) noexcept
{
    link_.end_callback();
}

// True for errors that the owner explains. Temporary errors and outages need no
// explanation.
bool DurableLink::WaitReplyHandler::reports(const Reply& error) const noexcept
{
    return error_row(error.text()).log == ErrorRow::Log::error;
}

}  // namespace petstore::redis
