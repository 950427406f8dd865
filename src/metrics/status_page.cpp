// The metrics as a page for people.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "../api/build_version.h"
#include "../api/date.h"
#include "formats.h"

namespace petstore::metrics {

namespace {

// Follows the browser's colour scheme. No information is conveyed by colour
// alone. On a narrow screen, rows of wide tables become blocks with labels.
constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--text:#1b1f24;--quiet:#57606a;--page:#f6f8fa;
--card:#fff;--line:#d0d7de;--good:#116329;--bad:#a40e26;--focus:#0550ae}
@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--quiet:#9da7b3;
--page:#0d1117;--card:#161b22;--line:#30363d;--good:#56d364;--bad:#ff7b72;
--focus:#79c0ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,sans-serif}
header,main{max-width:64rem;margin:auto;padding:1rem}
header{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center}
h1{font-size:1.4rem;margin:0;margin-right:auto}
h2{font-size:1.05rem;margin:0 0 .5rem}
p{margin:0;color:var(--quiet)}
#state:empty{display:none}
#state{color:var(--bad);font-weight:600}
main{display:grid;gap:1rem;padding-top:0;grid-template-columns:repeat(2,minmax(0,1fr))}
section{background:var(--card);border:1px solid var(--line);
border-radius:.5rem;padding:1rem}
.wide{grid-column:1/-1}
.tall{grid-row:span 2}
table{border-collapse:collapse;width:100%}
caption{caption-side:bottom;text-align:left;color:var(--quiet);font-size:.875rem;
padding-top:.5rem}
th,td{text-align:left;padding:.25rem 1rem .25rem 0;font-weight:400;
border-top:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
th:last-child,td:last-child{padding-right:0}
thead th{color:var(--quiet);border:0;overflow-wrap:normal}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.good{color:var(--good)}.bad{color:var(--bad);font-weight:700}
button{font:inherit;padding:.375rem 1rem;border-radius:.4rem;
border:1px solid var(--quiet);background:var(--card);color:var(--text)}
button:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
@media(max-width:40rem){
main{grid-template-columns:minmax(0,1fr)}
.tall{grid-row:auto}
.wide thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.wide tr{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 1rem;
padding:.5rem 0;border-top:1px solid var(--line)}
.wide th,.wide td{border:0;padding:0;text-align:left;white-space:normal}
.wide tbody th{grid-column:1/-1;font-weight:600}
.wide td::before{content:attr(data-label) ": ";color:var(--quiet);font-weight:400}
}
)";

// Fetches the page again and replaces only what has changed, to keep the focus
// and scroll position. A background tab does nothing.
constexpr std::string_view kScript = R"(
(()=>{
const button=document.querySelector('button'),state=document.querySelector('#state');
let paused=false;
button.hidden=false;
button.onclick=()=>{paused=!paused;button.textContent=paused?'Resume':'Pause';refresh();};
async function refresh(){
if(paused||document.hidden)return;
try{
const answer=await fetch(location.href,{headers:{Accept:'text/html'},cache:'no-store'});
if(!answer.ok)throw 0;
const fresh=new DOMParser().parseFromString(await answer.text(),'text/html');
for(const part of fresh.querySelectorAll('[data-part]')){
const old=document.getElementById(part.id);
if(old&&old.innerHTML!==part.innerHTML)old.innerHTML=part.innerHTML;
}
state.textContent='';
}catch(e){state.textContent='nginx does not answer. These are old numbers.';}
}
setInterval(refresh,5000);
document.addEventListener('visibilitychange',refresh);
})();
)";

// The page loads nothing but itself; all of its text is escaped. The hashes are
// those of kStyle and kScript; after a change, a unit test prints the new ones.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'sha256-TxsgDUt8OZpgoGgkqrzGi9s86lesTm+TsbfdQQRmero='; script-src 'sha256-KU8QNFz2pvfqv47LqPF+6RUAqtRLPLbhbp8QHeGJeJc='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void append_escaped(std::string& out, std::string_view text)
{
    for (const char c : text) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    }
}

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number)
{
    std::string text = std::to_string(number);
    for (std::size_t i = text.size(); i > 3; i -= 3) {
        text.insert(i - 3, ",");
    }
    return text;
}

std::string formatted(const char* format, double number)
{
    char text[64];
    std::snprintf(text, sizeof(text), format, number);
    return text;
}

std::string per_second(double rate)
{
    return rate >= 10 ? grouped(static_cast<std::uint64_t>(std::llround(rate)))
                      : formatted("%.1f", rate);
}

std::string milliseconds(double seconds)
{
    return formatted("%.1f ms", seconds * 1000);
}

std::string percentage(const LookupTotals& totals)
{
    const std::uint64_t all = totals.hits + totals.misses;
    return all == 0
               ? "–"
               : formatted("%.1f %%", 100 * static_cast<double>(totals.hits)
                                          / static_cast<double>(all));
}

std::string duration(std::uint64_t seconds)
{
    if (seconds < 120) {
        return std::to_string(seconds) + " s";
    }
    return seconds < 7200 ? std::to_string(seconds / 60) + " min"
                          : std::to_string(seconds / 3600) + " h";
}

struct Column {
    const char* name;
    bool is_number = true;
};

struct Cell {
    std::string text;
    const char* style = "";
};

class Page {
public:
    // A section with a heading. Its body follows, up to end().
    void begin(const char* id, const char* heading, const char* size = "")
    {
        *this << "<section class=\"" << size << "\" aria-labelledby=\"h-" << id
              << "\"><h2 id=\"h-" << id << "\">" << heading << "</h2><div id=\""
              << id << "\" data-part>";
        id_ = id;
    }
    void end() { *this << "</div></section>\n"; }

    // The first column has the names of the rows.
    void table(std::vector<Column> columns, const char* caption = "")
    {
        columns_ = std::move(columns);
        *this << "<table aria-labelledby=\"h-" << id_ << "\">";
        if (*caption != '\0') {
            *this << "<caption>" << caption << "</caption>";
        }
        *this << "<thead><tr>";
        for (const Column& column : columns_) {
            const bool is_number = column.is_number && &column != &columns_[0];
            *this << (is_number ? "<th scope=\"col\" class=\"number\">"
                                : "<th scope=\"col\">")
                  << column.name << "</th>";
        }
        *this << "</tr></thead><tbody>";
    }
    // One cell for each other column.
    void row(std::string_view name, const std::vector<Cell>& cells)
    {
        *this << "<tr><th scope=\"row\">";
        append_escaped(out_, name);
        *this << "</th>";
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const Column& column = columns_[i + 1];
            *this << "<td data-label=\"" << column.name << "\" class=\""
                  << (column.is_number ? "number" : cells[i].style) << "\">";
            append_escaped(out_, cells[i].text);
            *this << "</td>";
        }
        *this << "</tr>";
    }
    void end_table() { *this << "</tbody></table>"; }

    Page& operator<<(std::string_view html)
    {
        out_ += html;
        return *this;
    }

    std::string take() { return std::move(out_); }

private:
    std::string out_;
    const char* id_ = "";
    std::vector<Column> columns_;
};

void add_requests(Page& page, const Totals& totals)
{
    page.begin("requests", "Requests", "tall");
    page.table(
        {{"Verdict"}, {"per second"}, {"total"}},
        "Per second: the average of the last 10 seconds. Total: since nginx started, like all other numbers.");
    for (std::size_t i = 0; i < index_of(Verdict::count); ++i) {
        std::uint64_t sum = 0;
        for (const PlanTotals& plan : totals.plans) {
            sum += plan.decisions[i];
        }
        const auto verdict = static_cast<Verdict>(i);
        const bool dry_run = verdict == Verdict::limited_dry_run
                             || verdict == Verdict::banned_dry_run;
        if (sum != 0 || !dry_run) {
            std::string name(to_string(verdict));
            std::replace(name.begin(), name.end(), '_', ' ');
            page.row(name, {{per_second(totals.rates[i])}, {grouped(sum)}});
        }
    }
    std::uint64_t all = 0;
    for (const auto& statuses : totals.requests) {
        for (const std::uint64_t count : statuses) {
            all += count;
        }
    }
    page.row("all requests",
             {{per_second(totals.request_rate())}, {grouped(all)}});
    page.end_table();
    page.end();
}

void add_latency(Page& page, const Totals& totals)
{
    page.begin("latency", "Latency");
    page.table({{"Duration of"}, {"median"}, {"95 %"}, {"99 %"}},
               "The 50th (median), 95th and 99th percentiles.");
    const auto row = [&page](const char* name, const HistogramTotals& times) {
        page.row(name, {{milliseconds(times.quantile(0.5))},
                        {milliseconds(times.quantile(0.95))},
                        {milliseconds(times.quantile(0.99))}});
    };
    row("requests", totals.request_duration);
    row("Redis commands", totals.redis_duration);
    page.end_table();
    page.end();
}

void add_events(Page& page, const Totals& totals)
{
    page.begin("events", "Events");
    page.table({{"Event"}, {"total"}});
    page.row("bans", {{grouped(totals.bans)}});
    page.row("creates with an unknown outcome",
             {{grouped(totals.outcome_unknown)}});
    page.row("reads of damaged data", {{grouped(totals.damaged_data)}});
    page.end_table();
    page.end();
}

void add_redis(Page& page, const Totals& totals)
{
    page.begin("redis", "Redis", "wide");
    if (totals.redis.empty()) {
        page << "<p>No location uses Redis.</p>";
        return page.end();
    }
    page.table({{"Server"},
                {"state", false},
                {"commands"},
                {"failures"},
                {"queue rejections"}});
    for (const RedisTotals& redis : totals.redis) {
        const std::uint64_t failures = std::accumulate(
            redis.failures.begin(), redis.failures.end(), std::uint64_t{0});
        const Cell state = !redis.used ? Cell{"not in use"}
                           : redis.up  ? Cell{"up", "good"}
                                       : Cell{"down", "bad"};
        page.row(redis.name, {state,
                              {grouped(redis.commands)},
                              {grouped(failures)},
                              {grouped(redis.rejections)}});
    }
    page.end_table();
    page.end();
}

void add_denied(Page& page, const Totals& totals)
{
    page.begin("denied", "Limited and banned accounts", "wide");
    if (totals.denied.empty()) {
        page << "<p>None at this moment.</p>";
        return page.end();
    }
    page.table(
        {{"Account"},
         {"plan", false},
         {"state", false},
         {"ends in"},
         {"denied"}},
        "Accounts that this host has denied, the latest first. If there are very many, some are missing.");
    for (const DeniedTotals& denied : totals.denied) {
        const DeniedAccount& account = denied.account;
        page.row(account.account(),
                 {{denied.plan},
                  account.banned ? Cell{"banned", "bad"} : Cell{"limited"},
                  {duration(account.until - totals.now)},
                  {grouped(account.denied)}});
    }
    page.end_table();
    page.end();
}

void add_caches(Page& page, const Totals& totals)
{
    page.begin("caches", "Caches", "wide");
    page.table({{"Cache"}, {"hit rate"}, {"look-ups"}},
               "Pets are looked up for responses that are not cached.");
    const auto row = [&page](const char* name, const LookupTotals& lookups) {
        page.row(name, {{percentage(lookups)},
                        {grouped(lookups.hits + lookups.misses)}});
    };
    row("API keys", totals.keys);
    row("responses", totals.responses);
    row("pets", totals.pets);
    page.end_table();
    page.end();
}

}  // namespace

std::string status_page(const Totals& totals)
{
    Page page;
    page
        << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Pet store status</title><noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript><link rel=\"icon\" href=\"data:,\"><style>"
        << kStyle << "</style></head><body><header><h1>Pet store status</h1>"
        << "<p id=\"facts\" data-part>Version " << api::build_version()
        << ", nginx " << totals.nginx << ", " << std::to_string(totals.workers)
        << (totals.workers == 1 ? " worker, " : " workers, ")
        << api::http_date(static_cast<api::UnixTime>(totals.now))
        << "</p><button type=\"button\" hidden>Pause</button><p id=\"state\" role=\"status\"></p></header>\n<main>";
    add_requests(page, totals);
    add_latency(page, totals);
    add_events(page, totals);
    add_redis(page, totals);
    add_denied(page, totals);
    add_caches(page, totals);
    page << "</main><script>" << kScript << "</script></body></html>\n";
    return page.take();
}

std::string_view status_page_policy() noexcept
{
    return kPolicy;
}

}  // namespace petstore::metrics
